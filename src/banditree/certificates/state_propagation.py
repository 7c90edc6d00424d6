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
    most = walk.first[N - 1] + walk.size[N - 1]
    here, new = np.zeros((S, most)), np.zeros((S, most))
    left, right = np.zeros((N, S), np.int64), np.zeros((N, S), np.int64)  # the places that hold anyone
    new_left, new_right = np.zeros((N, S), np.int64), np.zeros((N, S), np.int64)
    entering = np.zeros((N, S))
    widest = walk.size.max() + walk.outcomes.max() - walk.outcomes.min()
    mixed, sums = np.zeros(widest), np.zeros(widest + 1)
    for s in range(S):
        entering[0, s] = start[s]
    for t in range(horizon + 1):
        for n in range(N):
            for s in range(S):
                if entering[n, s] > 0.0:
                    place = walk.floor[n] - 1 if walk.kind[n] != EXPLOIT else 0
                    here[s, walk.first[n] + place] += entering[n, s]
                    out.entered[n] += entering[n, s]
                    if left[n, s] == right[n, s]:
                        left[n, s], right[n, s] = place, place + 1
                    else:
                        left[n, s], right[n, s] = min(left[n, s], place), max(right[n, s], place + 1)
                    entering[n, s] = 0.0
        if t == horizon:
            break
        for n in range(N):
            for s in range(S):
                new_left[n, s], new_right[n, s] = walk.size[n], 0
        rate = 0.0
        for n in range(N):
            first = walk.first[n]
            for s in range(S):
                lo, hi = left[n, s], right[n, s]
                row = here[s]
                while lo < hi and row[first + lo] < tiny:
                    out.error[0] += row[first + lo]
                    row[first + lo] = 0.0
                    lo += 1
                while lo < hi and row[first + hi - 1] < tiny:
                    out.error[0] += row[first + hi - 1]
                    row[first + hi - 1] = 0.0
                    hi -= 1
                if lo == hi:
                    continue
                if walk.kind[n] == EXPLOIT:
                    held = row[first]
                    for to in range(S):
                        new[to, first] += walk.chance[n, s, to] * held
                        new_left[n, to], new_right[n, to] = 0, 1
                else:
                    base, held = lo + min(walk.outcomes[n, s, 0], walk.outcomes[n, s, 1]), 0.0
                    wide = hi - lo + abs(walk.outcomes[n, s, 0] - walk.outcomes[n, s, 1])
                    mix_outcomes(row[first + lo : first + hi], walk.outcomes[n, s], walk.rate[n, s], mixed[:wide])
                    sums[0] = 0.0
                    for y in range(wide):
                        sums[y + 1] = sums[y] + mixed[y]
                    held = sums[wide]
                    for to in range(S):
                        if walk.chance[n, s, to] > 0.0:
                            spread(walk, n, s, to, base, wide, mixed, sums, new, new_left, new_right, entering, out)
                out.spent[n] += held
                lost = held * walk.cost[horizon - 1 - t, n, s]
                out.regret[n] += lost
                rate += lost
                for p in range(first + lo, first + hi):
                    row[p] = 0.0
        out.course[t + 1] = out.course[t] + rate
        here, new = new, here
        left, new_left = new_left, left
        right, new_right = new_right, right
        for n in range(N):
            for s in range(S):
                if left[n, s] >= right[n, s]:
                    left[n, s], right[n, s] = 0, 0
    for n in range(N):
        for s in range(S):
            for p in range(walk.first[n], walk.first[n] + walk.size[n]):
                out.at_end[n] += here[s, p]


@njit(cache=True, nogil=True)
def mix_outcomes(row: FloatArray, points: IntArray, rate: float, mixed: FloatArray) -> None:
    """The scores after the outcome, from the least that any comes to."""
    least = min(points[0], points[1])
    mixed[:] = 0.0
    failure, success = mixed[points[0] - least :], mixed[points[1] - least :]
    for p in range(row.size):
        failure[p] += (1.0 - rate) * row[p]
    for p in range(row.size):
        success[p] += rate * row[p]


@njit(cache=True, nogil=True)
def spread(
    walk: Walk,
    n: int,
    s: int,
    to: int,
    base: int,
    wide: int,
    mixed: FloatArray,
    sums: FloatArray,
    new: FloatArray,
    new_left: IntArray,
    new_right: IntArray,
    entering: FloatArray,
    out: Carried,
) -> None:
    """Move the scores of one row and state, mixed over the outcomes and summed, to one next state."""
    first, size, chance = walk.first[n], walk.size[n], walk.chance[n, s, to]
    shift = base + walk.moves[n, s, to]
    start, stop = min(max(-shift, 0), wide), max(min(size - shift, wide), 0)
    if start < stop:
        target, source = new[to, first + shift + start : first + shift + stop], mixed[start:stop]
        for p in range(source.size):
            target[p] += chance * source[p]
        new_left[n, to] = min(new_left[n, to], start + shift)
        new_right[n, to] = max(new_right[n, to], stop + shift)
    down, up = chance * sums[start], chance * (sums[wide] - sums[max(stop, start)])
    if down > 0.0:
        entering[walk.low[n], to] += down
        out.below[n] += down
    if up > 0.0:
        if walk.kind[n] == SCORE:
            entering[walk.high[n], to] += up
            out.above[n] += up
        else:
            new[to, first + size - 1] += up
            new_left[n, to] = min(new_left[n, to], size - 1)
            new_right[n, to] = size
