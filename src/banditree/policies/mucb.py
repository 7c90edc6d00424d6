"""mUCB, in the two forms of that name (NOTES 18): of Lazaric et al. (2013), and by belief, of Hong et al. (2020).

A task is believed in without regard to which arms are available; what is played is its best available arm.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import invalid
from banditree.policies.base import Facts, Policy, Rng
from banditree.policies.model import (
    CONTEXT_NEEDED,
    Model,
    best_arm,
    best_available,
    best_worth,
    lacks_context,
    model_of,
    predicted,
)
from banditree.policies.options import take_options
from banditree.policies.random import uniform
from banditree.tasks.arrays import BoolArray, ByteArray, FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection


class UcbParams(NamedTuple):
    """allowance: the square of what a sum of n residuals may reach is allowance * n."""

    model: Model
    allowance: float


class MucbParams(NamedTuple):
    """ends (2, K, M): the least and the most that a mean may be, sorted within each arm; order: the task of each."""

    model: Model
    allowance: float
    ends: FloatArray
    order: IntArray


class MucbState(NamedTuple):
    """pulls (K,), n_out (M,): how many arms contradict the task. leader (1,): the most promising task if, without a
    context, it is the only one, else -1.

    Without contexts: sums (K,) of the rewards; beyond (2, K): how many of `ends` the rewards of an arm are out of, by
    being too low for the first `beyond[0]` counted from the end, or too high for the first `beyond[1]`.
    With contexts (else of size 0): residuals (K, M), the sum of reward - mean of that arm and task; out (K, M), 1 where
    it is too large.
    """

    pulls: IntArray
    n_out: IntArray
    leader: IntArray
    sums: FloatArray
    beyond: IntArray
    residuals: FloatArray
    out: ByteArray


def make_mucb(collection: Collection, horizon: int, options: Mapping[str, Any]) -> MucbParams:
    """mUCB of Lazaric, Brunskill and Azar (2013); option `delta`, 1 by default."""
    delta = take_options(options, delta=1.0)["delta"]
    if not delta > 0:
        raise invalid("delta", "above 0", delta)
    model, scale = model_of(collection), 2.0 * collection.rewards.variance_proxy
    ends = np.stack([model.by_arm - model.slack, model.by_arm + model.slack])
    order = np.argsort(ends, axis=2, kind="stable")
    return MucbParams(
        model,
        scale * math.log(collection.n_tasks * float(horizon) ** 2 / delta),
        frozen(np.take_along_axis(ends, order, axis=2), float),
        frozen(order, np.int64),
    )


def init_mucb(params: MucbParams) -> MucbState:
    """No task contradicted."""
    n_tasks, n_arms = params.model.means.shape
    shape = (n_arms, n_tasks) if params.model.theta.shape[2] > 0 else (0, 0)
    return MucbState(
        np.zeros(n_arms, np.int64),
        np.zeros(n_tasks, np.int64),
        np.full(1, -1),
        np.zeros(n_arms),
        np.zeros((2, n_arms), np.int64),
        np.zeros(shape),
        np.zeros(shape, np.uint8),
    )


def choose_mucb(params: MucbParams, state: MucbState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The best arm of the surviving task with the highest best mean; ties at random."""
    if lacks_context(params.model.theta, context):
        return CONTEXT_NEEDED
    task = state.leader[0]
    if task < 0:
        task = most_promising(params.model, state.n_out, context, rng)
    return best_available(params.model, context, available, task)


def most_promising(model: Model, n_out: IntArray, context: FloatArray, rng: Rng) -> int:
    """The task with the highest best mean of those that the fewest arms contradict (none, while any survives)."""
    task, ties = leader_of(model, n_out, context)
    if ties == 1:
        return task
    skip = int(uniform(rng, 0) * ties)
    highest = best_worth(model, context, task)
    for i in range(task, n_out.shape[0]):
        if n_out[i] == n_out[task] and best_worth(model, context, i) == highest:
            if skip == 0:
                return i
            skip -= 1
    return task


def leader_of(model: Model, n_out: IntArray, context: FloatArray) -> tuple[int, int]:
    """The first of the most promising tasks, and how many tie with it."""
    fewest = n_out[0]
    for i in range(1, n_out.shape[0]):
        fewest = min(fewest, n_out[i])
    task, highest, ties = 0, -math.inf, 0
    for i in range(n_out.shape[0]):
        if n_out[i] == fewest:
            value = best_worth(model, context, i)
            if value > highest:
                task, highest, ties = i, value, 1
            elif value == highest:
                ties += 1
    return task, ties


def update_mucb(params: MucbParams, state: MucbState, context: FloatArray, arm: int, reward: float) -> None:
    """Count the reward for its arm; tasks that it contradicts go, and may come back."""
    state.pulls[arm] += 1
    if params.model.theta.shape[2] > 0:
        compare_residuals(params, state, context, arm, reward)
        return
    state.sums[arm] += reward
    if compare_sums(params, state, arm) > 0:
        task, ties = leader_of(params.model, state.n_out, context)
        state.leader[0] = task if ties == 1 else -1


def compare_sums(params: MucbParams, state: MucbState, arm: int) -> int:
    """Mark the tasks whose interval the mean reward of `arm` has left or entered; returns how many.

    A task is out if the mean reward, give or take what chance allows, lies below the least its mean may be or above the
    most. Both are sorted, so that only the next ones on either side need a look.
    """
    pulls, total = state.pulls[arm], state.sums[arm]
    limit = math.sqrt(params.allowance * pulls)
    lowest, highest, last = (total - limit) / pulls, (total + limit) / pulls, params.ends.shape[2] - 1
    least, most = params.ends[0, arm], params.ends[1, arm]
    changes = 0
    while state.beyond[0, arm] <= last and highest < least[last - state.beyond[0, arm]]:
        state.n_out[params.order[0, arm, last - state.beyond[0, arm]]] += 1
        state.beyond[0, arm] += 1
        changes += 1
    while state.beyond[0, arm] > 0 and highest >= least[last + 1 - state.beyond[0, arm]]:
        state.beyond[0, arm] -= 1
        state.n_out[params.order[0, arm, last - state.beyond[0, arm]]] -= 1
        changes += 1
    while state.beyond[1, arm] <= last and lowest > most[state.beyond[1, arm]]:
        state.n_out[params.order[1, arm, state.beyond[1, arm]]] += 1
        state.beyond[1, arm] += 1
        changes += 1
    while state.beyond[1, arm] > 0 and lowest <= most[state.beyond[1, arm] - 1]:
        state.beyond[1, arm] -= 1
        state.n_out[params.order[1, arm, state.beyond[1, arm]]] -= 1
        changes += 1
    return changes


def compare_residuals(params: MucbParams, state: MucbState, context: FloatArray, arm: int, reward: float) -> None:
    """Add the reward to the residuals of its arm, which depend on the contexts, and mark the tasks it contradicts."""
    pulls = state.pulls[arm]
    limit = math.sqrt(params.allowance * pulls)
    for i in range(state.n_out.shape[0]):
        state.residuals[arm, i] += reward - predicted(params.model, context, i, arm)
        is_out = 1 if abs(state.residuals[arm, i]) > limit + pulls * params.model.slack[arm, i] else 0
        state.n_out[i] += is_out - int(state.out[arm, i])
        state.out[arm, i] = is_out


def explain_mucb(params: MucbParams, state: MucbState) -> Facts:
    """The tasks that no arm contradicts."""
    possible = tuple(np.flatnonzero(state.n_out == 0).tolist())
    return Facts(exploiting=False, possible=possible, pulls=None, details={"pulls": state.pulls.tolist()})


mucb = Policy("mucb", make_mucb, init_mucb, choose_mucb, update_mucb, explain_mucb)


class BeliefState(NamedTuple):
    """Per task (M,), over the rounds it was believed in: sum of mean - reward, their number; 1 while it is out."""

    shortfall: FloatArray
    rounds: IntArray
    n_out: IntArray


def make_belief(collection: Collection, horizon: int, options: Mapping[str, Any]) -> UcbParams:
    """mUCB of Hong et al. (2020): a task stays while G(s) <= sigma sqrt(6 N(s) log H). No options."""
    take_options(options)
    return UcbParams(model_of(collection), 6.0 * collection.rewards.variance_proxy * math.log(max(horizon, 2)))


def init_belief(params: UcbParams) -> BeliefState:
    """No task believed in yet."""
    n_tasks = params.model.means.shape[0]
    return BeliefState(np.zeros(n_tasks), np.zeros(n_tasks, np.int64), np.zeros(n_tasks, np.int64))


def choose_belief(params: UcbParams, state: BeliefState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The best arm of the task that is believed in: the one with the highest best mean that is not out."""
    if lacks_context(params.model.theta, context):
        return CONTEXT_NEEDED
    task = most_promising(params.model, state.n_out, context, rng)
    return best_available(params.model, context, available, task)


def update_belief(params: UcbParams, state: BeliefState, context: FloatArray, arm: int, reward: float) -> None:
    """Count the round for the task believed in; of tasks that tied for it, for those whose best arm was played."""
    model = params.model
    fewest, highest, played = state.n_out[0], -math.inf, False
    for i in range(1, state.n_out.shape[0]):
        fewest = min(fewest, state.n_out[i])
    for i in range(state.n_out.shape[0]):
        if state.n_out[i] == fewest:
            value = best_worth(model, context, i)
            if value > highest:
                highest, played = value, best_arm(model, context, i) == arm
            elif value == highest and best_arm(model, context, i) == arm:
                played = True
    for i in range(state.n_out.shape[0]):
        believed = state.n_out[i] == fewest and best_worth(model, context, i) == highest
        if believed and (not played or best_arm(model, context, i) == arm):
            state.shortfall[i] += predicted(model, context, i, arm) - model.slack[arm, i] - reward
            state.rounds[i] += 1
    for i in range(state.n_out.shape[0]):
        state.n_out[i] = 1 if state.shortfall[i] > math.sqrt(params.allowance * state.rounds[i]) else 0


def explain_belief(params: UcbParams, state: BeliefState) -> Facts:
    """The tasks that have not fallen short of their promise."""
    possible = tuple(np.flatnonzero(state.n_out == 0).tolist())
    return Facts(exploiting=False, possible=possible, pulls=None, details={"rounds": state.rounds.tolist()})


mucb_belief = Policy("mucb-belief", make_belief, init_belief, choose_belief, update_belief, explain_belief)
