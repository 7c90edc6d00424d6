"""Reading load: how much a plan asks of the person who reads it, as one number.

Written down once, so that plans of every form can be compared and the search can trade it against regret. The unit is a
line with two exits that lead on downwards.
"""

from collections.abc import Sequence

from banditree.plans.gives import BestOf, TreatAsLeader, TreatByState
from banditree.plans.plan import Form, Plan

LINE = 1.0  # A line or box with two exits is the unit.
ONE_EXIT = 0.75  # A line with one exit has nothing to compare.
NO_EXIT = 0.5  # "Give A to everyone" has nothing to watch either.
SKIP = 0.25  # For an exit past the next line, or to the start, the finger leaves the list once.
BACK = 1.0  # For any other jump back, the reader must remember having been there.
LARGE = 0.25  # A level above LARGE_FROM does not fit a few tally marks, ...
LARGE_FROM = 20
HUGE_FROM = 100  # ... and above this it needs arithmetic, which costs the same again.
RULE_OF_POINTS = 0.5  # Every scoring rule beyond the first is one more to learn.
SAFETY_RULE = 1.0  # The safety rule is one sentence that is read again at every end.
LEAF = 0.25  # Each leaf of the printed rule of a kind is one row to look up.
LAST_LINE = 0.5  # A sentence at the foot is read once: what a hand-over is, how the best of several is found, for whom
# there are other pages, of which a case reads one, or what does not count after a change.
END = 0.25  # An end in a box of its own must be looked up.


def reading_load(plan: Plan) -> float:
    """The load of a plan on paper; in use, the number of lines that a case passes adds to it.

    Five lines of the demo have 6.0; `docs/protocols.md` gives the reasons for the weights.
    """
    # The ends of a protocol are inside its lines; those of a tree are boxes that the reader turns to.
    places = set(plan.tests if plan.form is Form.LINES else range(plan.n_places))
    load = sum(_line(plan, box, places) for box in plan.tests) or NO_EXIT
    if plan.form is Form.BOXES:
        load += END * (plan.n_places - plan.n_tests)
    ways = [points.ways for points in plan.points] + ([] if plan.rule is None else [plan.rule.counts.points.ways])
    load += RULE_OF_POINTS * max(len(set().union(*ways)) - 1, 0)
    used = {row.gives.task for row in plan.rows}
    rules = zip(plan.tasks, plan.kind_rules, strict=False)  # a plan may have none
    load += LEAF * sum(rule.n_leaves for task, rule in rules if rule is not None and task in used)
    load += LEAF * sum(
        len(rule.states) for rule in {row.gives for row in plan.rows if isinstance(row.gives, TreatByState)}
    )
    leaders = [row.gives for row in plan.rows if isinstance(row.gives, TreatAsLeader)]
    load += LEAF * sum(len(rule.states) for one in leaders for rule in one.rules)
    load += RULE_OF_POINTS * sum(len(one.sheet) for one in leaders)
    if plan.rule is not None:
        load += SAFETY_RULE + _levels(plan.rule.counts.levels)
    several = any(isinstance(row.gives, BestOf) for row in plan.rows)
    load += LAST_LINE * ((plan.fallback is not None) + several + bool(plan.pages) + bool(plan.pauses))
    return float(load)


def unbeaten(rated: Sequence[tuple[float, ...]]) -> list[int]:
    """Which of some plans, by (reading load, loss) or more numbers, no other one equals or beats in all of them, the
    easiest to read first.

    >>> unbeaten([(9, 20.0), (3, 50.0), (15, 25.0)]), unbeaten([(9, 20.0, 100.0), (9, 25.0, 40.0)])
    ([1, 0], [0, 1])
    """
    front = list[int]()
    for number in sorted(range(len(rated)), key=rated.__getitem__):
        own = rated[number]
        if not any(all(a <= b for a, b in zip(rated[other], own, strict=True)) for other in front):
            front.append(number)
    return front


def _line(plan: Plan, box: int, places: set[int]) -> float:
    """A line: itself, its jumps, and its large numbers."""
    links = plan.links[box]
    turns = [target for target in links if target in places]
    jumps = sum(SKIP if target > box + 1 or target == 0 else BACK if target <= box else 0.0 for target in turns)
    return (ONE_EXIT if len(links) == 1 else LINE) + jumps + _levels(plan.rows[box].counts.levels)


def _levels(values: Sequence[float]) -> float:
    """The surcharge of large numbers."""
    return LARGE * sum((value > LARGE_FROM) + (value > HUGE_FROM) for value in values)
