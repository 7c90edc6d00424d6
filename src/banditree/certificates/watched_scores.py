"""Scores without a ceiling: watch lines, and ends under a safety rule.

A score that drifts upwards is left below with a chance that falls geometrically in its height (Lundberg's inequality):
with a decay theta > 0 for which E exp(-theta points) <= 1, a score s falls to -floor with a chance of at most
exp(-theta (s + floor)). Above some height a case is therefore counted as staying for good, at a proven error.
"""

import numpy as np

from banditree.plans.machine import Machine
from banditree.tasks.arrays import FloatArray, IntArray

STAYS = 1e-11  # A case that leaves with a smaller chance counts as staying for good, and the chance as an error.


def decay(points: IntArray, most: FloatArray, least: FloatArray) -> FloatArray:
    """For each of n scores the largest theta, to rounding, with E exp(-theta points) <= 1 for all chances in bounds.

    points: (n, B). most, least: (n, B), bounds of the chances, equal where these are known. 0 where the score need not
    drift upwards, infinite where it cannot fall.

    >>> decay(np.array([[-1, 1]]), np.array([[0.2, 0.8]]), np.array([[0.2, 0.8]])).round(6).tolist()  # log 4
    [1.386294]
    """
    from banditree.certificates.decays import largest_decays

    chance, found = least if most is least else lowest_chances(points, most, least), np.zeros(len(points))
    largest_decays(points, np.ascontiguousarray(chance), found)
    return found


def lowest_chances(points: IntArray, most: FloatArray, least: FloatArray) -> FloatArray:
    """Of all chances between `least` and `most` those (n, B) that put the most on the lowest points."""
    chance, rest = least.copy(), 1.0 - least.sum(axis=1)
    order = np.argsort(points, axis=1, kind="stable")
    for rank in range(points.shape[1]):
        at = order[:, rank : rank + 1]
        more = np.minimum(rest[:, None], np.take_along_axis(most - least, at, axis=1))
        np.put_along_axis(chance, at, np.take_along_axis(chance, at, axis=1) + more, axis=1)
        rest = rest - more[:, 0]
    return chance


def heights(
    machine: Machine, boxes: IntArray, chance: FloatArray, horizon: int, stays: float = STAYS
) -> tuple[IntArray, FloatArray]:
    """For watch lines under one task: the score from which a case stays for good, and the chance that it does not.

    chance: (len(boxes), B), of the bins. A capped score that may fall from its cap within the horizon has no such
    height: it gets the first score above its cap. A score that does not drift upwards gets a height that it cannot
    reach within the horizon (Hoeffding's inequality); who does get there is counted as an error.
    """
    points, floor, cap = machine.points[boxes], machine.floor[boxes], machine.cap[boxes]
    theta = decay(points, chance, chance)
    with np.errstate(divide="ignore", over="ignore"):
        safe = np.maximum(np.ceil(-np.log(stays) / theta) - floor, 1.0)
    drift = np.maximum((chance * points).sum(axis=1), 0.0)
    spread = (points.max(axis=1) - points.min(axis=1)) * np.sqrt(-np.log(stays) * horizon / 2)
    reachable = np.minimum(np.ceil(drift * horizon + spread), points.max(axis=1) * float(horizon)) + 1
    from_cap = np.where(cap > 0, horizon * np.exp(-theta * (cap + floor)), 0.0)
    height, leak = np.minimum(safe, reachable), np.where(safe <= reachable, stays + from_cap, 1.0)
    stuck = (cap > 0) & ((height > cap) | (from_cap > stays))
    return np.where(stuck, cap + 1, height).astype(np.int64), np.where(stuck, 0.0, leak)


def leaving(machine: Machine, boxes: IntArray, chance: FloatArray, horizon: int) -> tuple[FloatArray, FloatArray]:
    """Upper bounds, for watch lines under M tasks, of the chance of leaving in the horizon and the rounds until then.

    chance: (M, len(boxes), B). Both (len(boxes), M); the rounds are at most the horizon. A score that drifts downwards
    falls by at most floor + fall - 1, so that it lasts at most that divided by the drift, on average (Wald's equation).
    """
    points, floor, cap = machine.points[boxes], machine.floor[boxes], machine.cap[boxes]
    chances = np.empty((len(boxes), len(chance)))
    rounds = np.full_like(chances, float(horizon))
    farthest = floor - points.min(axis=1) - 1.0
    for i, of_task in enumerate(chance):
        theta, drift = decay(points, of_task, of_task), (of_task * points).sum(axis=1)
        with np.errstate(invalid="ignore"):
            below = np.where(np.isinf(theta), 0.0, np.exp(-theta * floor))
            from_cap = np.where((cap > 0) & np.isfinite(theta), horizon * np.exp(-theta * (cap + floor)), 0.0)
        chances[:, i] = np.minimum(below + from_cap, 1.0)
        falling = drift < 0
        rounds[falling, i] = np.minimum(farthest[falling] / -drift[falling], horizon)
    return chances, rounds
