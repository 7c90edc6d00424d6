"""How much individuals of one kind differ: the standard deviation of their own means around the kind's."""

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards import Rewards
from banditree.training.mixture import pairs_of
from banditree.training.statistics import Statistics

ROUNDS = 3  # Cases are weighed by what they tell, which depends on the spread, three times; it settles in two.


def estimate_spread(means: FloatArray, rewards: Rewards, individuals: Statistics, chances: FloatArray) -> FloatArray:
    """The spread (M, K) by moments, beta-binomial for 0/1 rewards and normal for others; 0 where chance explains all.

    The squared deviation of an individual's total of n rewards from n times the kind's mean is
    n v + n (n - 1) spread^2 on average, v being the variance of one reward of the kind: mean (1 - mean) for 0/1
    rewards. Individuals count by what they tell, n / (1 + (n - 1) rho) with rho = spread^2 / v.
    means: (M, K) of the kinds. chances: (U, M) of every individual's kind; 0 or 1 where the log names it.
    """
    shape = (len(individuals.tasks), len(individuals.arms))
    n, total, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    at = (individuals.task, individuals.arm)
    n[at], total[at], squares[at] = individuals.count, individuals.sums[:, -1], individuals.products[:, -1, -1]
    weight = np.broadcast_to(chances[:, None], (*shape, len(means)))
    if rewards.counts:
        pairs = pairs_of(n, total)
        n, total, weight = pairs.n[:, None], pairs.total[:, None], pairs.weighted(chances)
        squares = total
    found = np.zeros(means.shape)
    for kind, mean in enumerate(np.nan_to_num(means) - individuals.shift[-1]):
        found[kind] = _of_kind(n, total, squares, weight[:, :, kind], mean, rewards.counts)
    return found


def _of_kind(
    n: FloatArray, total: FloatArray, squares: FloatArray, chance: FloatArray, mean: FloatArray, counts: bool
) -> FloatArray:
    """The spread (K,) of one kind."""
    away = (total - n * mean) ** 2
    rows = np.maximum((chance * n).sum(axis=0), 1e-300)
    variance = (chance * (squares - 2 * mean * total + n * mean**2)).sum(axis=0) / rows
    if counts:
        variance = np.maximum(mean * (1 - mean), 0.0)
    size = np.maximum((chance * (n > 0)).sum(axis=0), 1.0)
    few = size / np.maximum(size - 1, 1.0)  # the kind's mean was fitted to the same individuals
    between = np.zeros(chance.shape[1])
    for _ in range(ROUNDS):
        rho = between / np.maximum(variance, 1e-300)
        weight = chance / (1 + np.maximum(n - 1, 0) * rho) ** 2
        above, below = (weight * (few * away - n * variance)).sum(axis=0), (weight * n * (n - 1)).sum(axis=0)
        between = np.clip(np.where(below > 0, above / np.where(below > 0, below, 1.0), 0.0), 0.0, variance)
    return np.asarray(np.sqrt(between))
