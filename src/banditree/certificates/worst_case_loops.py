"""A plan worked out backwards from the end of the horizon, against the worst distributions, in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

FIXED, SCORE, EXPLOIT, WATCH = 0, 1, 2, 3  # Counting, as numbers that numba takes as constants


@njit(cache=True)
def worst_case(
    kind: IntArray,
    low: IntArray,
    high: IntArray,
    pulls: IntArray,
    points: IntArray,
    floor: IntArray,
    cap: IntArray,
    height: IntArray,
    least: FloatArray,
    most: FloatArray,
    cost: FloatArray,
    prize: FloatArray,
    turn: FloatArray,
    horizon: int,
) -> float:
    """The most that a task can cost when every test, and every pull of a score, has its worst distribution.

    least, most: (N, B), bounds of the chances of the sides of a FIXED box or of the bins of one pull. cost: (N,), per
    pull. prize: (N,), for being at rest at a box when the horizon ends. turn: (N, 2), for what is given next after
    leaving a box below or above. height: (N,), see `worst_cases.worst_cases`.
    The value of entering a box with h rounds left needs those with fewer.
    """
    n = kind.size
    memory = max(2, pulls.max() + 1)  # how many rounds back a value is needed
    entry = np.zeros((memory, n))
    rise, fall = max(points.max(), 1), max(-points.min(), 1)
    first, size = places(floor, height, fall + rise)
    score, spare = np.zeros(size), np.zeros(size)
    above = prize.copy()  # the value of a watched score above its height
    pair = np.zeros(2)
    for h in range(horizon + 1):
        now, before = h % memory, (h - 1) % memory
        for box in range(n):
            if kind[box] == EXPLOIT:
                entry[now, box] = prize[box] + h * cost[box]
            elif kind[box] == FIXED:
                entry[now, box] = min(h, pulls[box]) * cost[box]
                if h >= pulls[box]:
                    then = (h - pulls[box]) % memory
                    pair[0], pair[1] = entry[then, low[box]], entry[then, high[box]]
                    if h > pulls[box]:
                        pair[0], pair[1] = pair[0] + turn[box, 0], pair[1] + turn[box, 1]
                    entry[now, box] += worst(least[box, :2], most[box, :2], pair)
            else:
                inner = floor[box] - 1 + height[box]
                here = score[first[box] : first[box] + fall + inner + rise]
                new = spare[first[box] : first[box] + fall + inner + rise]
                if h == 0:
                    new[:] = prize[box]
                else:
                    again = 1.0 if h > 1 else 0.0
                    here[:fall] = entry[before, low[box]] + again * turn[box, 0]
                    if kind[box] == SCORE:
                        here[fall + inner :] = entry[before, high[box]] + again * turn[box, 1]
                    elif cap[box] > 0:
                        here[fall + inner :] = here[fall + inner - 1]
                    else:
                        here[fall + inner :] = above[box]
                        falls = here[fall + inner + points[box].min() : fall + inner].max()
                        above[box] = cost[box] + max(above[box], falls)
                    pull(here, new, fall, inner, points[box], least[box], most[box], cost[box])
                entry[now, box] = new[fall + floor[box] - 1]
        score, spare = spare, score
    return float(entry[horizon % memory, 0])


@njit(cache=True)
def places(floor: IntArray, height: IntArray, around: int) -> tuple[IntArray, int]:
    """Where the scores of each box begin in one array, with room for `around` more beside them, and its size."""
    first, size = np.zeros(floor.size, np.int64), 0
    for box in range(floor.size):
        first[box] = size
        size += max(floor[box] - 1 + height[box], 0) + around
    return first, size


@njit(cache=True)
def pull(
    here: FloatArray,
    new: FloatArray,
    fall: int,
    inner: int,
    points: IntArray,
    least: FloatArray,
    most: FloatArray,
    cost: float,
) -> None:
    """One pull of a score: `new` for its `inner` scores from `here`, both with room for `fall` scores below them."""
    possible = np.flatnonzero(most > 0.0)  # of points that look at the context most are not
    points, least, most = points[possible], least[possible], most[possible]
    if points.size == 2:
        p = min(most[1], 1.0 - least[0])
        q = 1.0 - min(most[0], 1.0 - least[1])
        down, up = here[fall + points[0] : fall + points[0] + inner], here[fall + points[1] : fall + points[1] + inner]
        out = new[fall : fall + inner]
        for s in range(inner):
            gain = up[s] - down[s]
            out[s] = cost + down[s] + max(p * gain, q * gain)
        return
    values = np.zeros(points.size)
    for s in range(fall, fall + inner):
        for b in range(points.size):
            values[b] = here[s + points[b]]
        new[s] = cost + worst(least, most, values)


@njit(cache=True)
def worst(least: FloatArray, most: FloatArray, values: FloatArray) -> float:
    """The highest mean of `values` under any distribution whose chances lie between `least` and `most`."""
    if values.size == 2:
        worse = 0 if values[0] > values[1] else 1
        p = min(most[worse], 1.0 - least[1 - worse])
        return float(p * values[worse] + (1.0 - p) * values[1 - worse])
    total, rest, taken = 0.0, 1.0, 0
    for b in range(values.size):
        total += least[b] * values[b]
        rest -= least[b]
    for _ in range(values.size):  # what is left goes to the highest values; there are few of them
        best = -1
        for b in range(values.size):
            if not (taken >> b) & 1 and (best < 0 or values[b] > values[best]):
                best = b
        taken |= 1 << best
        more = min(rest, most[best] - least[best])
        total += more * values[best]
        rest -= more
        if rest <= 0.0:
            break
    return float(total)
