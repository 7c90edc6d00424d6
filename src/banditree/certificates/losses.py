"""What cases lose, not only on average: the distribution of the sum of gaps over the horizon, for one task.

At a row the loss is the gap of its option times the rounds there. So it is enough to carry (row, moment of arrival,
loss so far) from exit to exit. Moments lie close together at first and far apart later, losses on a grid of cells; an
exit between two of them is divided between both so that the mean stays what it is. Very small chances are dropped, and
how much that was is said. Who has lost more than the grid holds is kept as a chance and a mean.
"""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.generating import fill_exits
from banditree.certificates.loss_loops import Effort, Exits, Losses, Scratch, carry_losses
from banditree.certificates.outcomes import Outcomes
from banditree.certificates.propagation import EXPLOIT, FIXED, flow_of
from banditree.certificates.to_the_horizon import boxes_under
from banditree.plans.gives import NONE
from banditree.plans.machine import Machine
from banditree.tasks.arrays import FloatArray, IntArray

EVERY = 500  # Over at most this many rounds every round is a moment, and with `FAINT` in place of the next two
FAINT = 1e-13  # losses in whole cells are exact.
STAYS = 1e-9  # A score is no longer followed when the chance that it has not been left is smaller.
TINY = 5e-8  # Who arrives anywhere with a smaller chance is dropped.
SINGLE, PER_MOMENT = 8, 5  # This many rounds at first are moments; from then on a step is a 5th of the time so far,
FEWEST, PER_ENTRY = 32, 20  # and no longer than the horizon divided by the first, or the second times a square root.
EXACT_EXITS = 48  # Exits after this many rounds are told apart; later ones within 2% of each other are one exit.
UNSEEN = 1e-300  # Instead of a chance of 0.
UNIT = 1e-9  # To which costs are told apart.
SAME = 1e-9  # Chances, and cells, that differ by less are the same.
MOST_ENDS = 200  # Of the tests of fixed length, this many ends are moments of their own.
MOST_CELLS = 4e7  # of all rows and moments together, 320 MB.
MOST_WORK = 5e9  # Products of two chances, for one grid: about a second.


class TooMuch(Exception):
    """A grid takes more than `MOST_WORK` or `MOST_CELLS`."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """The chances (W,) of losing 0, 1, ... times `cell`; beyond: the chance of losing more, and of that times the loss;
    dropped: the chance of cases that were not followed to the end; in_whole_cells: no loss lies between two cells;
    exact: nor does any exit lie between two moments."""

    cell: float
    chance: FloatArray
    beyond: tuple[float, float]
    dropped: float
    in_whole_cells: bool
    exact: bool = False

    @property
    def mean(self) -> float:
        """The expected loss."""
        return float(self.chance @ np.arange(self.chance.size)) * self.cell + self.beyond[1]

    @property
    def reach(self) -> float:
        """The largest loss on the grid."""
        return self.cell * (self.chance.size - 1)

    def at_most(self, share: float) -> float:
        """The loss that this share of cases does not exceed; infinite if it lies beyond the grid."""
        return float(self.quantiles(np.array([share]))[0])

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """The same for several shares."""
        upper = np.append(self.chance.cumsum(), np.inf)
        place = np.searchsorted(upper, shares - SAME)
        here, below = np.append(self.chance, np.inf)[place], np.append(0.0, upper)[place]
        within = 0.0 if self.in_whole_cells else (shares - below) / np.maximum(here, UNSEEN) - 0.5
        found = np.where(place == 0, 0.0, place + within) * self.cell
        return np.where(place == self.chance.size, np.inf, found)

    def worst(self, share: float) -> float:
        """The mean loss of the worst share; those who are beyond the grid must be fewer."""
        above = np.concatenate([self.chance[::-1].cumsum()[::-1], [0.0]]) + self.beyond[0]
        parts = np.clip(share - above[1:], 0.0, self.chance)
        return (float(parts @ np.arange(self.chance.size)) * self.cell + self.beyond[1]) / share


def moments_to(machine: Machine, horizon: int, entries: float) -> IntArray:
    """The moments from 0 to the horizon, those at which tests of fixed length end among them; over few rounds, all.

    entries: of all rows together, that are expected. An exit that is divided between two moments adds to the spread of
    the time that a case has left, the more the farther they are apart: the square root keeps that a small part of it.
    """
    if horizon <= EVERY:
        return np.arange(horizon + 1)
    moments, longest = [0], max(int(horizon / max(FEWEST, PER_ENTRY * np.sqrt(entries))), 1)
    while moments[-1] < horizon:
        step = max(1, min((moments[-1] - SINGLE) // PER_MOMENT, longest))
        moments.append(min(moments[-1] + step, horizon))
    return np.array(sorted({*moments, *_ends_of_tests(machine, horizon)}), np.int64)


def _ends_of_tests(machine: Machine, horizon: int) -> set[int]:
    """When the tests of fixed length end that follow each other from the start; none if these are too many."""
    open_at, seen = [(0, 0)], set[tuple[int, int]]()
    while open_at and len(seen) <= MOST_ENDS:
        row, moment = open_at.pop()
        after = moment + int(machine.pulls[row])
        if machine.kind[row] == FIXED and after < horizon:
            for to in (int(machine.low[row]), int(machine.high[row])):
                if (to, after) not in seen:
                    seen.add((to, after))
                    open_at.append((to, after))
    return set() if open_at else {moment for _, moment in seen}


def exits_under(
    machine: Machine, outcomes: Outcomes, task: int, horizon: int, entered: FloatArray, change: float = 0.0
) -> Exits:
    """How the rows that cases enter at all, n of N, are left under a task. change: what another arm costs."""
    stays, tiny = (FAINT, FAINT) if horizon <= EVERY else (STAYS, TINY)
    boxes, rows = boxes_under(machine, outcomes, task, horizon, stays=stays), np.flatnonzero(entered > tiny)
    flow, powers, both = flow_of(boxes), np.ones(horizon + 1), np.zeros((2, horizon + 1))
    found = []
    for row in rows:
        if boxes.kind[row] == FIXED:
            found.append((boxes.pulls[row : row + 1].astype(float), boxes.chance[row : row + 1, :2]))
        elif boxes.kind[row] == EXPLOIT:
            found.append((np.zeros(0), np.zeros((0, 2))))
        else:
            fill_exits(boxes, flow, int(row), powers, stays, both[0], both[1])
            found.append(_joined(both, horizon if horizon <= EVERY else EXACT_EXITS))
            both[:] = 0.0
    place = np.full(machine.n_rows + 1, NONE)  # of a row; the last is that of NONE
    place[rows] = np.arange(rows.size)
    rounds, chance = (np.concatenate(part) for part in zip(*found, strict=True))
    first = np.cumsum([0, *(one.size for one, _ in found)])
    to = place[np.stack([machine.low, machine.high], axis=1)[rows]]
    return Exits(first, rounds, chance, to, boxes.cost[rows], change * machine.turns[rows])


def _joined(both: FloatArray, apart: int) -> tuple[FloatArray, FloatArray]:
    """(rounds (n,), chances (n, 2)) of exits (2, H+1) by round: those after more than `apart` rounds that are close
    together are one, at their mean."""
    starts, last = [0], int(np.max(np.flatnonzero(both.any(axis=0)), initial=0))
    while (after := starts[-1] + max(1, starts[-1] // apart)) <= last:
        starts.append(after)
    chance = np.add.reduceat(both[:, : last + 1], starts, axis=1)
    rounds = np.add.reduceat(both[:, : last + 1].sum(axis=0) * np.arange(last + 1), starts)
    some = chance.sum(axis=0) > 0
    return rounds[some] / chance.sum(axis=0)[some], np.ascontiguousarray(chance[:, some].T)


def mixed(each: list[Exits], moments: IntArray, cell: float, cells: int) -> Distribution:
    """The losses on a grid, of cases that are equally often each of some."""
    found = [distribution(exits, moments, cell, cells) for exits in each]
    chance, beyond, dropped = (
        np.mean([getattr(one, name) for one in found], axis=0) for name in ("chance", "beyond", "dropped")
    )
    whole = all(one.in_whole_cells for one in found)
    exact = whole and moments.size == moments[-1] + 1
    return Distribution(cell, chance, (float(beyond[0]), float(beyond[1])), float(dropped), whole, exact)


def common_unit(each: list[Exits]) -> float:
    """The largest number of which all costs are multiples."""
    costs = np.concatenate([part.ravel() for exits in each for part in (exits.cost, exits.change)])
    return float(np.gcd.reduce(np.rint(costs / UNIT).astype(np.int64))) * UNIT


def distribution(exits: Exits, moments: IntArray, cell: float, cells: int) -> Distribution:
    """The losses on a grid of `cells` of one size."""
    shape = exits.cost.size, moments.size
    if cells * exits.cost.size * moments.size > MOST_CELLS:
        raise TooMuch
    window = np.zeros((*shape, 2), np.int64)
    window[..., 0], window[0, 0] = cells, (0, 1)
    arriving = Losses(np.zeros((*shape, cells)), window, np.zeros((*shape, 2)))
    arriving.cells[0, 0, 0] = 1.0
    final = Losses(np.zeros(cells), np.zeros(2, np.int64), np.zeros(2))
    effort = Effort(FAINT if moments[-1] <= EVERY else TINY, MOST_WORK, np.zeros(2))
    scratch = Scratch(np.zeros(cells), np.zeros((2, cells)), np.array([[cells, 0], [cells, 0]]))
    in_cells = exits._replace(cost=exits.cost / cell, change=exits.change / cell)
    whole = all((np.abs(part - np.rint(part)) < SAME).all() for part in (in_cells.cost, in_cells.change))
    if whole:
        in_cells = in_cells._replace(cost=np.rint(in_cells.cost), change=np.rint(in_cells.change))
    if not carry_losses(in_cells, moments, arriving, final, effort, scratch):
        raise TooMuch
    beyond = float(final.beyond[0]), float(final.beyond[1]) * cell
    return Distribution(cell, final.cells, beyond, float(effort.done[0]), whole)
