"""Rewards of which only the means and the range are known."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards.base import (
    Bounds,
    Cells,
    Family,
    Rewards,
    between_edges,
    hoeffding_totals,
    require_likelihood,
)


@dataclass(frozen=True)
class Bounded(Rewards):
    """Rewards somewhere in [low, high] around the mean of each task and arm.

    Nothing else is known about them: whatever needs a likelihood refuses them (`require_likelihood`).

    >>> Bounded(low=0.0, high=5.0).high
    5.0
    """

    family: ClassVar[Family] = Family.BOUNDED
    has_likelihood: ClassVar[bool] = False
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise invalid("the reward range", "finite with low < high", (self.low, self.high))

    def sample(self, parameters: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The widest distribution: only the two ends of the range."""
        hits = rng.random(np.shape(parameters)) < (parameters - self.low) / self.width
        return np.asarray(self.low + self.width * hits, dtype=np.float64)

    def log_density(self, reward: float | FloatArray, parameters: FloatArray) -> FloatArray:
        """Refused."""
        require_likelihood(self, "A log-density")
        raise AssertionError

    def kl(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Refused."""
        require_likelihood(self, "A divergence")
        raise AssertionError

    def hellinger_squared(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Refused."""
        require_likelihood(self, "A Hellinger distance")
        raise AssertionError

    def totals(self, cells: Cells, pulls: FloatArray, limit: FloatArray) -> Bounds:
        """Hoeffding's bounds."""
        low, high = (self.shifted(cells.parameters, sign * cells.radius) for sign in (-1, 1))
        return hoeffding_totals(low, high, cells.variance, pulls, limit)

    def bins(self, cells: Cells, cuts: FloatArray) -> Bounds:
        """Markov's inequality: what the mean alone says about the chances of the bins."""
        low, high = (self.shifted(cells.parameters, sign * cells.radius)[..., None] for sign in (-1, 1))
        left, right = between_edges(cuts)
        with np.errstate(divide="ignore", invalid="ignore"):
            above_left = np.where(left <= self.low, 1.0, np.clip((high - self.low) / (left - self.low), 0.0, 1.0))
            at_most_right = np.where(
                right >= self.high, 1.0, np.clip((self.high - low) / (self.high - right), 0.0, 1.0)
            )
        most = np.minimum(above_left, at_most_right)
        others = most.sum(axis=-1, keepdims=True) - most
        return np.maximum(1.0 - others, 0.0), most

    def doubts(self, cells: Cells, totals: bool = True) -> tuple[str, ...]:
        """Always bounds, since only the means and the range are known."""
        return ("of the rewards only the means and the range are known",)

    def accepts(self, other: Rewards) -> bool:
        """What assumes nothing but a range can be played on any rewards in a range."""
        return other.has_range
