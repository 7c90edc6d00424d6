"""What a plan promises for new cases before these are looked at: an interval for all that they earn together.

A new case is taken to be like a known case of about its length: it begins with the rounds of that known case, and where
these are fewer, goes on with means of its own drawn from what they leave open. Cases that come often may differ from
those that come once, and a promise for given lengths must allow for it. How often a known case stands for a new one
is drawn again each time (Rubin 1981, "The Bayesian bootstrap"), since other known cases would have promised something
else.
"""

from dataclasses import dataclass

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.kinds import Kinds
from banditree.evaluation.replay import replay
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards.bernoulli import LEAST_STRENGTH

ALIKE = 50  # A new case may be like any of this many known cases nearest in length; all of the same length count.
DRAWS = 400  # All new cases together are drawn this many times.
MOST_DRAWN = 400_000  # This many cases are drawn in all, which takes seconds; many new cases are drawn less often ...
LEAST_DRAWS = 100  # ... but at least this many times.


@dataclass(frozen=True, eq=False)
class Promise:
    """Reward per round promised for new cases, 95% of the draws between `low` and `high`, and what came."""

    low: float
    high: float
    came: float

    @property
    def is_kept(self) -> bool:
        """Whether what came lies in the interval."""
        return self.low <= self.came <= self.high


def promise_of(plan: Plan, kinds: Kinds, known: Cases, new: Cases, horizon: int, seed: int = 0) -> Promise | None:
    """What the plan promises for cases as long as the new ones; None where outcomes are missing or cases do not vary.

    kinds: found among the known cases. Of the new ones only lengths are used for the interval.
    """
    if kinds.collection.spread is None or not (known.known.all() and new.known.all()):
        return None
    draws = int(np.clip(MOST_DRAWN // new.n_cases, LEAST_DRAWS, DRAWS))
    drawn = cases_like(kinds, known, new.n_rounds, draws, np.random.default_rng([seed, 5]), horizon)
    rounds = np.minimum(new.n_rounds, horizon).sum()
    earned = replay(plan, drawn, horizon).total.reshape(draws, -1).sum(axis=1) / rounds
    return Promise(*middle_of(earned), float(replay(plan, new, horizon).total.sum() / rounds))


def middle_of(draws: FloatArray) -> tuple[float, float]:
    """Between what numbers another draw lies with a chance of 95%: of n draws, n + 1 gaps are as likely as each other.

    >>> middle_of(np.arange(1.0, 40.0))
    (1.0, 39.0)
    """
    low, high = np.quantile(draws, [0.025, 0.975], method="weibull")
    return float(low), float(high)


def cases_like(
    kinds: Kinds, known: Cases, lengths: IntArray, draws: int, rng: np.random.Generator, horizon: int
) -> Cases:
    """New cases of these lengths (U,), cut at the horizon, in `draws` copies: all cases of a copy stand together."""
    like = _likenesses(known.n_rounds, lengths, draws, rng)
    first = np.concatenate([[0], np.cumsum(np.tile(np.minimum(lengths, horizon), draws))])
    owner = np.repeat(np.arange(len(like)), np.diff(first))
    place = np.arange(len(owner)) - first[owner]
    goes_on = place >= known.n_rounds[like[owner]]
    outcomes = known.outcomes[known.first[like[owner]] + np.where(goes_on, 0, place)]
    outcomes[goes_on] = _more_rounds(kinds, known, like, owner[goes_on], rng)
    return Cases(tuple(map(str, range(len(like)))), known.arms, first, outcomes)


def _likenesses(known: IntArray, lengths: IntArray, draws: int, rng: np.random.Generator) -> IntArray:
    """The known case, of those with `known` rounds each, that every new case (draws * U,) of these lengths is like."""
    order, n_near = np.argsort(known, kind="stable"), min(ALIKE, len(known))
    each, which = np.unique(lengths, return_inverse=True)
    reach = np.array([np.partition(np.abs(known - length), n_near - 1)[n_near - 1] for length in each])
    begin = np.searchsorted(known[order], each - reach, "left")[which]
    end = np.searchsorted(known[order], each + reach, "right")[which]
    like = []
    for _ in range(draws):
        weights = np.concatenate([[0.0], np.cumsum(rng.exponential(size=len(known)))])
        spot = weights[begin] + rng.random(len(lengths)) * (weights[end] - weights[begin])
        like.append(order[np.clip(np.searchsorted(weights, spot, "right") - 1, begin, end - 1)])
    return np.concatenate(like)


def _more_rounds(kinds: Kinds, known: Cases, like: IntArray, owner: IntArray, rng: np.random.Generator) -> FloatArray:
    """The outcomes (R, K) of further rounds of cases that are like these known ones; owner: the case of each round."""
    case, owner = np.unique(owner, return_inverse=True)
    like = like[case]
    steps = kinds.chances(known).cumsum(axis=1)[like, :-1]
    kind = (rng.random(len(like))[:, None] > steps).sum(axis=1)
    count, total = np.zeros((2, known.n_cases, len(known.arms)))
    np.add.at(count, known.owner, known.known)
    np.add.at(total, known.owner, known.outcomes)
    if kinds.mixture.strength is not None and kinds.mixture.rates is not None:
        alpha = kinds.mixture.rates * kinds.mixture.strength[:, None]
        taste = rng.gamma(np.maximum(alpha[kind] + total[like], 1e-9)).cumsum(axis=1)
        taken = (rng.random(len(owner))[:, None] * taste[owner, -1:] > taste[owner]).sum(axis=1)
        return np.asarray(np.eye(len(known.arms))[taken])
    means = own_means(kinds.collection, kind, count[like], total[like], rng)[owner]
    return kinds.collection.rewards.sample(means, rng)


def own_means(
    about: Collection, kind: IntArray, count: FloatArray, total: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Means (n, K) of cases of these kinds, drawn from what a known case's rounds and totals (n, K) leave open."""
    assert about.spread is not None
    mean, variance = about.means[kind], about.spread[kind] ** 2
    if not about.rewards.has_range:
        told = variance * count / (variance * count + about.rewards.variance_proxy)
        centre = mean + told * (total / np.maximum(count, 1) - mean)
        return np.asarray(rng.normal(centre, np.sqrt(variance * (1 - told))))
    strength = np.clip(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, LEAST_STRENGTH, 1e9)
    successes = np.maximum(mean * strength + total, 1e-9)
    return np.asarray(rng.beta(successes, np.maximum((1 - mean) * strength + count - total, 1e-9)))
