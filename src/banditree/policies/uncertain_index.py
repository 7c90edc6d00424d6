"""Tasks whose rates are uncertain, as in `policies.uncertain`, and a choice that loses little for what it tells.

Under each task an arm counts for the most that may still pay to find out before the horizon (`horizon_index`), and what
giving it loses is how much less that is than under the best arm of the task, on average over the posterior of the task.
What it tells is how much its means differ between the tasks: their variance. Given is the arm that loses least for it,
the ratio of the two (after the information-directed sampling of Russo and Van Roy, 2018, who square what is lost).
The more often an arm was given, the closer its means under all tasks come to what was seen: then it tells nothing more,
and the arms of a task that is still possible are tried. Once one task is left, it is the index alone that chooses.
"""

import math

from banditree.policies.base import Policy, Rng
from banditree.policies.model import NO_ARM_AVAILABLE
from banditree.policies.uncertain import (
    UncertainParams,
    UncertainState,
    explain_uncertain,
    init_uncertain,
    make_uncertain,
    normal_posterior,
    update_uncertain,
)
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.theory.horizon_index import horizon_index

NEGLIGIBLE = 1e-7  # A task with a smaller posterior does not count in what is lost and told.
LEAST_TOLD = 1e-9  # An arm that tells less than this share of the variance of a reward is judged by what it loses.


def choose_index(
    params: UncertainParams, state: UncertainState, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """The arm that loses least for what it tells."""
    left, best = rounds_left(params, state), 0.0
    for task in range(state.weights.shape[0]):
        if state.weights[task] > NEGLIGIBLE * state.total[0]:
            best += state.weights[task] / state.total[0] * highest_upper(params, state, task, available, left)
    arm, least = NO_ARM_AVAILABLE, math.inf
    for k in range(available.shape[0]):
        if available[k]:
            upper, told = over_tasks(params, state, k, left)
            ratio = max(best - upper, 0.0) / (told + LEAST_TOLD * params.variance)
            if ratio < least:
                arm, least = k, ratio
    return arm


def rounds_left(params: UncertainParams, state: UncertainState) -> float:
    """The rounds from this one to the horizon."""
    left, n_counts = float(params.horizon), max(params.support.shape[0], 1)
    for k in range(state.seen.shape[0]):
        for g in range(n_counts):
            left -= state.seen[k, g]
    return left


def highest_upper(
    params: UncertainParams, state: UncertainState, task: int, available: BoolArray, left: float
) -> float:
    """The most that an available arm may be worth under a task."""
    highest = -math.inf
    for k in range(available.shape[0]):
        if available[k]:
            highest = max(highest, mean_and_upper(params, state, task, k, left)[1])
    return highest


def over_tasks(params: UncertainParams, state: UncertainState, arm: int, left: float) -> tuple[float, float]:
    """What an arm may be worth on average over the tasks, and the variance of its mean between them."""
    among, first, second, uppers = 0.0, 0.0, 0.0, 0.0
    for task in range(state.weights.shape[0]):
        chance = state.weights[task] / state.total[0]
        if chance > NEGLIGIBLE:
            mean, upper = mean_and_upper(params, state, task, arm, left)
            away = mean - params.model.means[0, arm]  # from a mean of its size, so that little is lost by rounding
            among += chance
            first += chance * away
            second += chance * away * away
            uppers += chance * upper
    return uppers, max(second - first * first / among, 0.0)


def mean_and_upper(
    params: UncertainParams, state: UncertainState, task: int, arm: int, left: float
) -> tuple[float, float]:
    """The posterior mean of an arm under a task, and what it may be worth."""
    n_values = params.support.shape[0]
    if n_values == 0:
        mean, worth = normal_posterior(params, state, task, arm)
        own = params.model.deviation[task, arm]
        return mean, horizon_index(mean, own * own, worth, left)
    worth, total, squares = 0.0, 0.0, 0.0
    for g in range(n_values):
        count = params.counts[arm, task, g] + state.seen[arm, g]
        worth += count
        total += count * params.support[g]
        squares += count * params.support[g] * params.support[g]
    mean = total / worth
    return mean, horizon_index(mean, max(squares / worth - mean * mean, 0.0), worth, left)


mmts_index = Policy("mmts-index", make_uncertain, init_uncertain, choose_index, update_uncertain, explain_uncertain)
