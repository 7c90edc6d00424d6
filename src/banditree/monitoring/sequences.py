"""Intervals that may be looked at every day."""

import math

import numpy as np

from banditree.tasks.arrays import FloatArray

AROUND = 100  # cases at which the intervals are narrowest, compared with those for a single look


def widening(n: float, failure_probability: float, around: float = AROUND) -> float:
    """By how many standard errors a mean of n values may be off at any n, all n together.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021, Theorem 2.2).

    >>> round(widening(100, 0.05), 2), round(widening(1000, 0.05), 2)
    (3.04, 3.24)
    """
    two = -2 * math.log(failure_probability)
    grown = n * (two + math.log(two + 1)) / around
    return math.sqrt((grown + 1) / grown * (math.log(grown + 1) + two))


def mean_sequence(values: FloatArray, failure_probability: float = 0.05) -> tuple[float, float, float]:
    """The mean of independent values and its interval, which holds at every look; infinite below two values."""
    n = len(values)
    if n < 2:
        return (float(values.mean()) if n else float("nan")), -math.inf, math.inf
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(n))
    reach = widening(n, failure_probability) * error
    return mean, mean - reach, mean + reach


def ratio_sequence(
    total: FloatArray, rounds: FloatArray, failure_probability: float = 0.05
) -> tuple[float, float, float]:
    """Total over rounds, both by case, and its interval, which holds at every look."""
    used = rounds > 0
    if not used.any():
        return float("nan"), -math.inf, math.inf
    value = float(total[used].sum() / rounds[used].sum())
    _, low, high = mean_sequence((total[used] - value * rounds[used]) / rounds[used].mean(), failure_probability)
    return value, value + low, value + high


def rare_events(n_cases: int, n_events: int, at_most: float) -> float:
    """The log of an e-process against "a case has the event with a chance of at most `at_most`".

    A mean of likelihood ratios towards higher chances. It only grows while a case is going on, so that it is below
    what it will be when all cases are over, whose expectation is at most 1.

    >>> round(float(np.exp(rare_events(20, 8, 0.05)))), rare_events(20, 1, 0.05) < 0
    (21506, True)
    """
    higher = at_most + (1 - at_most) * np.array([0.05, 0.1, 0.2, 0.4])
    logs = n_events * np.log(higher / at_most) + (n_cases - n_events) * np.log((1 - higher) / (1 - at_most))
    return float(np.logaddexp.reduce(logs) - math.log(len(higher)))
