"""The value of a draft of lines with states, and the line that looks best at a place; in compiled loops.

Where an exit leads is a number: a line counted from 0, RESTART, or FIRST_END - j for "treat as task j from now on".
Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

RESTART, FIRST_END = -1, -2


@njit(cache=True, nogil=True)
def judge(
    chosen: IntArray,
    low: IntArray,
    high: IntArray,
    down: FloatArray,
    up: FloatArray,
    cost: FloatArray,
    ends: FloatArray,
    start: FloatArray,
    values: FloatArray,
    visits: FloatArray,
) -> FloatArray:
    """The loss in every task (M,); fills in the values (N, M, S) of the lines and how often each is entered."""
    N, (M, S) = chosen.size, cost.shape[1:]
    lost = np.zeros(M)
    for i in range(M):
        a, b = np.zeros((N, S)), np.zeros((N, S, S))
        for n in range(N - 1, -1, -1):
            e = chosen[n]
            for side in range(2):
                leave = down[e, i] if side == 0 else up[e, i]
                target = low[n] if side == 0 else high[n]
                if target >= 0:
                    a[n] += leave @ a[target]
                    b[n] += leave @ b[target]
                elif target == RESTART:
                    b[n] += leave
                else:
                    a[n] += leave @ ends[FIRST_END - target, i]
            a[n] += cost[e, i]
        again = np.eye(S) - b[0]
        first = np.linalg.solve(again, a[0])
        come = np.linalg.solve(again.T, start)
        lost[i] = (start * first).sum()
        for n in range(N):
            values[n, i] = a[n] + b[n] @ first
            visits[n, i] = 0.0
        visits[0, i] = come
        for n in range(N):
            e = chosen[n]
            if low[n] >= 0:
                visits[low[n], i] += down[e, i].T @ visits[n, i]
            if high[n] >= 0:
                visits[high[n], i] += up[e, i].T @ visits[n, i]
    return lost


@njit(cache=True, nogil=True)
def screen(
    entering: FloatArray,
    targets: IntArray,
    worth: FloatArray,
    ceil: IntArray,
    down: FloatArray,
    up: FloatArray,
    cost: FloatArray,
    some: IntArray,
    judged: FloatArray,
    best_low: IntArray,
    best_high: IntArray,
) -> None:
    """How good some of all lines look at a place, each with its best exits.

    entering: (M, S), how often the place is entered, times the weight of the task. targets: (T,) with worth (T, M, S).
    """
    M, S = entering.shape
    T = targets.size
    for index in range(some.size):
        e = some[index]
        total = 0.0
        below, above = np.zeros((M, S)), np.zeros((M, S))
        for i in range(M):
            for s in range(S):
                w = entering[i, s]
                if w == 0.0:
                    continue
                total += w * cost[e, i, s]
                for to in range(S):
                    below[i, to] += w * down[e, i, s, to]
                    above[i, to] += w * up[e, i, s, to]
        least_low, least_high = np.inf, np.inf
        for t in range(T):
            lower, higher = 0.0, 0.0
            for i in range(M):
                for s in range(S):
                    lower += below[i, s] * worth[t, i, s]
                    higher += above[i, s] * worth[t, i, s]
            if lower < least_low:
                least_low = lower
                best_low[index] = targets[t]
            if higher < least_high:
                least_high = higher
                best_high[index] = targets[t]
        total += least_low
        if ceil[e] > 0:
            total += least_high
        judged[index] = total
