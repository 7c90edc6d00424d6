"""Reward per round with its interval. Rounds of one case depend on each other, so intervals count cases, not rounds."""

from dataclasses import dataclass

import numpy as np

from banditree.tasks.arrays import FloatArray

CONFIDENCE = 0.95  # Intervals hold with this probability unless another is asked for.


@dataclass(frozen=True)
class Estimate:
    """A value with its standard error and its interval."""

    value: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Measured:
    """A reward per round, and the influence (U,) of every case on it, from which errors and differences follow."""

    value: float
    influence: FloatArray

    def estimate(self, confidence: float = CONFIDENCE) -> Estimate:
        """The value with its interval."""
        return estimate_of(self.value, self.influence, confidence)

    def above(self, other: "Measured", confidence: float = CONFIDENCE) -> Estimate:
        """By how much it is above another that was measured on the same cases, paired by case."""
        return estimate_of(self.value - other.value, self.influence - other.influence, confidence)


def per_round(total: FloatArray, rounds: FloatArray) -> Measured:
    """All reward over all rounds, from the totals and rounds (U,) of every case: a ratio of two means over cases.

    >>> per_round(np.array([1.0, 3.0]), np.array([4.0, 4.0])).estimate().value
    0.5
    """
    value = float(total.sum() / rounds.sum())
    return Measured(value, (total - value * rounds) / rounds.sum())


def estimate_of(value: float, influence: FloatArray, confidence: float = CONFIDENCE) -> Estimate:
    """The estimate whose error comes from the influence (U,) of every case on it.

    By linearisation, with U/(U - 1) and Student's quantile.
    """
    from scipy.special import stdtrit

    n = len(influence)
    if n < 2:
        return Estimate(value, float("nan"), float("-inf"), float("inf"))
    error = float(np.sqrt(n / (n - 1) * np.sum(influence**2)))
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Estimate(value, error, value - reach, value + reach)
