"""A plan without its clock: where each box leads and what it takes, and totals over a case as linear equations."""

import numpy as np

from banditree.certificates.outcomes import Outcomes
from banditree.certificates.watched_scores import leaving
from banditree.errors import InvalidInput
from banditree.plans.counts import Counting
from banditree.plans.machine import Machine
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection

MOST_NUMBERS = 100_000_000  # The exits of one score are found with this many numbers at most, which are 800 MB.
ENDLESS = 1e4  # A plan that tests for this many horizons on average is refused as one that may never end.


def exit_distributions(machine: Machine, outcomes: Outcomes, horizon: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(chance of the low side, of the high side, expected pulls) of each box under each task, all (N, M).

    Exact for tests however long they take; for watch lines, bounds of the chance of leaving in the horizon and of the
    rounds until then.
    """
    down, up = outcomes.least[:, :, 0].T.copy(), outcomes.least[:, :, 1].T.copy()
    pulls = np.repeat(machine.pulls[:, None].astype(float), down.shape[1], axis=1)
    boxes = np.flatnonzero(machine.kind == Counting.SCORE)
    if boxes.size:
        from banditree.certificates.walks import leave_all

        _require_memory(machine, boxes, down.shape[1])
        chance = np.ascontiguousarray(outcomes.least[:, boxes, : machine.points.shape[1]].transpose(1, 2, 0))
        down[boxes], up[boxes], pulls[boxes] = leave_all(
            machine.points[boxes], machine.floor[boxes], machine.ceil[boxes], chance
        )
    watched = np.flatnonzero(machine.kind == Counting.WATCH)
    if watched.size:
        chances = outcomes.least[:, watched, : machine.points.shape[1]]
        down[watched], pulls[watched] = leaving(machine, watched, chances, horizon)
        up[watched] = 0.0
    return down, up, pulls


def _require_memory(machine: Machine, boxes: IntArray, n_tasks: int) -> None:
    """Scores with a way too long for memory are refused before it is taken."""
    falls = np.maximum(-machine.points[boxes].min(axis=1), 0) + 1
    numbers = (machine.floor[boxes] + machine.ceil[boxes]) * falls * n_tasks
    if numbers.max() > MOST_NUMBERS:
        raise InvalidInput(
            f"Box {boxes[numbers.argmax()] + 1} of this plan counts too far to be certified: it needs "
            f"{numbers.max():,} numbers. Give it lower levels or fewer points, or simulate it."
        )


def solve(machine: Machine, down: FloatArray, up: FloatArray, cost: FloatArray) -> FloatArray | None:
    """The expected total (M,) of `cost` (N, M) from box 0 to a leaf, or None if it is not finite.

    V = cost + down V[low] + up V[high], a leaf's V being its cost. One pass from the last box to the first gives every
    V in terms of the few boxes that links lead back to; a small linear system gives those.
    """
    from banditree.certificates.case_totals import values_by_link

    if not np.isfinite(cost).all():
        return None
    targets = back_targets(machine)
    slot = np.full(machine.n_rows, -1)
    slot[targets] = np.arange(targets.size)
    value = np.zeros((machine.n_rows, 1 + targets.size, cost.shape[1]))
    values_by_link(machine.low, machine.high, down, up, cost, slot, value)
    if targets.size == 0:
        return np.asarray(value[0, 0])
    weights = value[targets, 1:].transpose(2, 0, 1)
    try:
        known = np.linalg.solve(np.eye(targets.size) - weights, value[targets, 0].T[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(known).all() and known.min() >= -1e-9):
        return None
    return np.asarray(value[0, 0] + np.einsum("sm,ms->m", value[0, 1:], known), dtype=np.float64)


def back_targets(machine: Machine) -> IntArray:
    """The boxes that some link leads back to."""
    back = [child for box, children in enumerate(machine.links) for child in children if child <= box]
    return np.unique(np.array(back, dtype=np.int64))


def require_end(
    machine: Machine, collection: Collection, outcomes: Outcomes, horizon: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What `exit_distributions` returns, or an error if the tests may go on for ever or so long that it makes no
    difference, or if the plan never comes to rest under some task."""
    exits = exit_distributions(machine, outcomes, horizon)
    endless = endless_under(machine, outcomes, horizon, exits)
    if endless.any():
        raise InvalidInput(
            f"This plan may never end for task {collection.tasks[int(endless.argmax())]!r}: it starts again or goes "
            "back with a chance too close to one. Give it an end that cases reach, or other levels."
        )
    return exits


def endless_under(
    machine: Machine, outcomes: Outcomes, horizon: int, exits: tuple[FloatArray, FloatArray, FloatArray] | None = None
) -> BoolArray:
    """The tasks (M,) under which tests may go on for ever, or so long that it makes no difference. exits: if known."""
    down, up, pulls = exits or exit_distributions(machine, outcomes, horizon)
    if not back_targets(machine).size and np.isfinite(pulls).all():
        return np.zeros(down.shape[1], dtype=bool)
    leaves, watched = down.copy(), np.flatnonzero(machine.kind == Counting.WATCH)
    if watched.size:
        # Caps are set aside: they make every case leave some day, but not before it has rested.
        uncapped = machine._replace(cap=np.zeros_like(machine.cap))
        leaves[watched] = leaving(uncapped, watched, outcomes.least[:, watched, : machine.points.shape[1]], horizon)[0]
    testing = np.where((machine.kind == Counting.WATCH)[:, None], 0.0, pulls)
    expected = solve(machine, leaves, up, testing)
    if expected is None:  # then which of the tasks it is
        each = [solve(machine, *(part[:, [i]] for part in (leaves, up, testing))) for i in range(down.shape[1])]
        expected = np.array([np.inf if one is None else one[0] for one in each])
    return np.asarray(expected > ENDLESS * horizon)
