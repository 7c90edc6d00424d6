"""TallyMachine: a plan that treats as the leader as computers run it."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from banditree.plans.gives import TreatAsLeader
from banditree.plans.plan import Plan
from banditree.tasks.arrays import IntArray, frozen


class TallyMachine(NamedTuple):
    """Where a case stands is a tally per task (M,), the lowest of them 0.

    options: (M, S), what is given in each state where a task leads. outcomes: (S, K, 2, M) and moves: (S, K, S, M), the
    points against every task; 0 for arms that are never given there. most: (1,), no tally counts above it.
    """

    options: IntArray
    outcomes: IntArray
    moves: IntArray
    most: IntArray


def tallies_of(plan: Plan) -> TreatAsLeader | None:
    """What the plan gives, where it treats as the leader."""
    gives = plan.lines[0].gives
    return gives if isinstance(gives, TreatAsLeader) else None


@lru_cache(maxsize=32)
def tally_machine_of(plan: Plan) -> TallyMachine:
    """The machine of a plan that treats as the leader."""
    leader = tallies_of(plan)
    assert leader is not None
    M, S, K = len(plan.tasks), len(plan.states), len(plan.arms)
    outcomes, moves = np.zeros((S, K, 2, M), np.int64), np.zeros((S, K, S, M), np.int64)
    for row in leader.sheet:
        s, k = plan.states.index(row.state), plan.arm_numbers[row.arm]
        outcomes[s, k], moves[s, k] = (row.failure, row.success), row.moves
    options = [[plan.arm_numbers[arm] for arm in rule.options] for rule in leader.rules]
    return TallyMachine(
        frozen(options, np.int64),
        frozen(outcomes, np.int64),
        frozen(moves, np.int64),
        frozen([leader.most], np.int64),
    )
