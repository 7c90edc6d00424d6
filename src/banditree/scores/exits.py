"""How a line is left, over a horizon: discounted exit chances of a score that walks between two levels.

The horizon is met by a chance 1/H to end at every round, so that values do not depend on the round at hand and restarts
have a closed form; to first order in what happens late this is the horizon itself, and the certificate has the last
word. A score is eliminated from the top down, as in `certificates.walks`: only positive numbers are added, multiplied
and divided. Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray


@njit(cache=True, error_model="numpy")
def ladder(
    points: IntArray, chance: FloatArray, going: float, n_scores: int, held: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(below, above, spent) for `n_scores` scores from the highest down, until the walk first goes below each.

    below[i, j]: it lands j below score i. above[i]: it leaves above instead. spent[i]: the rounds until then, all of
    them under every scenario. going: the chance of going on after a round. held: whether the score is held at the top
    (a cap) instead of leaving there: score 0 is then the cap itself, otherwise one below the level.
    """
    rise, fall, S = max(int(points.max()), 0), max(-int(points.min()), 0), chance.shape[1]
    below = np.zeros((n_scores, fall + 1, S))
    above, spent = np.zeros((n_scores, S)), np.zeros((n_scores, S))
    mass = np.zeros((rise + fall + 1, S))  # chance of being `rise - index` above the score
    for i in range(n_scores):
        up, rounds = above[i], spent[i]
        mass[:] = 0.0
        rounds[:] = 1.0
        for b in range(points.size):
            point = min(int(points[b]), i) if held else int(points[b])
            target = up if point > i else mass[rise - point]
            for s in range(S):
                target[s] += going * chance[b, s]
        for o in range(min(rise, i), 0, -1):
            for s in range(S):
                m = mass[rise - o, s]
                up[s] += m * above[i - o, s]
                rounds[s] += m * spent[i - o, s]
            for j in range(1, fall + 1):
                for s in range(S):
                    mass[rise - o + j, s] += mass[rise - o, s] * below[i - o, j, s]
        for s in range(S):
            away = up[s] + (1.0 - going) * rounds[s]  # one minus the chance of coming back, without a subtraction
            for j in range(1, fall + 1):
                away += mass[rise + j, s]
            up[s] /= away
            rounds[s] /= away
            for j in range(1, fall + 1):
                below[i, j, s] = mass[rise + j, s] / away
    return below, above, spent


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
    below, above, spent = ladder(points, chance, going, ceils[ceils.size - 1] + floors[floors.size - 1], False)
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
    below, above, spent = ladder(points, chance, going, caps.max() + floors[floors.size - 1], True)
    for c in range(caps.size):
        down[c], _up, rounds[c] = descend(below, above, spent, caps[c], floors)
    return down, rounds
