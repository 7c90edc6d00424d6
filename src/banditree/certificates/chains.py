"""A plan as a Markov chain, in compiled loops: its value at any length, its course round by round, its worst case.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

FIXED, SCORE, EXPLOIT = 0, 1, 2  # BoxKind, as numbers that numba takes as constants
NEGLIGIBLE = 1e-30  # chance to be still testing, below which the rest of the horizon is filled in at once


@njit(cache=True)
def substitute(
    low: IntArray, high: IntArray, down: FloatArray, up: FloatArray, cost: FloatArray, slot: IntArray, n_slots: int
) -> FloatArray:
    """The value of each box, cost + down value[low] + up value[high], in terms of the boxes that links lead back to.

    down, up, cost: (N, M). slot: (N,), the number of such a box among the `n_slots`, or -1. Returns (N, 1 + n_slots,
    M): the constant, and the weight of each of those boxes. One pass from the last box to the first.
    """
    n_tasks = cost.shape[1]
    value = np.zeros((low.size, 1 + n_slots, n_tasks))
    for box in range(low.size - 1, -1, -1):
        value[box, 0] = cost[box]
        if low[box] < 0:
            continue
        for side in range(2):
            child = low[box] if side == 0 else high[box]
            chance = down[box] if side == 0 else up[box]
            if child <= box:
                for i in range(n_tasks):
                    value[box, 1 + slot[child], i] += chance[i]
                continue
            for part in range(1 + n_slots):
                for i in range(n_tasks):
                    value[box, part, i] += chance[i] * value[child, part, i]
    return value


@njit(cache=True)
def propagate(
    kind: IntArray,
    low: IntArray,
    high: IntArray,
    pulls: IntArray,
    points: IntArray,
    floor: IntArray,
    ceil: IntArray,
    chance: FloatArray,
    cost: FloatArray,
    horizon: int,
    regret: FloatArray,
    decided: FloatArray,
    ended: FloatArray,
    spent: FloatArray,
) -> float:
    """The course of one task, round by round; returns the chance to be still testing when the horizon ends.

    chance: (N, B), of the two sides of a FIXED box or of the bins of one pull of a SCORE box. cost: (N,), per pull.
    Filled in (they come as zeros): regret (H+1,) expected after each round; decided (H+1,) chance that the tests end
    after exactly so many pulls; ended (N,) chance of each leaf; spent (N,) expected pulls at each box.
    """
    n = kind.size
    first, size = lay_out(kind, pulls, floor, ceil)
    inside, spare = np.zeros(size), np.zeros(size)
    held = np.zeros(n)  # chance to be in a test box
    until = np.full(n, -1)  # the last round at which a FIXED box can hold anyone
    arrive, following = np.zeros(n), np.zeros(n)
    arrive[0] = 1.0
    leaf_rate = 0.0
    for t in range(horizon + 1):
        testing = 0.0
        for box in range(n):
            if kind[box] == EXPLOIT and arrive[box] > 0.0:
                ended[box] += arrive[box]
                decided[t] += arrive[box]
                leaf_rate += arrive[box] * cost[box]
                spent[box] += arrive[box] * (horizon - t)
            elif kind[box] != EXPLOIT:
                testing += arrive[box] + held[box]
        if t == horizon or testing < NEGLIGIBLE:
            for later in range(t, horizon):
                regret[later + 1] = regret[later] + leaf_rate
            return testing
        rate = leaf_rate
        for box in range(n):
            if kind[box] == EXPLOIT:
                continue
            if kind[box] == FIXED and (arrive[box] > 0.0 or until[box] > t):
                if arrive[box] > 0.0:
                    until[box] = t + pulls[box]
                pulled = held[box] + arrive[box]
                out = rotate(inside[first[box] : first[box] + pulls[box]], arrive[box], t)
                held[box] = max(pulled - out, 0.0) if until[box] > t + 1 else 0.0
                following[low[box]] += out * chance[box, 0]
                following[high[box]] += out * chance[box, 1]
            elif kind[box] == SCORE and arrive[box] + held[box] > 0.0:
                pulled = held[box] + arrive[box]
                inside[first[box] + floor[box] - 1] += arrive[box]
                end = first[box] + floor[box] + ceil[box] - 1
                down, up, held[box] = step(inside[first[box] : end], spare[first[box] : end], points[box], chance[box])
                following[low[box]] += down
                following[high[box]] += up
            else:
                continue
            rate += pulled * cost[box]
            spent[box] += pulled
        regret[t + 1] = regret[t] + rate
        arrive[:] = following
        following[:] = 0.0
    return 0.0


@njit(cache=True)
def lay_out(kind: IntArray, pulls: IntArray, floor: IntArray, ceil: IntArray) -> tuple[IntArray, int]:
    """Where each box keeps its chances in one long array: by entry time (FIXED) or by score (SCORE)."""
    first, size = np.zeros(kind.size, np.int64), 0
    for box in range(kind.size):
        first[box] = size
        if kind[box] == FIXED:
            size += pulls[box]
        elif kind[box] == SCORE:
            size += floor[box] + ceil[box] - 1
    return first, size


@njit(cache=True)
def rotate(entered: FloatArray, entering: float, t: int) -> float:
    """One pull of a FIXED box, in place: who enters at round t stays until the last pull, who is done leaves."""
    entered[t % entered.size] = entering
    place = (t + 1) % entered.size
    out = entered[place]
    entered[place] = 0.0
    return float(out)


@njit(cache=True)
def step(scores: FloatArray, spare: FloatArray, points: IntArray, chance: FloatArray) -> tuple[float, float, float]:
    """One pull of a SCORE box, in place: the chances of leaving below and above, and of staying."""
    down, up = 0.0, 0.0
    n = scores.size
    spare[:] = 0.0
    for b in range(points.size):
        move, p = points[b], chance[b]
        first, last = max(0, -move), min(n, n - move)  # the scores from which this bin stays inside
        for s in range(min(first, n)):
            down += p * scores[s]
        for s in range(max(last, 0), n):
            up += p * scores[s]
        for s in range(first, last):
            spare[s + move] += p * scores[s]
    scores[:] = spare
    return down, up, float(spare.sum())


@njit(cache=True)
def worst_case(
    kind: IntArray,
    low: IntArray,
    high: IntArray,
    pulls: IntArray,
    points: IntArray,
    floor: IntArray,
    ceil: IntArray,
    least: FloatArray,
    most: FloatArray,
    cost: FloatArray,
    prize: FloatArray,
    horizon: int,
) -> float:
    """The most that a task can cost when every test, and every pull of a score, has its worst law between two bounds.

    least, most: (N, B), bounds of the chances in `propagate`. cost: (N,), per pull. prize: (N,), once at a leaf.
    Works backwards from the end: the value of entering a box with h rounds left needs those with fewer.
    """
    n = kind.size
    first, size = lay_out(kind, np.ones_like(pulls), floor, ceil)
    memory = 2  # how many rounds back a value is needed
    for box in range(n):
        if kind[box] == FIXED:
            memory = max(memory, pulls[box] + 1)
    entry = np.zeros((memory, n))
    score, spare = np.zeros(size), np.zeros(size)
    pair = np.zeros(least.shape[1])
    for h in range(horizon + 1):
        now = h % memory
        for box in range(n):
            if kind[box] == EXPLOIT:
                entry[now, box] = prize[box] + h * cost[box]
            elif kind[box] == FIXED:
                tests = min(h, pulls[box])
                entry[now, box] = tests * cost[box]
                if h >= pulls[box]:
                    before = (h - pulls[box]) % memory
                    pair[0], pair[1] = entry[before, low[box]], entry[before, high[box]]
                    entry[now, box] += worst(least[box, :2], most[box, :2], pair[:2])
            elif h > 0:
                before = (h - 1) % memory
                here = score[first[box] : first[box] + floor[box] + ceil[box] - 1]
                new = spare[first[box] : first[box] + floor[box] + ceil[box] - 1]
                for s in range(here.size):
                    for b in range(pair.size):
                        target = s + points[box, b]
                        if target < 0:
                            pair[b] = entry[before, low[box]]
                        elif target >= here.size:
                            pair[b] = entry[before, high[box]]
                        else:
                            pair[b] = here[target]
                    new[s] = cost[box] + worst(least[box], most[box], pair)
                entry[now, box] = new[floor[box] - 1]
        score, spare = spare, score
    return float(entry[horizon % memory, 0])


@njit(cache=True)
def worst(least: FloatArray, most: FloatArray, values: FloatArray) -> float:
    """The highest mean of `values` under any law whose chances lie between `least` and `most`."""
    if values.size == 2:
        worse = 0 if values[0] > values[1] else 1
        p = min(most[worse], 1.0 - least[1 - worse])
        return float(p * values[worse] + (1.0 - p) * values[1 - worse])
    total, rest = 0.0, 1.0 - least.sum()
    for b in np.argsort(-values):
        p = least[b] + min(rest, most[b] - least[b])
        rest -= p - least[b]
        total += p * values[b]
    return float(total)
