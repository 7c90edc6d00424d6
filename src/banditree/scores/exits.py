"""How a line is left, over a horizon: discounted exit chances of a score that walks between two levels.

The horizon is met by a chance 1/H to end at every round, so that values do not depend on the round at hand and restarts
have a closed form; to first order in what happens late this is the horizon itself, and the certificate has the last
word. A score is eliminated from the top down, as in `certificates.walks`: only positive numbers are added, multiplied
and divided. Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.certificates.walks import ladder
from banditree.tasks.arrays import FloatArray, IntArray


@njit(cache=True)
def descend(
    below: FloatArray, above: FloatArray, spent: FloatArray, start: int, floors: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(down, up, rounds), each (floors, S), of a score that starts at row `start` of a ladder and is left so far below.

    Rows beyond the last of the ladder are like the last one: far below the top, the top no longer matters.
    """
    n_rows, fall, S = below.shape[0], below.shape[1] - 1, below.shape[2]
    deepest = floors[floors.size - 1]
    down, up, rounds = np.zeros((floors.size, S)), np.zeros((floors.size, S)), np.zeros((floors.size, S))
    weight = np.zeros((deepest + fall, S))
    weight[0] = 1.0
    so_far_up, so_far_rounds, level = np.zeros(S), np.zeros(S), 0
    for depth in range(deepest):
        row = min(start + depth, n_rows - 1)
        for s in range(S):
            so_far_up[s] += weight[depth, s] * above[row, s]
            so_far_rounds[s] += weight[depth, s] * spent[row, s]
        for j in range(1, fall + 1):
            for s in range(S):
                weight[depth + j, s] += weight[depth, s] * below[row, j, s]
        if depth + 1 == floors[level]:
            up[level], rounds[level] = so_far_up, so_far_rounds
            for j in range(fall):
                for s in range(S):
                    down[level, s] += weight[depth + 1 + j, s]
            level += 1
    return down, up, rounds


@njit(cache=True)
def score_exits(
    points: IntArray, chance: FloatArray, going: float, floors: IntArray, ceils: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(down, up, rounds), each (ceils, floors, S), of score lines: one ladder serves all levels."""
    S = chance.shape[1]
    shape = (ceils.size, floors.size, S)
    down, up, rounds = np.empty(shape), np.empty(shape), np.empty(shape)
    below, above, spent = ladder(points, chance, ceils[ceils.size - 1] + floors[floors.size - 1], going, False)
    for a in range(ceils.size):
        down[a], up[a], rounds[a] = descend(below, above, spent, ceils[a] - 1, floors)
    return down, up, rounds


@njit(cache=True)
def watch_exits(
    points: IntArray, chance: FloatArray, going: float, floors: IntArray, caps: IntArray
) -> tuple[FloatArray, FloatArray]:
    """(down, rounds), each (caps, floors, S), of watch lines whose score is held at a cap."""
    S = chance.shape[1]
    down, rounds = np.empty((caps.size, floors.size, S)), np.empty((caps.size, floors.size, S))
    below, above, spent = ladder(points, chance, caps.max() + floors[floors.size - 1], going, True)
    for c in range(caps.size):
        down[c], _up, rounds[c] = descend(below, above, spent, caps[c], floors)
    return down, rounds
