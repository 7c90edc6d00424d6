"""The walk of a score: the chance of leaving a SCORE box on either side, and how many pulls that takes.

The score is a random walk on the integers with a few steps, stopped outside ]-floor, ceil[. Leaving it is a banded
linear system. It is solved by eliminating scores from the top down: for each score, where the walk first goes below it.
Only positive numbers are added, multiplied and divided, so that a chance of 1e-300 has as many correct digits as one
of 1/2. Compiled by numba: import this module where it is used, not at the top of another one.
"""

import math

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray


@njit(cache=True)
def leave(points: IntArray, chance: FloatArray, floor: int, ceil: int) -> tuple[float, float, float]:
    """(chance of leaving below, chance of leaving above, expected pulls) of a score that starts at 0.

    points, chance: (B,), the points of each bin and its chance at one pull. The pulls are infinite if the score can
    never leave. Costs (floor + ceil) times the largest rise times the largest fall.

    >>> leave(np.array([-1, 1]), np.array([0.5, 0.5]), 3, 3)
    (0.5, 0.5, 9.0)
    """
    below, above, spent = ladder(points, chance, floor + ceil - 1)
    n_scores, fall = below.shape[0], below.shape[1] - 1
    weight = np.zeros(n_scores)
    weight[ceil - 1] = 1.0
    down, up, pulls = 0.0, 0.0, 0.0
    for i in range(ceil - 1, n_scores):
        m = weight[i]
        if m == 0.0:
            continue
        up += m * above[i]
        pulls += m * spent[i]
        for j in range(1, fall + 1):
            if i + j < n_scores:
                weight[i + j] += m * below[i, j]
            else:
                down += m * below[i, j]
    return down, up, pulls


@njit(cache=True)
def ladder(points: IntArray, chance: FloatArray, n_scores: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each of `n_scores` scores from the highest down, what happens until the walk first goes below it.

    below[i, j]: it lands j below score i. above[i]: it leaves above instead. spent[i]: the pulls until then. Score i is
    i + 1 below the level at which the box is left, whatever the floor.
    """
    rise, fall = max(int(points.max()), 0), max(-int(points.min()), 0)
    below, above, spent = np.zeros((n_scores, fall + 1)), np.zeros(n_scores), np.zeros(n_scores)
    mass = np.zeros(rise + fall + 1)  # chance to be `rise - index` above the score
    for i in range(n_scores):
        mass[:] = 0.0
        up, pulls = 0.0, 1.0
        for b in range(points.size):
            if points[b] > i:
                up += chance[b]
            else:
                mass[rise - points[b]] += chance[b]
        for o in range(min(rise, i), 0, -1):
            m = mass[rise - o]
            if m > 0.0:
                up += m * above[i - o]
                pulls += m * spent[i - o]
                for j in range(1, fall + 1):
                    mass[rise - o + j] += m * below[i - o, j]
        away = up  # one minus the chance to come back to score i, without a subtraction
        for j in range(1, fall + 1):
            away += mass[rise + j]
        if away == 0.0:
            spent[i] = math.inf
            continue
        above[i] = up / away
        spent[i] = pulls / away
        for j in range(1, fall + 1):
            below[i, j] = mass[rise + j] / away
    return below, above, spent


@njit(cache=True)
def leave_all(
    points: IntArray, floor: IntArray, ceil: IntArray, chance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`leave` for N boxes under M tasks: three arrays (M, N). points: (N, B). floor, ceil: (N,). chance: (M, N, B)."""
    n_tasks, n = chance.shape[0], floor.size
    down, up, pulls = np.empty((n_tasks, n)), np.empty((n_tasks, n)), np.empty((n_tasks, n))
    for i in range(n_tasks):
        for box in range(n):
            down[i, box], up[i, box], pulls[i, box] = leave(points[box], chance[i, box], floor[box], ceil[box])
    return down, up, pulls
