"""A plan carried forward from round to round: the chance of every (box, score), in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one. Compiled
without numba's runtime, that is without counting references to arrays, which would take most of the time; the arrays
are therefore made outside.
"""

from typing import NamedTuple

import numpy as np

from banditree.certificates.lean import inlined, inner, lean
from banditree.tasks.arrays import FloatArray, IntArray

FIXED, SCORE, EXPLOIT, WATCH = 0, 1, 2, 3  # Counting, as numbers that numba takes as constants
NARROW = 48  # So few scores are moved faster than searched for those that hold next to nobody.
BOX_WORK = 300  # Moving one box in a round costs as much as moving this many scores.


class Boxes(NamedTuple):
    """The boxes of an unfolded plan under one task: the plan's arrays, and what one round does there.

    chance: (N, B), of the two sides of a FIXED box or of the bins of one pull. cost: (N,), per pull. height: (N,), the
    score at which a SCORE box is left above and a case at a WATCH box stays for good, or the first above its cap.
    turns: (N, 2), 1 where leaving below or above leads to another arm.
    leak: (N,), the chance that a case that stays for good at a WATCH box would leave after all. first: (N,), where the
    scores of a walk, or the pulls of a FIXED box, begin in the arrays of `Flow`.
    """

    kind: IntArray
    low: IntArray
    high: IntArray
    pulls: IntArray
    points: IntArray
    floor: IntArray
    cap: IntArray
    height: IntArray
    leak: FloatArray
    chance: FloatArray
    cost: FloatArray
    turns: FloatArray
    first: IntArray


class Limits(NamedTuple):
    """tiny: chances of single scores below it are dropped and counted as an error. done: so is what is not at rest when
    it is less than this, and the rest of the horizon is filled in at once. few: the chance of a test that UNTIL
    is about. work: that may be spent."""

    tiny: float
    done: float
    few: float
    work: float


class Totals(NamedTuple):
    """What a propagation fills in. (N,) each: pulls spent at a box, entries, exits below and above, exits that another
    arm is given after, and the chance of being there when the horizon ends. numbers: (5,), see below. regret, testing,
    changes: (H+1,), the expected regret and the chance of being at a test after each round, and that of another arm in
    it; empty where the course is not asked for."""

    spent: FloatArray
    entered: FloatArray
    below: FloatArray
    above: FloatArray
    turned: FloatArray
    at_end: FloatArray
    numbers: FloatArray
    regret: FloatArray
    testing: FloatArray
    changes: FloatArray


# Entries of Totals.numbers: the regret, the chance that was dropped, the first round after which few are tested, work,
# and the round from which on the rest was filled in at once.
REGRET, ERROR, UNTIL, WORK, LAST = 0, 1, 2, 3, 4


class Flow(NamedTuple):
    """Where the chance is, (N,) each: at walks and FIXED boxes, at rest for good, arriving, arriving in the next round;
    window (N, 2): the scores of a walk that hold anyone; until: the last round at which a FIXED box holds anyone.
    inside, spare: the chances of all scores now and in the next round; ring: of FIXED boxes, by the round of entry."""

    held: FloatArray
    stays: FloatArray
    arrive: FloatArray
    following: FloatArray
    window: IntArray
    until: IntArray
    inside: FloatArray
    spare: FloatArray
    ring: FloatArray


def flow_of(boxes: Boxes) -> Flow:
    """A case that arrives at box 0."""
    n, walks = boxes.kind.size, (boxes.kind == SCORE) | (boxes.kind == WATCH)
    held, stays, arrive, following = np.zeros((4, n))
    arrive[0] = 1.0
    n_scores, n_ring = int((boxes.floor - 1 + boxes.height)[walks].sum()), int(boxes.pulls.sum())
    places = (np.zeros(n_scores), np.zeros(n_scores), np.zeros(n_ring))
    return Flow(held, stays, arrive, following, np.zeros((n, 2), np.int64), np.full(n, -1, np.int64), *places)


def totals_of(n: int, rounds: int) -> Totals:
    """Nothing filled in yet, for n boxes and a course of some rounds."""
    spent, entered, below, above, turned, at_end = np.zeros((6, n))
    return Totals(spent, entered, below, above, turned, at_end, np.zeros(5), *np.zeros((3, rounds)))


@lean()
def propagate(boxes: Boxes, horizon: int, limits: Limits, flow: Flow, totals: Totals) -> bool:
    """Carry one task to the horizon and fill in `totals`; False if it takes too much work."""
    n, numbers, first = boxes.kind.size, totals.numbers, boxes.first
    inside, spare, ring = flow.inside, flow.spare, flow.ring
    rest_rate, t = 0.0, boxes.kind.size - n  # for a literal 0, `wait` would be compiled once more
    while True:
        rest_rate += settle(boxes, flow, horizon - t, totals)
        moving, testing = count(boxes, flow)
        if moving >= limits.done:
            t = wait(boxes, flow, t, horizon, rest_rate, testing, totals)
        if testing > limits.few:
            numbers[UNTIL] = t + 1
        if totals.testing.size > 0:
            totals.testing[t] = testing
        if t == horizon or moving < limits.done:
            finish(flow, t, horizon, rest_rate, moving, testing, totals)
            return True
        rate = rest_rate
        for box in range(n):
            pulled = flow.held[box] + flow.arrive[box]
            if boxes.kind[box] == FIXED:
                down, up = move_fixed(boxes, flow, box, ring[first[box] : first[box] + boxes.pulls[box]], t)
            elif pulled > 0.0:
                last = first[box] + boxes.floor[box] - 1 + boxes.height[box]
                here, new = inside[first[box] : last], spare[first[box] : last]
                down, up, dropped = move_walk(boxes, flow, box, here, new, limits.tiny)
                numbers[ERROR] += dropped
                numbers[WORK] += BOX_WORK + flow.window[box, 1] - flow.window[box, 0]
            else:
                continue
            if t + 1 < horizon:
                turned = down * boxes.turns[box, 0]
                if boxes.kind[box] != WATCH:
                    turned += up * boxes.turns[box, 1]
                totals.turned[box] += turned
                if totals.changes.size > 0:
                    totals.changes[t + 2] += turned
            if boxes.kind[box] == WATCH:
                flow.stays[box] += up
                rest_rate += up * boxes.cost[box]
                totals.spent[box] += up * (horizon - t - 1)
                numbers[ERROR] += up * boxes.leak[box]
            elif up > 0.0:
                flow.following[boxes.high[box]] += up
                totals.above[box] += up
            flow.following[boxes.low[box]] += down
            totals.below[box] += down
            totals.spent[box] += pulled
            rate += pulled * boxes.cost[box]
        numbers[REGRET] += rate
        if totals.regret.size > 0:
            totals.regret[t + 1] = totals.regret[t] + rate
        if numbers[WORK] > limits.work:
            return False
        for box in range(n):
            flow.arrive[box], flow.following[box] = flow.following[box], 0.0
        inside, spare = spare, inside
        t += 1


@inlined()
def settle(boxes: Boxes, flow: Flow, rounds_left: int, totals: Totals) -> float:
    """Count who enters which box, and put those at an end to rest; what they cost per round from now on."""
    rate = 0.0
    for box in range(boxes.kind.size):
        totals.entered[box] += flow.arrive[box]
        if boxes.kind[box] == EXPLOIT:
            flow.stays[box] += flow.arrive[box]
            rate += flow.arrive[box] * boxes.cost[box]
            totals.spent[box] += flow.arrive[box] * rounds_left
            flow.arrive[box] = 0.0
    return rate


@inlined()
def count(boxes: Boxes, flow: Flow) -> tuple[float, float]:
    """The chance of not being at rest for good, and the chance of being at a test."""
    moving, testing = 0.0, 0.0
    for box in range(boxes.kind.size):
        here = flow.held[box] + flow.arrive[box]
        moving += here
        if boxes.kind[box] == FIXED or boxes.kind[box] == SCORE:
            testing += here
    return moving, testing


@inlined()
def wait(boxes: Boxes, flow: Flow, t: int, horizon: int, rate: float, testing: float, totals: Totals) -> int:
    """The round at which somebody next leaves a FIXED box, if until then all just go on there; the rounds before it are
    filled in at once. In a tree that is nearly all of them."""
    after = horizon
    for box in range(boxes.kind.size):
        if flow.arrive[box] > 0.0 or (flow.held[box] > 0.0 and boxes.kind[box] != FIXED):
            return t
        if flow.held[box] > 0.0:
            start, size = boxes.first[box], boxes.pulls[box]
            leaves = t
            while leaves < after and flow.ring[start + (leaves + 1) % size] == 0.0:
                leaves += 1
            after = leaves
            if after == t:
                return t
    rounds = after - t
    for box in range(boxes.kind.size):
        totals.spent[box] += flow.held[box] * rounds
        rate += flow.held[box] * boxes.cost[box]
    totals.numbers[REGRET] += rate * rounds
    if totals.regret.size > 0:
        for later in range(t, after):
            totals.regret[later + 1] = totals.regret[later] + rate
            totals.testing[later] = testing
    return int(after)


@inlined()
def finish(flow: Flow, t: int, horizon: int, rate: float, moving: float, testing: float, totals: Totals) -> None:
    """Fill in what is left of the horizon when next to nobody moves any more."""
    totals.numbers[REGRET] += (horizon - t) * rate
    totals.numbers[LAST] = t
    if t < horizon:
        totals.numbers[ERROR] += moving
    if totals.regret.size > 0:
        for later in range(t, horizon):
            totals.regret[later + 1] = totals.regret[later] + rate
            totals.testing[later + 1] = testing
    for box in range(flow.held.size):
        totals.at_end[box] = flow.stays[box] + flow.held[box] + flow.arrive[box]


@inlined()
def move_fixed(boxes: Boxes, flow: Flow, box: int, entered: FloatArray, t: int) -> tuple[float, float]:
    """One pull of a FIXED box, in place: who enters at round t stays until the last pull, who is done leaves."""
    if flow.arrive[box] > 0.0:
        flow.until[box] = t + entered.size
    if flow.until[box] <= t:
        return 0.0, 0.0
    entered[t % entered.size] = flow.arrive[box]
    place = (t + 1) % entered.size
    out = entered[place]
    entered[place] = 0.0
    pulled = flow.held[box] + flow.arrive[box]
    flow.held[box] = max(pulled - out, 0.0) if flow.until[box] > t + 1 else 0.0
    return out * boxes.chance[box, 0], out * boxes.chance[box, 1]


@inner(forceinline=True)
def move_walk(
    boxes: Boxes, flow: Flow, box: int, here: FloatArray, new: FloatArray, tiny: float
) -> tuple[float, float, float]:
    """One pull of a score, from `here` to `new`: the chances to leave below and above, and what was dropped."""
    window, n = flow.window[box], here.size
    enter(here, window, boxes.floor[box] - 1, flow.arrive[box])
    left, right = window[0], window[1]
    points, chance = boxes.points[box], boxes.chance[box]
    down, up = 0.0, 0.0
    for b in range(points.size):
        for s in range(left, min(max(left, -points[b]), right)):
            down += chance[b] * here[s]
        for s in range(max(min(right, n - points[b]), left), right):
            up += chance[b] * here[s]
        window[0], window[1] = min(window[0], left + points[b]), max(window[1], right + points[b])
    window[0], window[1] = max(window[0], 0), min(window[1], n)
    if points.size == 2 and points[0] < points[1] and right - left >= points[1] - points[0]:
        mix(here, new, left, right, window, points, chance)
    else:
        scatter(here, new, left, right, window, points, chance)
    if up > 0.0 and 0 < boxes.cap[box] < boxes.height[box]:  # counted no higher than the cap
        new[n - 1] += up
        up = 0.0
    dropped = trim(new, window, tiny) if window[1] - window[0] > NARROW else 0.0
    flow.held[box] = total(new[window[0] : window[1]])
    if flow.held[box] < tiny:
        dropped += flow.held[box]
        flow.held[box], window[0], window[1] = 0.0, 0, 0
    return down, up, dropped


@inlined()
def scatter(
    here: FloatArray, new: FloatArray, left: int, right: int, window: IntArray, points: IntArray, chance: FloatArray
) -> None:
    """Move the scores from `left` to `right` of `here` to the window of `new`, bin by bin."""
    new[window[0] : window[1]] = 0.0
    for b in range(points.size):
        start, stop = max(left, -points[b]), min(right, new.size - points[b])
        for s in range(start, stop):
            new[s + points[b]] += chance[b] * here[s]


@inlined()
def mix(
    here: FloatArray, new: FloatArray, left: int, right: int, window: IntArray, points: IntArray, chance: FloatArray
) -> None:
    """The same for two bins and a wide window, in one pass: most scores are reached from below and from above."""
    fall, rise = points[0], points[1]
    only_down, only_up = min(left + rise, window[1]), max(right + fall, window[0])
    for s in range(window[0], only_down):
        new[s] = chance[0] * here[s - fall]
    count, p, q = only_up - only_down, chance[0], chance[1]
    above, below = here[only_down - fall : only_up - fall], here[only_down - rise : only_up - rise]
    both = new[only_down:only_up]
    for s in range(count):
        both[s] = p * above[s] + q * below[s]
    for s in range(only_up, window[1]):
        new[s] = chance[1] * here[s - rise]


@inlined()
def enter(scores: FloatArray, window: IntArray, start: int, entering: float) -> None:
    """Add who enters, at score 0, and widen the window to hold it."""
    if entering <= 0.0:
        return
    if window[0] == window[1]:
        window[0], window[1] = start, start
    if start < window[0]:
        scores[start : window[0]] = 0.0
        window[0] = start
    elif start >= window[1]:
        scores[window[1] : start + 1] = 0.0
        window[1] = start + 1
    scores[start] += entering


@inlined()
def trim(scores: FloatArray, window: IntArray, tiny: float) -> float:
    """Narrow the window at both ends while next to nobody is there; the chance that is dropped with it."""
    dropped = 0.0
    while window[0] < window[1] and scores[window[0]] < tiny:
        dropped += scores[window[0]]
        window[0] += 1
    while window[0] < window[1] and scores[window[1] - 1] < tiny:
        dropped += scores[window[1] - 1]
        window[1] -= 1
    return dropped


@inner(fastmath=True)
def total(scores: FloatArray) -> float:
    """The sum; its terms are positive and finite, so that they may be added in any order."""
    added = 0.0
    for s in range(scores.size):
        added += scores[s]
    return added
