"""Worth: what the outcomes of each option are worth to whoever decides, and what changing the option costs.

What an outcome says about a case and what it is worth are two things: the first stays with the rewards, the second is
here. Where a collection has a worth, best options, gaps and losses are in its unit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from banditree.errors import InvalidInput, check_texts, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards import Rewards

UNIT = "worth"  # What is lost is called this where no unit is given.


@dataclass(frozen=True)
class Worth:
    """What each of A outcomes of each of K arms is worth, prices taken off; what a change of arm costs; their unit.

    outcomes: (K, A), at `Rewards.anchors`: 0 and 1, each grade, or the two ends of the range; what lies between two of
    them is worth what the line between says. A change is a round with another arm than the round before; the first is
    none. `worth_of` makes one from prices.

    >>> from banditree.tasks.rewards import BERNOULLI
    >>> Worth(((-12.0, 88.0), (-30.0, 70.0)), change=40.0, unit="EUR").of(BERNOULLI, np.array([0, 1]), np.array([1, 0]))
    array([ 88., -30.])
    """

    outcomes: tuple[tuple[float, ...], ...]
    change: float = 0.0
    unit: str = UNIT

    def __post_init__(self) -> None:
        try:
            outcomes = tuple(tuple(float(worth) for worth in row) for row in self.outcomes)
            object.__setattr__(self, "outcomes", outcomes)
            object.__setattr__(self, "change", float(self.change))
        except (TypeError, ValueError):
            raise invalid("worth", "numbers, one per outcome of each arm", self.outcomes) from None
        if not np.isfinite([worth for row in outcomes for worth in row]).all():
            raise invalid("worth", "finite everywhere", outcomes)
        if not 0 <= self.change < np.inf:
            raise invalid("the cost of a change", "at least 0", self.change, "Outcomes may earn, a change does not.")
        if not self.unit.strip():
            raise invalid("the unit of worth", 'a word such as "EUR" or "days"', self.unit)
        check_texts("the unit of worth", (self.unit,))

    def check(self, rewards: Rewards, arms: Sequence[str]) -> None:
        """Refuse a worth that is not of these arms and outcomes."""
        if len(self.outcomes) != len(arms):
            raise invalid("worth", f"given for {len(arms)} arms", f"{len(self.outcomes)} rows")
        for arm, row in zip(arms, self.outcomes, strict=True):
            if len(row) != len(rewards.anchors):
                outcomes = ", ".join(f"{value:g}" for value in rewards.anchors)
                raise invalid(f"the worth of {arm!r}", f"one number for each of the outcomes {outcomes}", list(row))

    def of(self, rewards: Rewards, arm: np.ndarray, reward: np.ndarray) -> FloatArray:
        """What some outcomes (n,) of some arms (n,) are worth."""
        table, at = np.array(self.outcomes), np.array(rewards.anchors)
        low = np.clip(np.searchsorted(at, reward, side="right") - 1, 0, len(at) - 2)
        share = (np.asarray(reward) - at[low]) / (at[low + 1] - at[low])
        return np.asarray(table[arm, low] + share * (table[arm, low + 1] - table[arm, low]))

    def expected(self, rewards: Rewards, means: FloatArray, chances: FloatArray | None = None) -> FloatArray:
        """What a round of each arm is worth on average (..., K), from means (..., K) or the chances of grades."""
        table, at = np.array(self.outcomes), np.array(rewards.anchors)
        if chances is not None:
            return np.asarray(np.einsum("...kg,kg->...k", chances, table))
        return np.asarray(table[:, 0] + (means - at[0]) / (at[-1] - at[0]) * (table[:, -1] - table[:, 0]))

    def of_arms(self, kept: Sequence[int]) -> "Worth":
        """The worth of some of the arms."""
        return replace(self, outcomes=tuple(self.outcomes[k] for k in kept))

    def per_reward(self, rewards: Rewards) -> FloatArray:
        """How much worth is uncertain (K,) where a mean, or the chance of any set of grades, is by 1 of the range."""
        return np.asarray(np.ptp(np.array(self.outcomes), axis=1) / (rewards.anchors[-1] - rewards.anchors[0]))


def worth_of(
    rewards: Rewards,
    arms: Sequence[str],
    *,
    price: Mapping[str, float] | Sequence[float] = (),
    value: float | Mapping[str, float | Sequence[float]] = 1.0,
    change: float = 0.0,
    unit: str = UNIT,
) -> Worth:
    """The worth of outcomes with these values, less the price of each arm per round.

    price: by arm, 0 where none is given. value: what a reward of 1 is worth, or what each outcome is, by its name or
    number: one number, or one for every arm. An outcome of 0 is worth nothing unless a value says otherwise.

    >>> from banditree.tasks.rewards import BERNOULLI
    >>> worth_of(BERNOULLI, ["A", "B"], price={"B": 30}, value={"success": [100, 90]}, unit="EUR").outcomes
    ((0.0, 100.0), (-30.0, 60.0))
    """
    values = _values(rewards, arms, value) if isinstance(value, Mapping) else _scaled(rewards, arms, value)
    return Worth(tuple(map(tuple, (values - _prices(arms, price)).T.tolist())), change, unit)


def _prices(arms: Sequence[str], given: Mapping[str, float] | Sequence[float]) -> FloatArray:
    if isinstance(given, Mapping):
        if unknown := [arm for arm in given if arm not in arms]:
            known = ", ".join(map(repr, arms))
            raise InvalidInput(f"A price is given for {unknown[0]!r}, which is no option. Options are {known}.")
        given = [given.get(arm, 0.0) for arm in arms]
    prices = _numbers("prices", given if len(given) else 0.0, arms)
    for arm, price in zip(arms, prices.tolist(), strict=True):
        if price < 0:
            raise invalid(f"the price of {arm!r}", "at least 0", price, "Raise what its outcomes are worth instead.")
    return prices


def _scaled(rewards: Rewards, arms: Sequence[str], value: float) -> FloatArray:
    """What the outcomes are worth (A, K) where a reward of 1 is worth `value`."""
    return np.array(rewards.anchors)[:, None] * _numbers("the value of a reward of 1", value, arms)


def _values(rewards: Rewards, arms: Sequence[str], given: Mapping[str, float | Sequence[float]]) -> FloatArray:
    """The same where every outcome has its own value."""
    names = [{f"{anchor:.15g}"} for anchor in rewards.anchors]
    for outcome in rewards.outcomes():
        names[rewards.anchors.index(outcome.value)].add(outcome.name)
    known = ", ".join(" or ".join(sorted(both)) for both in names)
    if unknown := [name for name in given if not any(name in both for both in names)]:
        raise InvalidInput(f"A value is given for {unknown[0]!r}, which is no outcome. Outcomes are: {known}.")
    found = [[value for name, value in given.items() if name in both] for both in names]
    for values, both, anchor in zip(found, names, rewards.anchors, strict=True):
        if len(values) > 1 or (not values and anchor != 0):
            raise InvalidInput(f"Give the outcome {' or '.join(sorted(both))} one value. Got {len(values)}.")
    return np.array([_numbers("values", values[0] if values else 0.0, arms) for values in found])


def _numbers(what: str, given: float | Sequence[float], arms: Sequence[str]) -> FloatArray:
    """One number for every arm (K,)."""
    try:
        numbers = np.asarray(given, float)
    except (TypeError, ValueError):
        raise invalid(what, "numbers", given) from None
    if numbers.shape not in ((), (len(arms),)):
        raise invalid(what, f"one number, or {len(arms)}: one per option", given)
    return np.broadcast_to(numbers, (len(arms),))
