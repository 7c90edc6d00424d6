"""Algorithm 5: the test that splits a set of tasks most evenly, over every threshold (NOTES 2, 3)."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.separation import tolerance

NO_ARM = -1  # In place of an arm: none separates any two tasks.
COMPILE_FROM = 20_000  # Compiling the search pays for collections of this many means or more.


class Split(NamedTuple):
    """A test mu[arm] <= threshold of a set of tasks, and the tasks that remain on each side (soft split)."""

    arm: int
    threshold: float
    low: IntArray
    high: IntArray
    score: int


class EvenSplit(NamedTuple):
    """The best of all tests: its arm, the two positions in that arm's sorted means it lies between, its score."""

    arm: int
    below: int
    above: int
    score: int


def greedy_split(
    means: FloatArray,
    members: IntArray,
    separation: float,
    *,
    radius: FloatArray | None = None,
    compiled: bool = False,
) -> Split:
    """The most even test of the tasks `members`, and both soft children; score 0 if no arm separates any two.

    The score of (arm, b) is min(|mu <= b - separation/2|, |mu >= b + separation/2|). Ties go to the test that
    leaves fewest tasks on both sides, then to the widest margin, then to the first arm. Costs s K log s for s members
    and K arms.
    With a `radius` the whole interval mu +- radius must lie on one side for a task to be decided, so a task whose
    mean of an arm is hardly known stays on both sides of that arm's tests and troubles no other task (NOTES 4).

    means: (K, M), the transposed means of the collection. members: (s,), increasing task numbers.
    radius: (K, M), may be infinite; 0 by default.

    >>> split = greedy_split(np.array([[0.1, 0.5, 0.9], [0.5, 0.5, 0.6]]), np.arange(3), 0.4)
    >>> split.arm, split.score, split.low.tolist(), split.high.tolist()
    (0, 1, [0], [1, 2])
    """
    lower = upper = means[:, members]
    if radius is not None:
        lower, upper = lower - radius[:, members], upper + radius[:, members]
    uppers = np.sort(upper, axis=1)
    lowers = uppers if radius is None else np.sort(lower, axis=1)
    search = _compiled_search() if compiled else search_even_split
    slack = tolerance(separation)
    best = EvenSplit(*search(uppers, lowers, separation, slack))
    if best.score == 0:
        return Split(NO_ARM, 0.0, members, members, 0)
    threshold = (uppers[best.arm, best.below] + lowers[best.arm, best.above]) / 2
    low = members[lower[best.arm] < threshold + separation / 2 - slack]
    high = members[upper[best.arm] > threshold - separation / 2 + slack]
    return Split(int(best.arm), float(threshold), low, high, int(best.score))


def search_even_split(
    uppers: FloatArray, lowers: FloatArray, separation: float, slack: float
) -> tuple[int, int, int, int]:
    """(arm, i, j, score) of the best upper end i and lower end j a `separation` apart; runs as it is or compiled.

    For each i only the first j far enough above it matters: a later j decides fewer tasks (NOTES 2).
    uppers, lowers: (K, s), the ends of what each mean may be, each row increasing; the same array for known means.
    """
    n_arms, size = uppers.shape
    arm, below, above, score, decided, margin = -1, -1, -1, 0, 0, 0.0
    for k in range(n_arms):
        j = 0
        for i in range(size):
            if i + 1 < size and uppers[k, i + 1] == uppers[k, i]:
                continue
            while j < size and lowers[k, j] - uppers[k, i] < separation - slack:
                j += 1
            if j == size:
                break
            smaller = min(i + 1, size - j)
            if smaller < score:
                continue
            both = i + 1 + size - j
            gap = lowers[k, j] - uppers[k, i]
            if smaller > score or both > decided or (both == decided and gap > margin):
                arm, below, above, score, decided, margin = k, i, j, smaller, both, gap
    return arm, below, above, score


@cache
def _compiled_search() -> Callable[[FloatArray, FloatArray, float, float], tuple[int, int, int, int]]:
    from numba import njit

    return njit(cache=True)(search_even_split)
