"""A plan with ends at which Thompson sampling chooses: between several arms, or among all after a hand-over.

Thompson sampling has learned from the first round: what the plan's lines gave and got counts.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.plans.plan import SEVERAL, Plan
from banditree.policies.base import ADAPTIVE, Facts, Policy, Rng
from banditree.policies.classic import ArmParams, ArmState, drawn_mean, init_arms, make_arms, update_arms
from banditree.policies.follow import (
    BOX,
    FollowState,
    choose_follow,
    commitment_follow,
    explain_follow,
    init_follow,
    patience_follow,
    update_follow,
)
from banditree.policies.model import NO_ARM_AVAILABLE
from banditree.policies.plan_arrays import FollowParams, follow_params
from banditree.tasks.arrays import BoolArray, FloatArray, frozen


class ThompsonParams(NamedTuple):
    """The plan, its arms, and where Thompson sampling chooses (N,), among which arms (N, K)."""

    plan: FollowParams
    arms: ArmParams
    chooses: BoolArray
    among: BoolArray


class ThompsonState(NamedTuple):
    """Where the case stands, and what each arm has given."""

    plan: FollowState
    arms: ArmState


def make_thompson(plan: Plan, horizon: int, options: Mapping[str, Any]) -> ThompsonParams:
    """The plan's arrays. No options."""
    among = np.zeros((plan.n_boxes, len(plan.arms)), dtype=bool)
    for box in np.flatnonzero(plan.by_thompson):
        among[box, plan.arms_at(int(box))] = True
    arms = make_arms(plan, horizon, options)
    return ThompsonParams(follow_params(plan), arms, frozen(plan.by_thompson, bool), frozen(among, bool))


def init_thompson(params: ThompsonParams) -> ThompsonState:
    """At box 0 with nothing tallied."""
    return ThompsonState(init_follow(params.plan), init_arms(params.arms))


def is_thompsons(params: ThompsonParams, state: ThompsonState) -> bool:
    """Whether Thompson sampling chooses where the case stands."""
    return bool(params.chooses[state.plan.place[BOX]])


def choose_thompson(
    params: ThompsonParams, state: ThompsonState, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """The arm of the box, or the highest draw among the arms of an end."""
    if not is_thompsons(params, state):
        return choose_follow(params.plan, state.plan, context, available, rng)
    among = params.among[state.plan.place[BOX]]
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(among.shape[0]):
        if among[k] and available[k]:
            value = drawn_mean(params.arms, state.arms, k, rng)
            if value > highest:
                arm, highest = k, value
    return arm


def update_thompson(params: ThompsonParams, state: ThompsonState, context: FloatArray, arm: int, reward: float) -> None:
    """Count the reward for its arm, and where the plan counts it."""
    update_arms(params.arms, state.arms, context, arm, reward)
    update_follow(params.plan, state.plan, context, arm, reward)


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
