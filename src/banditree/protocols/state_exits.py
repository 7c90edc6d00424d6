"""How a line with states is left in every task, and which other rows of its table look better; in compiled loops.

Every round is the last with a chance of 1/H, so a line is a linear system per task over (score, state). Row s of a line
is what it gives in state s, and its points there. Compiled by numba: import this module where it is used.
"""

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

DELTAS = np.array([-3, -2, -1, 1, 2, 3])  # By how much an entry of a table is changed at once.


@njit(cache=True, nogil=True)
def width_of(floor: int, ceil: int, cap: int) -> int:
    """How many scores a line has between its levels; a watch line (ceil 0) has those up to its cap."""
    return int(floor + (cap if ceil == 0 else ceil - 1))


@njit(cache=True, nogil=True)
def flow(chance: FloatArray, points: IntArray, width: int, watched: bool) -> FloatArray:
    """The transposed system of one task over (score, state): 1 less the chance of each move that stays in the line.

    chance: (S, S, 2), discounted, of next state and outcome; points: (S, S, 2).
    """
    S = chance.shape[0]
    out = np.eye(width * S)
    for s in range(S):
        for to in range(S):
            for o in range(2):
                p = chance[s, to, o]
                for place in range(width):
                    after = place + points[s, to, o]
                    if watched:
                        after = min(after, width - 1)
                    if 0 <= after < width:
                        out[after * S + to, place * S + s] -= p
    return out


@njit(cache=True, nogil=True)
def exits_of_line(
    chance: FloatArray, points: IntArray, costs: FloatArray, floor: int, ceil: int, cap: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(down (M, S, S), up, cost (M, S)): the chances of leaving below and above by the states at entry and exit.

    chance: (M, S, S, 2); costs: (M, S).
    """
    M, S = costs.shape
    width, watched = width_of(floor, ceil, cap), ceil == 0
    down, up, cost = np.zeros((M, S, S)), np.zeros((M, S, S)), np.zeros((M, S))
    entry = np.zeros((width * S, S))
    for s in range(S):
        entry[(floor - 1) * S + s, s] = 1.0
    for i in range(M):
        held = np.linalg.solve(flow(chance[i], points, width, watched), entry)
        for place in range(width):
            for s in range(S):
                here = held[place * S + s]
                cost[i] += costs[i, s] * here
                for to in range(S):
                    for o in range(2):
                        after = place + points[s, to, o]
                        if after < 0:
                            down[i, :, to] += chance[i, s, to, o] * here
                        elif after >= width and not watched:
                            up[i, :, to] += chance[i, s, to, o] * here
    return down, up, cost


@njit(cache=True, nogil=True)
def held_and_worth(
    chance: FloatArray,
    points: IntArray,
    costs: FloatArray,
    levels: tuple[int, int, int],
    entering: FloatArray,
    low: FloatArray,
    high: FloatArray,
    beyond: int,
) -> tuple[FloatArray, FloatArray]:
    """(how often a case is at each score and state (M, W, S), what is lost from there on (M, beyond + W + beyond, S)).

    levels: (floor, ceil, cap). entering: (M, S), the weighted chance of entering the line. low, high: (M, S), what is
    lost behind its exits. beyond: how many scores below and above the line are written out.
    """
    M, S = costs.shape
    floor, ceil, cap = levels
    width, watched = width_of(floor, ceil, cap), ceil == 0
    held, worth = np.zeros((M, width, S)), np.zeros((M, width + 2 * beyond, S))
    for i in range(M):
        system = flow(chance[i], points, width, watched)
        entry = np.zeros(width * S)
        entry[(floor - 1) * S : floor * S] = entering[i]
        held[i] = np.linalg.solve(system, entry).reshape(width, S)
        right = np.zeros((width, S))
        for place in range(width):
            for s in range(S):
                right[place, s] = costs[i, s]
                for to in range(S):
                    for o in range(2):
                        after = place + points[s, to, o]
                        if after < 0:
                            right[place, s] += chance[i, s, to, o] * low[i, to]
                        elif after >= width and not watched:
                            right[place, s] += chance[i, s, to, o] * high[i, to]
        inside = np.linalg.solve(np.ascontiguousarray(system.T), right.reshape(width * S)).reshape(width, S)
        worth[i, :beyond] = low[i]
        worth[i, beyond : beyond + width] = inside
        worth[i, beyond + width :] = inside[width - 1] if watched else high[i]
    return held, worth


@njit(cache=True, nogil=True)
def gains_of_points(
    chance: FloatArray, points: IntArray, held: FloatArray, worth: FloatArray, beyond: int
) -> FloatArray:
    """What changing one entry of a table by each of DELTAS adds to the weighted loss, to first order (D, S, 2 + S):
    failure, success, and every next state."""
    M, width, S = held.shape
    out = np.zeros((DELTAS.size, S, 2 + S))
    for i in range(M):
        for s in range(S):
            for to in range(S):
                for o in range(2):
                    for d in range(DELTAS.size):
                        base, gain = beyond + points[s, to, o], 0.0
                        for place in range(width):
                            after = worth[i, base + place + DELTAS[d], to] - worth[i, base + place, to]
                            gain += held[i, place, s] * after
                        gain *= chance[i, s, to, o]
                        out[d, s, o] += gain
                        out[d, s, 2 + to] += gain
    return out
