"""The tables of points of a plan with states, as they stand below its lines."""

from banditree.plans.gives import TreatAsLeader, listed
from banditree.plans.plan import Plan
from banditree.plans.points import StateTable, state_tables
from banditree.plans.words import Vocabulary, signed


def state_notes(plan: Plan) -> list[list[str]]:
    """How rounds are scored, once, and every table with a row per state."""
    tables, words = state_tables(plan), plan.vocabulary
    if isinstance(leader := plan.lines[0].gives, TreatAsLeader):
        return [
            [sheet_sentence(plan, leader)],
            [words.say("Tally sheet:"), *(f"  {r}" for r in sheet_rows(plan, leader))],
        ]
    if not tables:
        return []
    how = words.say(
        "Points of a round: those of its outcome and those of the state that comes next, both from the row of the "
        "state at the beginning of the round. They are added when the next state is known."
    )
    heads = [words.say("Table {number}:", number=number) for number in range(1, len(tables) + 1)]
    rows = [[f"  {row}" for row in table_rows(plan, table)] for table in tables]
    return [[how], *([head, *own] for head, own in zip(heads, rows, strict=True))]


def state_sentences(plan: Plan) -> tuple[str, ...]:
    """The same, a sentence for every row, as they stand below a picture."""
    how, words = [one for part in state_notes(plan)[:1] for one in part], plan.vocabulary
    if isinstance(leader := plan.lines[0].gives, TreatAsLeader):
        return (*how, *(f"{row}." for row in sheet_rows(plan, leader)))
    rows = [
        words.say("Table {number}, {row}.", number=number, row=row)
        for number, table in enumerate(state_tables(plan), 1)
        for row in table_rows(plan, table)
    ]
    return (*how, *rows)


def state_grids(plan: Plan) -> tuple[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], ...]:
    """(head, rows) of every table, or of the tally sheet, as cells."""
    words = plan.vocabulary
    first = words.say("next {state}", state=listed(plan.states[0], words)) if plan.states else ""
    to = (first, *(listed(name, words) for name in plan.states[1:]))
    outcomes = listed(words.success, words), listed(words.failure, words)
    if isinstance(leader := plan.lines[0].gives, TreatAsLeader):
        rows = tuple(
            (
                f"{listed(row.state, words)}, {listed(row.arm, words)}",
                *map(_together, (row.success, row.failure, *row.moves)),
            )
            for row in leader.sheet
        )
        return (((words.say("Tally sheet"), *outcomes, *to), rows),)
    return tuple(
        (
            (words.say("Table {number}", number=number), *outcomes, *to),
            tuple(
                (listed(state, words), signed(good), signed(bad), *map(signed, moves))
                for state, (bad, good), moves in zip(plan.states, table.outcomes, table.moves, strict=True)
            ),
        )
        for number, table in enumerate(state_tables(plan), 1)
    )


def table_rows(plan: Plan, table: StateTable) -> list[str]:
    """ "mild: success +1, failure -2; next mild +1, severe -3" for every state."""
    words = plan.vocabulary
    return [
        words.say(
            "{state}: {outcomes}; next {states}",
            state=listed(state, words),
            outcomes=outcome_points(words, own),
            states=", ".join(f"{listed(name, words)} {signed(p)}" for name, p in zip(plan.states, to, strict=True)),
        )
        for state, own, to in zip(plan.states, table.outcomes, table.moves, strict=True)
    ]


def sheet_sentence(plan: Plan, leader: TreatAsLeader) -> str:
    """How the tallies are kept."""
    words = plan.vocabulary
    return words.say(
        "Every {task} has a tally, 0 at first. When the next state is known, add the points of the round, of its "
        "outcome and of the next state, to all tallies, in the order {kinds}; then take the lowest tally off all of "
        "them. No tally counts above {most}.",
        kinds=", ".join(listed(name, words) for name in plan.tasks),
        most=words.number(leader.most),
    )


def sheet_rows(plan: Plan, leader: TreatAsLeader) -> list[str]:
    """ "mild, A: success 0/2, failure 1/0; next mild 0/0, severe 3/0" for every state and option."""
    words = plan.vocabulary
    return [
        words.say(
            "{state}, {name}: {success} {good}, {failure} {bad}; next {states}",
            state=listed(row.state, words),
            name=listed(row.arm, words),
            good=_together(row.success),
            bad=_together(row.failure),
            states=", ".join(
                f"{listed(name, words)} {_together(to)}" for name, to in zip(plan.states, row.moves, strict=True)
            ),
        )
        for row in leader.sheet
    ]


def _together(points: tuple[int, ...]) -> str:
    return "/".join(map(str, points))


def outcome_points(words: Vocabulary, own: tuple[int, int]) -> str:
    """The points of both outcomes, the better one first."""
    failure, success = own
    return f"{listed(words.success, words)} {signed(success)}, {listed(words.failure, words)} {signed(failure)}"


def pending_sentence(words: Vocabulary) -> str:
    """That the points of the last round are still to come."""
    return words.say("The points of the last round follow with the next state.")
