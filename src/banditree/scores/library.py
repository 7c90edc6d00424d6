"""The tests that a practical plan may use, with their exact laws under every task.

A template is a way to score rewards: points per bin, and cuts between the bins. A test is an arm, a template and the
two levels at which it is left. Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from numba import njit

from banditree.certificates.walks import ladder, leave
from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection, cells_of

SingleArray = npt.NDArray[np.float32]

LEVELS = (1, 2, 3, 4, 6, 9, 13, 19, 28, 41, 60, 88, 130, 190, 280, 410, 600, 880, 1300, 1900)
ALWAYS = 60  # levels up to this one are tried at any horizon


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
            if np.ptp(collection.parameters[:, arm], axis=0).max() == 0.0:
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
    K = collection.n_arms
    own = collection.rewards.scorings([collection.parameters[:, arm] for arm in range(K)])
    templates = list(dict.fromkeys(scoring for arm in own for scoring in arm))
    points = np.array([scoring.points for scoring in templates])
    cuts = np.array([scoring.cuts for scoring in templates])
    usable = np.array([[scoring in own[arm] for arm in range(K)] for scoring in templates])
    cells = cells_of(replace(collection, radius=np.zeros(())), np.arange(K))
    chance = [collection.rewards.bins(cells, np.broadcast_to(row, (K, len(row))))[0] for row in cuts]
    return points, cuts, np.ascontiguousarray(np.stack(chance).transpose(0, 2, 3, 1)), usable


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
