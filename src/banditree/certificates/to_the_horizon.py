"""One task carried to the horizon: the numbers of a certificate, with the work and the error kept in bounds."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditree.certificates.outcomes import Outcomes
from banditree.certificates.watched_scores import STAYS, heights
from banditree.errors import InvalidInput
from banditree.plans.plan import BoxKind, Plan
from banditree.tasks.arrays import FloatArray

if TYPE_CHECKING:
    from banditree.certificates.propagation import Boxes

MOST_CASES = 0.95  # the share of cases in "95% of cases are decided within n rounds"
MOST_WORK = 1e11  # scores moved by one round, over all tasks of a certificate: about 40 s
MOST_SCORES = 20_000_000  # scores and pulls that the boxes of a plan may keep, 16 bytes each
# Plans whose scores all end: what is dropped is far below every chance that anybody prints.
UNSEEN, REST = 1e-60, 1e-30


class Carried(NamedTuple):
    """What came of one task, as in `Certificate`; exits (N, 2); course: regret and undecided (H+1,), or empty."""

    regret: float
    error: float
    within: int
    spent: FloatArray
    at_end: FloatArray
    entered: FloatArray
    exits: FloatArray
    course: tuple[FloatArray, FloatArray]


def carry(plan: Plan, outcomes: Outcomes, task: int, horizon: int, whole: bool = False) -> Carried:
    """Carry `task` of `outcomes` to the horizon of an unfolded plan; whole: with its course, round by round."""
    from banditree.certificates.propagation import ERROR, REGRET, UNTIL, Limits, flow_of, propagate, totals_of

    n, n_tasks = plan.n_boxes, len(outcomes.cost)
    endless = bool((plan.kind == BoxKind.WATCH).any())
    done = (STAYS / (n * horizon), STAYS) if endless else (UNSEEN, REST)
    boxes, totals = _boxes(plan, outcomes, task, horizon), totals_of(n, horizon + 1 if whole else 0)
    limits = Limits(*done, 1 - MOST_CASES, MOST_WORK / n_tasks)
    if not propagate(boxes, horizon, limits, flow_of(boxes), totals):
        raise InvalidInput(
            f"This plan takes too long to certify over {horizon:,} rounds, since cases go on moving between its boxes. "
            "Certify it over a shorter horizon, or simulate it."
        )
    error = float(totals.numbers[ERROR]) if endless else 0.0
    added = error * float(outcomes.cost[task].max())  # per round
    regret = totals.regret + added * np.arange(totals.regret.size)
    return Carried(
        float(totals.numbers[REGRET]) + added * horizon,
        error,
        min(int(totals.numbers[UNTIL]), horizon),
        totals.spent,
        totals.at_end,
        totals.entered,
        np.stack([totals.below, totals.above], axis=1),
        (regret, totals.testing),
    )


def _boxes(plan: Plan, outcomes: Outcomes, task: int, horizon: int) -> "Boxes":
    from banditree.certificates.propagation import Boxes

    points, chance = plan.points, outcomes.least[task]
    if points.shape[1] < 2:
        points = np.zeros((plan.n_boxes, 2), np.int64)
    height, leak = plan.ceil.copy(), np.zeros(plan.n_boxes)
    watched = np.flatnonzero(plan.kind == BoxKind.WATCH)
    if watched.size:
        height[watched], leak[watched] = heights(plan, watched, chance[watched], horizon)
    kept = int((plan.floor + height).sum() + plan.pulls.sum())
    if kept > MOST_SCORES:
        raise InvalidInput(
            f"The boxes of this plan keep {kept:,} scores and pulls over {horizon:,} rounds, too many to certify. "
            "Certify it over a shorter horizon, or simulate it."
        )
    size = np.where(plan.kind == BoxKind.FIXED, plan.pulls, np.maximum(plan.floor - 1 + height, 0))
    first = np.zeros(plan.n_boxes, np.int64)
    for group in (plan.kind == BoxKind.FIXED, plan.kind != BoxKind.FIXED):
        first[group] = np.cumsum(size[group]) - size[group]
    arrays = (plan.kind, plan.low, plan.high, plan.pulls, points, plan.floor, plan.cap)
    return Boxes(*arrays, height, leak, chance, outcomes.cost[task], first)
