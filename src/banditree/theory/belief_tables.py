"""The regret that is still to come, from below, for every weighting of a few tasks: tables on a lattice.

The least regret to come V(w), of weights w over tasks, is concave, grows with the weights, and V(c w) = c V(w). A round
with arm k multiplies w by the chance of what was seen: in logarithms a shift, the same wherever one stands. A shifted
point of a lattice of log-weights is a mixture of lattice points, with the same shares everywhere, and V is at least the
mixture of its values. So one round is a fixed sum over neighbours, the least over arms, and never rises above V. Beyond
the lattice, where tasks have become unlikely, stand the tables of the collection without them.

How many rounds a value has been through at most, its depth, is counted: a value of depth h is a lower bound of the
regret of h rounds, and therefore of more.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from banditree.theory.belief_sweeps import Faces, Shape, Stencils

# One round adds up fewer than a thousand positive numbers, each off by less than 1e-15 of itself: taking this share off
# every number keeps the rounded value below the true one.
ROUNDING = 1e-12
LOOKUP = 50  # The additions that take as long as one look beyond the reach.
MOST_LOG = 500.0  # A chance smaller than another one by more than exp(-500) is taken as 0.
MOST_STORED = 20_000_000  # The most values that one table stores, which are 160 MB.
Entries = dict[tuple[int, ...], float]  # the offsets of lattice points and their weights


@dataclass(frozen=True, eq=False)
class Problem:
    """What tables are about: gaps (M, K) and the chance (G, M, K) of every outcome."""

    gaps: FloatArray
    chances: FloatArray


@dataclass(eq=False)
class Table:
    """A lower bound of the regret of `depth` rounds for the tasks `members` at every lattice point within reach.

    step: of the log-weights. reach: the spread of log-weights that is worked out, in steps. value: the most at a
    distribution over the members, which is `prior`. work: how many numbers were added up.
    """

    problem: Problem
    members: tuple[int, ...]
    step: float
    reach: int
    depth: int = 0
    work: int = 0
    value: float = 0.0
    prior: tuple[float, ...] = ()
    values: FloatArray = field(init=False)
    shape: "Shape" = field(init=False)

    def __post_init__(self) -> None:
        from banditree.theory import belief_sweeps as sweeps

        m = len(self.members)
        chances = self.problem.chances[:, self.members, :]
        arms = [_entries(chances[:, :, k], self.step) for k in range(chances.shape[2])]
        # From two reaches away, whoever stands within the reach looks at faces only: no use in storing that.
        spreads = [_spread(offset) for arm in arms for offset in arm]
        rim = self.reach + rim_width(m, self.reach, max([s for s in spreads if s <= 2 * self.reach], default=1))
        rows = np.empty((2 * rim + 1) ** (m - 2), np.int64)
        self.values = np.zeros(sweeps.fill_rows(m, rim, rows))
        self.shape = sweeps.Shape(m, self.reach, rim, rows)
        self.stencils = _stencils(arms, self.step, rim, rim - self.reach)
        self.gaps = np.ascontiguousarray(self.problem.gaps[list(self.members)] * (1 - ROUNDING))
        self.power = np.exp(self.step * np.arange(-rim, rim + 1))
        self.after = np.empty(inside_points(m, self.reach))

    @property
    def work_of_a_round(self) -> int:
        """How many numbers one round adds up."""
        return len(self.after) * (len(self.stencils.weight) + LOOKUP * len(self.stencils.far_weight))

    def start(self, faces: "Faces", depth: int) -> None:
        """Begin with what the tables of fewer tasks say, of that depth."""
        from banditree.theory import belief_sweeps as sweeps

        sweeps.fill_inside(self.values, self.shape, faces, self.step)
        sweeps.fill_rim(self.values, self.shape, faces, self.step, True)
        self.depth = depth

    def play(self, rounds: int, faces: "Faces") -> None:
        """Play `rounds` more, with the rim as it is."""
        from banditree.theory import belief_sweeps as sweeps

        for _ in range(rounds):
            sweeps.play_round(
                self.values, self.after, self.shape, faces, self.stencils, self.gaps, self.power, self.step
            )
        self.depth += rounds
        self.work += rounds * self.work_of_a_round

    def refresh(self, faces: "Faces", everywhere: bool = False) -> None:
        """Bring the rim up to date; everywhere if the faces have changed."""
        from banditree.theory.belief_sweeps import fill_rim

        fill_rim(self.values, self.shape, faces, self.step, everywhere)
        self.work += LOOKUP * (len(self.values) - len(self.after))

    def at_least(self, weights: FloatArray, faces: "Faces") -> float:
        """A lower bound at any weights over the members: those of lattice points of which they are a mixture."""
        from banditree.theory.belief_sweeps import bound_beyond

        moved = np.zeros(len(self.members), np.int64)
        total = sum(
            weight * bound_beyond(self.values, self.shape, faces, np.array(offset), moved, self.step)
            for offset, weight in mixture(weights, self.step).items()
        )
        return float(total * (1 - ROUNDING) ** (self.depth + 1))

    def look(self) -> float:
        """The most at any distribution, which is kept with it."""
        from banditree.theory.belief_sweeps import largest

        at = np.zeros(len(self.members), np.int64)
        self.value = max(0.0, largest(self.values, self.shape, self.power, at)) * (1 - ROUNDING) ** (self.depth + 1)
        weights = np.exp(self.step * (at - at.max()))
        self.prior = tuple((weights / weights.sum()).tolist())
        return self.value


Tables = Mapping[tuple[int, ...], Table]


def inside_points(n_tasks: int, reach: int) -> int:
    """How many lattice points have a spread of at most `reach`.

    >>> inside_points(2, 3), inside_points(3, 1)
    (7, 7)
    """
    return int((reach + 1) ** n_tasks - reach**n_tasks)


def rim_width(n_tasks: int, reach: int, needed: int) -> int:
    """How far beyond the reach values are stored: as far as is looked, or as far as there is room."""
    width = needed
    while width > 1 and inside_points(n_tasks, reach + width) > max(MOST_STORED, 2 * inside_points(n_tasks, reach)):
        width -= 1
    return width


def _spread(offset: tuple[int, ...]) -> int:
    return max(offset) - min(offset)


def _entries(chances: FloatArray, step: float) -> Entries:
    """The lattice points, and their weights, that the outcomes (G, m) of an arm lead to."""
    total: Entries = {}
    for chance in chances:
        for offset, weight in mixture(chance, step).items():
            total[offset] = total.get(offset, 0.0) + weight
    return total


def mixture(chance: FloatArray, step: float) -> Entries:
    """Lattice points with weights whose mixture is at most the `chance` (m,) of an outcome in each task: corners of
    the cell that it lies in, from the lowest to the highest, seen from the task with the largest chance.

    >>> {offset: round(weight, 3) for offset, weight in mixture(np.array([0.3, 0.5]), math.log(2)).items()}
    {(-1, 0): 0.4, (0, 0): 0.1}
    """
    if chance.max() <= 0:
        return {}
    ratio = chance / chance.max()
    with np.errstate(divide="ignore"):
        corner = np.floor(np.maximum(np.log(ratio), -MOST_LOG) / step + 1e-9).astype(np.int64)
    low = np.where(ratio > 0, np.exp(step * corner), 0.0)
    share = np.clip((ratio - low) / (np.exp(step * corner) * math.expm1(step)), 0.0, 1.0)
    share[chance.argmax()] = 0.0
    found: Entries = {}
    left = 1.0
    for i in np.argsort(-share, kind="stable"):
        if left > share[i]:
            found[tuple(corner.tolist())] = float(left - share[i])
        left = share[i]
        corner[i] += 1
    total = sum(weight * np.exp(step * np.array(offset)) for offset, weight in found.items())
    scale = float((chance / total)[ratio > math.exp(1 - MOST_LOG)].min()) * (1 - ROUNDING)
    return {offset: weight * scale for offset, weight in found.items()}


def _stencils(arms: list[Entries], step: float, rim: int, width: int) -> "Stencils":
    """The entries that stay on what is stored, counted from the last task, and the others."""
    from banditree.theory.belief_sweeps import Stencils

    m = len(next(iter(arms[0])))
    strides = np.array([(2 * rim + 1) ** (m - 3 - i) for i in range(m - 2)], dtype=np.int64)
    near = [[(o, w) for o, w in arm.items() if _spread(o) <= width] for arm in arms]
    far = [[(o, w) for o, w in arm.items() if _spread(o) > width] for arm in arms]
    z = np.array([o for arm in near for o, _ in arm], dtype=np.int64).reshape(-1, m)
    y = z - z[:, -1:]
    return Stencils(
        np.cumsum([0, *map(len, near)]),
        y[:, :-2] @ strides,
        np.ascontiguousarray(y[:, -2]),
        np.array([w for arm in near for _, w in arm]) * np.exp(step * z[:, -1]),
        np.cumsum([0, *map(len, far)]),
        np.array([o for arm in far for o, _ in arm], dtype=np.int64).reshape(-1, m),
        np.array([w for arm in far for _, w in arm]),
    )


def pack(members: tuple[int, ...], step: float, tables: Tables) -> "Faces":
    """The tables of all sets of two and more of the members, except the whole set, in one array."""
    inside = [key for size in range(2, len(members)) for key in itertools.combinations(members, size)]
    values, rows, starts = _in_a_row([tables[key] for key in inside])
    return _faces(members, step, tables, values, rows, dict(zip(inside, starts, strict=True)))


def join(tables: dict[tuple[int, ...], Table]) -> dict[tuple[int, ...], "Faces"]:
    """Keep the values of all tables in one array from now on, so that each sees the others as they are."""
    values, rows, begins = _in_a_row(list(tables.values()))
    starts = dict(zip(tables, begins, strict=True))
    for key, table in tables.items():
        table.values = values[starts[key][0] : starts[key][0] + len(table.values)]
    return {key: _faces(key, table.step, tables, values, rows, starts) for key, table in tables.items()}


def _in_a_row(tables: list[Table]) -> tuple[FloatArray, IntArray, list[tuple[int, int]]]:
    """All values, all rows, and where those of each table begin."""
    n_values = np.cumsum([0, *(len(table.values) for table in tables)]).tolist()
    n_rows = np.cumsum([0, *(len(table.shape.rows) for table in tables)]).tolist()
    starts = list(zip(n_values, n_rows, strict=True))[:-1]
    values = np.concatenate([np.zeros(0), *(table.values for table in tables)])
    rows = np.concatenate([np.zeros(0, np.int64), *(table.shape.rows for table in tables)])
    return values, rows, starts


def _faces(
    members: tuple[int, ...],
    step: float,
    tables: Tables,
    values: FloatArray,
    rows: IntArray,
    starts: Mapping[tuple[int, ...], tuple[int, int]],
) -> "Faces":
    from banditree.theory.belief_sweeps import Faces

    value_start, row_start, rim, factor = (np.zeros(1 << len(members), np.int64) for _ in range(4))
    for size in range(2, len(members)):
        for inside in itertools.combinations(range(len(members)), size):
            key = tuple(members[i] for i in inside)
            mask = sum(1 << i for i in inside)
            value_start[mask], row_start[mask] = starts[key]
            rim[mask], factor[mask] = tables[key].shape.rim, round(step / tables[key].step)
    return Faces(values, rows, value_start, row_start, rim, factor)
