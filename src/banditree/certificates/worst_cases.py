"""The most that a task can cost when every box, and every pull, has its worst distribution between two bounds."""

from typing import Protocol

import numpy as np

from banditree.certificates.outcomes import Outcomes
from banditree.certificates.to_the_horizon import MOST_WORK, points_of
from banditree.certificates.watched_scores import STAYS, decay
from banditree.errors import TooLong
from banditree.plans.counts import Counting
from banditree.plans.machine import Machine
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen

# A watched score is followed up to this height at most. Above, whoever sets the chances may also set the score back to
# below it at will, which can only make the bound larger.
HIGHEST = 1_000
BOX_WORK = 20  # Besides its scores, a box costs as much in a round as this many scores.
QUANTITIES = 5  # A certificate asks for this many numbers, each with its own worst case.


class Worst(Protocol):
    """The most that the sum of the cost (N,) per pull and the prize (N,) at the box where a case rests at the end can
    be on average; ends: (N,), boxes that are not left; change: what another arm than in the round before costs."""

    def __call__(
        self, task: int, cost: FloatArray, prize: FloatArray, ends: BoolArray | None = None, change: float = 0.0
    ) -> float:
        """The most for one task."""
        ...


def worst_cases(machine: Machine, outcomes: Outcomes, horizon: int) -> Worst:
    """What the worst distributions make of sums over the horizon of a machine."""
    from banditree.certificates.worst_case_loops import worst_case

    height = np.array(
        [_heights(machine, least, most, horizon) for least, most in zip(outcomes.least, outcomes.most, strict=True)]
    )
    work = float((machine.floor + height + BOX_WORK).sum()) * horizon * QUANTITIES
    if work > MOST_WORK:
        raise TooLong(
            f"This plan takes too long to certify over {horizon:,} rounds with estimated means. Certify it over a "
            "shorter horizon, or simulate it."
        )
    arrays = (machine.low, machine.high, machine.pulls, points_of(machine), machine.floor, machine.cap)
    turns = machine.turns

    def worst(
        task: int, cost: FloatArray, prize: FloatArray, ends: BoolArray | None = None, change: float = 0.0
    ) -> float:
        kind = machine.kind if ends is None else frozen(np.where(ends, Counting.EXPLOIT, machine.kind), np.int64)
        bounds = (outcomes.least[task], outcomes.most[task])
        costs = (np.ascontiguousarray(cost), np.ascontiguousarray(prize), change * turns)
        return float(worst_case(kind, *arrays, height[task], *bounds, *costs, horizon))

    return worst


def _heights(machine: Machine, least: FloatArray, most: FloatArray, horizon: int) -> IntArray:
    """Up to which score each box is followed: its ceiling or cap, or where falling back within the horizon is rare."""
    height = np.where(machine.kind == Counting.FIXED, 1, machine.ceil)
    boxes = np.flatnonzero(machine.kind == Counting.WATCH)
    if not boxes.size:
        return height
    theta = decay(machine.points[boxes], most[boxes], least[boxes])
    with np.errstate(divide="ignore"):
        rare = np.ceil(np.log(horizon / STAYS) / theta) - machine.floor[boxes]
    height[boxes] = np.where(machine.cap[boxes] > 0, machine.cap[boxes] + 1, np.clip(rare, 1, HIGHEST))
    return height
