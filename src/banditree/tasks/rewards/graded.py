"""Rewards of a few possible values, each with its own chance: stars from 1 to 5, none / partial / full recovery."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any, ClassVar, Self

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards.base import (
    LOG_FLOOR,
    MOST,
    Bounds,
    Cells,
    Family,
    Outcome,
    Rewards,
    Scoring,
    hoeffding_totals,
)
from banditree.tasks.rewards.bernoulli import half_squares
from banditree.tasks.rewards.grade_points import grade_scorings

MOST_GRADES = 20  # More values than this are a number, not a grade.
FINEST = 1000  # Totals are added up exactly if the least and the greatest value are at most this many steps apart.
SLACK = 1e-9  # A total above a limit by a rounding error is not above it, just as for whoever follows the plan.


@dataclass(frozen=True)
class Graded(Rewards):
    """One of a few `values`, in order, which people may call by `names`.

    The parameters of a task and arm are the chances (G,) of the values. A radius r of the mean says that the chance of
    any set of values is known within r / (high - low). Without values, the family is still to be recognised from a log.

    >>> stars = Graded(values=(0.0, 0.5, 1.0), names=("none", "partial", "full"))
    >>> stars.means(np.array([0.25, 0.25, 0.5])).tolist(), stars.check(0.5)
    (0.625, 0.5)
    """

    family: ClassVar[Family] = Family.GRADED
    by_chances: ClassVar[bool] = True
    hint: ClassVar[str] = "Give all the values that a reward may have, or omit them to take those of the log."
    values: tuple[float, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(float(value) for value in self.values))
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        values, names = self.values, self.names
        if values and not 2 <= len(values) <= MOST_GRADES:
            hint = "Use Gaussian or bounded rewards for numbers of any kind, or group them into bands."
            raise invalid("the values of graded rewards", f"from 2 to {MOST_GRADES}", len(values), hint)
        if not all(abs(value) <= MOST for value in values) or any(b <= a for a, b in zip(values, values[1:])):  # noqa: B905, RUF007
            raise invalid("the values of graded rewards", "finite and increasing", values)
        if names and (len(names) != len(values) or len(set(names)) != len(names) or not all(map(str.strip, names))):
            raise invalid("the names of the grades", f"{len(values)} different names, one per value", names)

    @property
    def low(self) -> float:  # type: ignore[override]
        """The least value."""
        return self.values[0] if self.values else -np.inf

    @property
    def high(self) -> float:  # type: ignore[override]
        """The greatest value."""
        return self.values[-1] if self.values else np.inf

    @property
    def support(self) -> tuple[float, ...]:  # type: ignore[override]
        """The values."""
        return self.values

    @property
    def rule(self) -> str:
        """What a reward must be."""
        return f"one of {', '.join(f'{value:g}' for value in self.values)}"

    @property
    def broken_rule(self) -> str:
        """What is wrong with any other."""
        return f"not {self.rule}"

    def impossible(self, reward: Any) -> Any:
        """Whether it is none of the values."""
        other = reward != self.values[0]
        for value in self.values[1:]:
            other = other & (reward != value)
        return other

    def outcomes(self, success: str = "success", failure: str = "failure") -> tuple[Outcome, ...]:
        """The values by their names, the greatest first."""
        names = self.names or tuple(f"{value:.15g}" for value in self.values)
        return tuple(Outcome(value, name) for value, name in zip(self.values, names, strict=True))[::-1]

    def means(self, parameters: FloatArray) -> FloatArray:
        """The chances times the values."""
        return np.asarray(np.clip(parameters @ np.array(self.values), self.low, self.high))

    def sample(self, parameters: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A value for each row of chances."""
        below = np.cumsum(parameters[..., :-1], axis=-1)
        drawn = rng.random(parameters.shape[:-1])
        return np.asarray(np.array(self.values)[(drawn[..., None] >= below).sum(axis=-1)])

    def log_density(self, reward: float | FloatArray, parameters: FloatArray) -> FloatArray:
        """The log of the chance of that value."""
        grade = np.searchsorted(np.array(self.values), reward)
        chance = np.take_along_axis(parameters, np.broadcast_to(grade, parameters.shape[:-1])[..., None], axis=-1)
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(chance[..., 0]), LOG_FLOOR)

    def kl(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """The sum of p log(p/q)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(p > 0, p * np.log(p / q), 0.0).sum(axis=-1))

    def hellinger_squared(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Half the sum of (sqrt p - sqrt q)^2."""
        return half_squares(p, q)

    def shifted(self, parameters: FloatArray, shift: FloatArray) -> FloatArray:
        """As much of the chances moved to the least or the greatest value as moves the mean by at most `shift`.

        No other chances within that distance give lower (or higher) totals more often.
        """
        down = _moved(parameters, -np.minimum(shift, 0.0) / self.width)
        return _moved(down[..., ::-1], np.maximum(shift, 0.0) / self.width)[..., ::-1]

    def outcome_chances(self, parameters: FloatArray) -> FloatArray:
        """The parameters, with the values first."""
        return np.moveaxis(parameters, -1, 0)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """How many steps each value is above the least one; the step is the longest that fits all of them."""
        exact = [Fraction(Decimal(repr(value))) for value in self.values]
        whole = lcm(*(value.denominator for value in exact))
        above = [int((value - exact[0]) * whole) for value in exact]
        return tuple(step // gcd(*above) for step in above)

    def total_below(self, total: float, pulls: int) -> float | None:
        """A whole number of steps above the least total."""
        step = self.width / self.steps[-1]
        return float(f"{pulls * self.low + step * np.floor((total - pulls * self.low) / step + SLACK):.12g}")

    def totals(self, cells: Cells, pulls: FloatArray, limit: FloatArray) -> Bounds:
        """The chances of all totals, added up `pulls` times over; Hoeffding's bounds where the grid is too fine."""
        ends = [self.shifted(cells.parameters, sign * cells.radius) for sign in (-1, 1)]
        if self.steps[-1] > FINEST:
            return hoeffding_totals(self.means(ends[0]), self.means(ends[1]), cells.variance, pulls, limit)
        at_most = [np.empty(end.shape[:-1]) for end in ends]
        for box, (n, most) in enumerate(zip(pulls.tolist(), limit.tolist(), strict=True)):
            for found, end in zip(at_most, ends, strict=True):
                found[..., box] = self.total_at_most(end[..., box, :], n, most)
        least, most_often = at_most[1], at_most[0]
        return np.stack([least, 1 - most_often], axis=-1), np.stack([most_often, 1 - least], axis=-1)

    def total_at_most(self, chances: FloatArray, pulls: int, limit: float) -> FloatArray:
        """The chance that the total of `pulls` rewards with these chances (..., G) is at most `limit`.

        >>> coin = Graded(values=(0.0, 1.0))
        >>> coin.total_at_most(np.array([0.5, 0.5]), 3, 1.0).round(6).tolist()
        0.5
        """
        step = self.width / self.steps[-1]
        last = int(np.floor((limit + SLACK - pulls * self.low) / step + SLACK))
        size = pulls * self.steps[-1] + 1
        if last < 0 or last >= size - 1:
            return np.full(chances.shape[:-1], 0.0 if last < 0 else 1.0)
        one = np.zeros((*chances.shape[:-1], self.steps[-1] + 1))
        one[..., list(self.steps)] = chances
        all_totals = np.fft.irfft(np.fft.rfft(one, n=2 * size, axis=-1) ** pulls, n=2 * size, axis=-1)
        return np.asarray(np.clip(all_totals[..., : last + 1].sum(axis=-1), 0.0, 1.0))

    def bins(self, cells: Cells, cuts: FloatArray) -> Bounds:
        """The chances of the values in each bin, less or more by what is not known about them."""
        number = (cuts[..., None, :] < np.array(self.values)[:, None]).sum(axis=-1)  # (..., G)
        inside = number[..., None] == np.arange(cuts.shape[-1] + 1)  # (..., G, B)
        chance = np.clip((cells.parameters[..., None] * inside).sum(axis=-2), 0.0, 1.0)
        doubt = (cells.radius / self.width)[..., None]
        least = np.where(inside.all(axis=-2), 1.0, np.maximum(chance - doubt, 0.0))
        most = np.where(inside.any(axis=-2), np.minimum(chance + doubt, 1.0), 0.0)
        return least, most

    def doubts(self, cells: Cells, totals: bool = True) -> tuple[str, ...]:
        """Values too close together to add up all totals."""
        return (
            ()
            if self.steps[-1] <= FINEST or not totals
            else ("the values are too many steps apart to add up their totals",)
        )

    def scorings(self, parameters: Sequence[FloatArray]) -> list[list[Scoring]]:
        """Points per grade: rounded log-likelihood ratios between groups of tasks, and slopes in the values."""
        return [grade_scorings(np.array(self.values), chances) for chances in parameters]

    @classmethod
    def unknown(cls, values: Sequence[float] = ()) -> Self:
        """The values seen, in order."""
        return cls(values=tuple(sorted(set(values))))

    def written(self) -> dict[str, Any]:
        """The values, and the names if there are any."""
        return {"values": list(self.values), "names": list(self.names) or None}


def _moved(chances: FloatArray, mass: FloatArray) -> FloatArray:
    """The chances (..., G) with `mass` (...) taken from the greatest values and put on the least one."""
    above = np.cumsum(chances[..., ::-1], axis=-1)[..., ::-1] - chances
    taken = np.clip(np.asarray(mass)[..., None] - above, 0.0, chances)
    left = chances - taken
    left[..., 0] += taken.sum(axis=-1)
    return np.asarray(left)
