"""How a case follows a plan that treats as the leader by tallies for all kinds; the rounds wait for their next states
as in `by_state`."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.plans.plan import Plan
from banditree.plans.tally_machine import TallyMachine, tally_machine_of
from banditree.policies.base import Facts, Outcome, Policy, Rng
from banditree.policies.by_state import ARM, NOTHING, REWARD, STATE, one_round
from banditree.policies.options import take_options
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

STATE_NEEDED, ARM_NOT_AVAILABLE = int(Outcome.STATE_NEEDED), int(Outcome.ARM_NOT_AVAILABLE)


class Tallies(NamedTuple):
    """The tally of each task (M,), and the last round (3,), which waits for its next state."""

    tally: IntArray
    pending: IntArray


def make_tallies(plan: Plan, horizon: int, options: Mapping[str, Any]) -> TallyMachine:
    """The machine of the plan. No options."""
    take_options(options)
    return tally_machine_of(plan)


def init_tallies(params: TallyMachine) -> Tallies:
    """Nothing against any task."""
    return Tallies(np.zeros(params.options.shape[0], np.int64), np.full(3, NOTHING, np.int64))


def against(params: TallyMachine, state: Tallies, task: int, here: int) -> int:
    """The tally of a task once the pending round is counted, before the lowest is taken off."""
    before, arm = state.pending[STATE], state.pending[ARM]
    if before < 0:
        return int(state.tally[task])
    new = params.outcomes[before, arm, state.pending[REWARD], task] + params.moves[before, arm, here, task]
    return int(state.tally[task] + new)


def leader_of(params: TallyMachine, state: Tallies, here: int) -> int:
    """The task with the lowest tally, the first of several."""
    best, least = 0, against(params, state, 0, here)
    for i in range(1, state.tally.shape[0]):
        tally = against(params, state, i, here)
        if tally < least:
            best, least = i, tally
    return best


def choose_tallies(params: TallyMachine, state: Tallies, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The best arm of the leader in the state of the round."""
    if math.isnan(context[0]):
        return STATE_NEEDED
    here = int(context[0])
    arm = params.options[leader_of(params, state, here), here]
    return int(arm) if available[arm] else ARM_NOT_AVAILABLE


def pass_over_tallies(params: TallyMachine, state: Tallies, context: FloatArray) -> None:
    """Count the pending round with the state of this one."""
    if state.pending[STATE] >= 0 and not math.isnan(context[0]):
        here = int(context[0])
        least = against(params, state, leader_of(params, state, here), here)
        for i in range(state.tally.shape[0]):
            state.tally[i] = min(against(params, state, i, here) - least, params.most[0])
    state.pending[STATE] = NOTHING


def update_tallies(params: TallyMachine, state: Tallies, context: FloatArray, arm: int, reward: float) -> None:
    """Count the round before, and keep this one until its next state is known."""
    pass_over_tallies(params, state, context)
    state.pending[STATE], state.pending[ARM], state.pending[REWARD] = int(context[0]), arm, 1 if reward > 0.5 else 0


def explain_tallies(params: TallyMachine, state: Tallies) -> Facts:
    """The tallies, and whether the points of the last round wait for the next state."""
    waits = bool(state.pending[STATE] >= 0)
    return Facts(
        exploiting=True, box=0, pulls=None, details={"tallies": state.tally.tolist(), "waits_for_state": waits}
    )


def commitment_tallies(params: TallyMachine, state: Tallies) -> int:
    """The leader, by all rounds but the last."""
    return int(state.tally.argmin())


follow_tallies = Policy(
    "follow-tallies",
    make_tallies,
    init_tallies,
    choose_tallies,
    update_tallies,
    explain_tallies,
    one_round,
    commitment=commitment_tallies,
    pass_over=pass_over_tallies,
)
