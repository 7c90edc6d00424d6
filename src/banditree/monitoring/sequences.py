"""Intervals that may be looked at every day."""

import math

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.training.intervals import widening


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
