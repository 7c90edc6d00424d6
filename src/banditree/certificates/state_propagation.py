"""A plan with states carried forward from round to round: the chance of every (row, state, score), in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

SCORE, EXPLOIT, WATCH = 1, 2, 3  # Counting, as numbers that numba takes as constants
NOBODY = 1e-300  # A smaller chance is nobody.


class Walk(NamedTuple):
    """What one round does in one task, in the terms of the machine.

    first, size: (N,), where the scores of a row begin and how many there are; the score of place p is p - floor + 1.
    A score that would pass the last place of a watch line stays there. outcomes: (N, S, 2) and moves: (N, S, S), the
    points; rate: (N, S), of a success; chance: (N, S, S), of the next states. cost: (H, N, S), with 1, 2, ... rounds
    left.
    """

    kind: IntArray
    low: IntArray
    high: IntArray
    floor: IntArray
    first: IntArray
    size: IntArray
    outcomes: IntArray
    moves: IntArray
    rate: FloatArray
    chance: FloatArray
    cost: FloatArray


class Carried(NamedTuple):
    """What carrying a task forward gives: regret at each row (N,), rounds spent there, entries, exits below and above,
    the chance of being there at the end; errors (1,): the chance that was dropped or held at the last place; course
    (H + 1,): the regret after each round."""

    regret: FloatArray
    spent: FloatArray
    entered: FloatArray
    below: FloatArray
    above: FloatArray
    at_end: FloatArray
    error: FloatArray
    course: FloatArray


@njit(cache=True, nogil=True)
def carry_states(walk: Walk, start: FloatArray, horizon: int, tiny: float, out: Carried) -> None:
    """Fill in `out` for one task; start (S,): the distribution of the first state."""
    N, S = walk.rate.shape
    here = np.zeros((S, walk.first[N - 1] + walk.size[N - 1]))
    left, right = np.zeros((N, S), np.int64), np.zeros((N, S), np.int64)  # the places that hold anyone
    entering, down, up = np.zeros((N, S)), np.zeros(S), np.zeros(S)
    beyond = np.abs(walk.outcomes).max() + np.abs(walk.moves).max()  # no round takes a score further
    around, mixed = np.zeros((S, walk.size.max() + 2 * beyond)), np.zeros(walk.size.max() + 2 * beyond)
    entering[0] = start
    for t in range(horizon + 1):
        for n in range(N):
            place = walk.floor[n] - 1 if walk.kind[n] != EXPLOIT else 0
            for s in range(S):
                if entering[n, s] > 0.0:
                    here[s, walk.first[n] + place] += entering[n, s]
                    out.entered[n] += entering[n, s]
                    none = left[n, s] == right[n, s]
                    left[n, s] = place if none else min(left[n, s], place)
                    right[n, s] = place + 1 if none else max(right[n, s], place + 1)
                    entering[n, s] = 0.0
        if t == horizon:
            break
        lost_now = 0.0
        for n in range(N):
            row = here[:, walk.first[n] : walk.first[n] + walk.size[n]]
            out.error[0] += trimmed(row, left[n], right[n], tiny)
            lost = 0.0
            for s in range(S):
                held = row[s, left[n, s] : right[n, s]].sum()
                out.spent[n] += held
                lost += held * walk.cost[horizon - 1 - t, n, s]
            out.regret[n] += lost
            lost_now += lost
            if walk.kind[n] == EXPLOIT:
                settled = row[:, 0].copy()
                for to in range(S):
                    row[to, 0] = 0.0
                    for s in range(S):
                        row[to, 0] += settled[s] * walk.chance[n, s, to]
                    left[n, to], right[n, to] = 0, 1 if row[to, 0] > 0.0 else 0
                continue
            points, chances = (walk.outcomes[n], walk.moves[n]), (walk.rate[n], walk.chance[n])
            spread(row, left[n], right[n], points, chances, walk.kind[n] == WATCH, beyond, around, mixed, down, up)
            for to in range(S):
                if down[to] > 0.0:
                    entering[walk.low[n], to] += down[to]
                    out.below[n] += down[to]
                if up[to] > 0.0:
                    entering[walk.high[n], to] += up[to]
                    out.above[n] += up[to]
        out.course[t + 1] = out.course[t] + lost_now
    for n in range(N):
        out.at_end[n] = here[:, walk.first[n] : walk.first[n] + walk.size[n]].sum()


@njit(cache=True, nogil=True)
def trimmed(row: FloatArray, left: IntArray, right: IntArray, tiny: float) -> float:
    """What is dropped at the ends of the scores of one row (S, size)."""
    dropped = 0.0
    for s in range(left.size):
        while left[s] < right[s] and row[s, left[s]] < tiny:
            dropped += row[s, left[s]]
            row[s, left[s]] = 0.0
            left[s] += 1
        while left[s] < right[s] and row[s, right[s] - 1] < tiny:
            dropped += row[s, right[s] - 1]
            row[s, right[s] - 1] = 0.0
            right[s] -= 1
    return dropped


@njit(cache=True, nogil=True)
def spread(
    row: FloatArray,
    left: IntArray,
    right: IntArray,
    points: tuple[IntArray, IntArray],
    chances: tuple[FloatArray, FloatArray],
    watched: bool,
    beyond: int,
    around: FloatArray,
    mixed: FloatArray,
    down: FloatArray,
    up: FloatArray,
) -> None:
    """One round of one row (S, size): the scores first with room on both sides (around, zeros before and after), then
    what left below and above (down, up (S,))."""
    (S, size), (outcomes, moves), (rate, chance) = row.shape, points, chances
    begin, end = np.full(S, size + 2 * beyond), np.zeros(S, np.int64)
    for s in range(S):
        lo, hi = left[s], right[s]
        if lo == hi:
            continue
        least = min(outcomes[s, 0], outcomes[s, 1])
        wide = hi - lo + abs(outcomes[s, 0] - outcomes[s, 1])
        mixed[:wide] = 0.0
        own, failure, success = row[s, lo:hi], mixed[outcomes[s, 0] - least :], mixed[outcomes[s, 1] - least :]
        for p in range(own.size):
            failure[p] += (1.0 - rate[s]) * own[p]
        for p in range(own.size):
            success[p] += rate[s] * own[p]
        for to in range(S):
            if chance[s, to] > 0.0:
                first = lo + least + moves[s, to] + beyond
                target = around[to, first : first + wide]
                for p in range(wide):
                    target[p] += chance[s, to] * mixed[p]
                begin[to], end[to] = min(begin[to], first), max(end[to], first + wide)
    for s in range(S):
        row[s, left[s] : right[s]] = 0.0
    for to in range(S):
        down[to] = up[to] = 0.0
        for p in range(begin[to], min(end[to], beyond)):
            down[to] += around[to, p]
        for p in range(max(begin[to], beyond), min(end[to], beyond + size)):
            row[to, p - beyond] = around[to, p]
        for p in range(max(begin[to], beyond + size), end[to]):
            up[to] += around[to, p]
        left[to], right[to] = max(begin[to] - beyond, 0), min(end[to] - beyond, size)
        if watched and up[to] > 0.0:
            row[to, size - 1] += up[to]
            left[to], right[to], up[to] = min(left[to], size - 1), size, 0.0
        if left[to] >= right[to]:
            left[to] = right[to] = 0
        around[to, begin[to] : end[to]] = 0.0
