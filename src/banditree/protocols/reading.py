"""From a draft to the Plan that people read: the lines in an order with few skips, and the kinds still possible.

There is no way back: whoever goes on searching keeps the draft beside the plan (`protocols.variants.Nearby`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import NONE, BestOf, Give, Gives, HandOver
from banditree.plans.line import Exit, Line
from banditree.plans.plan import Fallback, Origin, Plan, SafetyRule, make_plan
from banditree.plans.points import ByOutcome, Points
from banditree.plans.words import Vocabulary
from banditree.protocols.worlds import Chooser
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards.base import Scoring

if TYPE_CHECKING:
    from banditree.protocols.by_context import ContextualTasks
    from banditree.protocols.draft import Draft
    from banditree.protocols.tables import Tables

STILL_POSSIBLE = 0.01  # A task counts as possible at a line from this posterior on, with a uniform prior.
ORDERS = 200  # This many orders of the lines are tried.


def plan_of(
    draft: "Draft",
    collection: Collection,
    horizon: int,
    seed: int,
    vocabulary: Vocabulary,
    by_context: "ContextualTasks | None" = None,
    fallback: Fallback | None = None,
    choosers: Sequence[Chooser] = (),
    members: FloatArray | None = None,
) -> Plan:
    """The draft as a protocol.

    by_context: what the options and points of the draft stand for, where tasks have contexts. fallback, choosers: where
    its hand-over leads, and the ends at which others choose, if its tables have any. members: (S, M), the part of each
    scenario in each task; by default the first ones are the tasks themselves.
    """
    from banditree.protocols.draft import NO_RULE
    from banditree.protocols.tables import HANDS_OVER

    K, first, tables = draft.n_ends, draft.first_line, draft.tables
    order = [first + n for n in line_order(draft)]
    by_rule = draft.rule != NO_RULE and tables.rules[draft.rule, HANDS_OVER]
    used = {draft.root, *draft.links.ravel().tolist(), *([K - 1] if by_rule or fallback is not None else [])}
    places = order + [place for place in range(K) if place in used]
    # The odds against other tasks hand over whoever settles where its own is not possible: no more than a few.
    possible = _possible(draft, places, collection, members, most=np.inf if fallback is None else 1.0)

    def gives(option: int) -> Gives:
        if by_context is not None:
            return by_context.gives(option, collection)
        return _given(option, tables, collection, choosers)

    def exit_to(place: int) -> Exit:
        if place >= K:
            return 1 if place == K else order.index(place) + 1
        option = gives(place)
        return Line(option, possible=() if option == HandOver() else possible[place])

    lines = [_line(draft, place - first, gives, exit_to, possible[place], by_context) for place in order]
    if not lines:
        lines = [exit_to(draft.root)]  # type: ignore[list-item]
    ruled = draft.rule != NO_RULE and len(places) > len(order)
    if fallback is not None and fallback.odds:
        fallback = replace(fallback, means=tuple(map(tuple, collection.means.tolist())))
    return make_plan(
        lines,
        collection,
        horizon,
        washout=draft.tables.moving.washout,
        rule=_rule(draft, by_context) if ruled else None,
        fallback=fallback,
        vocabulary=vocabulary,
        origin=Origin("protocol", radius=float(collection.radius.max()), seed=seed),
        **({} if by_context is None else by_context.fields_of_a_plan(collection)),
    )


def _possible(
    draft: "Draft", places: Sequence[int], collection: Collection, members: FloatArray | None, most: float
) -> dict[int, tuple[str, ...]]:
    """The tasks still possible at each place. most: visits of all tasks together count as at most this many."""
    entered = _entered(draft)[places]
    entered = entered[:, : collection.n_tasks] if members is None else entered[:, : len(members)] @ members
    return {
        place: tuple(collection.tasks[i] for i in np.flatnonzero(row >= STILL_POSSIBLE * min(row.sum(), most)))
        for place, row in zip(places, entered, strict=True)
    }


def _rule(draft: "Draft", by_context: "ContextualTasks | None") -> SafetyRule:
    template, floor, cap, _level, over = (int(value) for value in draft.tables.rules[draft.rule])
    if by_context is not None and by_context.gradings:
        return by_context.rule(template, floor, cap)
    templates = draft.tables.templates
    return SafetyRule(_whole(templates.points[template]), floor, _real(templates.cuts[template]), cap, bool(over))


def _given(option: int, tables: "Tables", collection: Collection, choosers: Sequence[Chooser]) -> Gives:
    """What the search gives: an arm, and behind the arms what is chosen by others, the hand-over last."""
    if option < tables.n_arms:
        return Give(collection.arms[option])
    if option == tables.n_ends - 1:
        return HandOver()
    chooser = choosers[option - tables.n_arms]
    worth = chooser.worth if chooser.rates else 0
    return BestOf(tuple(collection.arms[k] for k in chooser.among), tuple(chooser.rates), worth)


def _line(
    draft: "Draft",
    n: int,
    gives: Callable[[int], Gives],
    exit_to: Callable[[int], Exit],
    possible: tuple[str, ...],
    by_context: "ContextualTasks | None",
) -> Line:
    line, tables = draft.line(n), draft.tables
    template = int(tables.template[line.way])
    grading = NONE if tables.templates.grading is None else int(tables.templates.grading[template])
    points: Points
    if by_context is not None and grading != NONE:
        points = by_context.gradings[grading]
    else:
        points = ByOutcome(_whole(tables.templates.points[template]), _real(tables.templates.cuts[template]))
    low, high = (exit_to(int(place)) for place in draft.links[n])
    option = gives(int(tables.arm[line.way]))
    if line.ceil:
        return Line(option, Score(points, line.floor, line.ceil), low, high, possible=possible)
    return Line(option, Watch(points, line.floor, line.cap), low, possible=possible)


def _whole(values: Sequence[int] | np.ndarray) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _real(values: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def line_order(draft: "Draft") -> list[int]:
    """The lines so that exits lead to later ones, with as few skips as a number of tries finds."""
    order = [int(n) for n in draft.order]
    if draft.back or not order:
        return order
    children = [[int(c) - draft.first_line for c in row if c >= draft.first_line] for row in draft.links]
    rng = np.random.default_rng(0)
    tries = [order, *(_downwards(order[0], children, rng) for _ in range(ORDERS))]
    return min(tries, key=lambda lines: _skips(lines, children))


def _downwards(root: int, children: list[list[int]], rng: np.random.Generator) -> list[int]:
    """A random order in which every line comes after all that lead to it, the next one following on where it can."""
    waiting = [0] * len(children)
    for row in children:
        for child in row:
            waiting[child] += 1
    ready, order = [root], list[int]()
    while ready:
        following = [n for n in ready if order and n in children[order[-1]]]
        choices = following or ready
        chosen = choices[int(rng.integers(len(choices)))]
        ready.remove(chosen)
        order.append(chosen)
        for child in children[chosen]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return order


def _skips(order: list[int], children: list[list[int]]) -> int:
    place = {n: index for index, n in enumerate(order)}
    return sum(place[child] != place[n] + 1 for n in order for child in set(children[n]))


def _entered(draft: "Draft") -> FloatArray:
    """How often each place is entered under each scenario, (P, S)."""
    first = draft.first_line
    entered = np.concatenate([np.zeros((first, len(draft.regret))), draft.visits])
    for n, links in enumerate(draft.links):
        for side, place in enumerate(links):
            if place < draft.n_ends:
                entered[place] += draft.flow(n, side)
    if draft.root < draft.n_ends:
        entered[draft.root] = 1.0
    return entered


def scorings_of(draft: "Draft") -> list[Scoring]:
    """The ways to score that the lines and the rule of a draft use."""
    templates = [draft.tables.template[draft.line(n).way] for n in line_order(draft)]
    if _is_ruled(draft):
        templates.append(draft.tables.rules[draft.rule, 0])
    scorings = _scorings(draft.tables)
    return list(dict.fromkeys(scorings[int(template)] for template in templates))


def among(draft: "Draft", tables: "Tables", back: bool = False) -> "Draft":
    """The same protocol among the lines of other tables, in the order in which it is read.

    back: whether its links may lead back, and nothing starts again.
    """
    from banditree.protocols.draft import NO_RULE, drafted
    from banditree.protocols.tables import HANDS_OVER
    from banditree.protocols.tables import Line as DraftLine

    if draft.n_ends != tables.n_arms:
        raise InvalidInput("A plan at whose ends others choose cannot be changed line by line. Search for it again.")
    K, own, order = draft.n_ends, draft.tables, line_order(draft)
    scorings, wanted = _scorings(own), _scorings(tables)
    ways = {(int(arm), wanted[t]): way for way, (arm, t) in enumerate(zip(tables.arm, tables.template, strict=True))}
    place = {end: end for end in range(K)}
    place |= {draft.first_line + n: K + 1 + row for row, n in enumerate(order)}
    root = place[draft.root]
    place[K] = place[draft.root] = root if back else K  # what leads to line 1 starts again
    lines, links = [], []
    for n in order:
        line = draft.line(n)
        way = ways[int(own.arm[line.way]), scorings[int(own.template[line.way])]]
        lines.append(DraftLine(way, *line[1:]))
        links.append((place[int(draft.links[n, 0])], place[int(draft.links[n, 1])]))
    rule = NO_RULE
    if _is_ruled(draft):
        template, floor, cap, _level, over = own.rules[draft.rule].tolist()
        same = (tables.rules[:, :3] == (wanted.index(scorings[template]), floor, cap)).all(axis=1)
        rule = int(np.flatnonzero(same & (tables.rules[:, HANDS_OVER] == over))[0])
    return drafted(tables, root, lines, links, rule, back)


def _scorings(tables: "Tables") -> list[Scoring]:
    """Each template as a way to score."""
    templates = tables.templates
    return [Scoring(_whole(p), _real(c)) for p, c in zip(templates.points, templates.cuts, strict=True)]


def _is_ruled(draft: "Draft") -> bool:
    """Whether the safety rule of a draft, if it has one, applies to any end."""
    from banditree.protocols.draft import NO_RULE
    from banditree.protocols.tables import HANDS_OVER

    ends = bool(draft.root < draft.n_ends or (draft.links < draft.n_ends).any())
    return draft.rule != NO_RULE and (ends or bool(draft.tables.rules[draft.rule, HANDS_OVER]))
