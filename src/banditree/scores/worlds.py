"""What a protocol is judged by: scenarios, each a possible truth about one kind of case, and how they are added up."""

from dataclasses import dataclass

import numpy as np

from banditree.scores.scoring import Templates
from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.cases import draw_cases
from banditree.tasks.collection import Collection, with_parameters

CASES = 12  # drawn cases of each kind at least, where the cases of a kind differ ...
ALL_CASES = 90  # ... and of all kinds together, if these are few


@dataclass(frozen=True, eq=False)
class World:
    """S scenarios, as the tasks of a collection, in G groups.

    group: (S,), the kind that a scenario belongs to. weight: (S,), its share of the kind: the weights of a group add up
    to one. share: (G,), of the kinds; they add up to one. The regret of a kind is the average over its scenarios.
    templates: the ways to score, where they do not follow from the scenarios alone.
    """

    scenarios: Collection
    group: IntArray
    weight: FloatArray
    share: FloatArray
    templates: Templates | None = None

    def __post_init__(self) -> None:
        for name, dtype in (("group", np.int64), ("weight", np.float64), ("share", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def n_scenarios(self) -> int:
        """S."""
        return self.scenarios.n_tasks

    def by_group(self, values: FloatArray) -> FloatArray:
        """Values (..., S) averaged within each kind, (..., G)."""
        members = (self.group[:, None] == np.arange(len(self.share))) * self.weight[:, None]
        return np.asarray(values @ members)


def one_by_one(scenarios: Collection, share: FloatArray | None = None) -> World:
    """The world in which every scenario is a kind of its own.

    share: (S,), equal where omitted.
    """
    S = scenarios.n_tasks
    share = np.full(S, 1.0 / S) if share is None else share / share.sum()
    return World(scenarios, np.arange(S), np.ones(S), share)


def known_world(collection: Collection, seed: int) -> World:
    """The rates as they are given: one scenario per kind, or drawn cases where those of a kind differ."""
    if not collection.varies:
        return one_by_one(_scenarios(collection, collection.parameters), collection.weights)
    n = max(CASES, ALL_CASES // collection.n_tasks)
    cases = draw_cases(collection, n, seed)
    weight = np.full(len(cases.task), 1.0 / n)
    return World(_scenarios(collection, cases.means), cases.task, weight, collection.weights)


def with_scenarios(world: World, parameters: FloatArray) -> World:
    """The world with more scenarios, each a kind of its own."""
    added, G = len(parameters), len(world.share)
    share = np.concatenate([world.share * G, np.ones(added)])
    return World(
        _scenarios(world.scenarios, np.concatenate([world.scenarios.parameters, parameters])),
        np.concatenate([world.group, G + np.arange(added)]),
        np.concatenate([world.weight, np.ones(added)]),
        share / share.sum(),
    )


def _scenarios(collection: Collection, parameters: FloatArray) -> Collection:
    """A collection of as many tasks as there are rows of parameters, all known exactly."""
    names = tuple(f"scenario {number}" for number in range(1, len(parameters) + 1))
    return with_parameters(collection, parameters, tasks=names, counts=None, shares=None, spread=None)
