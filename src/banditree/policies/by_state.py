"""How a case with states is decided: plans followed, and Thompson sampling, the likeliest kind and QMDP by the kinds.

The context of a round is the number of the state that the case is in. What a round says is complete only when the next
state is known, so a round is kept as pending until the next one begins: `choose` looks past it without writing, and
`update` counts it. `pass_over` is for rounds that are not tallied.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.plans.counts import Counting
from banditree.plans.plan import Plan
from banditree.plans.state_machine import StateMachine, state_machine_of
from banditree.policies.base import NO_TASK, UNDECIDED, Facts, Outcome, Policy, Rng
from banditree.policies.options import take_options
from banditree.policies.random import uniform
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.optimal_states import optimal
from banditree.tasks.states import StateCollection, with_its_states

SCORE, EXPLOIT, WATCH = int(Counting.SCORE), int(Counting.EXPLOIT), int(Counting.WATCH)
STATE_NEEDED, ARM_NOT_AVAILABLE = int(Outcome.STATE_NEEDED), int(Outcome.ARM_NOT_AVAILABLE)
BOX, PULLS = 0, 1  # The entries of StatePlace.place.
STATE, ARM, REWARD = 0, 1, 2  # The entries of pending; STATE is NOTHING where no round is.
NOTHING = -1
LEAST = 1e-300  # No chance of what was seen is smaller.


class StatePlace(NamedTuple):
    """Where the case stands: place is (row, rounds there), total (1,) its score, pending (3,) the last round."""

    place: IntArray
    total: FloatArray
    pending: IntArray


def make_by_state(plan: Plan, horizon: int, options: Mapping[str, Any]) -> StateMachine:
    """The machine of the plan. No options."""
    take_options(options)
    return state_machine_of(plan)


def init_by_state(params: StateMachine) -> StatePlace:
    """At row 0 with nothing tallied."""
    return StatePlace(np.zeros(2, np.int64), np.zeros(1), np.full(3, NOTHING, np.int64))


def score_after(params: StateMachine, place: StatePlace, state: int) -> float:
    """The score once the pending round is counted with the state that came next."""
    row, before = place.place[BOX], place.pending[STATE]
    score = place.total[0]
    if before < 0 or params.kind[row] == EXPLOIT:
        return float(score)
    score += params.outcomes[row, before, place.pending[REWARD]] + params.moves[row, before, state]
    if params.cap[row] > 0 and score > params.cap[row]:
        score = float(params.cap[row])
    return float(score)


def row_after(params: StateMachine, row: int, score: float) -> int:
    """The row at which a case is with a score: where the row leads, if the score has come to one of its levels."""
    if params.kind[row] == EXPLOIT:
        return row
    if params.kind[row] == SCORE and score >= params.ceil[row]:
        return int(params.high[row])
    if score <= -params.floor[row]:
        return int(params.low[row])
    return row


def choose_by_state(
    params: StateMachine, state: StatePlace, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """What the rule of the row gives in the state of the round."""
    if math.isnan(context[0]):
        return STATE_NEEDED
    here = int(context[0])
    row = row_after(params, state.place[BOX], score_after(params, state, here))
    arm = params.options[row, here]
    return int(arm) if available[arm] else ARM_NOT_AVAILABLE


def pass_over_by_state(params: StateMachine, state: StatePlace, context: FloatArray) -> None:
    """Count the pending round with the state of this one, which is not tallied itself."""
    if state.pending[STATE] < 0:
        return
    if not math.isnan(context[0]):
        row = state.place[BOX]
        score = score_after(params, state, int(context[0]))
        following = row_after(params, row, score)
        state.total[0] = score
        state.place[PULLS] += 1
        if following != row:
            state.place[BOX], state.place[PULLS], state.total[0] = following, 0, 0.0
    state.pending[STATE] = NOTHING


def update_by_state(params: StateMachine, state: StatePlace, context: FloatArray, arm: int, reward: float) -> None:
    """Count the round before, and keep this one until its next state is known."""
    pass_over_by_state(params, state, context)
    state.pending[STATE], state.pending[ARM], state.pending[REWARD] = int(context[0]), arm, 1 if reward > 0.5 else 0


def one_round(params: Any, state: Any) -> int:
    """The next choice needs this outcome and the state that follows."""
    return 1


def explain_by_state(params: StateMachine, state: StatePlace) -> Facts:
    """The row, its score, and whether the points of the last round wait for the next state."""
    row = int(state.place[BOX])
    return Facts(
        exploiting=bool(params.kind[row] != SCORE),
        box=row,
        pulls=int(state.place[PULLS]),
        total=float(state.total[0]),
        details={"waits_for_state": bool(state.pending[STATE] >= 0)},
    )


def commitment_by_state(params: StateMachine, state: StatePlace) -> int:
    """The task of an end or a watch line."""
    row = state.place[BOX]
    if params.kind[row] == SCORE:
        return UNDECIDED
    return int(params.task[row]) if params.task[row] >= 0 else NO_TASK


follow_by_state = Policy(
    "follow-states",
    make_by_state,
    init_by_state,
    choose_by_state,
    update_by_state,
    explain_by_state,
    one_round,
    commitment=commitment_by_state,
    pass_over=pass_over_by_state,
)


class Kinds(NamedTuple):
    """What is known of the tasks: log-chances of an outcome (M, S, K, 2) and of a next state (M, S, K, S), the best
    options (M, S), what arms are worth in each (M, S, K), and the shares (M,) as logarithms."""

    outcomes: FloatArray
    moves: FloatArray
    options: IntArray
    worth: FloatArray
    prior: FloatArray


class Evidence(NamedTuple):
    """The log-likelihood of each task (M,), and the last round (3,), which waits for its next state."""

    weights: FloatArray
    pending: IntArray


def make_kinds(collection: StateCollection, horizon: int, options: Mapping[str, Any]) -> Kinds:
    """The logarithms of all chances. No options."""
    take_options(options)
    known = with_its_states(collection)
    best = optimal(known, horizon)
    ahead = best.values[horizon - 1]
    worth = known.rates + np.einsum("mskt,mt->msk", known.moves, ahead)
    outcomes = np.log(np.maximum(np.stack([1 - known.rates, known.rates], axis=-1), LEAST))
    parts = (outcomes, np.log(np.maximum(known.moves, LEAST)), worth, np.log(np.maximum(known.weights, LEAST)))
    outcomes, moves, worth, prior = (frozen(part, float) for part in parts)
    return Kinds(outcomes, moves, frozen(best.options, np.int64), worth, prior)


def init_kinds(params: Kinds) -> Evidence:
    """Every task as likely as its share of the cases."""
    return Evidence(params.prior.copy(), np.full(3, NOTHING, np.int64))


def seen(params: Kinds, state: Evidence, task: int, here: int) -> float:
    """The log-likelihood of a task once the pending round is counted."""
    before, arm = state.pending[STATE], state.pending[ARM]
    if before < 0:
        return float(state.weights[task])
    new = params.outcomes[task, before, arm, state.pending[REWARD]] + params.moves[task, before, arm, here]
    return float(state.weights[task] + new)


def likeliest(params: Kinds, state: Evidence, here: int) -> int:
    """The task with the highest likelihood, the first among equals."""
    best = 0
    for i in range(1, state.weights.shape[0]):
        if seen(params, state, i, here) > seen(params, state, best, here):
            best = i
    return best


def choose_mle(params: Kinds, state: Evidence, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The best option of the likeliest task."""
    if math.isnan(context[0]):
        return STATE_NEEDED
    here = int(context[0])
    arm = params.options[likeliest(params, state, here), here]
    return int(arm) if available[arm] else ARM_NOT_AVAILABLE


def choose_mts_by_state(params: Kinds, state: Evidence, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The best option of a task drawn from the posterior."""
    if math.isnan(context[0]):
        return STATE_NEEDED
    here = int(context[0])
    most, total = seen(params, state, likeliest(params, state, here), here), 0.0
    for i in range(state.weights.shape[0]):
        total += math.exp(seen(params, state, i, here) - most)
    left, task = uniform(rng, 0) * total, 0
    for i in range(state.weights.shape[0]):
        left -= math.exp(seen(params, state, i, here) - most)
        task = i
        if left < 0.0:
            break
    arm = params.options[task, here]
    return int(arm) if available[arm] else ARM_NOT_AVAILABLE


def choose_qmdp(params: Kinds, state: Evidence, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The option worth most on average over the posterior, as if the task were known from the next round on."""
    if math.isnan(context[0]):
        return STATE_NEEDED
    here = int(context[0])
    most = seen(params, state, likeliest(params, state, here), here)
    best, best_worth = ARM_NOT_AVAILABLE, -math.inf
    for k in range(available.shape[0]):
        if available[k]:
            worth = 0.0
            for i in range(state.weights.shape[0]):
                worth += math.exp(seen(params, state, i, here) - most) * params.worth[i, here, k]
            if worth > best_worth:
                best, best_worth = k, worth
    return best


def pass_over_kinds(params: Kinds, state: Evidence, context: FloatArray) -> None:
    """Count the pending round with the state of this one."""
    if state.pending[STATE] >= 0 and not math.isnan(context[0]):
        for i in range(state.weights.shape[0]):
            state.weights[i] = seen(params, state, i, int(context[0]))
    state.pending[STATE] = NOTHING


def update_kinds(params: Kinds, state: Evidence, context: FloatArray, arm: int, reward: float) -> None:
    """Count the round before, and keep this one until its next state is known."""
    pass_over_kinds(params, state, context)
    state.pending[STATE], state.pending[ARM], state.pending[REWARD] = int(context[0]), arm, 1 if reward > 0.5 else 0


def explain_kinds(params: Kinds, state: Evidence) -> Facts:
    """The posterior, as far as it is known."""
    posterior = np.exp(state.weights - state.weights.max())
    posterior = posterior / posterior.sum()
    possible = tuple(np.flatnonzero(posterior >= 0.01).tolist())
    return Facts(exploiting=False, possible=possible, pulls=None, details={"posterior": posterior.tolist()})


def _knowing(name: str, choose: Any) -> Policy:
    shared = (make_kinds, init_kinds, choose, update_kinds, explain_kinds, one_round)
    return Policy(name, *shared, pass_over=pass_over_kinds)


mts_by_state = _knowing("mts", choose_mts_by_state)
mle_by_state = _knowing("mle", choose_mle)
qmdp_by_state = _knowing("qmdp", choose_qmdp)
STATE_POLICIES = {policy.name: policy for policy in (mts_by_state, mle_by_state, qmdp_by_state)}
