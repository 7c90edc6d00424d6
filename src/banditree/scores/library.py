"""The tests that a practical plan may use, with their exact laws under every task.

A template is a way to score rewards: points per bin, and cuts between the bins. A test is an arm, a template and the
two levels at which it is left. Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from banditree.certificates.walks import ladder, leave
from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family

SingleArray = npt.NDArray[np.float32]

# Points per success and per failure: the drift that a test calls even is at a mean of y / (x + y).
SLOPES = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2), (1, 5), (5, 1), (1, 9), (9, 1))
LEVELS = (1, 2, 3, 4, 6, 9, 13, 19, 28, 41, 60, 88, 130, 190, 280, 410, 600, 880, 1300, 1900)
ALWAYS = 60  # levels up to this one are tried at any horizon
OWN_SLOPES = 3  # slopes of its own, at most, of an arm whose means none of these tell apart ...
MARGIN = 0.1  # ... each this share of a gap between two means away from both ...
MOST_POINTS = 200  # ... and the points of a success times those of a failure, on which the cost of a law depends
FOUR_BINS = (-3, -1, 1, 3)  # points of a normal reward, close to the best four-level rounding of it ...
BIN_WIDTH = 0.98  # ... with cuts this many standard deviations from the middle one
CENTRES = 6  # middle cuts tried per arm for normal rewards


@dataclass(frozen=True, eq=False)
class Library:
    """R tests in random order: arm, template and levels (R,), and their laws under M tasks.

    points: (T, B), cuts: (T, B-1), of the templates. unit: (T,), by which their levels are multiplied. chance:
    (T, K, B, M), of each bin of each arm's rewards. gaps: (M, K), what a pull costs. up: (R, M), the chance of leaving
    above. cost: (R, M), expected pulls times what a pull costs. up32, cost32: the same to screen with. max_level: the
    highest level that is worth a look, in units.
    """

    arm: IntArray
    template: IntArray
    floor: IntArray
    ceil: IntArray
    up: FloatArray
    cost: FloatArray
    points: IntArray
    cuts: FloatArray
    unit: IntArray
    chance: FloatArray
    gaps: FloatArray
    up32: SingleArray
    cost32: SingleArray
    max_level: int

    @property
    def n_tests(self) -> int:
        """R, the number of tests."""
        return len(self.arm)

    @property
    def columns(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """What describes a test: arm, template, floor, ceil."""
        return self.arm, self.template, self.floor, self.ceil

    def law(self, arm: int, template: int, floor: int, ceil: int) -> tuple[FloatArray, FloatArray]:
        """(up, cost), each (M,), of a test with any levels."""
        _down, up, pulls = leave(self.points[template], self.chance[template, arm], floor, ceil)
        return np.minimum(up, 1.0), pulls * self.gaps[:, arm]


def build_library(collection: Collection, horizon: int) -> Library:
    """All tests of all arms that differ from each other under this collection and are not without any information.

    A score without drift takes as many pulls as its level squared, so that the horizon says how high levels may be.
    """
    points, cuts, chance, usable = _templates(collection)
    # Levels are in steps of the score, of which those of the slope 1:9 are the largest that count as one unit.
    unit = np.maximum(1, np.round(np.sqrt(-points.min(axis=1) * points.max(axis=1)) / 3)).astype(np.int64)
    gaps = collection.gaps
    max_level = max(ALWAYS, int(2 * horizon**0.5))
    levels = np.array([level for level in LEVELS if level <= max(ALWAYS, 0.6 * horizon**0.5)])
    rows, ups, costs = [], [], []
    for template in range(len(points)):
        for arm in np.flatnonzero(usable[template]):
            if np.ptp(collection.means[:, arm]) == 0.0:
                continue  # tells nothing
            here = levels * unit[template]
            up, pulls = laws_at_levels(points[template], chance[template, arm], here)
            rows += [(arm, template, floor, ceil) for ceil in here for floor in here]
            ups.append(up.reshape(-1, collection.n_tasks))
            costs.append((pulls * gaps[:, arm]).reshape(-1, collection.n_tasks))
    if not rows:
        raise InvalidInput("All tasks have the same means, so that there is nothing to find out. Merge them.")
    up, cost = np.minimum(np.concatenate(ups), 1.0), np.concatenate(costs)
    keep = _different(np.array(rows), up, cost)
    arm, template, floor, ceil = np.array(rows)[keep].T
    up, cost = up[keep], cost[keep]
    return Library(
        np.ascontiguousarray(arm),
        np.ascontiguousarray(template),
        np.ascontiguousarray(floor),
        np.ascontiguousarray(ceil),
        up,
        cost,
        points,
        cuts,
        unit,
        chance,
        gaps,
        up.astype(np.float32),
        cost.astype(np.float32),
        max_level,
    )


def _templates(collection: Collection) -> tuple[IntArray, FloatArray, FloatArray, np.ndarray]:
    """points (T, B), cuts (T, B-1), chance (T, K, B, M), and which template is for which arm (T, K)."""
    means, K = collection.means, collection.n_arms
    if collection.rewards.family is Family.BERNOULLI:
        own = [own_slopes(means[:, arm]) for arm in range(K)]
        slopes = [*SLOPES, *sorted({slope for arm in own for slope in arm})]
        points = np.array([(-y, x) for x, y in slopes])
        chance = np.broadcast_to(np.stack([1 - means.T, means.T], axis=1), (len(points), K, 2, len(means)))
        cuts = np.full((len(points), 1), 0.5)
        usable = np.array([[slope in SLOPES or slope in own[arm] for arm in range(K)] for slope in slopes])
        return points, cuts, np.ascontiguousarray(chance), usable
    from scipy.special import ndtr

    sigma = collection.rewards.sigma
    centres = [np.quantile(means[:, k], (np.arange(CENTRES) + 0.5) / CENTRES) for k in range(K)]
    digit = 10.0 ** np.floor(np.log10(sigma / 10))
    middle = np.round(np.concatenate(centres) / digit) * digit
    width = float(f"{BIN_WIDTH * sigma:.2g}")
    cuts = np.round(middle[:, None] + width * np.array([-1.0, 0.0, 1.0]), 12)
    below = ndtr((cuts[:, None, :, None] - means.T[None, :, None, :]) / sigma)
    edges = np.concatenate([np.zeros_like(below[:, :, :1]), below, np.ones_like(below[:, :, :1])], axis=2)
    usable = np.repeat(np.eye(K, dtype=bool), CENTRES, axis=0)
    points = np.tile(np.array(FOUR_BINS), (len(cuts), 1))
    return points, cuts, np.ascontiguousarray(np.diff(edges, axis=2)), usable


def own_slopes(means: FloatArray) -> list[tuple[int, int]]:
    """Slopes for an arm whose means (M,) all lie on one side of every usual slope, as low rates do: the simplest ones.

    >>> own_slopes(np.array([0.03, 0.04])), own_slopes(np.array([0.3, 0.6]))
    ([(25, 1)], [])
    """
    ordered = np.unique(means)
    if any(ordered[0] < y / (x + y) < ordered[-1] for x, y in SLOPES):
        return []
    widest = np.argsort(-np.diff(ordered), kind="stable")[:OWN_SLOPES]
    gaps = [(ordered[i], ordered[i + 1] - ordered[i]) for i in widest]
    found = [slope_between(low + MARGIN * gap, low + (1 - MARGIN) * gap) for low, gap in gaps]
    return sorted({slope for slope in found if slope is not None})


def slope_between(low: float, high: float) -> tuple[int, int] | None:
    """The slope (x, y) of smallest numbers whose drift y / (x + y) is strictly between two means, or None if too large.

    A walk down the Stern-Brocot tree, from 0/1 and 1/1.

    >>> slope_between(0.751, 0.759), slope_between(0.5, 0.5001)
    ((7, 22), None)
    """
    below, above = (1, 0), (0, 1)
    while True:
        x, y = below[0] + above[0], below[1] + above[1]
        if x * y > MOST_POINTS:
            return None
        if low < y / (x + y) < high:
            return x, y
        if y / (x + y) <= low:
            below = x, y
        else:
            above = x, y


@njit(cache=True)
def laws_at_levels(points: IntArray, chance: FloatArray, levels: IntArray) -> tuple[FloatArray, FloatArray]:
    """(chance of leaving above, pulls), each (levels of ceil, of floor, M): one elimination serves all floors."""
    n_levels, n_tasks, fall = levels.size, chance.shape[1], max(-int(points.min()), 0)
    up, pulls = np.zeros((n_levels, n_levels, n_tasks)), np.zeros((n_levels, n_levels, n_tasks))
    deepest = levels[n_levels - 1]
    for a in range(n_levels):
        start = levels[a] - 1
        below, above, spent = ladder(points, chance, start + deepest)
        weight = np.zeros((start + deepest + fall, n_tasks))
        weight[start] = 1.0
        so_far_up, so_far_pulls = np.zeros(n_tasks), np.zeros(n_tasks)
        level = 0
        for i in range(start, start + deepest):
            for task in range(n_tasks):
                so_far_up[task] += weight[i, task] * above[i, task]
                so_far_pulls[task] += weight[i, task] * spent[i, task]
            for j in range(1, fall + 1):
                for task in range(n_tasks):
                    weight[i + j, task] += weight[i, task] * below[i, j, task]
            if i - start + 1 == levels[level]:
                up[a, level] = so_far_up
                pulls[a, level] = so_far_pulls
                level += 1
    return up, pulls


def _different(rows: IntArray, up: FloatArray, cost: FloatArray) -> IntArray:
    """The first test of each group with the same arm and the same laws (as 2 : 1 to +1 or to +2), in random order."""
    key = np.concatenate([rows[:, :1], np.round(up, 10), np.round(cost, 10)], axis=1)
    _unique, first = np.unique(key, axis=0, return_index=True)
    return np.random.default_rng(0).permutation(np.sort(first))
