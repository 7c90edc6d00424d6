"""What a plan promises for new cases before these are looked at: an interval for all that they earn together.

A new case is taken to be like a known case of about its length: of its kind by chance, with means of its own drawn from
what that known case leaves open. Cases that come often may differ from those that come once, and a promise for cases of
given lengths must know it. Known cases are drawn again, and the kinds are fitted to those drawn (the bootstrap), since
other known cases would have promised something else.
"""

from dataclasses import dataclass

import numpy as np

from banditree.evaluation.history import History, only_cases
from banditree.evaluation.kinds import Kinds, refitted
from banditree.evaluation.replay import replay
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.rewards.bernoulli import LEAST_STRENGTH

ALIKE = 50  # known cases nearest in length that a new case may be like; all of the same length count
BORROWED = 10.0  # cases' worth of everyone's shares of the kinds that cases of one length start with
REFITS = 25  # of the kinds, each to known cases drawn again
DRAWS = 400  # of all new cases together
MOST_DRAWN = 400_000  # cases in all, a few seconds' worth; many new cases are drawn less often
LEAST_DRAWS = 100
STEPS = 30  # of EM for the shares of the kinds at one length


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


def promise_of(plan: Plan, kinds: Kinds, known: History, new: History, horizon: int, seed: int = 0) -> Promise | None:
    """What the plan promises for cases as long as the new ones; None where outcomes are missing or cases do not vary.

    kinds: found among the known cases. Of the new ones only lengths are used for the interval.
    """
    if kinds.collection.spread is None or not (known.known.all() and new.known.all()):
        return None
    draws = int(np.clip(MOST_DRAWN // new.n_cases, LEAST_DRAWS, DRAWS))
    drawn = cases_like(kinds, known, new.n_rounds, draws, np.random.default_rng([seed, 5]), horizon)
    earned = replay(plan, drawn, horizon).total.reshape(draws, -1).sum(axis=1)
    rounds = np.minimum(new.n_rounds, horizon).sum()
    low, high = np.quantile(earned, [0.025, 0.975]) / rounds
    return Promise(float(low), float(high), float(replay(plan, new, horizon).total.sum() / rounds))


def cases_like(
    kinds: Kinds, known: History, lengths: IntArray, draws: int, rng: np.random.Generator, horizon: int
) -> History:
    """New cases of these lengths (U,), cut at the horizon, in `draws` copies: all cases of a copy stand together."""
    sizes = np.minimum(lengths, horizon)
    outcomes = []
    for part in np.array_split(np.arange(draws), REFITS):
        seen = only_cases(known, rng.integers(known.n_cases, size=known.n_cases))
        again = refitted(kinds, seen)
        case, kind = _likenesses(again, seen, np.tile(lengths, len(part)), rng)
        owner = np.repeat(np.arange(len(case)), np.tile(sizes, len(part)))
        outcomes.append(_outcomes(again, seen, case, kind, owner, rng))
    first = np.concatenate([[0], np.cumsum(np.tile(sizes, draws))])
    return History(tuple(map(str, range(len(first) - 1))), known.arms, first, np.concatenate(outcomes))


def _likenesses(kinds: Kinds, known: History, lengths: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The known case that each new case of these lengths (n,) is like, and its kind."""
    chances, case, kind = kinds.chances(known), np.empty(len(lengths), np.int64), np.empty(len(lengths), np.int64)
    for length in np.unique(lengths):
        away, here = np.abs(known.n_rounds - length), np.flatnonzero(lengths == length)
        near = np.flatnonzero(away <= np.sort(away)[min(ALIKE, len(away)) - 1])
        steps = _with_shares_of_their_own(chances[near], kinds.mixture.shares).cumsum(axis=1)[:, :-1]
        which = rng.integers(len(near), size=len(here))
        case[here] = near[which]
        kind[here] = (rng.random(len(here))[:, None] > steps[which]).sum(axis=1)
    return case, kind


def _with_shares_of_their_own(chances: FloatArray, shares: FloatArray) -> FloatArray:
    """The chances (n, C) of kinds where these cases have other shares of the kinds than everyone (C,), by EM."""
    likelihood, own = chances / shares, shares
    for _ in range(STEPS):
        chances = likelihood * own
        chances = chances / chances.sum(axis=1, keepdims=True)
        own = (chances.sum(axis=0) + BORROWED * shares) / (len(chances) + BORROWED)
    return chances


def _outcomes(
    kinds: Kinds, known: History, like: IntArray, kind: IntArray, owner: IntArray, rng: np.random.Generator
) -> FloatArray:
    """The outcomes (R, K) of every round, of cases that are like these known ones and of these kinds."""
    count, total = np.zeros((2, known.n_cases, len(known.arms)))
    np.add.at(count, known.owner, known.known)
    np.add.at(total, known.owner, known.outcomes)
    if kinds.mixture.strength is not None and kinds.mixture.rates is not None:
        alpha = kinds.mixture.rates * kinds.mixture.strength[:, None]
        taste = rng.gamma(np.maximum(alpha[kind] + total[like], 1e-9)).cumsum(axis=1)
        taken = (rng.random(len(owner))[:, None] * taste[owner, -1:] > taste[owner]).sum(axis=1)
        return np.asarray(np.eye(len(known.arms))[taken])
    means = _own_means(kinds, kind, count[like], total[like], rng)[owner]
    return kinds.collection.rewards.sample(means, rng)


def _own_means(
    kinds: Kinds, kind: IntArray, count: FloatArray, total: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Means (n, K) of cases of these kinds, drawn from what a known case's rounds and totals (n, K) leave open."""
    about = kinds.collection
    assert about.spread is not None
    mean, variance = about.means[kind], about.spread[kind] ** 2
    if not about.rewards.has_range:
        told = variance * count / (variance * count + about.rewards.variance_proxy)
        centre = mean + told * (total / np.maximum(count, 1) - mean)
        return np.asarray(rng.normal(centre, np.sqrt(variance * (1 - told))))
    strength = np.clip(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, LEAST_STRENGTH, 1e9)
    successes = np.maximum(mean * strength + total, 1e-9)
    return np.asarray(rng.beta(successes, np.maximum((1 - mean) * strength + count - total, 1e-9)))
