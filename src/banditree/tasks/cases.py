"""Cases that vary within their kind: draws of what each option does for one case."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.nouns import counted
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards.bernoulli import LEAST_STRENGTH

SEARCHED, FRESH = 20, 22  # Streams of draws: of cases that a plan may be made for, and of others to judge it by.
MOST_STRENGTH = 1e9  # A beta distribution that is narrower (a spread below 1/60,000 of the range) is no spread at all.
EXCLUSIVE = 1e-6  # Means that add up to 1 this closely in every kind are the shares of one choice.


class Cases(NamedTuple):
    """Drawn cases: the mean reward of every arm for each (n, K), the task of each (n,), and what each counts (n,)."""

    means: FloatArray
    task: IntArray
    weights: FloatArray


def draw_cases(collection: Collection, n: int, seed: int = 0, *, fresh: bool = False) -> Cases:
    """n cases of every task, drawn around its means with its spread; one case per task if cases do not vary.

    fresh: cases to judge a plan by, other ones than any search draws, whatever its seed. They lie evenly: of n rates of
    an arm one is in each n-th part of their distribution, which makes averages as sure as several times as many draws.

    Rewards in a range: beta distributions with the mean and standard deviation of each task and arm. Where the means of
    every task add up to 1, as when one of the options is taken each time, cases are Dirichlet, so that each adds up to
    1 too. Others: normal. Weights are the shares of the tasks over the cases of each, and add up to 1.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=[[0.1, 0.1], [0.1, 0.1]])
    >>> cases = draw_cases(two, 1000)
    >>> cases.means.shape, cases.means[cases.task == 0].std(axis=0).round(1).tolist()
    ((2000, 2), [0.1, 0.1])
    """
    if n < 1:
        raise invalid("n", "at least 1", n)
    if not collection.varies:
        return Cases(collection.means, np.arange(collection.n_tasks), collection.weights)
    if collection.theta is not None or collection.parameters.ndim > 2:
        raise InvalidInput("Cases that vary can only be drawn for tasks known by their means alone.")
    rng = np.random.default_rng([seed, FRESH if fresh else SEARCHED])
    task = np.repeat(np.arange(collection.n_tasks), n)
    means = _evenly_drawn(collection, n, rng) if fresh else _drawn(collection, task, rng)
    return Cases(means, task, collection.weights[task] / n)


def with_spread(collection: Collection, least: float) -> Collection:
    """The collection with cases that vary by a standard deviation of at least so much around every rate."""
    spread = np.zeros(collection.means.shape) if collection.spread is None else collection.spread
    return replace(collection, spread=np.maximum(spread, least))


def draw_strangers(collection: Collection, n: int, seed: int = 0) -> FloatArray:
    """The parameters (n, K, ...) of cases that belong to none of the tasks: each rate is that of some task and arm."""
    M, K = collection.means.shape
    rates = collection.parameters.reshape(M * K, *collection.parameters.shape[2:])
    return np.asarray(rates[np.random.default_rng([seed, 21]).integers(M * K, size=(n, K))])


def reach_of_cases(collection: Collection, chance: float) -> FloatArray:
    """How far (M, K) the rate of a case is from its task's, except with a chance for each arm: quantiles of the
    distributions that `draw_cases` draws from.

    >>> rare = Collection.bernoulli([[0.1, 0.5], [0.5, 0.1]], spread=[[0.15, 0.15], [0.15, 0.15]])
    >>> reach_of_cases(rare, 0.01).round(2).tolist()  # rates near 0 have a long way up
    [[0.64, 0.35], [0.35, 0.64]]
    """
    from scipy.special import betaincinv, ndtri

    rewards, spread = collection.rewards, collection.spread
    if spread is None:
        return np.zeros(collection.means.shape)
    if not rewards.has_range:
        return np.asarray(spread * ndtri(1 - chance / 2))
    rate, strength = _rate_and_strength(collection)
    if _is_one_choice(rate):
        strength = np.broadcast_to(_common(rate, strength)[:, None], rate.shape)
    fixed = ~np.isfinite(strength) | (rate <= 0) | (rate >= 1)
    a, b = (np.where(fixed, 1.0, part * np.where(fixed, 1.0, strength)) for part in (rate, 1 - rate))
    low, high = betaincinv(a, b, chance / 2), betaincinv(a, b, 1 - chance / 2)
    return np.asarray(rewards.width * np.where(fixed, 0.0, np.maximum(high - rate, rate - low)))


def _rate_and_strength(collection: Collection) -> tuple[FloatArray, FloatArray]:
    """The mean (M, K) of each beta distribution, from 0 to 1, and the sum of its two parameters."""
    rewards, spread = collection.rewards, collection.spread
    assert spread is not None
    rate, deviation = (collection.means - rewards.low) / rewards.width, spread / rewards.width
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.maximum(rate * (1 - rate) / deviation**2 - 1, LEAST_STRENGTH)
    return rate, np.where(strength < MOST_STRENGTH, strength, np.inf)


def _is_one_choice(rate: FloatArray) -> bool:
    """Whether one of the options is taken each time."""
    return bool(np.abs(rate.sum(axis=1) - 1).max() <= EXCLUSIVE)


def _drawn(collection: Collection, task: IntArray, rng: np.random.Generator) -> FloatArray:
    rewards, spread = collection.rewards, collection.spread
    assert spread is not None
    if not rewards.has_range:
        return np.asarray(rng.normal(collection.means[task], spread[task]))
    rate, strength = _rate_and_strength(collection)
    if _is_one_choice(rate):
        shape = rate * _common(rate, strength)[:, None]
        drawn = rng.gamma(np.maximum(shape[task], 1e-12))
        return np.asarray(rewards.low + rewards.width * drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-300))
    fixed = ~np.isfinite(strength) | (rate <= 0) | (rate >= 1)
    a = np.where(fixed, 1.0, rate * np.where(fixed, 1.0, strength))
    b = np.where(fixed, 1.0, (1 - rate) * np.where(fixed, 1.0, strength))
    drawn = np.where(fixed[task], rate[task], rng.beta(a[task], b[task]))
    return np.asarray(rewards.low + rewards.width * drawn)


def _evenly_drawn(collection: Collection, n: int, rng: np.random.Generator) -> FloatArray:
    """Latin hypercubes of n cases for each task, (n M, K): quantiles of what `_drawn` draws from."""
    from scipy.special import betaincinv, gammaincinv, ndtri

    rewards, (M, K) = collection.rewards, collection.means.shape
    part = rng.permuted(np.broadcast_to(np.arange(n)[:, None], (M, n, K)), axis=1)
    chance = (part + rng.uniform(0.0, 1.0, (M, n, K))) / n
    if not rewards.has_range:
        assert collection.spread is not None
        drawn = collection.means[:, None] + collection.spread[:, None] * ndtri(np.maximum(chance, 1e-12))
        return np.asarray(drawn.reshape(M * n, K))
    rate, strength = (values[:, None] for values in _rate_and_strength(collection))
    if _is_one_choice(rate[:, 0]):
        shape = rate * _common(rate[:, 0], strength[:, 0])[:, None, None]
        sizes = gammaincinv(np.maximum(shape, 1e-12), chance)
        drawn = sizes / np.maximum(sizes.sum(axis=2, keepdims=True), 1e-300)
    else:
        fixed = ~np.isfinite(strength) | (rate <= 0) | (rate >= 1)
        a, b = (np.where(fixed, 1.0, side * np.where(fixed, 1.0, strength)) for side in (rate, 1 - rate))
        drawn = np.where(fixed, rate, betaincinv(a, b, chance))
    return np.asarray(rewards.low + rewards.width * drawn.reshape(M * n, K))


def _common(rate: FloatArray, strength: FloatArray) -> FloatArray:
    """The strength (M,) of a Dirichlet distribution that has the total variance of each task's arms."""
    variance = rate * (1 - rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(np.isfinite(strength), variance / (strength + 1), 0.0)
        found = variance.sum(axis=1) / spread.sum(axis=1) - 1
    found = np.nan_to_num(found, nan=np.inf)  # rates of 0 and 1 do not vary
    return np.asarray(np.clip(found, LEAST_STRENGTH, MOST_STRENGTH))


def case_collection(collection: Collection, n: int, seed: int = 0, *, fresh: bool = False) -> Collection:
    """The cases of `draw_cases` as a collection of their own, known exactly, with their weights as shares.

    A policy such as mTS that is given it believes in cases that vary; a simulation on it plays them.
    """
    cases = draw_cases(collection, n, seed, fresh=fresh)
    names = tuple(f"{collection.tasks[i]}, case {number + 1}" for number, i in enumerate(cases.task))
    provenance = f"{collection.provenance}, {counted(len(names), 'case')} drawn with seed {seed}"
    about: dict[str, Any] = {"provenance": provenance, "shares": cases.weights, "worth": collection.worth}
    about["harm"] = None if collection.harm is None else collection.harm.at(cases.task)
    return Collection(cases.means, names, collection.arms, collection.rewards, **about)
