"""How far a mean estimated from n rewards may be from the truth: radii that hold with a stated probability."""

import math
from collections.abc import Sequence

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards import Rewards

AROUND = 100  # At this number of cases the intervals are narrowest, compared with those for a single look.
JOINT_DRAWS = 20_000  # From this many draws, the quantile that makes intervals hold at once is known to about 1%.


def radius_of_rate(successes: FloatArray, n: FloatArray, failure_probability: float | FloatArray) -> FloatArray:
    """The farther end of the exact (Clopper and Pearson) interval of a rate, as seen from successes/n.

    >>> radius_of_rate(np.array(50.0), np.array(100.0), 0.05).round(3).tolist()
    0.102
    """
    from scipy.special import betaincinv

    tail = failure_probability / 2
    rate = successes / n
    low = np.where(successes > 0, betaincinv(np.maximum(successes, 1e-9), n - successes + 1, tail), 0.0)
    high = np.where(successes < n, betaincinv(successes + 1, np.maximum(n - successes, 1e-9), 1 - tail), 1.0)
    return np.asarray(np.maximum(rate - low, high - rate))


def radius_of_bounded_mean(
    variance: FloatArray, n: FloatArray, width: float, failure_probability: float | FloatArray
) -> FloatArray:
    """The smaller of Hoeffding's and the empirical Bernstein radius (Maurer and Pontil 2009), half the chance each.

    variance: the sample variance with n - 1. width: high - low of one reward.

    >>> radius_of_bounded_mean(np.array(0.01), np.array(1000.0), 1.0, 0.05).round(4).tolist()
    0.0219
    """
    log = np.log(4 / failure_probability)
    hoeffding = width * np.sqrt(log / (2 * n))
    log = np.log(8 / failure_probability)  # two-sided, twice one half
    with np.errstate(divide="ignore", invalid="ignore"):
        bernstein = np.sqrt(2 * variance * log / n) + 7 * width * log / (3 * (n - 1))
    return np.asarray(np.fmin(hoeffding, np.where(n > 1, bernstein, np.inf)))


def radius_of_normal_mean(
    standard_error: FloatArray, freedom: FloatArray, failure_probability: float | FloatArray
) -> FloatArray:
    """Student's radius: the quantile with `freedom` degrees, times the standard error.

    >>> radius_of_normal_mean(np.array(1.0), np.array(9.0), 0.05).round(3).tolist()
    2.262
    """
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, 1 - failure_probability / 2) * standard_error)


def radius_of_clustered_rate(
    rate: FloatArray, error: FloatArray, n: FloatArray, n_individuals: FloatArray, failure_probability: float
) -> FloatArray:
    """The farther end of the exact interval of a rate, with as many rows as would have told as much if independent.

    Korn and Graubard (1998): the effective number of rows is rate (1 - rate) / error^2, at most n, reduced by the
    squared ratio of Student's quantiles for n rows and for the individuals. A rate of 0 or 1 shows no error; there
    every individual counts as one row. error: the standard error by individual. Good for any mean of rewards in [0, 1],
    whose variance is at most that of a 0/1 reward.

    >>> rate, error = np.array(0.5), np.array(0.05)
    >>> radius_of_clustered_rate(rate, error, np.array(400.0), np.array(40.0), 0.05).round(3).tolist()
    0.105
    """
    from scipy.special import betaincinv, stdtrit

    tail, rate = failure_probability / 2, np.clip(rate, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        few = stdtrit(np.maximum(n_individuals - 1, 1e-3), 1 - tail) / stdtrit(np.maximum(n - 1, 1e-3), 1 - tail)
        rows = np.where(error > 0, np.minimum(rate * (1 - rate) / error**2, n) / few**2, n_individuals)
        rows = np.where(n_individuals > 1, np.maximum(rows, 1e-9), 1e-9)
        low = np.where(rate > 0, betaincinv(np.maximum(rows * rate, 1e-12), rows * (1 - rate) + 1, tail), 0.0)
        high = np.where(rate < 1, betaincinv(rows * rate + 1, np.maximum(rows * (1 - rate), 1e-12), 1 - tail), 1.0)
    return np.asarray(np.maximum(rate - low, high - rate))


def joint_tail(correlations: Sequence[FloatArray], failure_probability: float) -> float:
    """The chance that each of several normal estimates may be outside its interval so that all hold at once.

    correlations: one matrix per group of estimates; groups are independent. Between failure_probability and that
    divided by the number of estimates, since correlated estimates fail together. By 20,000 draws with a fixed seed.

    >>> together = np.array([[1.0, 0.999], [0.999, 1.0]])
    >>> round(joint_tail([together], 0.05), 2), round(joint_tail([np.eye(2)], 0.05), 3)
    (0.05, 0.025)
    """
    from scipy.special import ndtr

    rng, largest = np.random.default_rng(0), np.zeros(JOINT_DRAWS)
    for matrix in correlations:
        values, vectors = np.linalg.eigh(matrix)
        drawn = rng.normal(size=(JOINT_DRAWS, len(matrix))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        np.maximum(largest, np.abs(drawn).max(axis=1, initial=0.0), out=largest)
    n_estimates = sum(len(matrix) for matrix in correlations)
    found = 2 * float(ndtr(-np.quantile(largest, 1 - failure_probability)))
    return float(np.clip(found, failure_probability / max(n_estimates, 1), failure_probability))


def radius_of_prediction(
    rewards: Rewards,
    leverage: FloatArray,
    noise: FloatArray,
    freedom: FloatArray,
    spread: FloatArray,
    n_contexts: int,
    failure_probability: float | FloatArray,
) -> FloatArray:
    """How far the mean x'theta over contexts may be off: theta is estimated, and so is the mean context.

    Rewards in a range: Hoeffding, given the contexts, on the weighted sum of rewards that the prediction is (whatever
    the variance of the noise does), plus Hoeffding for the mean context; half the chance each. Gaussian rewards:
    Student with both variances added.

    leverage: h, the variance of the prediction per unit of noise. noise: the standard deviation left over.
    spread: the variance of x'theta over contexts.
    """
    if not rewards.has_range:
        error = np.sqrt(noise**2 * leverage + spread / n_contexts)
        return radius_of_normal_mean(error, freedom, failure_probability)
    log = np.log(4 / failure_probability)
    return np.asarray(rewards.width * (np.sqrt(leverage * log / 2) + np.sqrt(log / (2 * n_contexts))))


def squared_reach(
    rewards: Rewards, n_features: int, noise: FloatArray, freedom: FloatArray, failure_probability: FloatArray
) -> FloatArray:
    """c^2 with |x'(theta_hat - theta)| <= c sqrt(x'(X'X)^-1 x) at every x at once, one per fit.

    Gaussian rewards: Scheffe's, q F. Rewards in a range: the tail of the squared length of a projection of sub-Gaussian
    noise (Hsu, Kakade and Zhang 2012), s^2 (q + 2 sqrt(q t) + 2 t) with t = log(1/failure_probability).

    >>> from banditree.tasks.rewards import BERNOULLI, Gaussian
    >>> one, few = np.array([1.0]), np.array([1e9])
    >>> squared_reach(Gaussian(sigma=1.0), 1, one, few, np.array([0.05])).round(2).tolist()
    [3.84]
    """
    if not rewards.has_range:
        from scipy.special import fdtri

        return np.asarray(noise**2 * n_features * fdtri(n_features, freedom, 1 - failure_probability))
    t = np.log(1 / failure_probability)
    return np.asarray(rewards.variance_proxy * (n_features + 2 * np.sqrt(n_features * t) + 2 * t))


def widening(n: float, failure_probability: float, around: float = AROUND) -> float:
    """By how many standard errors a mean of n values may be off at any n, all n together.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021, Theorem 2.2).

    >>> round(widening(100, 0.05), 2), round(widening(1000, 0.05), 2)
    (3.04, 3.24)
    """
    two = -2 * math.log(failure_probability)
    grown = n * (two + math.log(two + 1)) / around
    return math.sqrt((grown + 1) / grown * (math.log(grown + 1) + two))
