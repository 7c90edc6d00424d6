"""From a draft to the Plan that people read: the lines in an order with few skips, and the kinds still possible."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.assemble import Box, assemble
from banditree.plans.plan import HAND_OVER, NONE, SEVERAL, Fallback, Form, Plan, SafetyRule, Vocabulary, pack_survivors
from banditree.scores.worlds import Chooser
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards.base import Scoring

if TYPE_CHECKING:
    from banditree.scores.by_context import ContextualTasks
    from banditree.scores.draft import Draft
    from banditree.scores.tables import Tables

STILL_POSSIBLE = 0.01  # A task counts as possible at a line from this posterior on, with a uniform prior.
ORDERS = 200  # So many orders of the lines are tried.


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
    from banditree.scores.draft import NO_RULE
    from banditree.scores.tables import HANDS_OVER

    K, first, tables = draft.n_ends, draft.first_line, draft.tables
    order = [first + n for n in line_order(draft)]
    by_rule = draft.rule != NO_RULE and tables.rules[draft.rule, HANDS_OVER]
    used = {draft.root, *draft.links.ravel().tolist(), *([K - 1] if by_rule or fallback is not None else [])}
    places = order + [place for place in range(K) if place in used]
    number = {place: index for index, place in enumerate(places)} | {K: 0, NONE: NONE}
    boxes = [_end(place, tables, choosers) if place < K else _line(draft, place - first, number) for place in places]
    more = {} if by_context is None else by_context.fields_of_a_plan(collection)
    if by_context is not None:
        boxes = [by_context.box(box) for box in boxes]
    rule = None
    if draft.rule != NO_RULE and len(places) > len(order):
        template, floor, cap, _level, over = (int(value) for value in tables.rules[draft.rule])
        points, cuts = _whole(tables.templates.points[template]), _real(tables.templates.cuts[template])
        if by_context is not None and by_context.gradings:
            rule = by_context.rule(template, floor, cap)
        else:
            rule = SafetyRule(points, floor, cuts, cap, bool(over))
    entered = _entered(draft)[places]
    entered = entered[:, : collection.n_tasks] if members is None else entered @ members
    possible = [np.flatnonzero(row >= STILL_POSSIBLE * row.sum()) for row in entered]
    if fallback is not None:
        # The odds against other tasks hand over whoever settles where its own is not possible: no more than a few.
        possible = [np.flatnonzero(row >= STILL_POSSIBLE * min(row.sum(), 1.0)) for row in entered]
        possible = [here[:0] if box.arm == HAND_OVER else here for box, here in zip(boxes, possible, strict=True)]
    return assemble(
        boxes,
        collection,
        horizon,
        "protocol",
        rule=rule,
        fallback=fallback,
        kinds=None if fallback is None or not fallback.odds else collection.means,
        worth=max((one.worth for one in choosers), default=0) if any(box.rates for box in boxes) else 0,
        form=Form.LINES,
        survivors=pack_survivors(possible, collection.n_tasks),
        radius=float(collection.radius.max()),
        seed=seed,
        vocabulary=vocabulary,
        **more,
    )


def _end(place: int, tables: "Tables", choosers: Sequence[Chooser]) -> Box:
    """The end at a place: an arm, and behind the arms those at which others choose, the hand-over last."""
    if place < tables.n_arms:
        return Box(place)
    if place == tables.n_ends - 1:
        return Box(HAND_OVER)
    chooser = choosers[place - tables.n_arms]
    return Box(SEVERAL, among=chooser.among, rates=chooser.rates)


def _line(draft: "Draft", n: int, number: dict[int, int]) -> Box:
    line, templates = draft.line(n), draft.tables.templates
    template = int(draft.tables.template[line.way])
    low, high = (int(place) for place in draft.links[n])
    return Box(
        arm=int(draft.tables.arm[line.way]),
        low=number[low],
        high=number[high] if line.ceil else NONE,
        points=_whole(templates.points[template]),
        floor=line.floor,
        ceil=line.ceil,
        cuts=_real(templates.cuts[template]),
        cap=line.cap,
        grading=NONE if templates.grading is None else int(templates.grading[template]),
    )


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
    entered = np.concatenate([np.zeros((first, len(draft.regret))), draft.values.visits])
    for n, links in enumerate(draft.links):
        for side, place in enumerate(links):
            if place < draft.n_ends:
                entered[place] += draft.flow(n, side)
    if draft.root < draft.n_ends:
        entered[draft.root] = 1.0
    return entered


def scorings_of(plan: Plan) -> list[Scoring]:
    """The ways to score that the lines and the rule of a protocol use."""
    used = [Scoring(_whole(plan.points[box]), _real(plan.cuts[box])) for box in range(plan.n_tests)]
    if plan.rule is not None:
        used.append(Scoring(plan.rule.points, plan.rule.cuts))
    return list(dict.fromkeys(used))


def draft_of(plan: Plan, tables: "Tables", back: bool = False) -> "Draft":
    """The draft of a protocol, among the lines of `tables`: what `plan_of` made a plan of, or a plan from a file."""
    from banditree.scores.draft import NO_RULE, drafted
    from banditree.scores.tables import HANDS_OVER, Line

    if plan.by_thompson.any() or plan.fallback is not None:
        raise InvalidInput("A plan at whose ends others choose cannot be changed line by line. Search for it again.")
    K, templates = tables.n_ends, tables.templates
    scorings = list(zip(map(_whole, templates.points), map(_real, templates.cuts), strict=True))
    ways = {(int(arm), scorings[t]): way for way, (arm, t) in enumerate(zip(tables.arm, tables.template, strict=True))}
    N = plan.n_tests
    place = [K + 1 + box if box < N else int(plan.arm[box]) for box in range(plan.n_boxes)]
    restart = place[0] if back else K
    lines, links = [], []
    for box in range(N):
        scoring = (_whole(plan.points[box]), _real(plan.cuts[box]))
        floor, ceil, cap = (int(column[box]) for column in (plan.floor, plan.ceil, plan.cap))
        lines.append(Line(ways[int(plan.arm[box]), scoring], floor, ceil, cap))
        low, high = (restart if side == 0 else place[side] for side in (plan.low[box], plan.high[box]))
        links.append((low, high if ceil else low))
    rule = NO_RULE
    if plan.rule is not None:
        wanted = (scorings.index((plan.rule.points, plan.rule.cuts)), plan.rule.floor, plan.rule.cap)
        alike = (tables.rules[:, :3] == wanted).all(axis=1) & (tables.rules[:, HANDS_OVER] == plan.rule.hands_over)
        rule = int(np.flatnonzero(alike)[0])
    return drafted(tables, place[0], lines, links, rule, back)
