"""A plan that treats as the leader carried forward: the chance of every (tallies, state), in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

EMPTY = -1
MIX = 1099511628211  # Of the hash of tallies (FNV).


class Course(NamedTuple):
    """What carrying one task forward gives: lost (1,), and leads (M,), the chance that a task leads at the end."""

    lost: FloatArray
    leads: FloatArray


class Held(NamedTuple):
    """Up to N different tallies (N, M), the chance of each in every state (N, S), and where each is (a hash table)."""

    tally: IntArray
    chance: FloatArray
    table: IntArray


def nothing_held(most: int, n_tasks: int, n_states: int) -> Held:
    """Room for `most` different tallies."""
    size = 1 << (2 * most - 1).bit_length()
    return Held(np.zeros((most, n_tasks), np.int16), np.zeros((most, n_states)), np.full(size, EMPTY, np.int64))


@njit(cache=True, nogil=True)
def place_of(held: Held, tally: IntArray, count: int) -> int:
    """Where a tally is held, put at the end if it is new; EMPTY where there is no room."""
    mask, M = held.table.size - 1, tally.size
    number = np.int64(1469598103934665603)
    for i in range(M):
        number = (number ^ np.int64(tally[i])) * np.int64(MIX)
    slot = (number ^ (number >> 29)) & mask
    while True:
        n = held.table[slot]
        if n == EMPTY:
            if count >= held.tally.shape[0]:
                return EMPTY
            held.table[slot] = count
            for i in range(M):
                held.tally[count, i] = tally[i]
            return count
        same = True
        for i in range(M):
            if held.tally[n, i] != tally[i]:
                same = False
                break
        if same:
            return int(n)
        slot = (slot + 1) & mask


@njit(cache=True, nogil=True)
def carry_tallies(
    options: IntArray,
    outcomes: IntArray,
    moves: IntArray,
    most: int,
    start: FloatArray,
    rates: FloatArray,
    chances: FloatArray,
    costs: FloatArray,
    here: Held,
    new: Held,
    out: Course,
) -> bool:
    """Fill in `out` for one task with rates (S, K), chances (S, K, S) and costs (H, S, K), with 1, 2, ... rounds left;
    False where there is not enough room."""
    M, S = options.shape
    H, count = costs.shape[0], 1
    tally = np.zeros(M, np.int64)
    place_of(here, tally, 0)
    for s in range(S):
        here.chance[0, s] = start[s]
    for t in range(H):
        left, fresh = H - 1 - t, 0
        new.table[:] = EMPTY
        for n in range(count):
            leader = 0
            for i in range(1, M):
                if here.tally[n, i] < here.tally[n, leader]:
                    leader = i
            for s in range(S):
                held = here.chance[n, s]
                if held == 0.0:
                    continue
                here.chance[n, s] = 0.0
                k = options[leader, s]
                out.lost[0] += held * costs[left, s, k]
                for y in range(2):
                    for to in range(S):
                        p = held * (rates[s, k] if y == 1 else 1.0 - rates[s, k]) * chances[s, k, to]
                        if p == 0.0:
                            continue
                        low = np.int64(1 << 30)
                        for i in range(M):
                            tally[i] = here.tally[n, i] + outcomes[s, k, y, i] + moves[s, k, to, i]
                            low = min(low, tally[i])
                        for i in range(M):
                            tally[i] = min(tally[i] - low, most)
                        place = place_of(new, tally, fresh)
                        if place == EMPTY:
                            return False
                        if place == fresh:
                            fresh += 1
                            for other in range(S):
                                new.chance[place, other] = 0.0
                        new.chance[place, to] += p
        here, new, count = new, here, fresh
    for n in range(count):
        leader = 0
        for i in range(1, M):
            if here.tally[n, i] < here.tally[n, leader]:
                leader = i
        for s in range(S):
            out.leads[leader] += here.chance[n, s]
    return True


@njit(cache=True, nogil=True)
def play_tallies(
    options: IntArray,
    outcomes: IntArray,
    moves: IntArray,
    most: int,
    start: FloatArray,
    rates: FloatArray,
    chances: FloatArray,
    costs: FloatArray,
    rng: np.random.Generator,
    lost: FloatArray,
) -> None:
    """Fill in what each simulated case of one task loses (R, 2), and the task that leads in the end."""
    M = options.shape[0]
    tally = np.zeros(M, np.int64)
    for run in range(lost.shape[0]):
        tally[:] = 0
        s, leader = _drawn(start, rng.random()), 0
        for t in range(costs.shape[0]):
            k = options[leader, s]
            lost[run, 0] += costs[costs.shape[0] - 1 - t, s, k]
            y = 1 if rng.random() < rates[s, k] else 0
            to = _drawn(chances[s, k], rng.random())
            for i in range(M):
                tally[i] += outcomes[s, k, y, i] + moves[s, k, to, i]
            leader = int(tally.argmin())
            low = tally[leader]
            for i in range(M):
                tally[i] = min(tally[i] - low, most)
            s = to
        lost[run, 1] = leader


@njit(cache=True, nogil=True)
def _drawn(chances: FloatArray, left: float) -> int:
    last = 0
    for s in range(chances.shape[0]):
        if chances[s] > 0.0:
            last = s
            left -= chances[s]
            if left < 0.0:
                return s
    return last
