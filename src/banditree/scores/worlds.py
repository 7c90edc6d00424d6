"""What a protocol is judged by: scenarios, each a possible truth about one kind of case, and how they are added up."""

from dataclasses import dataclass

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection


@dataclass(frozen=True, eq=False)
class World:
    """S scenarios, as the tasks of a collection, in G groups.

    group: (S,), the kind that a scenario belongs to. weight: (S,), its share of the kind: the weights of a group add up
    to one. share: (G,), of the kinds; they add up to one. The regret of a kind is the average over its scenarios.
    """

    scenarios: Collection
    group: IntArray
    weight: FloatArray
    share: FloatArray

    def __post_init__(self) -> None:
        for name, dtype in (("group", np.int64), ("weight", np.float64), ("share", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def n_scenarios(self) -> int:
        """S."""
        return self.scenarios.n_tasks

    def by_group(self, values: FloatArray) -> FloatArray:
        """Values (..., S) averaged within each kind, (..., G)."""
        out = np.zeros((*values.shape[:-1], len(self.share)))
        np.add.at(out, (..., self.group), values * self.weight)
        return out


def one_by_one(scenarios: Collection, share: FloatArray | None = None) -> World:
    """The world in which every scenario is a kind of its own.

    share: (S,), equal where omitted.
    """
    S = scenarios.n_tasks
    share = np.full(S, 1.0 / S) if share is None else share / share.sum()
    return World(scenarios, np.arange(S), np.ones(S), share)
