"""What a case is expected to give from here on, by the kinds: what is said of cases that were not shown to the end.

Cases are made up from the kinds and play the policy to the end; what they give later is regressed on what each option
gave them so far. A mistake in this costs precision and nothing else where cases count by their chance of being shown.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.by_context import Curves, curves_of
from banditree.evaluation.kinds import Kinds, find_kinds
from banditree.evaluation.promise import own_means
from banditree.evaluation.replay import replay
from banditree.policies.base import Policy
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Rewards

MADE_UP = 2_000  # Cases made up from the kinds, for each policy.
KINDS = 3  # What cases are expected to give is told by this many kinds.
FIRM = 2.0  # An option's mean in a case starts with this many rounds of everyone's.
RIDGE = 1e-4  # Part of the made-up cases by which the regression is kept from dividing by nothing.


@dataclass(frozen=True, eq=False)
class Expected:
    """Coefficients (T, F, T): of what is given in round s, from what was seen before round t <= s; means (K,).

    ahead: whether the arm of a round is known before its context is.
    """

    coefficients: FloatArray
    means: FloatArray
    ahead: bool

    def later(self, asked: IntArray, reward: FloatArray, rounds: IntArray) -> FloatArray:
        """What cases of these rounds (U,) are expected to give from round t on (U, T + 1), 0 from their end on.

        asked (U, T): arms, -1 where that is not known; reward (U, T): what came of them.
        """
        U, T = asked.shape
        seen, found = features(asked, reward, self.means, self.ahead), np.zeros((U, T + 1))
        within = np.arange(T) < rounds[:, None]
        for t in range(T):
            each = seen[:, t] @ self.coefficients[t]
            found[:, t] = np.where(within[:, t], (each * within)[:, t:].sum(axis=1), 0.0)
        return found


def features(asked: IntArray, reward: FloatArray, means: FloatArray, ahead: bool) -> FloatArray:
    """What was seen before each round (U, T, F): each arm's mean in the case; ahead: the next arm, and its mean."""
    arms = np.arange(len(means))
    given = asked[:, :, None] == arms
    count = np.cumsum(given, axis=1) - given
    total = np.cumsum(given * np.nan_to_num(reward)[:, :, None], axis=1) - given * np.nan_to_num(reward)[:, :, None]
    own = (total + FIRM * means) / (count + FIRM)
    more = [given, np.where(given, own, 0.0)] if ahead else [np.ones((*asked.shape, 1))]
    return np.concatenate([own, *more], axis=2)


def expecting(cases: Cases, rewards: Rewards, seed: int) -> Kinds:
    """The kinds, and what contexts mean for everyone, by which cases of other logs are expected to go on."""
    kinds = find_kinds(cases, max(2, min(KINDS, cases.n_cases)), rewards, seed=seed)
    looks = cases.contexts is not None and not rewards.by_chances
    return replace(kinds, curves=curves_of(cases, kinds.collection.rewards)) if looks else kinds


def made_up(
    about: Collection,
    n_cases: int,
    rounds: int,
    rng: np.random.Generator,
    like: Cases | None = None,
    curves: Curves | None = None,
) -> Cases:
    """Cases of the kinds of a collection in their shares, with the outcome of every option in every round.

    like: cases whose contexts they have. curves: what contexts add for everyone.
    """
    kind = rng.choice(about.n_tasks, n_cases, p=about.weights)
    first = np.arange(n_cases + 1) * rounds
    owner = np.repeat(np.arange(n_cases), rounds)
    contexts = _drawn_contexts(like, n_cases, rounds, rng)
    if about.rewards.by_chances:
        assert about.chances is not None
        outcomes = about.rewards.sample(about.chances[kind][owner], rng)
    else:
        nothing = np.zeros((n_cases, about.n_arms))
        means = about.means[kind] if about.spread is None else own_means(about, kind, nothing, nothing, rng)
        outcomes = about.rewards.sample(_moved(means[owner], contexts, curves), rng)
    return Cases(tuple(map(str, range(n_cases))), about.arms, first, outcomes, contexts=contexts)


def _drawn_contexts(like: Cases | None, n_cases: int, rounds: int, rng: np.random.Generator) -> FloatArray | None:
    """Contexts (n_cases * rounds, d): each case has those of some rounds of a case that it is like."""
    if like is None or like.contexts is None:
        return None
    u = rng.integers(0, like.n_cases, n_cases)
    place = np.floor(rng.random((n_cases, rounds)) * like.n_rounds[u][:, None]).astype(np.int64)
    return np.asarray(like.contexts[(like.first[u][:, None] + place).ravel()])


def _moved(means: FloatArray, contexts: FloatArray | None, curves: Curves | None) -> FloatArray:
    """The means (n, K), each moved by as much as its context moves everyone's."""
    if contexts is None or curves is None:
        return means
    everyone = curves.at(contexts)
    moved = means + everyone - everyone.mean(axis=0)
    return np.asarray(np.clip(moved, 0.0, 1.0) if curves.rewards.counts else moved)


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Cases made up from the kinds, of T rounds each, with contexts like those of a log."""

    kinds: Kinds
    like: Cases
    rounds: int
    seed: int

    @cached_property
    def cases(self) -> Cases:
        """With the outcome of every option."""
        rng = np.random.default_rng([self.seed, 7])
        return made_up(self.kinds.collection, MADE_UP, self.rounds, rng, self.like, self.kinds.curves)

    @property
    def average(self) -> FloatArray:
        """The mean (K,) of every option over the kinds."""
        about = self.kinds.collection
        return np.asarray(about.weights @ about.means)

    def expected(self, subject: Any, policy: Policy, ahead: bool) -> Expected:
        """What a policy gives later, by what it met before; ahead: see `Expected`."""
        U, T = MADE_UP, self.rounds
        one = replay(subject, self.cases, T, policy=policy, seed=self.seed)
        asked, reward, means = one.chosen.reshape(U, T), one.rewards, self.average
        seen = features(asked, reward, means, ahead)
        small = RIDGE * U * np.eye(seen.shape[2])
        every = [np.linalg.solve(seen[:, t].T @ seen[:, t] + small, seen[:, t].T @ reward) for t in range(T)]
        return Expected(np.array(every), means, ahead)
