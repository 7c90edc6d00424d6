"""Reading load: how much a plan asks of the person who reads it, as one number.

Written down once, so that plans of every form can be compared and the search can trade it against regret. The unit is a
line with two exits that lead on downwards.
"""

from collections.abc import Sequence

import numpy as np

from banditree.plans.by_context import PromiseTable
from banditree.plans.plan import NONE, BoxKind, Form, Plan

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
LAST_LINE = 0.5  # A sentence at the foot is read once: what a hand-over is, or how the best of several is found.
END = 0.25  # An end in a box of its own must be looked up.


def reading_load(plan: Plan) -> float:
    """The load of a plan on paper; in use, the number of lines that a case passes adds to it.

    Five lines of the demo have 6.0; `docs/protocols.md` gives the reasons for the weights.
    """
    tests = [box for box in range(plan.n_boxes) if plan.kind[box] != BoxKind.EXPLOIT]
    # The ends of a protocol are inside its lines; those of a tree are boxes that the reader turns to.
    places = set(tests if plan.form is Form.LINES else range(plan.n_boxes))
    load = sum(_line(plan, box, places) for box in tests) or NO_EXIT
    if plan.form is Form.BOXES:
        load += END * (plan.n_boxes - len(tests))
    load += RULE_OF_POINTS * max(len(_rules_of_points(plan, tests)) - 1, 0)
    used = set(plan.task[plan.arm == NONE].tolist())
    load += LEAF * sum(rule.n_leaves for task, rule in enumerate(plan.kind_rules) if rule is not None and task in used)
    if plan.rule is not None:
        load += SAFETY_RULE + _levels([plan.rule.floor, plan.rule.cap])
    load += LAST_LINE * ((plan.fallback is not None) + (plan.among is not None))
    return float(load)


def _line(plan: Plan, box: int, places: set[int]) -> float:
    """A line: itself, its jumps, and its large numbers."""
    links = plan.links[box]
    turns = [target for target in links if target in places]
    jumps = sum(SKIP if target > box + 1 or target == 0 else BACK if target <= box else 0.0 for target in turns)
    levels = [plan.pulls[box], plan.threshold[box], plan.floor[box], plan.ceil[box], plan.cap[box]]
    return (ONE_EXIT if len(links) == 1 else LINE) + jumps + _levels(levels)


def _levels(values: Sequence[float]) -> float:
    """The surcharge of large numbers."""
    return LARGE * float((np.array(values) > LARGE_FROM).sum() + (np.array(values) > HUGE_FROM).sum())


def _rules_of_points(plan: Plan, tests: list[int]) -> set[tuple[float, ...]]:
    """The different ways of scoring on the lines and in the safety rule."""
    scored = [box for box in tests if plan.kind[box] != BoxKind.FIXED]
    rules = {rule for box in scored for rule in _points_of(plan, box)}
    return rules if plan.rule is None else rules | {(*plan.rule.points, *plan.rule.cuts)}


def _points_of(plan: Plan, box: int) -> set[tuple[float, ...]]:
    """The ways of scoring on a line: one, or one per row of its table."""
    table = plan.grading_of(box)
    if isinstance(table, PromiseTable):
        return {(*row, 0.5) for row in table.rows}
    return {(*plan.points[box].tolist(), *plan.cuts[box].tolist())}
