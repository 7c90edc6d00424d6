"""Closing the loop: what the cases of a plan add to what the log told, as a new collection.

A plan steers its cases: what it gives depends on what came before, it gives most options to the kinds that they suit,
and it leaves an option when its score is low. Averages over its cases are therefore biased. The likelihood of whole
histories is not: what is given follows from the history, so it drops out, and a case whose kind nobody knows counts for
each kind by its chance (a mixture, fitted by EM from the rates of the collection on, so that kinds stay what they are).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from banditree.cases.table import Cases, only_rounds, until_overridden
from banditree.cases.values import day_of
from banditree.errors import InvalidInput, invalid
from banditree.nouns import counted
from banditree.settings import keywords
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Rewards, require_likelihood
from banditree.training.cells import statistics_of
from banditree.training.estimates import FAILURE_PROBABILITY
from banditree.training.found_kinds import rate_covariance
from banditree.training.grades import outcome_counts
from banditree.training.intervals import radius_of_clustered_rate, widening
from banditree.training.settings import RelearnSettings
from banditree.training.statistics import Statistics, merge_statistics

EXACT = 100.0  # A rate that the collection takes as known exactly counts as this many rows, which is a guess.
STEPS = 500  # EM takes at most this many steps.
CLOSE = 1e-7  # EM stops when no rate changes by more, in standard deviations of a reward.
FEW = 1.0  # With fewer rows of a kind and arm among the cases, the rate stays the log's.
MOST_SETS = 8  # With more grades only single ones are looked at, and not every set of them.


@dataclass(frozen=True, eq=False)
class Relearned:
    """A collection from a log and a plan's cases. chances: (U, M), how likely each kind is for each case. rows: (M, K),
    outcomes of the cases, each counted by these chances. kept: (M, K), which rates are still those of the log."""

    collection: Collection
    before: Collection
    chances: FloatArray
    rows: FloatArray
    kept: BoolArray


@keywords(RelearnSettings)
def relearn(
    collection: Collection,
    cases: Statistics,
    **settings: Any,
) -> Relearned:
    """The collection of the log, brought up to date with the cases of the plans that were made from it.

    cases: statistics in which every case is a task, of all cases so far, whatever plan they followed. The log counts
    as many rows as its margins are worth. Margins hold for all rates that changed, at every look, except with
    `failure_probability`; those of the log hold as before. A rate that no case shows stays the log's. With a log_weight
    below 1 the margins of the log do not narrow the new ones. settings: of `RelearnSettings`.

    >>> from banditree.training.statistics import collect
    >>> known = Collection.bernoulli([[0.9, 0.5], [0.1, 0.5]], arms=["A", "B"], radius=0.2)
    >>> cases = collect(["u", "v", "w"] * 60, ["A"] * 180, [1, 1, 0] * 60)
    >>> relearn(known, cases).collection.means.round(2).tolist()
    [[0.99, 0.5], [0.02, 0.5]]
    """
    how = RelearnSettings(**settings)
    failure_probability, log_weight = how.failure_probability, how.log_weight
    _check(collection, cases)
    count, total = _by_arms(collection, cases)
    log = log_weight * log_rows(collection)
    rates, shares, chances = _fit(collection, count, total, log)
    rows = chances.T @ count
    radius = _radius(collection, rates, chances, count, total, log, failure_probability)
    kept = rows < FEW
    rates = np.where(kept[:, :, None], _rates_of(collection), rates)
    radius = np.where(kept, collection.radius, radius if log_weight < 1 else _narrowed(collection, rates, radius))
    known = collection.counts if collection.counts is not None else np.zeros(rows.shape, np.int64)
    by_chances = collection.rewards.by_chances
    found = replace(
        collection,
        means=collection.rewards.means(rates) if by_chances else rates[..., 0],
        chances=rates if by_chances else None,
        radius=radius,
        shares=shares,
        counts=known + np.round(rows).astype(np.int64),
        provenance=f"{collection.provenance}; relearned with {counted(len(cases.tasks), 'case')}",
    )
    return Relearned(found, collection, chances, rows, kept)


def estimates_from(
    collection: Collection, cases: Statistics, log_weight: float = 1.0
) -> Callable[[IntArray], Collection]:
    """What `relearn` estimates from some of the cases (numbers, which may repeat) beside the log; without margins.

    >>> from banditree.training.statistics import collect
    >>> known = Collection.bernoulli([[0.9, 0.5], [0.1, 0.5]], arms=["A", "B"], radius=0.2)
    >>> rates = estimates_from(known, collect(["u", "v", "w"] * 60, ["A"] * 180, [1, 1, 0] * 60))
    >>> rates(np.array([0, 1, 1])).means.round(2).tolist()
    [[0.99, 0.5], [0.1, 0.5]]
    """
    _check(collection, cases)
    count, total = _by_arms(collection, cases)
    log, by_chances = log_weight * log_rows(collection), collection.rewards.by_chances

    def estimates(chosen: IntArray) -> Collection:
        rates, shares, _chances = _fit(collection, count[chosen], total[chosen], log)
        means = collection.rewards.means(rates) if by_chances else rates[..., 0]
        known = replace(collection, means=means, chances=rates if by_chances else None, shares=shares)
        return trust_estimates(known)

    return estimates


def case_statistics(tables: Iterable[Cases], rewards: Rewards, since: str | float | None = None) -> Statistics:
    """The sums of every case for `relearn`: its known outcomes up to the first round that a person overrode.

    since: only outcomes from this day on.
    """
    from_day = -np.inf if since is None else day_of(since)
    recent = [only_rounds(cases, np.flatnonzero(~(cases.at < from_day))) for cases in tables]
    fair = [cases for cases in map(until_overridden, recent) if cases.n_cases]
    if not fair:
        raise InvalidInput("The cases have no outcomes, so there is nothing to learn from. Check the export.")
    grades = rewards.support if rewards.by_chances else ()
    return reduce(merge_statistics, [statistics_of(cases, grades) for cases in fair])


def _rates_of(collection: Collection) -> FloatArray:
    """What is learned of each kind and arm (M, K, G): the mean alone, or the chance of each grade."""
    return collection.parameters if collection.rewards.by_chances else collection.means[:, :, None]


def _check(collection: Collection, cases: Statistics) -> None:
    require_likelihood(collection.rewards, "Relearning")
    if collection.theta is not None:
        raise InvalidInput("Relearning is for rewards without contexts. Learn from a log instead.")
    if strange := sorted(set(cases.arms) - set(collection.arms)):
        raise invalid("the arms of the cases", f"among {', '.join(collection.arms[:20])}", strange[:5])
    if not cases.n_rows:
        raise InvalidInput("The cases have no outcomes, so there is nothing to relearn from. Check the cases.")


def _by_arms(collection: Collection, cases: Statistics) -> tuple[FloatArray, FloatArray]:
    """Rows (U, K) of every case and their sums, or how often each grade came (U, K, G), arms as in the collection.

    Where cases vary within kinds, n rows of one case and arm count as n / (1 + (n - 1) rho).
    """
    place = np.array([collection.arms.index(name) for name in cases.arms])
    count = np.zeros((len(cases.tasks), collection.n_arms))
    total = np.zeros((*count.shape, _rates_of(collection).shape[2]))
    at = cases.task, place[cases.arm]
    count[at] = cases.count
    if collection.rewards.by_chances:
        counts = outcome_counts(cases)
        if strange := sorted(set(counts) - set(collection.rewards.support)):
            raise invalid("the rewards of the cases", f"among {collection.rewards.support}", strange[:5])
        for grade, value in enumerate(collection.rewards.support):
            total[(*at, grade)] = counts.get(value, 0.0)
    else:
        total[(*at, 0)] = cases.sums[:, -1] + cases.count * cases.shift[-1]
    if collection.spread is not None:
        within = collection.weights @ _variance(collection, _rates_of(collection))
        between = (collection.weights @ collection.spread**2) / np.maximum(within, 1e-12)
        discount = 1 / (1 + np.maximum(count - 1, 0) * np.minimum(between, 1.0))
        return discount * count, discount[:, :, None] * total
    return count, total


def _variance(collection: Collection, rates: FloatArray) -> FloatArray:
    """The variance (M, K) of one reward."""
    rewards = collection.rewards
    if rewards.by_chances:
        values = np.array(rewards.support)
        return np.asarray(rates @ values**2 - (rates @ values) ** 2)
    if not rewards.has_range:
        return np.full(rates.shape[:2], float(rewards.variance_proxy))
    return np.asarray(rates * (1 - rates))[..., 0]


def log_rows(collection: Collection) -> FloatArray:
    """How many independent rows (M, K) the margins of a collection are worth, at most those it was learned from.

    The margins of graded rewards are those of the chance of any set of grades, whose variance is at most 1/4.
    """
    rewards = collection.rewards
    variance = _variance(collection, _rates_of(collection)) if not rewards.by_chances else rewards.width**2 / 4
    tail = FAILURE_PROBABILITY / collection.means.size
    quantile = ndtri(1 - tail / 2)
    with np.errstate(divide="ignore"):
        rows = quantile**2 * np.maximum(variance, 1e-4) / collection.radius**2
    rows = np.where(collection.radius > 0, rows, EXACT if collection.counts is None else np.inf)
    return np.asarray(np.minimum(rows, np.inf if collection.counts is None else collection.counts))


def _fit(
    collection: Collection, count: FloatArray, total: FloatArray, log: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """EM: rates (M, K, G), shares (M,) and chances (U, M), from those of the collection on."""
    before = _rates_of(collection)
    rates, shares = before, np.maximum(collection.weights, 1e-6)
    scale = np.sqrt(np.maximum(_variance(collection, rates), 1e-6))[:, :, None]
    for _ in range(STEPS):
        joint = _log_likelihood(collection, rates, count, total) + np.log(shares)
        chances = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        rows = (log + chances.T @ count)[:, :, None]
        sums = log[:, :, None] * before + np.einsum("um,ukg->mkg", chances, total)
        following = np.where(rows > 0, sums / np.maximum(rows, 1e-300), before)
        shares = (chances.sum(axis=0) + collection.weights) / (len(chances) + 1)
        if (np.abs(following - rates) <= CLOSE * scale).all():
            break
        rates = following
    return rates, shares, chances


def _log_likelihood(collection: Collection, rates: FloatArray, count: FloatArray, total: FloatArray) -> FloatArray:
    """The log-likelihood (U, M) of every case under every kind, from its sums or its grades."""
    rewards = collection.rewards
    if rewards.by_chances:
        return np.asarray(np.einsum("ukg,mkg->um", total, np.log(np.maximum(rates, 1e-6)), optimize=True))
    sums, means = total[..., 0], rates[..., 0]
    if not rewards.has_range:
        return np.asarray((sums @ means.T - count @ (means**2).T / 2) / rewards.variance_proxy)
    means = np.clip(means, 1e-6, 1 - 1e-6)
    return np.asarray(sums @ np.log(means).T + (count - sums) @ np.log1p(-means).T)


def _radius(
    collection: Collection,
    rates: FloatArray,
    chances: FloatArray,
    count: FloatArray,
    total: FloatArray,
    log: FloatArray,
    failure_probability: float,
) -> FloatArray:
    """The radius (M, K) of every rate, which holds for all of them and at every look.

    The score of the likelihood has mean zero case by case, given all cases before, whatever stopped each of its lines
    and however a later plan follows from earlier cases: a martingale. So the rates are normal around the truth with the
    sandwich covariance by case, and a confidence sequence widens that for all looks. Of graded rewards it is a radius
    of the chance of every set of grades, times the range.
    """
    M, K, G = rates.shape
    covariance = rate_covariance(
        rates.reshape(M, -1),
        chances,
        np.repeat(count, G, axis=1),
        total.reshape(len(total), -1),
        variance=None if G > 1 else _variance(collection, rates),
        labelled=np.repeat(np.minimum(log, 1e12), G, axis=1),
        together=G,
    )
    sets = _sets_of_grades(G)
    blocks = np.moveaxis(covariance.reshape(M * K, G, M * K, G).diagonal(axis1=0, axis2=2), -1, 0)
    error = np.sqrt(np.maximum(np.einsum("sg,cgh,sh->sc", sets, blocks, sets), 0.0)).reshape(-1, M, K)
    wide = widening(len(chances), failure_probability / (M * K * len(sets)))
    if not collection.rewards.has_range:
        return np.asarray(wide * error[0])
    rows, individuals = log + chances.T @ count, log + chances.T @ (count > 0)
    width = collection.rewards.width
    each = [
        radius_of_clustered_rate(rates @ one, of_set, rows, individuals, 2 * ndtr(-wide))
        for one, of_set in zip(sets, error, strict=True)
    ]
    return np.asarray(width * np.minimum(np.max(each, axis=0) if G <= MOST_SETS else np.sum(each, axis=0) / 2, 1.0))


def _sets_of_grades(G: int) -> FloatArray:
    """The sets (S, G) of grades whose chances are looked at: one of each set and its complement.

    Of many grades only the single ones: no set is off by more than half of the sum of what these are off.
    """
    if G == 1:
        return np.ones((1, 1))
    if G > MOST_SETS:
        return np.eye(G)
    every = np.arange(1, 2 ** (G - 1))
    return np.asarray((every[:, None] >> np.arange(G)) & 1, float)


def _narrowed(collection: Collection, rates: FloatArray, radius: FloatArray) -> FloatArray:
    """The radius, cut where the interval of the log, which holds too, ends sooner."""
    off = np.abs(rates - _rates_of(collection)).sum(axis=2)
    moved = collection.rewards.width * off / 2 if collection.rewards.by_chances else off
    inside = (collection.radius > 0) & (moved <= collection.radius)
    return np.asarray(np.where(inside, np.minimum(radius, moved + collection.radius), radius))
