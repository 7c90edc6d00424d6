"""What a case loses in all counts for more the more it is: the unlucky count, not only the average.

The next unit that a case loses counts 1 + extra (1 - exp(-x / bearable))^ORDER where it has lost x: once at first, and
(1 + extra) times beyond the bearable. The exponential of a sum is a product, so that this follows from line to line as
any value does: for each scenario there are others, in which cases are lost sight of, in every round, by as much as
they lose.
"""

import math
from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray


class Care(NamedTuple):
    """How many times more a loss counts beyond what is bearable; nothing beside it where extra is 0."""

    extra: float
    bearable: float

    @property
    def sights(self) -> tuple[tuple[int, float], ...]:
        """(how often it counts, what of a loss is bearable) in each way in which cases are lost sight of."""
        return tuple(((-1) ** n * math.comb(ORDER, n), self.bearable / n) for n in range(1, ORDER + 1) if self.extra)

    def with_bearable(self, cost: FloatArray, axis: int = 0) -> FloatArray:
        """What is lost at once under each scenario (S,) of an array, followed by what is bearable of it (V,)."""
        parts = [-bearable * np.expm1(-cost / bearable) for _, bearable in self.sights]
        return np.concatenate([cost, *parts], axis=axis)

    def seen(self, cost: FloatArray) -> FloatArray:
        """The share of cases that stay in sight after a loss, for the same values."""
        return np.concatenate([np.ones_like(cost), *(np.exp(-cost / bearable) for _, bearable in self.sights)])

    def each(self, values: FloatArray, axis: int = 0) -> FloatArray:
        """What all values of a scenario have in common, for all of them."""
        return np.concatenate([values] * (1 + len(self.sights)), axis=axis)

    def weights(self, weight: FloatArray) -> FloatArray:
        """How values count in what is lost and in what is felt beyond it (2, V), from the weights (S,) of scenarios."""
        if not self.extra:
            return weight[None]
        lost = [1.0, *(0.0 for _ in self.sights)]
        beyond = [self.extra, *(self.extra * times for times, _ in self.sights)]
        return np.outer([*lost, *beyond], weight).reshape(2, -1)


NO_CARE = Care(0.0, 1.0)
ORDER = 2  # How sharply the bearable ends: a larger one needs as many more scenarios.
BEARABLE = 3.0  # Times what a plan loses on average in its worst kind.


def care_beyond(usual: float, extra: float) -> Care:
    """The care of a search whose plans usually lose this much."""
    return Care(extra, BEARABLE * usual) if usual > 0.0 else NO_CARE
