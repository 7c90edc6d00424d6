"""How far a mean estimated from n rewards may be from the truth: radii that hold with a stated probability."""

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards import Rewards


def radius_of_rate(successes: FloatArray, n: FloatArray, failure_probability: float | FloatArray) -> FloatArray:
    """The farther end of the exact (Clopper and Pearson) interval of a rate, as seen from successes/n.

    >>> radius_of_rate(np.array(50.0), np.array(100.0), 0.05).round(3).tolist()
    0.102
    """
    from scipy.stats import beta

    tail = failure_probability / 2
    rate = successes / n
    low = np.where(successes > 0, beta.ppf(tail, np.maximum(successes, 1e-9), n - successes + 1), 0.0)
    high = np.where(successes < n, beta.ppf(1 - tail, successes + 1, np.maximum(n - successes, 1e-9)), 1.0)
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
    from scipy.stats import t

    return np.asarray(t.ppf(1 - failure_probability / 2, freedom) * standard_error)


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
