"""The kinds among the cases of a history, for plans that trust the estimates and are judged on other cases."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.supply import fair
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family, Rewards
from banditree.training.cells import statistics_of
from banditree.training.dirichlet import taste_spread
from banditree.training.mixture import Mixture, Sums, sums_of
from banditree.training.overdispersion import fit_kinds, kind_chances
from banditree.training.spread import estimate_spread
from banditree.training.statistics import Statistics

if TYPE_CHECKING:
    from banditree.evaluation.by_context import Curves

STARTS = 5  # EM is started this many times, and the best result is kept.
BORROWED = 1.0  # Every kind starts with this many rounds of what an arm gives everyone.


@dataclass(frozen=True, eq=False)
class Kinds:
    """The collection of the kinds, and the mixture that tells the kind of a case.

    curves: what contexts mean for everyone, where that is asked.
    """

    collection: Collection
    mixture: Mixture
    centre: bool
    curves: "Curves | None" = None

    def chances(self, history: Cases) -> FloatArray:
        """The chance (U, C) of every kind for every case, from all that is known about the case."""
        return kind_chances(_sums(history, self.collection.rewards, self.centre), self.mixture)

    def expected(self, history: Cases, chances: FloatArray) -> FloatArray:
        """What every option gives (R, K) in every round, where cases are of the kinds with these chances (U, C)."""
        return np.asarray((chances @ self.collection.means)[history.owner])


def centred(statistics: Statistics) -> Statistics:
    """The statistics less what each case gives above the mean of the arms it was given: its generosity.

    Kinds found from these differ in their best option, and not in how much they give on the whole.
    """
    K = len(statistics.arms)
    arm_mean = np.bincount(statistics.arm, statistics.sums[:, 0], K) / np.maximum(
        np.bincount(statistics.arm, statistics.count, K), 1
    )
    above = statistics.sums[:, 0] - statistics.count * arm_mean[statistics.arm]
    n = np.bincount(statistics.task, statistics.count, len(statistics.tasks))
    generosity = (np.bincount(statistics.task, above, len(statistics.tasks)) / np.maximum(n, 1))[statistics.task]
    sums = statistics.sums[:, 0] - generosity * statistics.count
    products = statistics.products[:, 0, 0] - generosity * (2 * statistics.sums[:, 0] - generosity * statistics.count)
    return replace(statistics, sums=sums[:, None], products=products[:, None, None])


def find_kinds(
    history: Cases, n_kinds: int, rewards: Rewards, *, centre: bool = False, seed: int = 0, provenance: str = "fitted"
) -> Kinds:
    """`n_kinds` kinds, fitted by EM; their rates count every case by its chance of being of that kind.

    centre: see `centred`. Kinds are sorted by their share, the largest first, and carry the spread of their cases.
    """
    history = fair(history, seed)
    rewards = settled(rewards, history)
    sums = _sums(history, rewards, centre)
    mixture = fit_kinds(sums, n_kinds, STARTS, np.random.default_rng([seed, n_kinds]))
    mixture = mixture.sorted(np.argsort(-kind_chances(sums, mixture).sum(axis=0), kind="stable"))
    return _kinds(history, sums, mixture, rewards, centre, provenance)


def _kinds(history: Cases, sums: Sums, mixture: Mixture, rewards: Rewards, centre: bool, provenance: str) -> Kinds:
    collection = _collection(history, kind_chances(sums, mixture), rewards, provenance)
    if mixture.strength is not None:
        collection = replace(collection, spread=taste_spread(collection.means, mixture.strength))
    return Kinds(collection, mixture, centre)


def settled(rewards: Rewards, history: Cases) -> Rewards:
    """The family, with what it leaves open as the history has it: its values, or the deviation within an option."""
    if rewards.by_chances:
        return (
            rewards if rewards.support else type(rewards).unknown(np.unique(history.outcomes[history.known]).tolist())
        )
    if rewards.has_range:
        return rewards
    count = np.maximum(history.known.sum(axis=0), 1)
    away = history.outcomes - np.nansum(history.outcomes, axis=0) / count
    freedom = max(int(history.known.sum()) - len(count), 1)
    return type(rewards).fitted(np.array([np.nansum(away**2)]), np.array([freedom]))


def _sums(history: Cases, rewards: Rewards, centre: bool) -> Sums:
    if centre:
        return sums_of(centred(statistics_of(history)), Family.GAUSSIAN)
    return sums_of(statistics_of(history, rewards.support if rewards.by_chances else ()), rewards.family)


def _collection(history: Cases, chances: FloatArray, rewards: Rewards, provenance: str) -> Collection:
    """The kinds as a collection: every case counts in each by its chance (U, C)."""
    names = tuple(f"kind {number}" for number in range(1, chances.shape[1] + 1))
    about: dict[str, Any] = {"provenance": provenance, "shares": chances.sum(axis=0) / len(chances)}
    if rewards.by_chances:
        every = [_averages(history, history.outcomes == grade, chances) for grade in rewards.support]
        grades = np.stack(every, axis=2)
        grades /= grades.sum(axis=2, keepdims=True)
        return Collection(rewards.means(grades), names, history.arms, rewards, chances=grades, **about)
    means = _averages(history, history.outcomes, chances)
    statistics = statistics_of(history)
    if not rewards.has_range:
        away = [
            np.nansum(own[history.owner, None] * (history.outcomes - m) ** 2)
            for own, m in zip(chances.T, means, strict=True)
        ]
        freedom = max(int(history.known.sum()) - means.size, 1)
        rewards = type(rewards).fitted(np.array([sum(away)]), np.array([freedom]))
    spread = estimate_spread(means, rewards, statistics, chances)
    return Collection(means, names, history.arms, rewards, spread=spread, **about)


def _averages(history: Cases, values: FloatArray | BoolArray, chances: FloatArray) -> FloatArray:
    """The average (C, K) of values (R, K) over the rounds that know them, with a little of everyone's in each kind.

    Rounds count for one over the chance of their option, since cases may differ in what they were likely given.
    """
    count, total = np.zeros((2, history.n_cases, len(history.arms)))
    weight = np.ones((len(history.outcomes), 1)) if history.chances is None else 1 / history.chances[:, None]
    weight = weight / weight.mean()
    np.add.at(count, history.owner, weight * history.known)
    np.add.at(total, history.owner, weight * np.where(history.known, values, 0.0))
    tried = count.sum(axis=0) > 0
    everyone = np.where(tried, total.sum(axis=0) / np.maximum(count.sum(axis=0), 1), np.inf)
    everyone = np.where(tried, everyone, everyone.min())  # nobody should be given what nobody has tried
    return np.asarray((chances.T @ total + BORROWED * everyone) / (chances.T @ count + BORROWED))
