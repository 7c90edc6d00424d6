"""What a reward family is: one class that answers every question that others ask about rewards.

Nobody else asks which family it is. A new family is one class here, its line in `FAMILIES`, and its three lines in
`policies.families`, the twin that the simulator compiles.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards.links import Link, clipped_over_normal

LOG_FLOOR = -745.0  # About the log of the smallest positive double: "impossible", yet it can be added up.
LEAST_CHANCE = 1e-9  # Where two predictions are compared, an outcome that one rules out has this chance.
MOST = 1e100  # Rewards of a larger size could not be squared and added up in double precision.


class Family(StrEnum):
    """The closed choice of reward families."""

    BERNOULLI = "bernoulli"
    GAUSSIAN = "gaussian"
    BOUNDED = "bounded"
    GRADED = "graded"


class Outcome(NamedTuple):
    """One of a few possible rewards, and what a person calls it."""

    value: float
    name: str


class Scoring(NamedTuple):
    """A way to keep score: a reward above b of the `cuts` (B-1,) gives `points[b]` (B,), whole numbers."""

    points: tuple[int, ...]
    cuts: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Cells:
    """What is known about the rewards of some (task, arm) cells, as arrays of one shape S.

    parameters: S, the means; of families that are given by chances, (*S, G). radius: S, how far means may be from the
    truth. context_variance: S, the variance of the mean over contexts; normal_contexts: whether they are normal (or
    fixed, none, or known by their moments only, which count as normal). variance: the sub-Gaussian variance of one
    reward of any cell, contexts included. deviation_margin: S, how far the root of context_variance may be off.
    rows: (2, n, *S), the mean at each context of a sample and how far it may be off; only for rewards without a range.
    """

    parameters: FloatArray
    radius: FloatArray
    context_variance: FloatArray
    normal_contexts: bool
    variance: float
    deviation_margin: FloatArray | float = 0.0
    rows: FloatArray | None = None


Bounds = tuple[FloatArray, FloatArray]  # the least and the most that chances may be; the same array values if exact


class Rewards(ABC):
    """The distribution of the rewards of all tasks and arms, up to the parameters of each: mean, or chances.

    `low`, `high`: the range of the rewards, infinite if there is none. `sigma`: the standard deviation of the noise
    where it is the same for all tasks and arms, else 0. `support`: the only possible rewards, in order; empty if there
    are others. `link`: how the mean reward at a context follows from x'theta. `counts`: whether a total of rewards is a
    number of successes. `by_chances`: whether the parameters of a task and arm are the chances of the support, and not
    the mean. `has_likelihood`: whether the chance of a reward is known, or only its mean.
    """

    family: ClassVar[Family]
    has_likelihood: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    by_chances: ClassVar[bool] = False
    hint: ClassVar[str] = ""  # what to try when a log has other rewards
    low: float
    high: float
    sigma: float = 0.0
    support: tuple[float, ...] = ()
    link: Link = Link.LINEAR

    # What a reward may be

    @property
    def has_range(self) -> bool:
        """Whether rewards lie in a finite range."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def width(self) -> float:
        """The length of the range."""
        return self.high - self.low

    @property
    def anchors(self) -> tuple[float, ...]:
        """The outcomes whose worth says that of all others, on the lines between them: the support or the two ends of
        the range, and 0 and 1 where there is neither."""
        return self.support or ((self.low, self.high) if self.has_range else (0.0, 1.0))

    @property
    def rule(self) -> str:
        """What a reward must be: "0 or 1"."""
        return f"a finite number in [{self.low:g}, {self.high:g}]"

    @property
    def broken_rule(self) -> str:
        """What is wrong with a reward that this family cannot give: "not 0 or 1"."""
        return f"outside [{self.low:g}, {self.high:g}]"

    def impossible(self, reward: Any) -> Any:
        """Whether this family cannot give the reward: a number, an array, or a column of a query."""
        return (reward < self.low) | (reward > self.high)

    def check(self, reward: float) -> float:
        """`reward` as a float, or an error if this family cannot give it."""
        try:
            value = float(reward)
        except (TypeError, ValueError):
            raise invalid("reward", "a number", reward) from None
        if not np.isfinite(value) or abs(value) > MOST or self.impossible(value):
            raise invalid("reward", self.rule, reward)
        return value

    def outcomes(self, success: str = "success", failure: str = "failure") -> tuple[Outcome, ...]:
        """The possible rewards as a person reports them, the best first; empty where a number is reported."""
        return ()

    # The mean reward at a context x, given x'theta

    def at(self, value: FloatArray) -> FloatArray:
        """The mean reward where x'theta is `value`."""
        return np.asarray(np.clip(value, self.low, self.high))

    def at_normal(self, centre: FloatArray, spread: FloatArray) -> FloatArray:
        """The mean of `at` where x'theta is normal with this mean and standard deviation."""
        return clipped_over_normal(centre, spread, self.low, self.high) if self.has_range else centre

    def off_by(self, value: FloatArray, margin: FloatArray) -> FloatArray:
        """How far the mean reward may be from `at(value)` where x'theta may be from `value` by `margin`."""
        return margin

    def margin_for(self, value: FloatArray, off: FloatArray) -> FloatArray:
        """How far x'theta may be from `value` where the mean reward may be from `at(value)` by `off`."""
        return off

    # How one reward is distributed, given the parameters of its task and arm

    def means(self, parameters: FloatArray) -> FloatArray:
        """The means S that go with the parameters."""
        return parameters

    @property
    def variance_proxy(self) -> float:
        """The sub-Gaussian variance s^2 of one reward around its mean, given the context (NOTES 4: Hoeffding's)."""
        return (self.high - self.low) ** 2 / 4

    def most_variance(self, means: FloatArray) -> FloatArray:
        """The most that the variance of a reward with these means can be; that of 0/1 rewards itself."""
        if not self.has_range:
            return np.full(np.shape(means), self.sigma**2)
        return np.maximum((means - self.low) * (self.high - means), 0.0)

    @abstractmethod
    def sample(self, parameters: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One reward for each cell of `parameters`."""

    @abstractmethod
    def log_density(self, reward: float | FloatArray, parameters: FloatArray) -> FloatArray:
        """Log-probability (or density) of `reward` for each cell, never below `LOG_FLOOR` (NOTES 16: it adds up)."""

    def log_predictive(
        self, reward: FloatArray, parameters: FloatArray, spread: FloatArray, n: FloatArray, total: FloatArray
    ) -> FloatArray:
        """Log-probability of the next reward of a case whose own mean varies around its task's by `spread`.

        n, total: the number and the sum of its earlier rewards. Families that do not say how cases vary take all alike.
        """
        return self.log_density(reward, parameters)

    @abstractmethod
    def kl(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Kullback-Leibler divergence between cells with parameters `p` and `q`; infinite where q excludes p."""

    @abstractmethod
    def hellinger_squared(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """D_H^2 = 1 - BC between cells with parameters `p` and `q`, with all its digits however close they are.

        BC is the Bhattacharyya coefficient (NOTES 1: distances are normalised so that they are at most 1).
        """

    def hellinger_over_contexts(
        self, centre: FloatArray, spread: FloatArray, p: FloatArray, q: FloatArray
    ) -> FloatArray | None:
        """D_H^2 over normal contexts, for differences of means with this mean and variance; None without a formula.

        p, q: the parameters of the cells, of which only what does not change with the context counts.
        """
        return None

    def shifted(self, parameters: FloatArray, shift: FloatArray) -> FloatArray:
        """The parameters with every mean moved by `shift` (S), as far as the family allows."""
        return np.clip(parameters + shift, self.low, self.high)

    def outcome_chances(self, parameters: FloatArray) -> FloatArray:
        """The chance (G, *S) of each reward of the support."""
        raise InvalidInput(f"{self.family} rewards are not a few possible values.")

    def outcomes_from_below(self, parameters: FloatArray) -> FloatArray:
        """Chances (G, *S) of outcomes with which whoever learns from them loses no more than from the rewards.

        S is (M, K). They may add up to less than 1: then nothing is lost in the rest. For bounds from below.
        """
        return self.outcome_chances(parameters)

    # What plans ask: totals, bins, ways to score

    def total_below(self, total: float, pulls: int) -> float | None:
        """The greatest possible total of `pulls` rewards up to `total`; None where any number is possible."""
        return None

    @abstractmethod
    def totals(self, cells: Cells, pulls: FloatArray, limit: FloatArray) -> Bounds:
        """Bounds (*S, 2) of the chances that a total of `pulls` rewards is at most `limit`, and that it is above."""

    @abstractmethod
    def bins(self, cells: Cells, cuts: FloatArray) -> Bounds:
        """Bounds (*S, B) of the chances that a reward is above exactly 0, 1, ... of the `cuts` (..., B-1)."""

    def ratio_bins(
        self, cells: Cells, by: "Rewards", first: FloatArray, second: FloatArray, unit: float, most: int
    ) -> Bounds:
        """Bounds (*S, 2 most + 1) of the chances of the points that compare how well a reward fits two means (S).

        Points: the logarithm of the ratio of its chances, as the rewards that a plan was made for (`by`) have them,
        divided by `unit`, rounded and kept within `most`.
        """
        least, highest = (np.zeros((*cells.parameters.shape, 2 * most + 1)) for _ in range(2))
        low, high = (self.outcome_chances(self.shifted(cells.parameters, sign * cells.radius)) for sign in (-1, 1))
        numbers = np.arange(-most, most + 1)
        for value, a, b in zip(self.support, low, high, strict=True):
            ratio = by.log_ratio(np.asarray(value), first, second)
            here = np.clip(np.floor(ratio / unit + 0.5), -most, most)[..., None] == numbers
            least += here * np.minimum(a, b)[..., None]
            highest += here * np.maximum(a, b)[..., None]
        certain = highest.sum(axis=-1, keepdims=True) - highest  # what other points may take at most
        return np.maximum(least, 1.0 - certain), np.minimum(highest, 1.0)

    def log_ratio(self, reward: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """The logarithm of the ratio of the chances of a reward under two means."""
        inside = (np.clip(mean, LEAST_CHANCE, 1 - LEAST_CHANCE) for mean in (first, second))
        return np.asarray(np.subtract(*(self.log_density(reward, mean) for mean in inside)))

    def doubts(self, cells: Cells, totals: bool = True) -> tuple[str, ...]:
        """Why `bins`, and `totals` if those are asked for, are bounds at known parameters; empty if they are exact."""
        return ()

    def scorings(self, parameters: Sequence[FloatArray]) -> list[list[Scoring]]:
        """For each arm, given the parameters (M, ...) of its M tasks, a few ways to score its rewards.

        These are what a search for plans tries: the chances of the bins come from `bins`. All scorings of one family
        have the same number of bins. Points are small whole numbers of both signs. Empty without a likelihood.
        """
        return [[] for _ in parameters]

    # Where they come from and where they go

    @classmethod
    def unknown(cls, values: Sequence[float] = ()) -> Self:
        """The family as far as it is known before a log is added up; `values` are the rewards in it, where few."""
        return cls()

    @classmethod
    def fitted(cls, scatter: FloatArray, freedom: FloatArray, values: Sequence[float] = ()) -> Self:
        """The family from the sums of squares left over in each cell, and their degrees of freedom."""
        return cls.unknown(values)

    def matches(self, other: "Rewards") -> bool:
        """Whether a plan for these rewards can be asked about the `other` ones."""
        return self.family is other.family and self.support == other.support

    def accepts(self, other: "Rewards") -> bool:
        """Whether what was made for these rewards can be played on the `other` ones."""
        return self.matches(other)

    @property
    def of_a_plan(self) -> "Rewards":
        """What a plan keeps of the rewards."""
        return self

    def written(self) -> dict[str, Any]:
        """The fields that a file keeps besides the family."""
        every = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in every.items() if value is not Link.LINEAR}


def require_likelihood(rewards: Rewards, method: str) -> None:
    """Raise if `method`, which needs the probability of a reward, is used on rewards known by their mean only."""
    if not rewards.has_likelihood:
        raise InvalidInput(
            f"{method} needs the probability of each reward, and of bounded rewards only the mean is known. "
            "Toss a coin for each (tasks.changes.by_coin), or use a method that works on means, such as the tree."
        )


def between_edges(cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The left and the right end of each bin, infinite at both ends."""
    edge = np.full((*cuts.shape[:-1], 1), np.inf)
    edges = np.concatenate([-edge, cuts, edge], axis=-1)
    return edges[..., :-1], edges[..., 1:]


def hoeffding_totals(
    low: FloatArray, high: FloatArray, variance: float, pulls: FloatArray, limit: FloatArray
) -> Bounds:
    """Bounds of the chances of a total from the range of the mean and the sub-Gaussian variance alone."""
    tails = [np.exp(-((pulls * mu - limit) ** 2) / (2 * pulls * variance)) for mu in (low, high)]
    at_most = np.where(pulls * low > limit, tails[0], 1.0)
    above = np.where(pulls * high < limit, tails[1], 1.0)
    return np.stack([1 - above, 1 - at_most], axis=-1), np.stack([at_most, above], axis=-1)
