"""StateMachine: a plan with states as computers run it; `state_machine_of` is the only road from lines to it."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.gives import NONE, TreatByState
from banditree.plans.plan import Plan
from banditree.plans.points import StateTable
from banditree.tasks.arrays import IntArray, frozen


class StateMachine(NamedTuple):
    """N rows, starting at row 0; where a case stands is (row, rounds there, score). (N,) each, unless said otherwise:

    kind: a `Counting`. options: (N, S), what is given in each state. task: the one that is treated as, NONE where a
    line only tests. low, high: the next rows, NONE where there is none. floor, ceil, cap: as in `Machine`. outcomes:
    (N, S, 2), the points of a failure and of a success. moves: (N, S, S), those of the next state. line: the line that
    a row came from, NONE for an end.
    """

    kind: IntArray
    options: IntArray
    task: IntArray
    low: IntArray
    high: IntArray
    floor: IntArray
    ceil: IntArray
    cap: IntArray
    outcomes: IntArray
    moves: IntArray
    line: IntArray

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.kind)

    @property
    def n_states(self) -> int:
        """S."""
        return int(self.options.shape[1])


@lru_cache(maxsize=32)
def state_machine_of(plan: Plan) -> StateMachine:
    """The machine of a plan with states."""
    if not plan.states:
        raise InvalidInput("The plan has no states, and the collection has. Make the plan from this collection.")
    S, rows = len(plan.states), plan.rows
    links = [[*both, NONE, NONE] for both in plan.links]
    numbers = [row.counts.numbers for row in rows]
    rules = [row.gives for row in rows if isinstance(row.gives, TreatByState)]
    tables = [row.counts.points if isinstance(row.counts.points, StateTable) else None for row in rows]
    return StateMachine(
        frozen([one.kind for one in numbers], np.int64),
        frozen([[plan.arm_numbers[arm] for arm in rule.options] for rule in rules], np.int64),
        frozen([rule.numbers(plan)[1] for rule in rules], np.int64),
        frozen([both[0] for both in links], np.int64),
        frozen([both[1] for both in links], np.int64),
        frozen([one.floor for one in numbers], np.int64),
        frozen([one.ceil for one in numbers], np.int64),
        frozen([one.cap for one in numbers], np.int64),
        frozen([np.zeros((S, 2)) if table is None else table.outcomes for table in tables], np.int64),
        frozen([np.zeros((S, S)) if table is None else table.moves for table in tables], np.int64),
        frozen([row if row < len(plan.lines) else NONE for row in range(len(rows))], np.int64),
    )
