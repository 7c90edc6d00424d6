"""What a case is expected to give from here on, by the kinds: what is said of cases that were not shown to the end.

Cases are made up from the kinds and play the policy to the end; what they give later is regressed on what each option
gave them so far. A mistake in this costs precision and nothing else where cases count by their chance of being shown.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.kinds import Kinds
from banditree.evaluation.promise import own_means
from banditree.evaluation.replay import replay
from banditree.policies.base import Policy
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

MADE_UP = 2_000  # Cases made up from the kinds, for each policy.
FIRM = 2.0  # An option's mean in a case starts with this many rounds of everyone's.
RIDGE = 1e-4  # Part of the made-up cases by which the regression is kept from dividing by nothing.


@dataclass(frozen=True, eq=False)
class Expected:
    """Coefficients (T, F, T): of what is given in round s, from what was seen before round t <= s; means (K,)."""

    coefficients: FloatArray
    means: FloatArray

    def later(self, asked: IntArray, reward: FloatArray, rounds: IntArray) -> FloatArray:
        """What cases of these rounds (U,) are expected to give from round t on (U, T + 1), 0 from their end on.

        asked (U, T): arms, -1 where that is not known; reward (U, T): what came of them.
        """
        U, T = asked.shape
        seen, found = features(asked, reward, self.means), np.zeros((U, T + 1))
        within = np.arange(T) < rounds[:, None]
        for t in range(T):
            each = seen[:, t] @ self.coefficients[t]
            found[:, t] = np.where(within[:, t], (each * within)[:, t:].sum(axis=1), 0.0)
        return found


def features(asked: IntArray, reward: FloatArray, means: FloatArray) -> FloatArray:
    """What was seen before each round (U, T, F): each arm's mean in the case, the arm that is next, and its mean."""
    arms = np.arange(len(means))
    given = asked[:, :, None] == arms
    count = np.cumsum(given, axis=1) - given
    total = np.cumsum(given * np.nan_to_num(reward)[:, :, None], axis=1) - given * np.nan_to_num(reward)[:, :, None]
    own = (total + FIRM * means) / (count + FIRM)
    return np.concatenate([own, given, np.where(given, own, 0.0)], axis=2)


def made_up(about: Collection, n_cases: int, rounds: int, rng: np.random.Generator) -> Cases:
    """Cases of the kinds of a collection in their shares, with the outcome of every option in every round."""
    kind = rng.choice(about.n_tasks, n_cases, p=about.weights)
    first = np.arange(n_cases + 1) * rounds
    owner = np.repeat(np.arange(n_cases), rounds)
    if about.rewards.by_chances:
        assert about.chances is not None
        outcomes = about.rewards.sample(about.chances[kind][owner], rng)
    else:
        nothing = np.zeros((n_cases, about.n_arms))
        means = about.means[kind] if about.spread is None else own_means(about, kind, nothing, nothing, rng)
        outcomes = about.rewards.sample(means[owner], rng)
    return Cases(tuple(map(str, range(n_cases))), about.arms, first, outcomes)


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Cases made up from the kinds, of T rounds each."""

    kinds: Kinds
    rounds: int
    seed: int

    @cached_property
    def cases(self) -> Cases:
        """With the outcome of every option."""
        return made_up(self.kinds.collection, MADE_UP, self.rounds, np.random.default_rng([self.seed, 7]))

    @property
    def average(self) -> FloatArray:
        """The mean (K,) of every option over the kinds."""
        about = self.kinds.collection
        return np.asarray(about.weights @ about.means)

    def expected(self, subject: Any, policy: Policy) -> Expected:
        """What a policy gives later, by what it met before."""
        U, T = MADE_UP, self.rounds
        one = replay(subject, self.cases, T, policy=policy, seed=self.seed)
        asked, reward, means = one.chosen.reshape(U, T), one.rewards, self.average
        seen = features(asked, reward, means)
        small = RIDGE * U * np.eye(seen.shape[2])
        every = [np.linalg.solve(seen[:, t].T @ seen[:, t] + small, seen[:, t].T @ reward) for t in range(T)]
        return Expected(np.array(every), means)
