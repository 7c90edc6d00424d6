"""What a case still loses at most from every (row, state, score), from the last round backwards, in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.certificates.state_propagation import EXPLOIT, SCORE, Walk
from banditree.tasks.arrays import FloatArray


@njit(cache=True, nogil=True)
def carry_back(
    walk: Walk,
    rate_low: FloatArray,
    rate_high: FloatArray,
    move_low: FloatArray,
    move_high: FloatArray,
    costs: FloatArray,
) -> FloatArray:
    """The most that a case loses from each first state (S,), where every round has the worst chances of its limits.

    rate_low, rate_high: (N, S); move_low, move_high: (N, S, S); costs: (H, N, S), with 1, 2, ... rounds left.
    """
    H, N, S = costs.shape
    here, new = np.zeros((S, walk.first[N - 1] + walk.size[N - 1])), np.zeros((S, walk.first[N - 1] + walk.size[N - 1]))
    ahead = np.zeros(S)
    for left in range(H):
        for n in range(N):
            first, size, settled = walk.first[n], walk.size[n], walk.kind[n] == EXPLOIT
            low, high = (walk.low[n], walk.high[n]) if not settled else (n, n)
            for s in range(S):
                for place in range(size):
                    for to in range(S):
                        most = 0.0
                        for o in range(2):
                            row, after = n, 0
                            if not settled:
                                after = place + walk.outcomes[n, s, o] + walk.moves[n, s, to]
                                if after < 0:
                                    row, after = low, walk.floor[low] - 1
                                elif after >= size and walk.kind[n] == SCORE:
                                    row, after = high, walk.floor[high] - 1
                                elif after >= size:
                                    after = size - 1
                            if walk.kind[row] == EXPLOIT:
                                after = 0
                            worth = here[to, walk.first[row] + after]
                            most = worth if o == 0 else mixed(most, worth, rate_low[n, s], rate_high[n, s])
                        ahead[to] = most
                    new[s, first + place] = costs[left, n, s] + worst(ahead, move_low[n, s], move_high[n, s])
        here, new = new, here
    place = walk.floor[0] - 1 if walk.kind[0] != EXPLOIT else 0
    return here[:, place].copy()


@njit(cache=True, nogil=True)
def mixed(failure: float, success: float, low: float, high: float) -> float:
    """The higher mean of what follows a failure and a success, with a chance of success between two limits."""
    rate = high if success > failure else low
    return failure + rate * (success - failure)


@njit(cache=True, nogil=True)
def worst(ahead: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The highest mean over chances between two limits that add up to 1: what is left goes to the highest values."""
    mean, left = 0.0, 1.0
    for to in range(ahead.size):
        mean += low[to] * ahead[to]
        left -= low[to]
    used = np.zeros(ahead.size, np.bool_)
    while left > 1e-15:
        most = -1
        for to in range(ahead.size):
            if not used[to] and (most < 0 or ahead[to] > ahead[most]):
                most = to
        if most < 0:
            break
        used[most] = True
        more = min(left, high[most] - low[most])
        mean += more * ahead[most]
        left -= more
    return mean
