"""The kinds among the cases of a history that differ in what contexts mean for them, for plans that look at both."""

from dataclasses import dataclass

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.by_context import curve_of, curves_of
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import sampled_contexts
from banditree.tasks.predictions import predict
from banditree.tasks.rewards import Gaussian, Rewards
from banditree.training.cells import context_statistics
from banditree.training.classes import find_classes
from banditree.trees.tree import round_significant

KEPT = 500  # Contexts that stand for all: the search averages over them.
LEAST = 5  # A kind has a curve of its own for an option that it tried in this many rounds per feature.
UNLIKELY = 1e-4  # No outcome is less likely than this under a curve.


@dataclass(frozen=True, eq=False)
class KindsByContext:
    """The collection of the kinds: a curve for each kind and option."""

    collection: Collection

    def chances(self, history: Cases) -> FloatArray:
        """The chance (U, C) of every kind for every case, from all that is known about the case."""
        log = np.zeros((history.n_cases, self.collection.n_tasks))
        for kind in range(self.collection.n_tasks):
            np.add.at(log[:, kind], history.owner, self._log_likelihood(history, kind))
        log += np.log(np.maximum(self.collection.weights, UNLIKELY))
        chances = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _log_likelihood(self, history: Cases, kind: int) -> FloatArray:
        """Of all known outcomes of each round (R,)."""
        promised, outcome = self._promised(history, kind), np.nan_to_num(history.outcomes)
        rewards = self.collection.rewards
        if rewards.counts:
            chance = np.clip(promised, UNLIKELY, 1 - UNLIKELY)
            each = np.where(outcome > 0, np.log(chance), np.log1p(-chance))
        else:
            each = -((outcome - promised) ** 2) / (2 * rewards.variance_proxy)
        return np.asarray(np.where(history.known, each, 0.0).sum(axis=1))

    def _promised(self, history: Cases, kind: int) -> FloatArray:
        assert history.contexts is not None
        assert self.collection.theta is not None
        return predict(self.collection.theta[kind], history.contexts, self.collection.rewards)

    def expected(self, history: Cases, chances: FloatArray) -> FloatArray:
        """What every option gives (R, K) in every round, where cases are of the kinds with these chances (U, C)."""
        own = chances[history.owner]
        every = (own[:, [kind]] * self._promised(history, kind) for kind in range(self.collection.n_tasks))
        return np.asarray(sum(every))


def find_kinds_by_context(
    history: Cases, n_kinds: int, rewards: Rewards, *, seed: int = 0, provenance: str = "fitted"
) -> KindsByContext:
    """`n_kinds` kinds, told apart by linear predictions, each with a curve per option over the rounds of its cases."""
    classes = find_classes(context_statistics(history), rewards.family, n_classes=n_kinds, seed=seed)
    everyone = curves_of(history, rewards)
    theta = np.stack([_theta(history, classes.labels == kind, rewards, everyone.theta) for kind in range(n_kinds)])
    assert history.contexts is not None
    kept = np.random.default_rng([seed, 9]).permutation(len(history.contexts))[:KEPT]
    contexts = sampled_contexts(history.contexts[np.sort(kept)], history.features)
    names = tuple(f"kind {number}" for number in range(1, n_kinds + 1))
    family = everyone.rewards if rewards.counts else Gaussian(_deviation(history, theta, classes.labels))
    return KindsByContext(
        Collection.linear(
            theta, contexts, family, arms=history.arms, tasks=names, shares=classes.shares, provenance=provenance
        )
    )


def _theta(history: Cases, members: BoolArray, rewards: Rewards, everyone: FloatArray) -> FloatArray:
    """The curves (K, d) of the cases of one kind; everyone's where they hardly tried an option."""
    rows, theta = members[history.owner], everyone.copy()
    assert history.contexts is not None
    for arm, known in enumerate((history.known & rows[:, None]).T):
        if known.sum() >= LEAST * everyone.shape[1]:
            theta[arm] = curve_of(history.contexts[known], history.outcomes[known, arm], rewards)
    return round_significant(theta)


def _deviation(history: Cases, theta: FloatArray, labels: IntArray) -> float:
    """The standard deviation of what the curves do not explain."""
    assert history.contexts is not None
    promised = np.einsum("rd,rkd->rk", history.contexts, theta[labels[history.owner]])
    return float(np.sqrt(np.nanmean((history.outcomes - promised) ** 2)))
