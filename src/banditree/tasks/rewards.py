"""Reward families as data: what is known of the law of one reward, given its mean.

Every function takes the family and plain numbers or arrays, so that new code needs no subclass:
a family is one more `Family` member and one more branch in each function here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray

LOG_FLOOR = -745.0  # about log of the smallest positive double: "impossible", yet it can be added up


class Family(StrEnum):
    """The closed choice of reward laws."""

    BERNOULLI = "bernoulli"
    GAUSSIAN = "gaussian"
    BOUNDED = "bounded"


def _family(value: Any) -> Family:
    try:
        return Family(value)
    except ValueError:
        raise invalid("the reward family", f"one of {', '.join(Family)}", value) from None


@dataclass(frozen=True)
class Rewards:
    """The law of the rewards: 0/1, normal around the mean, or only known to lie in a range.

    `sigma` is the standard deviation of the Gaussian noise, the same for all tasks and arms (the paper's bound on
    sigma_ik). `low` and `high` are the range of the rewards; Gaussian rewards have none.
    Bounded rewards know their mean only: whatever needs a likelihood refuses them (`require_likelihood`).

    >>> Rewards(Family.BOUNDED, low=0.0, high=5.0).high
    5.0
    """

    family: Family
    low: float = 0.0
    high: float = 1.0
    sigma: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", _family(self.family))
        if self.family is Family.GAUSSIAN:
            if not (np.isfinite(self.sigma) and self.sigma > 0):
                raise invalid("sigma", "a finite number above 0 for Gaussian rewards", self.sigma)
            object.__setattr__(self, "low", -np.inf)
            object.__setattr__(self, "high", np.inf)
        else:
            if self.sigma != 0.0:
                raise invalid("sigma", f"left out for {self.family} rewards", self.sigma)
            if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
                raise invalid("the reward range", "finite with low < high", (self.low, self.high))
        if self.family is Family.BERNOULLI and (self.low, self.high) != (0.0, 1.0):
            raise invalid("Bernoulli rewards", "0 or 1", (self.low, self.high), "Use bounded rewards.")


BERNOULLI = Rewards(Family.BERNOULLI)


def require_likelihood(rewards: Rewards, method: str) -> None:
    """Raise if `method`, which needs the probability of a reward, is used on rewards known by their mean only."""
    if rewards.family is Family.BOUNDED:
        raise InvalidInput(
            f"{method} needs the probability of each reward, and bounded rewards only tell their mean. "
            "Use Bernoulli or Gaussian rewards, or a method that works on means, such as the tree."
        )


def check_reward(rewards: Rewards, reward: float) -> float:
    """`reward` as a float, or an error if this family cannot produce it.

    >>> check_reward(BERNOULLI, 1)
    1.0
    """
    try:
        value = float(reward)
    except (TypeError, ValueError):
        raise invalid("reward", "a number", reward) from None
    if rewards.family is Family.BERNOULLI and value not in (0.0, 1.0):
        raise invalid("reward", "0 or 1", reward)
    if not (np.isfinite(value) and rewards.low <= value <= rewards.high):
        raise invalid("reward", f"a finite number in [{rewards.low:g}, {rewards.high:g}]", reward)
    return value


def variance_proxy(rewards: Rewards) -> float:
    """The sub-Gaussian variance s^2 of one reward around its mean, given the context (NOTES 4).

    >>> variance_proxy(BERNOULLI)
    0.25
    """
    if rewards.family is Family.GAUSSIAN:
        return rewards.sigma**2
    return (rewards.high - rewards.low) ** 2 / 4


def sample(rewards: Rewards, means: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One reward for each mean. Bounded rewards take the widest law: only the two ends of the range."""
    if rewards.family is Family.GAUSSIAN:
        return np.asarray(rng.normal(means, rewards.sigma))
    width = rewards.high - rewards.low
    hits = rng.random(np.shape(means)) < (means - rewards.low) / width
    return np.asarray(rewards.low + width * hits, dtype=np.float64)


def log_density(rewards: Rewards, reward: float | FloatArray, means: FloatArray) -> FloatArray:
    """Log-probability (or density) of `reward` under each mean, never below `LOG_FLOOR` (NOTES 16).

    >>> log_density(BERNOULLI, 1.0, np.array([0.5, 0.0])).round(3).tolist()
    [-0.693, -745.0]
    """
    require_likelihood(rewards, "A log-density")
    if rewards.family is Family.GAUSSIAN:
        z = (np.asarray(reward) - means) / rewards.sigma
        value = -0.5 * z * z - np.log(rewards.sigma * np.sqrt(2 * np.pi))
    else:
        with np.errstate(divide="ignore"):
            value = np.where(np.asarray(reward) > 0.5, np.log(means), np.log1p(-means))
    return np.asarray(np.maximum(value, LOG_FLOOR), dtype=np.float64)


def kl(rewards: Rewards, p: FloatArray, q: FloatArray) -> FloatArray:
    """Kullback-Leibler divergence between the laws with means `p` and `q`; infinite where q excludes p.

    >>> float(kl(BERNOULLI, np.array(0.5), np.array(0.25)).round(4))
    0.1438
    """
    require_likelihood(rewards, "A divergence")
    if rewards.family is Family.GAUSSIAN:
        return np.asarray((p - q) ** 2 / (2 * rewards.sigma**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(p > 0, p * np.log(p / q), 0.0)
        zero = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(one + zero)


def affinity(rewards: Rewards, p: FloatArray, q: FloatArray) -> FloatArray:
    """Bhattacharyya coefficient BC of the laws with means `p` and `q`; D_H^2 = 1 - BC (NOTES 1).

    >>> hellinger = 1 - affinity(BERNOULLI, np.array(0.3), np.array(0.7))
    >>> float(np.sqrt(hellinger).round(3))
    0.289
    """
    require_likelihood(rewards, "A Hellinger distance")
    if rewards.family is Family.GAUSSIAN:
        return np.asarray(np.exp(-((p - q) ** 2) / (8 * rewards.sigma**2)))
    return np.asarray(np.minimum(np.sqrt(p * q) + np.sqrt((1 - p) * (1 - q)), 1.0))
