"""DT-ECE (Algorithm 6) and every other plan: follow the boxes, then exploit."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan
from banditree.policies.base import FALLBACK, NO_TASK, UNDECIDED, Facts, Outcome, Policy, Rng
from banditree.policies.families import log_ratio
from banditree.policies.model import mean_at
from banditree.policies.options import take_options
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

# Plain numbers, which numba takes as constants.
FIXED, SCORE, EXPLOIT, WATCH = int(Counting.FIXED), int(Counting.SCORE), int(Counting.EXPLOIT), int(Counting.WATCH)
ARM_NOT_AVAILABLE, CONTEXT_NEEDED = int(Outcome.ARM_NOT_AVAILABLE), int(Outcome.CONTEXT_NEEDED)
PERSON_NEEDED = int(Outcome.PERSON_NEEDED)
UNLIMITED = 2**31  # More rounds than any case has.
TOTAL_SLACK = 1e-9  # NOTES 17: sums of rewards are compared with this much rounding forgiven.

BOX, PULLS = 0, 1  # The entries of FollowState.place.


class FollowState(NamedTuple):
    """Where the case stands: place is (box, pulls there), total (1,) the sum of rewards or points there."""

    place: IntArray
    total: FloatArray


def make_follow(plan: Plan, horizon: int, options: Mapping[str, Any]) -> Machine:
    """The machine of the plan, unless Thompson sampling chooses at some of its ends."""
    if plan.outcomes_choose:
        raise InvalidInput("At some ends of this plan the outcomes so far choose. Follow it with policy_for(plan).")
    return machine_of(plan)


def init_follow(params: Machine) -> FollowState:
    """At box 0 with nothing tallied."""
    return FollowState(np.zeros(2, np.int64), np.zeros(1))


def choose_follow(params: Machine, state: FollowState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The arm of the current row, and never another."""
    box = state.place[BOX]
    arm = params.arm[box]
    if arm == HAND_OVER:
        arm = params.fallback
        if arm < 0:
            return PERSON_NEEDED
    elif arm < 0 or (params.gradings.number[box] >= 0 and params.gradings.n_rows[params.gradings.number[box]] == 0):
        if context_missing(context):
            return CONTEXT_NEEDED
        if arm < 0:
            arm = treated_as(params, params.task[box], context)
    return int(arm) if available[arm] else ARM_NOT_AVAILABLE


def context_missing(context: FloatArray) -> bool:
    """Whether a context was not given (a session then passes numbers that are not)."""
    missing = False
    for f in range(context.shape[0]):
        missing = missing or math.isnan(context[f])
    return missing


def treated_as(params: Machine, task: int, context: FloatArray) -> int:
    """The arm that is given when treating as `task`: by its rule, or else the highest prediction."""
    rules = params.rules
    node = rules.root[task]
    if node < 0:
        return best_prediction(params.theta, task, context)
    return int(rules.arm[leaf_of(params, node, context)])


def fit_points(params: Machine, number: int, context: FloatArray, arm: int, reward: float) -> int:
    """The points of a round by grading `number`: how much better the reward fits one task than another."""
    by = params.gradings
    first = prediction(params, by.favoured[number], context, arm)
    second = prediction(params, by.other[number], context, arm)
    ratio = log_ratio(by.family, by.sigma, reward, first, second)
    most = float(by.most[number])
    return int(min(max(math.floor(ratio / by.unit[number] + 0.5), -most), most))


def table_points(params: Machine, number: int, task: int, context: FloatArray, arm: int, reward: float) -> int:
    """The points of a round by table `number`: those of its outcome in the row of what treating as `task` promised."""
    by, row = params.gradings, 0
    if by.n_rows[number] > 1:
        promise = promised(params, task, context, arm)
        while row < by.n_rows[number] - 1 and promise >= by.cuts[number, row]:
            row += 1
    return int(by.points[number, row, 1 if reward > 0.5 else 0])


def promised(params: Machine, task: int, context: FloatArray, arm: int) -> float:
    """The chance of success that treating as `task` promises: that of the leaf of its rule, or the prediction."""
    rules = params.rules
    node = rules.root[task]
    if node < 0:
        return prediction(params, task, context, arm)
    return float(rules.promise[leaf_of(params, node, context)])


def leaf_of(params: Machine, node: int, context: FloatArray) -> int:
    """The leaf of a rule that a context comes to from a node."""
    rules = params.rules
    while rules.feature[node] >= 0:
        node = rules.low[node] if context[rules.feature[node]] <= rules.cut[node] else rules.high[node]
    return int(node)


def prediction(params: Machine, task: int, context: FloatArray, arm: int) -> float:
    """What a task predicts of an arm at a context."""
    value = 0.0
    for f in range(params.theta.shape[2]):
        value += context[f] * params.theta[task, arm, f]
    by = params.gradings
    return mean_at(value, by.logistic, by.lowest, by.highest)


def best_prediction(theta: FloatArray, task: int, context: FloatArray) -> int:
    """argmax over arms of x'theta of `task`, the first among equals."""
    best, best_value = CONTEXT_NEEDED, -math.inf
    for k in range(theta.shape[1]):
        value = 0.0
        for f in range(theta.shape[2]):
            value += context[f] * theta[task, k, f]
        if value > best_value:
            best, best_value = k, value
    return best


def update_follow(params: Machine, state: FollowState, context: FloatArray, arm: int, reward: float) -> None:
    """Tally the reward; at the end of the box go on to the next with a fresh tally."""
    box = state.place[BOX]
    kind = params.kind[box]
    if kind == EXPLOIT:
        return
    state.place[PULLS] += 1
    following = -1
    if kind == FIXED:
        state.total[0] += reward
        if state.place[PULLS] == params.pulls[box]:
            stays_low = state.total[0] <= params.threshold[box] + TOTAL_SLACK
            following = params.low[box] if stays_low else params.high[box]
    else:
        number = params.gradings.number[box]
        if number >= 0:
            if params.gradings.n_rows[number] == 0:
                points = fit_points(params, number, context, arm, reward)
            else:
                points = table_points(params, number, params.task[box], context, arm, reward)
        else:
            points = points_of(params.cuts[box], params.points[box], reward)
        tally(state, points, params.cap[box])
        if kind == SCORE and state.total[0] >= params.ceil[box]:
            following = params.high[box]
        elif state.total[0] <= -params.floor[box]:
            following = params.low[box]
    if following >= 0:
        state.place[BOX] = following
        state.place[PULLS] = 0
        state.total[0] = 0.0


def points_of(cuts: FloatArray, points: IntArray, reward: float) -> int:
    """The points of the bin that `reward` falls into."""
    bin_ = 0
    while bin_ < cuts.shape[0] and reward > cuts[bin_]:
        bin_ += 1
    return int(points[bin_])


def tally(state: FollowState, points: int, cap: int) -> None:
    """Add to the score, which is never counted above the cap if there is one."""
    state.total[0] += points
    if cap > 0 and state.total[0] > cap:
        state.total[0] = cap


def patience_follow(params: Machine, state: FollowState) -> int:
    """Pulls until the earliest end of the current box."""
    box = state.place[BOX]
    kind = params.kind[box]
    if kind == FIXED:
        return int(params.pulls[box] - state.place[PULLS])
    if kind == EXPLOIT:
        return UNLIMITED
    fall = pulls_to_move(params.points[box], -1, state.total[0] + params.floor[box])
    if kind == WATCH:
        return fall
    return min(fall, pulls_to_move(params.points[box], 1, params.ceil[box] - state.total[0]))


def pulls_to_move(points: IntArray, direction: int, distance: float) -> int:
    """The fewest pulls in which a score can move by `distance`, up (1) or down (-1)."""
    most = 0
    for bin_ in range(points.shape[0]):
        most = max(most, direction * points[bin_])
    return math.ceil(distance / most)


def explain_follow(params: Machine, state: FollowState) -> Facts:
    """The box, its tally, and the tasks still possible there."""
    box = int(state.place[BOX])
    arm, possible, details = int(params.arm[box]), None, {}
    if params.kind[box] == FIXED:
        details = {"pulls": int(params.pulls[box]), "at_most": float(params.threshold[box])}
    elif arm == HAND_OVER:
        details = {"handed_over": True}
    if params.survivors.size:
        possible = tuple(np.flatnonzero(np.unpackbits(params.survivors[box], count=params.n_tasks)).tolist())
    return Facts(
        exploiting=bool(params.kind[box] == EXPLOIT or params.kind[box] == WATCH),
        arm=None if arm < 0 else arm,
        possible=possible,
        box=box,
        pulls=int(state.place[PULLS]),
        total=float(state.total[0]),
        details=details,
    )


def commitment_follow(params: Machine, state: FollowState) -> int:
    """The task of a box to exploit or watch, where it names one."""
    box = state.place[BOX]
    if params.kind[box] != EXPLOIT and params.kind[box] != WATCH:
        return UNDECIDED
    if params.arm[box] == HAND_OVER:
        return FALLBACK
    task = params.task[box]
    return int(task) if task >= 0 else NO_TASK


follow = Policy(
    "follow",
    make_follow,
    init_follow,
    choose_follow,
    update_follow,
    explain_follow,
    patience_follow,
    commitment=commitment_follow,
)


def make_dt_ece(collection: Collection, horizon: int, options: Mapping[str, Any]) -> Machine:
    """The tree of `collection`, to be followed; options `separation` and `stop_early` as in `build_tree`."""
    taken = take_options(options, separation=None, stop_early=False)
    return make_follow(build_tree(collection, horizon, **taken), horizon, {})


dt_ece = replace(follow, name="dt-ece", make=make_dt_ece)
