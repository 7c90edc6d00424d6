"""How a box is left before a last round that may be any: discounted exit chances of a score between two levels.

The horizon is met by a chance 1/H to end at every round, so that values do not depend on the round at hand and restarts
have a closed form; to first order in what happens late this is the horizon itself. A score is eliminated from the top
down, as in `certificates.walks`: only positive numbers are added, multiplied and divided. Compiled by numba: import
this module where it is used, not at the top of another one.
"""

import numpy as np

from banditree.certificates.outcomes import Outcomes
from banditree.certificates.walks import exits_from
from banditree.plans.counts import Counting
from banditree.plans.machine import Machine
from banditree.tasks.arrays import FloatArray, IntArray

NO_CAP = 1_000  # Above this, more points make no difference, so a score without a cap is computed with this one.


def score_exits(
    points: IntArray, chance: FloatArray, going: float | FloatArray, floors: IntArray, ceils: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(down, up, rounds), each (ceils, floors, S), of score lines: one ladder serves all levels.

    going: the chance of going on after a round, for all scenarios or for each (S,).
    """
    down, up, rounds = exits_from(points, chance, _each(going, chance), floors, ceils - 1, False)
    return down, up, rounds


def watch_exits(
    points: IntArray, chance: FloatArray, going: float | FloatArray, floors: IntArray, caps: IntArray
) -> tuple[FloatArray, FloatArray]:
    """(down, rounds), each (caps, floors, S), of watch lines whose score is held at a cap."""
    down, _up, rounds = exits_from(points, chance, _each(going, chance), floors, caps, True)
    return down, rounds


def discounted_exits(machine: Machine, outcomes: Outcomes, going: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(chance of the low side, of the high side, expected rounds) of each box under each task, all (N, M), before a
    last round that comes with chance 1 - going after each."""
    N, M = machine.n_rows, len(outcomes.cost)
    down, up, rounds = np.zeros((N, M)), np.zeros((N, M)), np.full((N, M), 1.0 / (1.0 - going))
    for box in range(N):
        floors, bins = np.array([machine.floor[box]]), np.ascontiguousarray(outcomes.least[:, box, :].T)
        points = machine.points[box].copy()  # not read-only, as in a search: what is compiled for one serves the other
        if machine.kind[box] == Counting.FIXED:
            still = going ** int(machine.pulls[box])
            down[box], up[box] = bins[0] * still, bins[1] * still
            rounds[box] = (1.0 - still) / (1.0 - going)
        elif machine.kind[box] == Counting.SCORE:
            levels = (points, bins[: machine.points.shape[1]], going, floors, machine.ceil[box : box + 1])
            down[box], up[box], rounds[box] = (part[0, 0] for part in score_exits(*levels))
        elif machine.kind[box] == Counting.WATCH:
            caps = np.array([int(machine.cap[box]) or NO_CAP])
            levels = (points, bins[: machine.points.shape[1]], going, floors, caps)
            down[box], rounds[box] = (part[0, 0] for part in watch_exits(*levels))
    return down, up, rounds


def _each(going: float | FloatArray, chance: FloatArray) -> FloatArray:
    """The chance of going on (S,) under each scenario."""
    return np.full(chance.shape[1], going)
