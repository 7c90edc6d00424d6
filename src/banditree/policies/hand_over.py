"""A plan with ends at which the outcomes so far choose: between several arms, or among all after a hand-over.

Everything is counted from the first round, the plan's own lines included. Where the plan says what to expect of the
arms, the one that may still be worth most is given (`horizon_index`); elsewhere Thompson sampling chooses. Where the
fallback has odds, a case is handed over as soon as its outcomes speak against every task that may lead to its place;
and what is expected is what a task expects that is drawn by how well it fits all outcomes, so that a case finds its way
to the arms of its own task from the end of another.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.plans.gives import NONE, SEVERAL
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan, right_kinds
from banditree.policies.base import ADAPTIVE, Facts, Policy, Rng
from banditree.policies.classic import ArmParams, ArmState, drawn_mean, init_arms, make_arms, update_arms
from banditree.policies.follow import (
    BOX,
    PULLS,
    FollowState,
    choose_follow,
    commitment_follow,
    explain_follow,
    init_follow,
    patience_follow,
    update_follow,
)
from banditree.policies.model import NO_ARM_AVAILABLE
from banditree.policies.random import uniform
from banditree.tasks.arrays import BoolArray, FloatArray, frozen
from banditree.theory.doubt import LEAST_CHANCE, log_odds_step, normal_log_odds
from banditree.theory.horizon_index import horizon_index


class Doubt(NamedTuple):
    """lows, highs: (K, M), between which the mean of each arm lies in each task, scaled to rewards from 0 to 1 where
    these have a range; means: (K, M), in the middle. right: (N, M), see `right_kinds`; limit: the log of the odds;
    target: the hand-over."""

    means: FloatArray
    lows: FloatArray
    highs: FloatArray
    right: BoolArray
    limit: float
    target: int


class ThompsonParams(NamedTuple):
    """The machine of the plan, its arms, the rounds of a case, and the test of the fallback's odds."""

    plan: Machine
    arms: ArmParams
    horizon: int
    doubt: Doubt


class ThompsonState(NamedTuple):
    """Where the case stands, what each arm has given, and the log-odds against each task (M,); none without a test.

    fit: (M,), the log of the chance that each task gave all outcomes, its rates being worth as much as the plan says.
    """

    plan: FollowState
    arms: ArmState
    against: FloatArray
    fit: FloatArray


def make_thompson(plan: Plan, horizon: int, options: Mapping[str, Any]) -> ThompsonParams:
    """The machine of the plan. No options."""
    arms = make_arms(plan, horizon, options)
    return ThompsonParams(machine_of(plan), arms, horizon, _doubt(plan, arms))


def _doubt(plan: Plan, arms: ArmParams) -> Doubt:
    """The test of the fallback's odds; without any, one of no tasks."""
    fallback = plan.fallback
    if fallback is None or not fallback.odds or plan.hand_over is None:
        nothing = frozen(np.zeros((len(plan.arms), 0)), float)
        return Doubt(nothing, nothing, nothing, frozen(np.zeros((plan.n_boxes, 0)), bool), math.inf, NONE)
    scaled, allow = (np.array(fallback.means).T - arms.low) / arms.width, fallback.allow / arms.width
    lows, highs = scaled - allow, scaled + allow
    if arms.in_range:
        lows, highs = np.clip(lows, 0.0, 1.0), np.clip(highs, 0.0, 1.0)
    means, lows, highs = (frozen(each, float) for each in (scaled, lows, highs))
    return Doubt(means, lows, highs, frozen(right_kinds(plan), bool), math.log(fallback.odds), plan.hand_over)


def init_thompson(params: ThompsonParams) -> ThompsonState:
    """At box 0 with nothing tallied."""
    n_kinds = params.doubt.lows.shape[1]
    return ThompsonState(init_follow(params.plan), init_arms(params.arms), np.zeros(n_kinds), np.zeros(n_kinds))


def is_thompsons(params: ThompsonParams, state: ThompsonState) -> bool:
    """Whether Thompson sampling chooses where the case stands."""
    return bool(params.plan.chooses[state.plan.place[BOX]])


def choose_thompson(
    params: ThompsonParams, state: ThompsonState, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """The arm of the box, or the highest index or draw among the arms of an end."""
    if not is_thompsons(params, state):
        return choose_follow(params.plan, state.plan, context, available, rng)
    box = state.plan.place[BOX]
    expected, left = params.plan.worth > 0.0 and params.plan.arm[box] == SEVERAL, rounds_left(params, state)
    task = drawn_task(state, rng) if expected else NONE
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(params.plan.among.shape[1]):
        if (params.plan.among[box, k] or task != NONE) and available[k]:
            value = (
                upper_mean(params, state, expected_rate(params, box, task, k), k, left)
                if expected
                else drawn_mean(params.arms, state.arms, k, rng)
            )
            if value > highest:
                arm, highest = k, value
    return arm


def rounds_left(params: ThompsonParams, state: ThompsonState) -> float:
    """The rounds from this one to the horizon."""
    left = float(params.horizon)
    for k in range(params.arms.n_arms):
        left -= state.arms.pulls[k]
    return left


def drawn_task(state: ThompsonState, rng: Rng) -> int:
    """A task drawn by how well it fits all outcomes, or NONE where the plan does not know the tasks."""
    most, total = -math.inf, 0.0
    for i in range(state.fit.shape[0]):
        most = max(most, state.fit[i])
    for i in range(state.fit.shape[0]):
        total += math.exp(state.fit[i] - most)
    left, task = uniform(rng, 0) * total, NONE
    for i in range(state.fit.shape[0]):
        if left >= 0.0:
            task = i
        left -= math.exp(state.fit[i] - most)
    return task


def expected_rate(params: ThompsonParams, box: int, task: int, arm: int) -> float:
    """What is expected of an arm at an end: by the task that was drawn, or as the end says."""
    if task == NONE:
        return float(params.plan.rates[box, arm])
    return float(params.arms.low + params.arms.width * params.doubt.means[arm, task])


def upper_mean(params: ThompsonParams, state: ThompsonState, rate: float, arm: int, left: float) -> float:
    """What an arm may be worth of which a rate is expected."""
    worth = params.plan.worth + state.arms.pulls[arm]
    mean = (params.plan.worth * rate + state.arms.sums[arm]) / worth
    variance = params.arms.variance
    if params.arms.in_range:
        variance = max((mean - params.arms.low) * (params.arms.low + params.arms.width - mean), 0.0)
    return horizon_index(mean, variance, worth, left)


def update_thompson(params: ThompsonParams, state: ThompsonState, context: FloatArray, arm: int, reward: float) -> None:
    """Count the reward for its arm, against the tasks, and where the plan counts it."""
    in_doubt = state.plan.place[BOX] != params.doubt.target
    if in_doubt:
        add_log_odds(params, state, arm, reward)
        if params.plan.worth > 0.0:
            add_fit(params, state, arm, reward)
    update_arms(params.arms, state.arms, context, arm, reward)
    update_follow(params.plan, state.plan, context, arm, reward)
    if in_doubt and is_contradicted(params, state):
        state.plan.place[BOX] = params.doubt.target
        state.plan.place[PULLS] = 0
        state.plan.total[0] = 0.0


def add_log_odds(params: ThompsonParams, state: ThompsonState, arm: int, reward: float) -> None:
    """Add what one more reward of an arm says against each task."""
    n, doubt, low, width = float(state.arms.pulls[arm]), params.doubt, params.arms.low, params.arms.width
    total, x = (state.arms.sums[arm] - n * low) / width, (reward - low) / width
    for i in range(state.against.shape[0]):
        least, most = doubt.lows[arm, i], doubt.highs[arm, i]
        if params.arms.in_range:
            state.against[i] += log_odds_step(total, n, x, least, most)
        else:
            before = max(total - n * most, n * least - total, 0.0)
            after = max(total + x - (n + 1.0) * most, (n + 1.0) * least - total - x, 0.0)
            state.against[i] += normal_log_odds(after, n + 1.0, params.arms.variance)
            state.against[i] -= normal_log_odds(before, n, params.arms.variance)


def add_fit(params: ThompsonParams, state: ThompsonState, arm: int, reward: float) -> None:
    """Add the log of the chance that each task, its rates being uncertain, gave one more reward of an arm."""
    low, width, known = params.arms.low, params.arms.width, params.plan.worth + state.arms.pulls[arm]
    total, x = (state.arms.sums[arm] - state.arms.pulls[arm] * low) / width, (reward - low) / width
    for i in range(state.fit.shape[0]):
        mean = (params.plan.worth * params.doubt.means[arm, i] + total) / known
        if params.arms.in_range:
            state.fit[i] += x * math.log(max(mean, LEAST_CHANCE)) + (1.0 - x) * math.log(max(1.0 - mean, LEAST_CHANCE))
        else:  # its variance is the same for all tasks, and so is the rest of the density
            state.fit[i] -= 0.5 * (x - mean) * (x - mean) / (params.arms.variance * (1.0 + 1.0 / known))


def is_contradicted(params: ThompsonParams, state: ThompsonState) -> bool:
    """Whether the odds are against every task that may lead to the place of the case."""
    box = state.plan.place[BOX]
    for i in range(state.against.shape[0]):
        if params.doubt.right[box, i] and state.against[i] < params.doubt.limit:
            return False
    return bool(state.against.shape[0] > 0)


def explain_thompson(params: ThompsonParams, state: ThompsonState) -> Facts:
    """What `explain_follow` knows."""
    return explain_follow(params.plan, state.plan)


def patience_thompson(params: ThompsonParams, state: ThompsonState) -> int:
    """Pulls until the earliest end of the box; one where Thompson sampling chooses."""
    return 1 if is_thompsons(params, state) else patience_follow(params.plan, state.plan)


def commitment_thompson(params: ThompsonParams, state: ThompsonState) -> int:
    """What `commitment_follow` says; between several arms nothing is settled for good."""
    if params.plan.arm[state.plan.place[BOX]] == SEVERAL:
        return ADAPTIVE
    return commitment_follow(params.plan, state.plan)


follow_thompson = Policy(
    "follow+thompson",
    make_thompson,
    init_thompson,
    choose_thompson,
    update_thompson,
    explain_thompson,
    patience_thompson,
    commitment=commitment_thompson,
)
