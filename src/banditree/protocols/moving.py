"""What it takes to move on to another option: the cost of the change, and rounds that are given and not counted."""

from typing import NamedTuple

import numpy as np

from banditree.protocols.draft_values import Chain
from banditree.tasks.arrays import FloatArray, IntArray

OTHERS = -1  # In place of an arm, at an end at which others choose.


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


def with_changes(chain: Chain, arms: IntArray, moving: Moving) -> Chain:
    """The lines with what exits to other arms cost. arms: of every place, the ends first; a restart has that of the
    root."""
    if moving.is_free:
        return chain
    own, cost, exits = arms[len(arms) - len(chain.links) :], chain.cost, []
    for side, exit in enumerate((chain.down, chain.up)):
        to = arms[chain.links[:, side]]
        turns = ((to != own) | (to == OTHERS))[:, None]
        cost = cost + turns * exit * moving.cost[to]
        exits.append(exit * np.where(turns, moving.kept, 1.0))
    return chain._replace(down=exits[0], up=exits[1], cost=cost)


def with_returns(
    cost: FloatArray, back: FloatArray, arms: IntArray, root: int, moving: Moving
) -> tuple[FloatArray, FloatArray]:
    """(cost, chance of starting again), each (K, S), of the ends, with what the change to the first arm costs."""
    if moving.is_free or not back.any():
        return cost, back
    turns = (arms[: len(cost)] != arms[root])[:, None]
    return cost + turns * back * moving.cost[arms[root]], back * np.where(turns, moving.kept, 1.0)
