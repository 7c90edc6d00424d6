"""Rewards of 0 or 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards.base import LOG_FLOOR, Bounds, Cells, Family, Outcome, Rewards, Scoring
from banditree.tasks.rewards.links import Link, link_named, logistic, logistic_over_normal, logit
from banditree.tasks.rewards.slopes import SLOPES, own_slopes

LEAST_STRENGTH = 0.02  # A beta distribution of this strength has nearly all cases at the ends of the range.


@dataclass(frozen=True)
class Bernoulli(Rewards):
    """Success or failure: 1 or 0. The parameter of a task and arm is the chance of a 1.

    link: how that chance follows from x'theta where tasks have contexts.

    >>> Bernoulli().check(1)
    1.0
    >>> Bernoulli(link=Link.LOGISTIC).at(np.array([0.0, 2.0])).round(3).tolist()
    [0.5, 0.881]
    """

    family: ClassVar[Family] = Family.BERNOULLI
    counts: ClassVar[bool] = True
    hint: ClassVar[str] = (
        'If rewards are not 0 or 1, say what they are: rewards="graded", rewards="bounded" or rewards="gaussian".'
    )
    low: ClassVar[float] = 0.0  # type: ignore[misc]
    high: ClassVar[float] = 1.0  # type: ignore[misc]
    support: ClassVar[tuple[float, ...]] = (0.0, 1.0)  # type: ignore[misc]
    link: Link = Link.LINEAR

    def __post_init__(self) -> None:
        object.__setattr__(self, "link", link_named(self.link))

    @property
    def rule(self) -> str:
        """What a reward must be."""
        return "0 or 1"

    @property
    def broken_rule(self) -> str:
        """What is wrong with any other."""
        return "not 0 or 1"

    def impossible(self, reward: Any) -> Any:
        """Whether it is neither 0 nor 1."""
        return (reward != 0) & (reward != 1)

    def outcomes(self, success: str = "success", failure: str = "failure") -> tuple[Outcome, ...]:
        """The two words of the vocabulary."""
        return Outcome(1.0, success), Outcome(0.0, failure)

    def at(self, value: FloatArray) -> FloatArray:
        """The chance of a 1 where x'theta is `value`."""
        return logistic(value) if self.link is Link.LOGISTIC else super().at(value)

    def at_normal(self, centre: FloatArray, spread: FloatArray) -> FloatArray:
        """The chance of a 1 where x'theta is normal."""
        logistic_link = self.link is Link.LOGISTIC
        return logistic_over_normal(centre, spread) if logistic_link else super().at_normal(centre, spread)

    def off_by(self, value: FloatArray, margin: FloatArray) -> FloatArray:
        """The larger of the two sides, which differ on a curve."""
        if self.link is Link.LINEAR:
            return margin
        chance = self.at(value)
        return np.maximum(self.at(value + margin) - chance, chance - self.at(value - margin))

    def margin_for(self, value: FloatArray, off: FloatArray) -> FloatArray:
        """The larger of the two sides; infinite where the chance may be 0 or 1."""
        if self.link is Link.LINEAR:
            return off
        chance = self.at(value)
        above, below = logit(np.minimum(chance + off, 1.0)), logit(np.maximum(chance - off, 0.0))
        return np.asarray(np.where(off > 0, np.maximum(above - value, value - below), 0.0))

    def sample(self, parameters: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One 0 or 1 for each chance."""
        return (rng.random(np.shape(parameters)) < parameters).astype(np.float64)

    def log_density(self, reward: float | FloatArray, parameters: FloatArray) -> FloatArray:
        """log p or log(1 - p).

        >>> Bernoulli().log_density(1.0, np.array([0.5, 0.0])).round(3).tolist()
        [-0.693, -745.0]
        """
        with np.errstate(divide="ignore"):
            value = np.where(np.asarray(reward) > 0.5, np.log(parameters), np.log1p(-parameters))
        return np.asarray(np.maximum(value, LOG_FLOOR), dtype=np.float64)

    def log_predictive(
        self, reward: FloatArray, parameters: FloatArray, spread: FloatArray, n: FloatArray, total: FloatArray
    ) -> FloatArray:
        """Cases vary as a beta distribution with that mean and standard deviation.

        >>> half, one = np.array(0.5), np.array(1.0)
        >>> float(np.exp(Bernoulli().log_predictive(one, half, np.sqrt(half / 6), one, one)).round(3))
        0.667
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            strength = np.maximum(parameters * (1 - parameters) / spread**2 - 1, LEAST_STRENGTH)
            chance = (strength * parameters + total) / (strength + n)
        fixed = ~np.isfinite(strength) | (parameters <= 0) | (parameters >= 1)
        return self.log_density(reward, np.where(fixed, parameters, chance))

    def kl(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """p log(p/q) + (1 - p) log((1 - p)/(1 - q)).

        >>> float(Bernoulli().kl(np.array(0.5), np.array(0.25)).round(4))
        0.1438
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(p > 0, p * np.log(p / q), 0.0)
            zero = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
        return np.asarray(one + zero)

    def hellinger_squared(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Half the sum of (sqrt p - sqrt q)^2 over both outcomes, each from p - q, which loses no digits.

        >>> float(np.sqrt(Bernoulli().hellinger_squared(np.array(0.3), np.array(0.7))).round(3))
        0.289
        """
        return half_squares(np.stack([p, 1 - p], axis=-1), np.stack([q, 1 - q], axis=-1), p - q)

    def outcome_chances(self, parameters: FloatArray) -> FloatArray:
        """1 - p and p."""
        return np.stack([1 - parameters, parameters])

    def total_below(self, total: float, pulls: int) -> float | None:
        """A count."""
        return float(math.floor(total + 1e-9))

    def totals(self, cells: Cells, pulls: FloatArray, limit: FloatArray) -> Bounds:
        """Binomial, at both ends of the chance."""
        from scipy.special import bdtr, bdtrc

        ends = [self.shifted(cells.parameters, sign * cells.radius) for sign in (-1, 1)]
        k = np.clip(limit, 0, pulls).astype(float)
        at_most = [np.where(limit < 0, 0.0, bdtr(k, pulls, p)) for p in ends]
        above = [np.where(limit < 0, 1.0, np.where(limit >= pulls, 0.0, bdtrc(k, pulls, p))) for p in ends]
        return np.stack([at_most[1], above[0]], axis=-1), np.stack([at_most[0], above[1]], axis=-1)

    def bins(self, cells: Cells, cuts: FloatArray) -> Bounds:
        """The bin of 0 has the chance 1 - p, that of 1 the chance p."""
        low, high = (self.shifted(cells.parameters, sign * cells.radius)[..., None] for sign in (-1, 1))
        numbers = np.arange(cuts.shape[-1] + 1)
        zero, one = ((cuts < value).sum(axis=-1)[..., None] == numbers for value in (0.0, 1.0))
        both = zero & one
        return np.maximum(zero * (1 - high) + one * low, both), np.minimum(zero * (1 - low) + one * high, 1.0)

    def scorings(self, parameters: Sequence[FloatArray]) -> list[list[Scoring]]:
        """+x for a success and -y for a failure: the usual slopes, and an arm's own where none of them is of use."""
        return [[Scoring((-y, x), (0.5,)) for x, y in (*SLOPES, *own_slopes(rates))] for rates in parameters]


def half_squares(p: FloatArray, q: FloatArray, difference: FloatArray | None = None) -> FloatArray:
    """Half the sum over the last axis of (sqrt p - sqrt q)^2; `difference`: p - q of all outcomes up to sign, if known.

    sqrt p - sqrt q = (p - q) / (sqrt p + sqrt q) keeps the digits that 1 - sum of sqrt(p q) would lose.
    """
    apart = p - q if difference is None else difference[..., None]
    roots = np.sqrt(p) + np.sqrt(q)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(roots > 0, apart / roots, 0.0)
    return np.asarray(np.minimum((each * each).sum(axis=-1) / 2, 1.0))
