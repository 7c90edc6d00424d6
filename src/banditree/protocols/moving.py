"""What it takes to move on to another option: the cost of the change, and rounds that are given and not counted."""

from typing import NamedTuple

import numpy as np

from banditree.protocols.care import NO_CARE, Care
from banditree.tasks.arrays import FloatArray


class Moving(NamedTuple):
    """cost: (K, S), of moving on to each end or to a line with its arm, the rounds that do not count included; kept:
    (K, S), what is left of a chance after it; washout: how many rounds do not count."""

    cost: FloatArray
    kept: FloatArray
    washout: int

    @property
    def is_free(self) -> bool:
        """Whether a change costs nothing."""
        return not self.washout and not self.cost.any()


def moving_to(gaps: FloatArray, change: float, going: float, washout: int, care: Care = NO_CARE) -> Moving:
    """What moving on costs; gaps: (S, K), of a round with each arm, 0 where others choose."""
    at_once, seen = care.with_bearable(np.full_like(gaps, change)), care.seen(np.full_like(gaps, change))
    rounds, lasting = care.with_bearable(gaps), going * care.seen(gaps)
    after = lasting**washout
    cost = at_once + seen * rounds * ((1.0 - after) / (1.0 - lasting) if washout else 0.0)
    return Moving(np.ascontiguousarray(cost.T), np.ascontiguousarray((seen * after).T), washout)
