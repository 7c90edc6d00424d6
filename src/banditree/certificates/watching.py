"""What a plan notices after a case has settled: how soon a change of the option's rate makes its score fall.

A score without a cap grows for as long as the option does well, and has far to fall when it no longer does; a capped
one is a CUSUM (Page 1954) upside down: it forgets how well things went, and notices a late change as fast as an early
one.
"""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.outcomes import box_outcomes
from banditree.certificates.watched_scores import unfold
from banditree.plans.plan import BoxKind, Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection, with_parameters

HIGHEST = 20_000  # points above which a score is counted as staying there: as far as it can fall in most horizons
SETTLED_TO = 1e-12  # relative change at which the average time between false alarms is known
GRID = 400  # scores of a CUSUM between 0 and its limit, whose points are no whole numbers


@dataclass(frozen=True, eq=False)
class Noticed:
    """What happens in each of M tasks if the option in force does worse by `drop` from the middle of the horizon on.

    rounds: (M,), until the score of that option has fallen, on average, the rest of the horizon where it does not;
    missed: (M,), the chance that it does not. Both None for a plan that does not watch at all. unwatched: (M,), whether
    most cases of the task rest where nothing is watched.
    """

    drop: float
    rounds: FloatArray | None
    missed: FloatArray | None
    unwatched: np.ndarray


def noticed(plan: Plan, collection: Collection, certificate: Certificate, drop: float) -> Noticed:
    """How soon a change half-way is noticed, at the box where most cases of each task rest. Exact.

    >>> from banditree.certificates.certify import certify
    >>> from banditree.plans.assemble import Box, assemble
    >>> two = Collection.bernoulli([[0.9, 0.2], [0.3, 0.8]])
    >>> lines = [Box(0, 1, points=(-3, 1), floor=6, cap=10), Box(1)]
    >>> plan = assemble(lines, two, 1000)
    >>> found = noticed(plan, two, certify(plan, two), 0.4)
    >>> found.unwatched.tolist(), found.rounds.round(1).tolist()
    ([False, True], [14.9, 500.0])
    """
    plan = unfold(plan)
    watches = plan.kind == BoxKind.WATCH
    assert certificate.at_end is not None
    box = np.where(watches | (plan.kind == BoxKind.EXPLOIT), certificate.at_end, -1.0).argmax(axis=1)
    unwatched = ~watches[box]
    if not watches.any():
        return Noticed(drop, None, None, unwatched)
    worse = with_parameters(collection, collection.rewards.shifted(collection.parameters, np.full((), -drop)))
    before, after = box_outcomes(plan, collection).least, box_outcomes(plan, worse).least
    M, rest = collection.n_tasks, certificate.horizon - certificate.horizon // 2
    rounds, missed = np.full(M, float(rest)), np.ones(M)
    for i in np.flatnonzero(~unwatched):
        score = (plan.points[box[i]], int(plan.floor[box[i]]), int(plan.cap[box[i]]))
        chances = (before[i, box[i]], after[i, box[i]])
        rounds[i], missed[i] = _until(*score, *chances, certificate.horizon // 2, rest)
    return Noticed(drop, rounds, missed, unwatched)


def _until(
    points: IntArray, floor: int, cap: int, before: FloatArray, after: FloatArray, settled: int, rest: int
) -> tuple[float, float]:
    """(expected rounds until the score is at -floor, at most `rest`; chance that it is not by then)."""
    top = cap or min(HIGHEST, int(points.max()) * settled)
    at = np.zeros(floor + top)  # scores -floor + 1 to top
    at[floor - 1] = 1.0
    for _ in range(settled):
        at = _step(at, points, before)
        at /= max(at.sum(), 1e-300)  # of the cases that are still there
    total, left = 0.0, 1.0
    for _ in range(rest):
        total += left
        at = _step(at, points, after)
        left = float(at.sum())
        if left < 1e-12:
            break
    return total, left


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
