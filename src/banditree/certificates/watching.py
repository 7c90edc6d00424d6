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
