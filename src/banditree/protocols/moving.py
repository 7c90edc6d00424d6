"""What it takes to move on to another option: the cost of the change, and rounds that are given and not counted."""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray


class Moving(NamedTuple):
    """cost: (K, S), of moving on to each end or to a line with its arm, the rounds that do not count included; kept:
    what is left of a chance after these rounds; washout: how many they are."""

    cost: FloatArray
    kept: float
    washout: int

    @property
    def is_free(self) -> bool:
        """Whether a change costs nothing."""
        return self.kept == 1.0 and not self.cost.any()


def moving_to(gaps: FloatArray, change: float, going: float, washout: int) -> Moving:
    """What moving on costs; gaps: (S, K), of a round with each arm, 0 where others choose."""
    kept = going**washout
    rounds = (1.0 - kept) / (1.0 - going) if washout else 0.0
    return Moving(np.ascontiguousarray(change + rounds * gaps.T), kept, washout)
