"""What a plan notices after a case has settled: how soon a change of the option's rate makes its score fall.

A score without a cap grows for as long as the option does well, and has far to fall when it no longer does; a capped
one is a CUSUM (Page 1954) upside down: it forgets how well things went, and notices a late change as fast as an early
one.
"""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.outcomes import box_outcomes
from banditree.plans.counts import Counting
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection

MIXED = 30  # A capped score has forgotten its start after this many times its height.
UNSEEN = 1e-12  # A smaller chance makes no difference.
GRID = 200  # A CUSUM, whose points are not whole numbers, is computed on this many scores from 0 to its limit.


@dataclass(frozen=True, eq=False)
class Noticed:
    """What happens in each of M tasks if the option in force does worse by `drop` for the last `most` rounds.

    rounds: (M,), until the score of that option has fallen, on average, the rest of the horizon where it does not; None
    for a plan that does not watch at all. unwatched: (M,), whether most cases of the task rest where nothing is
    watched. uncapped: (M,), whether they rest where the score has no cap.
    """

    drop: float
    most: int
    rounds: FloatArray | None
    unwatched: BoolArray
    uncapped: BoolArray


def noticed(plan: Plan, collection: Collection, certificate: Certificate, drop: float) -> Noticed:
    """How soon a change half-way is noticed, at the box where most cases of each task rest.

    Exact for capped scores. One without a cap stands at about its drift times the rounds so far, and takes as long to
    come down from there (Wald's equation): an approximation.

    >>> from banditree.certificates.certify import certify
    >>> from banditree import ByOutcome, Give, Line, Watch, make_plan
    >>> two = Collection.bernoulli([[0.9, 0.2], [0.3, 0.8]], arms=["A", "B"])
    >>> line = Line(Give("A"), Watch(ByOutcome((-3, 1)), floor=6, cap=10), below=Line(Give("B")))
    >>> plan = make_plan([line], two, 1000)
    >>> found = noticed(plan, two, certify(plan, two), 0.4)
    >>> found.unwatched.tolist(), found.rounds.round(1).tolist()
    ([False, True], [14.9, 500.0])
    """
    machine = machine_of(plan)
    watches = machine.kind == Counting.WATCH
    assert certificate.at_end is not None
    box = np.where(watches | (machine.kind == Counting.EXPLOIT), certificate.at_end, -1.0).argmax(axis=1)
    unwatched = ~watches[box]
    rest = certificate.horizon - certificate.horizon // 2
    if not watches.any():
        return Noticed(drop, rest, None, unwatched, ~unwatched)
    worse = with_parameters(collection, collection.rewards.shifted(collection.parameters, np.full((), -drop)))
    before, after = box_outcomes(plan, collection).least, box_outcomes(plan, worse).least
    rounds = np.full(collection.n_tasks, float(rest))
    for i in np.flatnonzero(~unwatched):
        points, floor, cap = machine.points[box[i]], int(machine.floor[box[i]]), int(machine.cap[box[i]])
        chances = before[i, box[i]], after[i, box[i]]
        uncapped = not cap
        rounds[i] = (
            _from_afar(points, floor, *chances, rest) if uncapped else _until(points, floor, cap, *chances, rest)
        )
    return Noticed(drop, rest, rounds, unwatched, ~unwatched & (machine.cap[box] == 0))


def _from_afar(points: IntArray, floor: int, before: FloatArray, after: FloatArray, rest: int) -> float:
    """About how long a score without a cap that has risen for as many rounds as are left takes to come down."""
    rise, fall = (float(points @ chance[: len(points)]) for chance in (before, after))
    return float(rest) if fall >= 0 else min((max(rise, 0.0) * rest + floor) / -fall, float(rest))


def _until(points: IntArray, floor: int, cap: int, before: FloatArray, after: FloatArray, rest: int) -> float:
    """The expected rounds until a capped score, as it is half-way, is at -floor; at most `rest`."""
    at = np.zeros(floor + cap)  # scores -floor + 1 to the cap
    at[floor - 1] = 1.0
    for _ in range(min(rest, MIXED * len(at))):
        at = _step(at, points, before)
        at /= max(at.sum(), 1e-300)  # of the cases that are still there
    total = 0.0
    for _ in range(rest):
        left = float(at.sum())
        total += left
        if left < UNSEEN:
            break
        at = _step(at, points, after)
    return total


def _step(at: FloatArray, points: IntArray, chance: FloatArray) -> FloatArray:
    """The chances of the scores after one outcome; what falls to the floor is gone, what rises stays at the top."""
    after = np.zeros_like(at)
    for point, p in zip(points.tolist(), chance.tolist(), strict=False):
        if point >= 0:
            after[point:] += p * at[: len(at) - point]
            after[-1] += p * at[len(at) - point :].sum()
        else:
            after[:point] += p * at[-point:]
    return after


def capped_delay(points: tuple[int, int], floor: int, cap: int, before: float, after: float) -> tuple[float, float]:
    """(rounds between false alarms at the rate `before`, rounds until a change to `after` is noticed) of a 0/1 score.

    Both from the top, where a case that does well mostly is.

    >>> between, delay = capped_delay((-3, 1), 10, 10, 0.9, 0.5)
    >>> round(delay, 1)
    19.6
    """
    return _time_to_leave(points, floor + cap, 1.0 - before), _time_to_leave(points, floor + cap, 1.0 - after)


def _time_to_leave(points: tuple[int, int], height: int, failure: float) -> float:
    """Expected rounds from `height` steps above the floor, with a wall at the top, until the score is at the floor."""
    scores = np.arange(1, height + 1)
    move = np.eye(height)
    for point, p in zip(points, (failure, 1.0 - failure), strict=True):
        target = np.minimum(scores + point, height)
        inside = target >= 1
        np.add.at(move, (scores[inside] - 1, target[inside] - 1), -p)
    return float(np.linalg.solve(move, np.ones(height))[-1])


def cusum_delay(before: float, after: float, between: float) -> float:
    """The delay of a CUSUM that knows both rates and whose limit gives `between` rounds between false alarms.

    >>> round(cusum_delay(0.9, 0.5, 5000.0), 1)
    12.9
    """
    low, high = 0.0, 60.0
    for _ in range(40):
        limit = (low + high) / 2
        low, high = (limit, high) if _cusum_time(before, after, limit, before) < between else (low, limit)
    return _cusum_time(before, after, high, after)


def _cusum_time(before: float, after: float, limit: float, rate: float) -> float:
    """Expected rounds until the sum of log-likelihood ratios, never below 0, is above its limit, on a fine grid."""
    width = limit / GRID
    moves = np.array([np.log((1 - after) / (1 - before)), np.log(after / before)])
    scores = np.arange(GRID) * width
    system = np.eye(GRID)
    for move, p in zip(moves, (1 - rate, rate), strict=True):
        target = np.maximum(scores + move, 0.0) / width
        below = np.floor(target).astype(int)
        share = target - below  # between two scores of the grid, in proportion
        for place, part in ((below, 1 - share), (below + 1, share)):
            inside = place < GRID
            np.add.at(system, (np.arange(GRID)[inside], place[inside]), -p * part[inside])
    return float(np.linalg.solve(system, np.ones(GRID))[0])
