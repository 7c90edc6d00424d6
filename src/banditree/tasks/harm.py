"""Harm: a second outcome of a round, 0 or 1, such as a side effect or a complaint. It is no low reward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, frozen, frozen_numbers

if TYPE_CHECKING:
    from banditree.tasks.collection import Collection


@dataclass(frozen=True, eq=False)
class Harm:
    """The chance of harm (M, K) in one round of each arm in each task, and how far each may be from the truth.

    Given task and arm, harm comes independently of the reward and of other rounds.
    """

    rates: FloatArray
    within: FloatArray

    @classmethod
    def of(cls, rates: Any, within: Any = 0.0) -> "Harm":
        """Rates (M, K), with one margin for all or an array of them."""
        table = frozen_numbers("harm", rates, 2)
        try:
            return cls(table, frozen(np.broadcast_to(np.asarray(within, float), table.shape), float))
        except (ValueError, TypeError):
            raise invalid("the margin of harm", f"a number or an array of shape {table.shape}", within) from None

    def check(self, tasks: Sequence[str], arms: Sequence[str]) -> None:
        """Refuse rates that are none, or not of these tasks and arms."""
        shape = (len(tasks), len(arms))
        if self.rates.shape != shape:
            raise invalid("harm", f"of shape {shape}, a rate for each task and arm", self.rates.shape)
        outside = np.argwhere(~((self.rates >= 0) & (self.rates <= 1)))
        if outside.size:
            i, k = outside[0]
            raise InvalidInput(
                f"harm must be a rate in [0, 1]. Got {self.rates[i, k]:g} for task {tasks[i]!r}, arm {arms[k]!r}. "
                "Give the chance of harm in one round."
            )
        if not (np.isfinite(self.within).all() and self.within.min() >= 0):
            raise invalid("the margin of harm", "finite and at least 0 everywhere", float(self.within.min()))

    @property
    def is_estimated(self) -> bool:
        """Whether any rate is known only up to a margin."""
        return bool(self.within.max() > 0)

    @property
    def most(self) -> FloatArray:
        """The highest rates (M, K) within the margins."""
        return np.asarray(np.minimum(self.rates + self.within, 1.0))

    def at(self, tasks: Any = None, arms: Any = None) -> "Harm":
        """The rates of some tasks and arms, by number."""
        rows = slice(None) if tasks is None else tasks
        columns = slice(None) if arms is None else arms
        return Harm.of(self.rates[rows][:, columns], self.within[rows][:, columns])


def with_harm(collection: "Collection", rates: Any, within: Any = 0.0) -> "Collection":
    """The collection with these chances of harm in one round.

    rates: (M, K), or a mapping of the names of all arms to a rate, or to one per task.
    within: how far each rate may be from the truth.

    >>> from banditree import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> with_harm(two, {"A": 0.01, "B": [0.02, 0.03]}).harm.rates.tolist()
    [[0.01, 0.02], [0.01, 0.03]]
    >>> with_harm(two, {"A": 0.01})
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: The harm of 'B' is missing. Give a rate for every arm, 0 where there is none.
    """
    table = _by_arm(collection, rates) if isinstance(rates, Mapping) else rates
    return replace(collection, harm=Harm.of(table, within))


def _by_arm(collection: "Collection", rates: Mapping[str, Any]) -> FloatArray:
    if unknown := [arm for arm in rates if arm not in collection.arms]:
        known = ", ".join(map(repr, collection.arms))
        raise InvalidInput(f"A harm is given for {unknown[0]!r}, which is no arm. Harms are for {known}.")
    if missing := [arm for arm in collection.arms if arm not in rates]:
        raise InvalidInput(f"The harm of {missing[0]!r} is missing. Give a rate for every arm, 0 where there is none.")
    columns = []
    for arm in collection.arms:
        try:
            columns.append(np.broadcast_to(np.asarray(rates[arm], float), collection.n_tasks))
        except (ValueError, TypeError):
            raise invalid(f"the harm of {arm!r}", f"a rate, or {collection.n_tasks} of them", rates[arm]) from None
    return np.stack(columns, axis=1)
