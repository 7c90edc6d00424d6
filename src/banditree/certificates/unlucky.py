"""What the unlucky lose: a plan is signed for the average, and every case is one person.

The distribution of a case's loss comes from `losses`, on grids that are fine where they are read: the quantiles and the
mean of the worst 1% are right to about 1%.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditree.certificates.outcomes import box_outcomes
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from banditree.certificates.loss_loops import Exits
    from banditree.certificates.losses import Distribution

SHARES = (0.9, 0.99, 0.999)  # This share of the cases loses at most what is said.
WORST = 0.01  # The mean is taken over this share of the cases, those that lose most.
THOUSAND = (np.arange(1000) + 0.5) / 1000  # The shares of the cases that 1,000 of them stand for.
WITHIN = 0.01  # Moments and cells that are divided make a number no less right than this, as tests see.
COARSE, FINE = 64, 384  # Cells of a first grid, and of one that numbers are read from.
MOST_FINE = 2_000  # Cells of a grid whose cell is the unit of all costs,
MOST_EXACT = 40_000  # and where every round is a moment, so that losses are exact.
FIRST, FARTHER = 10.0, 8.0  # The first grid holds this multiple of the expected loss, the next ones that much more.
READABLE = 50  # A number is read from a grid where it is at least this many cells: half a cell is 1% of it.
AROUND = 1.1  # A grid that a number is read from reaches this multiple of it.
MOST_ROUNDS = 1_000_000  # Of a horizon.


class Tail(NamedTuple):
    """`Unlucky` of one task."""

    at_most: FloatArray
    least: FloatArray
    most: FloatArray
    worst: FloatArray
    thousand: FloatArray


class Grids:
    """The losses of one task on grids of any size."""

    def __init__(self, each: list["Exits"], moments: IntArray) -> None:
        from banditree.certificates.losses import common_unit

        self.each, self.moments, self.unit = each, moments, common_unit(each)
        self.most = MOST_EXACT if moments.size == moments[-1] + 1 else MOST_FINE

    def to(self, reach: float, cells: int) -> "Distribution":
        """A grid of some cells that reaches so far; in the unit of all costs, if it need not be much finer for that."""
        from banditree.certificates.losses import TooMuch, mixed

        if cells == FINE and reach <= self.most * self.unit:
            with suppress(TooMuch):
                return mixed(self.each, self.moments, self.unit, int(reach / self.unit) + 2)
        while cells > COARSE:  # a coarser grid is less work, and its numbers say how far off they may be
            with suppress(TooMuch):
                return mixed(self.each, self.moments, reach / cells, cells)
            cells //= 2
        return mixed(self.each, self.moments, reach / cells, cells)


@dataclass(frozen=True, eq=False)
class Unlucky:
    """What the unlucky cases of each task lose, the sum of gaps over the horizon.

    at_most (M, 3): what 90%, 99% and 99.9% of the cases do not exceed; least, most (M, 3): between which it lies.
    worst (M,): the mean loss of the worst 1%. thousand (M, 1000): what each of 1,000 cases that stand for all of them
    loses, the least first. runs: 0 where all of it is computed; otherwise this many cases of each task were
    simulated, and it lies between the two with 95% confidence.
    """

    at_most: FloatArray
    least: FloatArray
    most: FloatArray
    worst: FloatArray
    thousand: FloatArray
    runs: int = 0

    @property
    def task(self) -> int:
        """The task of which 1 in 100 cases loses most."""
        return int(self.at_most[:, 1].argmax())


def unlucky(
    plan: Plan, seen: list[Collection], horizon: int, expected: FloatArray, entered: FloatArray
) -> Unlucky | None:
    """What the unlucky cases of each task lose, from the expected losses (M,) and how often rows are entered (M, N).

    seen: the collection as each of equally many cases meets it; more than one where features stay the same for a case.
    None where the outcomes so far choose the option, or rewards are not known, or where it takes too long.
    """
    outcomes = [box_outcomes(plan, collection) for collection in seen]
    if plan.outcomes_choose or any(one.claim.is_bound for one in outcomes) or horizon > MOST_ROUNDS:
        return None
    from banditree.certificates.losses import TooMuch, exits_under, moments_to

    machine, change = machine_of(plan), seen[0].change_cost
    tails: list[Tail] = []
    for task in range(len(expected)):
        moments = moments_to(machine, horizon, float(entered[task].sum()))
        exits = [exits_under(machine, one, task, horizon, entered[task], change) for one in outcomes]
        try:
            tails.append(_tail(Grids(exits, moments), float(expected[task])))
        except TooMuch:
            return None

    def all_of(part: str) -> FloatArray:
        return np.array([getattr(tail, part) for tail in tails])

    return Unlucky(all_of("at_most"), all_of("least"), all_of("most"), all_of("worst"), all_of("thousand"))


def _tail(grids: Grids, expected: float) -> Tail:
    """What the unlucky of one task lose."""
    at_most, least, most = np.zeros((3, len(SHARES)))
    tail = Tail(at_most, least, most, np.zeros(()), np.zeros(THOUSAND.size))
    if expected <= 0.0:
        return tail
    grid = _holding(grids, expected, max(SHARES))
    for place, share in reversed(list(enumerate(SHARES))):
        grid = _readable(grids, grid, share)
        tail.at_most[place] = grid.at_most(share)
        off, cell = (0.0, 0.0) if grid.exact else (WITHIN, grid.cell)
        tail.least[place] = max((1 - off) * grid.at_most(share - grid.dropped) - cell, 0.0)
        tail.most[place] = (1 + off) * tail.at_most[place] + cell
        so_far = slice(None) if share == max(SHARES) else share > THOUSAND
        tail.thousand[so_far] = np.minimum(grid.quantiles(THOUSAND[so_far]), grid.reach)
        if share == 1.0 - WORST:  # what is missing of the mean was lost by cases that were not followed to the end
            tail.worst[...] = grid.worst(WORST) + max(expected - grid.mean, 0.0) / WORST
    return tail


def _holding(grids: Grids, expected: float, share: float) -> "Distribution":
    """A coarse grid that holds this share of the cases."""
    reach = FIRST * expected
    while True:
        grid = grids.to(reach, COARSE)
        if np.isfinite(grid.at_most(share)):
            return grid
        reach *= FARTHER


def _readable(grids: Grids, grid: "Distribution", share: float) -> "Distribution":
    """A grid that the loss of this share can be read from: the same if it is fine enough."""
    about = grid.at_most(share)
    if grid.exact or (grid.in_whole_cells and grids.most == MOST_FINE) or about >= READABLE * grid.cell:
        return grid
    reach = AROUND * (about + 2 * grid.cell)
    while True:
        finer = grids.to(reach, FINE)
        if np.isfinite(finer.at_most(share)):
            return finer
        reach *= FARTHER
