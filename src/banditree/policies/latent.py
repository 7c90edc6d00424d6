"""Policies that keep a posterior over the tasks that they know: mTS and mIDS.

A task is believed in without regard to which arms are available; what is played is its best available arm.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.policies.base import Facts, Policy, Rng
from banditree.policies.families import (
    LEAST_WEIGHT,
    information,
    likelihood_table,
    n_summaries,
    noise,
    summary,
    total_of,
    weigh_tasks,
)
from banditree.policies.model import (
    CONTEXT_NEEDED,
    Model,
    best_available,
    best_worth,
    lacks_context,
    model_of,
    predicted,
)
from banditree.policies.options import take_options
from banditree.policies.random import uniform
from banditree.tasks.arrays import BoolArray, FloatArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import require_likelihood

RESCALE_BELOW = 1e-50  # A smaller total of weights is brought back to 1; see `families.LEAST_WEIGHT`.
LIKELY = 0.01  # `explain` lists the tasks with at least this posterior probability.


class PosteriorParams(NamedTuple):
    """Tables for tasks without context: likelihoods (G, K, M) of each possible reward, gaps and noise (M, K), summaries
    (S, M, K).

    See `families.likelihood_table`, `families.noise` and `families.summary`. prior: (M,), the shares of the tasks times
    M, so that unknown shares weigh 1 each.
    """

    model: Model
    likelihoods: FloatArray
    gaps: FloatArray
    noise: FloatArray
    summaries: FloatArray
    prior: FloatArray


class PosteriorState(NamedTuple):
    """The posterior of the task is weights (M,) / total (1,)."""

    weights: FloatArray
    total: FloatArray


def make_posterior(collection: Collection, horizon: int, options: Mapping[str, Any]) -> PosteriorParams:
    """The collection's arrays and the table of likelihoods. No options."""
    take_options(options)
    require_likelihood(collection.rewards, "A posterior over tasks")
    model = model_of(collection)
    gaps = frozen(model.top[:, None] - model.worths, float)
    means = model.means.tolist()
    noises = [[noise(model, i, k, mu) for k, mu in enumerate(row)] for i, row in enumerate(means)]
    summaries = [
        [[summary(model, i, k, s, mu) for k, mu in enumerate(row)] for i, row in enumerate(means)]
        for s in range(n_summaries(model))
    ]
    prior = np.ones(collection.n_tasks) if collection.shares is None else collection.shares * collection.n_tasks
    prior = frozen(np.maximum(prior, LEAST_WEIGHT), float)
    tables = (likelihood_table(collection), gaps, frozen(noises, float), frozen(summaries, float))
    return PosteriorParams(model, *tables, prior)


def init_posterior(params: PosteriorParams) -> PosteriorState:
    """Every task as likely as its share of the cases."""
    return PosteriorState(params.prior.copy(), np.full(1, total_of(params.prior)))


def choose_mts(
    params: PosteriorParams, state: PosteriorState, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """The best arm of a task drawn from the posterior."""
    if lacks_context(params.model.theta, context):
        return CONTEXT_NEEDED
    task = place_of(state.weights, uniform(rng, 0) * state.total[0])
    return best_available(params.model, context, available, task)


def place_of(weights: FloatArray, left: float) -> int:
    """The first task at which the sum of the weights exceeds `left`, or the last one.

    Four at a time as long as all four fit, so that a GPU waits for memory once for four of them.
    """
    last, task = weights.shape[0] - 1, 0
    while task + 4 <= last:
        beyond = left - weights[task] - weights[task + 1] - weights[task + 2] - weights[task + 3]
        if beyond < 0.0:
            break
        left = beyond
        task += 4
    while task < last:
        left -= weights[task]
        if left < 0.0:
            break
        task += 1
    return task


def update_posterior(
    params: PosteriorParams, state: PosteriorState, context: FloatArray, arm: int, reward: float
) -> None:
    """Multiply the weight of each task by the likelihood of the reward."""
    state.total[0] = weigh_tasks(params.model, params.likelihoods, state.weights, context, arm, reward)
    if state.total[0] < RESCALE_BELOW:
        for i in range(state.weights.shape[0]):
            state.weights[i] = max(state.weights[i] / state.total[0], LEAST_WEIGHT)
        state.total[0] = total_of(state.weights)


def explain_posterior(params: PosteriorParams, state: PosteriorState) -> Facts:
    """The posterior, and the tasks that are not unlikely."""
    posterior = state.weights / state.total[0]
    possible = np.flatnonzero(posterior >= LIKELY).tolist()
    details = {"posterior": posterior.tolist()}
    return Facts(exploiting=False, possible=tuple(possible), pulls=None, details=details)


mts = Policy("mts", make_posterior, init_posterior, choose_mts, update_posterior, explain_posterior)


NEGLIGIBLE = 1e-12  # mIDS ignores tasks with a smaller posterior probability.
NO_GAP = 1e-10  # An arm with a smaller expected gap is played: it costs less than 0.001 over ten million rounds.
GAP, NOISE, FIRST_SUMMARY = 0, 1, 2  # The rows of what is averaged per arm.


def choose_mids(
    params: PosteriorParams, state: PosteriorState, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """One of the two arms whose mixture has the least (expected gap)^2 / (information about the task)."""
    return arm_of_mixture(params, state, context, available, rng, np.zeros((rows_of(params), available.shape[0])))


def rows_of(params: PosteriorParams) -> int:
    """How many numbers `weigh_arms` averages per arm."""
    return int(FIRST_SUMMARY + params.summaries.shape[0])


def arm_of_mixture(
    params: PosteriorParams,
    state: PosteriorState,
    context: FloatArray,
    available: BoolArray,
    rng: Rng,
    arms: FloatArray,
) -> int:
    """`choose_mids`, with room for what is averaged; it makes no array, and so is compiled without counting them."""
    model = params.model
    if lacks_context(model.theta, context):
        return CONTEXT_NEEDED
    weigh_arms(params, state, context, arms)
    for k in range(arms.shape[1]):
        if available[k] and arms[GAP, k] <= NO_GAP:
            return k
    summaries = arms[FIRST_SUMMARY:]
    for k in range(arms.shape[1]):
        arms[NOISE, k] = information(model, summaries, k, arms[NOISE, k])
    first, second, share = best_mixture(arms[GAP], arms[NOISE], available)
    if first < 0:
        return best_available(model, context, available, 0)
    return first if uniform(rng, 0) < share else second


def weigh_arms(params: PosteriorParams, state: PosteriorState, context: FloatArray, arms: FloatArray) -> None:
    """Add to `arms` (2 + S, K) the expected gap of each arm, its noise and S summaries, averaged over the posterior."""
    model = params.model
    n_tasks, n_arms = model.means.shape
    for i in range(n_tasks):
        share = state.weights[i] / state.total[0]
        if share <= NEGLIGIBLE:
            continue
        if model.theta.shape[2] == 0:
            for k in range(n_arms):
                arms[GAP, k] += share * params.gaps[i, k]
                arms[NOISE, k] += share * params.noise[i, k]
            for s in range(params.summaries.shape[0]):
                for k in range(n_arms):
                    arms[FIRST_SUMMARY + s, k] += share * params.summaries[s, i, k]
        else:
            top = best_worth(model, context, i)
            for k in range(n_arms):
                mu = predicted(model, context, i, k)
                arms[GAP, k] += share * (top - mu)
                arms[NOISE, k] += share * noise(model, i, k, mu)
                arms[FIRST_SUMMARY, k] += share * mu


def best_mixture(gaps: FloatArray, information: FloatArray, available: BoolArray) -> tuple[int, int, float]:
    """(first, second, share of first) of the mixture with the least gap^2 / information; first < 0 if no arm is there.

    For arms a, b with gap_a < gap_b and information_a < information_b (else one of them alone is better), the ratio is
    convex in the share q of b and least where q = gap_a / (gap_b - gap_a) - 2 information_a / (information_b - ...),
    cut to [0, 1]. Some mixture of two arms is as good as any of more (Russo and Van Roy 2014).
    """
    n_arms = gaps.shape[0]
    first, second, share, least = -1, -1, 1.0, math.inf
    for k in range(n_arms):
        if available[k]:
            ratio = gaps[k] * gaps[k] / information[k] if information[k] > 0.0 else math.inf
            if ratio < least or first < 0 or (least == math.inf and gaps[k] < gaps[first]):
                first, second, least = k, k, ratio
    for a in range(n_arms):
        for b in range(n_arms):
            if available[a] and available[b] and gaps[a] < gaps[b] and information[a] < information[b]:
                q = gaps[a] / (gaps[b] - gaps[a]) - 2.0 * information[a] / (information[b] - information[a])
                if 0.0 < q < 1.0:
                    gap = gaps[a] + q * (gaps[b] - gaps[a])
                    ratio = gap * gap / (information[a] + q * (information[b] - information[a]))
                    if ratio < least:
                        first, second, share, least = b, a, q, ratio
    return first, second, share


mids = Policy("mids", make_posterior, init_posterior, choose_mids, update_posterior, explain_posterior)
