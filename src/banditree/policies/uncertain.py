"""mmTS: Thompson sampling over tasks whose rates are themselves uncertain (Hong et al., "Latent bandits revisited",
2020, Algorithm 3).

A case is of one of the tasks, and near it: its rate of arm k is drawn around the task's with the standard deviation of
the collection's spread. The prior is conjugate (Dirichlet over a few possible rewards, normal for normal ones), so that
the chance of the next reward under each task, and with it the posterior of the task, are exact. The task is drawn from
its posterior in every round, and so are its rates. `policies.uncertain_index` has the same model without the draws.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.policies.base import Facts, Policy, Rng
from banditree.policies.classic import gamma_draw
from banditree.policies.families import LEAST_LIKELIHOOD, LEAST_WEIGHT, outcome_of, total_of
from banditree.policies.latent import LIKELY, RESCALE_BELOW, place_of
from banditree.policies.model import NO_ARM_AVAILABLE, Model, model_of
from banditree.policies.options import take_options
from banditree.policies.random import normal, uniform, uniform_pair
from banditree.tasks.arrays import BoolArray, FloatArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import require_likelihood

# The prior where a collection says nothing about how its cases vary: 0/1 rates that are off by up to 0.1, evenly, have
# a standard deviation of 0.058, which is 0.115 of the largest standard deviation that a reward can have.
DEFAULT_WIDTH = 0.115
LEAST_WIDTH = 0.002  # In the same unit: even a rate that the collection is sure of may be off by this much.
HALF_WIDTHS = 1.96  # The radius of an estimate, whose confidence is about 95%, is this many standard deviations.
LEAST_COUNT = 0.02  # Each possible reward has this count in the prior: what is called impossible may still happen.
BOOST = 1 << 19  # The number of the draw for a gamma draw with a shape below 1, above those of the arms.


class UncertainParams(NamedTuple):
    """support: (G,), the possible rewards, empty for normal ones. counts: (K, M, G), what the prior of each task and
    arm is worth in rewards of each value; of normal rewards, (K, M, 1): the number of rewards at the task's mean.

    prior: (M,), the shares of the tasks times M. horizon: H. variance: the most that one reward can have.
    """

    model: Model
    support: FloatArray
    counts: FloatArray
    prior: FloatArray
    horizon: int
    variance: float


class UncertainState(NamedTuple):
    """weights (M,) / total (1,) is the posterior of the task. seen (K, G): how often each reward of an arm was seen; of
    normal rewards, their number and their sum."""

    weights: FloatArray
    total: FloatArray
    seen: FloatArray


def make_uncertain(collection: Collection, horizon: int, options: Mapping[str, Any]) -> UncertainParams:
    """Option `spread`: the standard deviation of a case's rates around its task's, in place of the collection's own.

    By default that is the collection's spread, or 0.115 times the largest standard deviation of a reward if it has
    none (0.058 for 0/1 rewards); what the radius of estimated rates leaves open is added.
    """
    width = take_options(options, spread=None)["spread"]
    if width is not None and not (math.isfinite(width) and width >= 0):
        raise invalid("spread", "a number of at least 0", width)
    require_likelihood(collection.rewards, "A posterior over tasks")
    if collection.theta is not None:
        raise InvalidInput("mmts is for tasks without contexts. Use mts, or lints, which does not use the tasks.")
    prior = np.ones(collection.n_tasks) if collection.shares is None else collection.shares * collection.n_tasks
    return UncertainParams(
        model_of(collection),
        frozen(collection.rewards.support, float),
        frozen(prior_counts(collection, width).transpose(1, 0, 2), float),
        frozen(np.maximum(prior, LEAST_WEIGHT), float),
        horizon,
        float(collection.rewards.variance_proxy),
    )


def prior_counts(collection: Collection, width: float | None = None) -> FloatArray:
    """What the prior is worth in rewards, (M, K, G), or (M, K, 1) for normal rewards.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=[[0.1, 0.1], [0.1, 0.1]])
    >>> prior_counts(two)[0].round(3).tolist()  # failures and successes; 0.7 * 0.3 / 0.1^2 - 1 = 20
    [[6.0, 14.0], [12.0, 3.0]]
    """
    rewards, unit = collection.rewards, math.sqrt(collection.rewards.variance_proxy)
    spread = np.full(collection.means.shape, DEFAULT_WIDTH * unit) if width is None else np.full((1, 1), width)
    if width is None and collection.spread is not None:
        spread = collection.spread
    variance = np.maximum(spread**2 + (collection.radius / HALF_WIDTHS) ** 2, (LEAST_WIDTH * unit) ** 2)
    if not rewards.support:
        return np.asarray(rewards.variance_proxy / variance)[:, :, None]
    chances = np.moveaxis(rewards.outcome_chances(collection.parameters), 0, -1)
    values = np.array(rewards.support)
    noise = chances @ values**2 - (chances @ values) ** 2
    # A Dirichlet distribution of strength s gives the mean of a case the variance noise / (s + 1).
    strength = np.maximum(noise / variance - 1.0, 2.0)
    return np.asarray(np.maximum(chances * strength[:, :, None], LEAST_COUNT))


def init_uncertain(params: UncertainParams) -> UncertainState:
    """Every task as likely as its share of the cases, and no reward seen."""
    K, _M, G = params.counts.shape
    seen = np.zeros((K, G if params.support.shape[0] > 0 else 2))
    return UncertainState(params.prior.copy(), np.full(1, total_of(params.prior)), seen)


def choose_mmts(
    params: UncertainParams, state: UncertainState, context: FloatArray, available: BoolArray, rng: Rng
) -> int:
    """The best arm by rates that are drawn, as the task is, from the posterior."""
    task = place_of(state.weights, uniform(rng, 0) * state.total[0])
    arm, highest = NO_ARM_AVAILABLE, -math.inf
    for k in range(available.shape[0]):
        if available[k]:
            value = drawn_mean(params, state, task, k, rng)
            if value > highest:
                arm, highest = k, value
    return arm


def drawn_mean(params: UncertainParams, state: UncertainState, task: int, arm: int, rng: Rng) -> float:
    """A mean of `arm` from its posterior under `task`."""
    n_values = params.support.shape[0]
    if n_values == 0:
        mean, precision = normal_posterior(params, state, task, arm)
        first, second = uniform_pair(rng, 1 + arm)
        return float(mean + params.model.deviation[task, arm] / math.sqrt(precision) * normal(first, second))
    total, weighted = 0.0, 0.0
    for g in range(n_values):
        draw = any_gamma_draw(params.counts[arm, task, g] + state.seen[arm, g], rng, 1 + arm * n_values + g)
        total += draw
        weighted += draw * params.support[g]
    return weighted / total


def normal_posterior(params: UncertainParams, state: UncertainState, task: int, arm: int) -> tuple[float, float]:
    """The mean of the posterior of a normal mean, and what it is worth in rewards."""
    worth = params.counts[arm, task, 0]
    precision = worth + state.seen[arm, 0]
    return (worth * params.model.means[task, arm] + state.seen[arm, 1]) / precision, precision


def any_gamma_draw(shape: float, rng: Rng, draw: int) -> float:
    """A draw from Gamma(shape > 0): below 1, one of shape + 1 times u^(1 / shape) (Marsaglia and Tsang 2000)."""
    if shape >= 1.0:
        return gamma_draw(shape, rng, draw)
    u = 1.0 - uniform(rng, draw + BOOST)
    return max(gamma_draw(shape + 1.0, rng, draw) * math.exp(math.log(u) / shape), 1e-300)


def update_uncertain(
    params: UncertainParams, state: UncertainState, context: FloatArray, arm: int, reward: float
) -> None:
    """Multiply the weight of each task by the chance it gave the reward, then count the reward."""
    if params.support.shape[0] == 0:
        weigh_normal_rewards(params, state, arm, reward)
        state.seen[arm, 0] += 1.0
        state.seen[arm, 1] += reward
    else:
        value, n_seen = outcome_of(params.model, reward), 0.0
        for g in range(params.support.shape[0]):
            n_seen += state.seen[arm, g]
        for i in range(state.weights.shape[0]):
            n_prior = 0.0
            for g in range(params.support.shape[0]):
                n_prior += params.counts[arm, i, g]
            likelihood = (params.counts[arm, i, value] + state.seen[arm, value]) / (n_prior + n_seen)
            state.weights[i] = max(state.weights[i] * max(likelihood, LEAST_LIKELIHOOD), LEAST_WEIGHT)
        state.seen[arm, value] += 1.0
    state.total[0] = total_of(state.weights)
    if state.total[0] < RESCALE_BELOW:
        for i in range(state.weights.shape[0]):
            state.weights[i] = max(state.weights[i] / state.total[0], LEAST_WEIGHT)
        state.total[0] = total_of(state.weights)


def weigh_normal_rewards(params: UncertainParams, state: UncertainState, arm: int, reward: float) -> None:
    """Normal likelihoods of the next reward, relative to the best one, so that an outlier leaves weights to compare."""
    highest = -math.inf
    for i in range(state.weights.shape[0]):
        highest = max(highest, log_predictive(params, state, i, arm, reward))
    for i in range(state.weights.shape[0]):
        likelihood = max(math.exp(log_predictive(params, state, i, arm, reward) - highest), LEAST_LIKELIHOOD)
        state.weights[i] = max(state.weights[i] * likelihood, LEAST_WEIGHT)


def log_predictive(params: UncertainParams, state: UncertainState, task: int, arm: int, reward: float) -> float:
    """The log-density of the next normal reward, up to a constant."""
    mean, precision = normal_posterior(params, state, task, arm)
    variance = params.model.deviation[task, arm] * params.model.deviation[task, arm] * (1.0 + 1.0 / precision)
    return float(-0.5 * (reward - mean) * (reward - mean) / variance - 0.5 * math.log(variance))


def explain_uncertain(params: UncertainParams, state: UncertainState) -> Facts:
    """The posterior, and the tasks that are not unlikely."""
    posterior = state.weights / state.total[0]
    possible = np.flatnonzero(posterior >= LIKELY).tolist()
    return Facts(exploiting=False, possible=tuple(possible), pulls=None, details={"posterior": posterior.tolist()})


mmts = Policy("mmts", make_uncertain, init_uncertain, choose_mmts, update_uncertain, explain_uncertain)
