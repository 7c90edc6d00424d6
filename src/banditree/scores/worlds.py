"""What a protocol is judged by: scenarios, each a possible truth about one kind of case, and how they are added up."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from banditree.plans.plan import NONE, Fallback
from banditree.scores.scoring import Templates
from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.cases import draw_cases, draw_strangers
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection
from banditree.theory.thompson import thompson_loss

CASES = 12  # drawn cases of each kind at least, where the cases of a kind differ ...
ALL_CASES = 90  # ... and of all kinds together, if these are few
STRANGERS = 60  # drawn cases that are none of the kinds, in all, and at least FEWEST_STRANGERS for each kind
FEWEST_STRANGERS = 2
# Rivals of a kind's best arm are those that are better for some case: their rates are closer than so many standard
# deviations of the difference of two rates. A short list costs less to choose from, a long one misses less.
RIVALS = (1.25, 2.5)


class Chooser(NamedTuple):
    """An end at which another than the plan chooses: Thompson sampling among some arms, or an arm that is given."""

    among: tuple[int, ...]

    def loss(self, scenarios: Collection, horizon: int) -> FloatArray:
        """What it loses (S,) in each scenario over the horizon; that of Thompson sampling is an estimate."""
        arms = np.array(self.among)
        missed = scenarios.means.max(axis=1) - scenarios.means[:, arms].max(axis=1)
        return np.asarray(thompson_loss(scenarios, horizon, arms) + horizon * missed)


@dataclass(frozen=True, eq=False)
class World:
    """S scenarios, as the tasks of a collection, in G groups.

    group: (S,), the kind that a scenario belongs to. weight: (S,), its share of the kind: the weights of a group add up
    to one. share: (G,), of the kinds; they add up to one. The regret of a kind is the average over its scenarios.
    templates: the ways to score, where they do not follow from the scenarios alone.
    choosers: ends at which others choose, the hand-over being the last; empty where plans may have none.
    """

    scenarios: Collection
    group: IntArray
    weight: FloatArray
    share: FloatArray
    templates: Templates | None = None
    choosers: tuple[Chooser, ...] = ()

    def __post_init__(self) -> None:
        for name, dtype in (("group", np.int64), ("weight", np.float64), ("share", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def n_scenarios(self) -> int:
        """S."""
        return self.scenarios.n_tasks

    @cached_property
    def members(self) -> FloatArray:
        """(S, G), the weight of each scenario in its kind."""
        return np.asarray((self.group[:, None] == np.arange(len(self.share))) * self.weight[:, None])

    def by_group(self, values: FloatArray) -> FloatArray:
        """Values (..., S) averaged within each kind, (..., G)."""
        return np.asarray(values @ self.members)


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
        choosers=world.choosers,
    )


def with_strangers(world: World, collection: Collection, share: float, seed: int) -> World:
    """The world in which a share of the cases is none of the kinds.

    Every kind gets its own part of them, so that what is lost for a kind is (1 - share) of its own and share of theirs.
    """
    M = collection.n_tasks
    each = max(FEWEST_STRANGERS, STRANGERS // M)
    drawn = draw_strangers(collection, M * each, seed)
    group = np.concatenate([world.group, np.tile(np.arange(M), each)])
    weight = np.concatenate([world.weight * (1.0 - share), np.full(M * each, share / each)])
    scenarios = _scenarios(world.scenarios, np.concatenate([world.scenarios.parameters, drawn]))
    return World(scenarios, group, weight, world.share, choosers=world.choosers)


def choosers_for(collection: Collection, fallback: Fallback) -> tuple[Chooser, ...]:
    """The rivals of each kind's best arm where cases of a kind differ, and the hand-over.

    What a person would lose after a hand-over is taken to be what Thompson sampling loses.
    """
    sets: list[tuple[int, ...]] = []
    if collection.varies and collection.spread is not None:
        for mean, spread, best in zip(collection.means, collection.spread, collection.best_arms, strict=True):
            within = np.sqrt(spread**2 + spread[best] ** 2)
            sets += [tuple(np.flatnonzero(mean >= mean[best] - times * within).tolist()) for times in RIVALS]
    everyone = tuple(range(collection.n_arms)) if fallback.arm == NONE else (fallback.arm,)
    several = [arms for arms in dict.fromkeys(sets) if 1 < len(arms) < collection.n_arms]
    return (*map(Chooser, several), Chooser(everyone))


def _scenarios(collection: Collection, parameters: FloatArray) -> Collection:
    """A collection of as many tasks as there are rows of parameters, all known exactly."""
    names = tuple(f"scenario {number}" for number in range(1, len(parameters) + 1))
    return with_parameters(collection, parameters, tasks=names, counts=None, shares=None, spread=None)
