"""The kinds among the cases of a history, for plans that trust the estimates and are judged on other cases."""

from dataclasses import dataclass, replace

import numpy as np

from banditree.evaluation.history import History
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family, Rewards
from banditree.training.mixture import Mixture, Sums, fit_mixture, posterior, sums_of
from banditree.training.statistics import Statistics

STARTS = 5  # of EM
BORROWED = 1.0  # rounds' worth of what an arm gives everyone that every kind starts with


@dataclass(frozen=True, eq=False)
class Kinds:
    """The collection of the kinds, and the mixture by which a case is told to be of one of them."""

    collection: Collection
    mixture: Mixture
    centre: bool

    def chances(self, history: History) -> FloatArray:
        """The chance (U, C) of every kind for every case, from all that is known of the case."""
        return posterior(_sums(statistics_of(history), self.collection.rewards, self.centre), self.mixture)[0]


def statistics_of(history: History) -> Statistics:
    """Rounds, sums and squares of every case and arm whose outcomes are known."""
    known = history.known
    row, arm = np.nonzero(known)
    cell, number = np.unique(history.owner[row] * len(history.arms) + arm, return_inverse=True)
    reward = history.outcomes[row, arm]
    count = np.bincount(number, minlength=len(cell))
    sums = np.bincount(number, reward, len(cell)).astype(float)[:, None]
    products = np.bincount(number, reward**2, len(cell)).astype(float)[:, None, None]
    case, k = np.divmod(cell, len(history.arms))
    return Statistics(history.cases, history.arms, (), case, k, count, sums, products, np.zeros(1))


def centred(statistics: Statistics) -> Statistics:
    """The statistics less what each case gives above the mean of the arms it was given: its generosity.

    Kinds found from these differ in what is best for them, and not in how much they give on the whole.
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
    history: History, n_kinds: int, rewards: Rewards, *, centre: bool = False, seed: int = 0, provenance: str = "fitted"
) -> Kinds:
    """`n_kinds` kinds, fitted by EM; their rates count every case by its chance of being of that kind.

    centre: see `centred`. Kinds are sorted by their share, the largest first.
    """
    statistics = statistics_of(history)
    sums = _sums(statistics, rewards, centre)
    mixture = fit_mixture(sums, n_kinds, STARTS, np.random.default_rng([seed, n_kinds]))
    order = np.argsort(-posterior(sums, mixture)[0].sum(axis=0), kind="stable")
    mixture = Mixture(mixture.shares[order], mixture.coefficients[:, order], mixture.log_likelihood)
    collection = _collection(statistics, posterior(sums, mixture)[0], rewards, provenance)
    return Kinds(collection, mixture, centre)


def _sums(statistics: Statistics, rewards: Rewards, centre: bool) -> Sums:
    return sums_of(centred(statistics), Family.GAUSSIAN) if centre else sums_of(statistics, rewards.family)


def _collection(statistics: Statistics, chances: FloatArray, rewards: Rewards, provenance: str) -> Collection:
    shape = (len(statistics.tasks), len(statistics.arms))
    count, total, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    place = (statistics.task, statistics.arm)
    count[place], total[place], square[place] = (
        statistics.count, statistics.sums[:, 0], statistics.products[:, 0, 0]
    )  # fmt: skip
    tried = count.sum(axis=0) > 0
    everyone = np.where(tried, total.sum(axis=0) / np.maximum(count.sum(axis=0), 1), np.inf)
    everyone = np.where(tried, everyone, everyone.min())  # nobody should be given what nobody has tried
    n = chances.T @ count + BORROWED
    means = (chances.T @ total + BORROWED * everyone) / n
    rounds = chances.T @ count
    scatter = np.array([(chances.T @ square).sum() - (means**2 * rounds).sum()])
    family = (
        rewards if rewards.has_range else type(rewards).fitted(scatter, np.array([max(rounds.sum() - means.size, 1)]))
    )
    names = tuple(f"kind {number}" for number in range(1, len(means) + 1))
    return Collection(
        means, names, statistics.arms, family, provenance=provenance, shares=chances.sum(axis=0) / len(chances)
    )
