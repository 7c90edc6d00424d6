"""What a protocol is judged by: scenarios, each a possible truth about one kind of case, and how they are added up."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from banditree.plans.plan import Fallback
from banditree.protocols.care import NO_CARE, Care
from banditree.protocols.scoring import Templates
from banditree.tasks.arrays import FloatArray, IntArray, frozen
from banditree.tasks.cases import draw_cases
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection
from banditree.theory.thompson import Expected, expected_losses, thompson_loss

CASES = 12  # At least this many cases of each kind are drawn, where the cases of a kind differ ...
ALL_CASES = 90  # ... and of all kinds together, if these are few
ALIKE = 60  # This many more cases of each kind are drawn, by which resting is judged.
# Rivals of a kind's best arm are those that are better for some case: their rates are closer than this many standard
# deviations of the difference of two rates. One that is never tried, since its rate is low, costs nothing.
RIVALS = 2.5
LEAST_SHARE = 0.1  # Of an equal share: a rarer kind counts so much in the smooth mean that stands for the worst kind.
SEARCH_RUNS = 2  # This many runs are simulated for each scenario and end while searching.
LEAST_SPREAD = 0.02  # of the standard deviation of a reward: cases differ by at least this where they differ


class Chooser(NamedTuple):
    """An end at which another than the plan chooses: between some arms, or an arm that is given.

    rates: what is expected of each arm, as if from `worth` rounds; empty where Thompson sampling chooses. odds: see
    `theory.thompson.Expected`.
    """

    among: tuple[int, ...]
    rates: tuple[float, ...] = ()
    worth: int = 0
    odds: int = 0


def losses_of(choosers: Sequence[Chooser], scenarios: Collection, horizon: int) -> FloatArray:
    """What each end loses (C, S) in each scenario over the horizon; what is lost in choosing is an estimate."""
    losses = np.zeros((len(choosers), scenarios.n_tasks))
    for own, chooser in zip(losses, choosers, strict=True):
        arms = np.array(chooser.among)
        missed = scenarios.round_worth.max(axis=1) - scenarios.round_worth[:, arms].max(axis=1)
        own[:] = thompson_loss(scenarios, horizon, arms) + horizon * missed
    expecting = [number for number, chooser in enumerate(choosers) if chooser.rates]
    if expecting:
        several = [choosers[number] for number in expecting]
        ends = [Expected(np.array(one.among), np.array(one.rates), one.worth, one.odds) for one in several]
        losses[expecting] = expected_losses(scenarios, horizon, ends, runs=SEARCH_RUNS)
    return losses


def _unit(collection: Collection) -> float:
    """The range of rewards, or two standard deviations of those that have none."""
    return float(2.0 * np.sqrt(collection.rewards.variance_proxy))


@dataclass(frozen=True, eq=False)
class World:
    """S scenarios, as the tasks of a collection, in G groups.

    group: (S,), the kind that a scenario belongs to. weight: (S,), its share of the kind: the weights of a group add up
    to one. share: (G,), of the kinds; they add up to one. The regret of a kind is the average over its scenarios.
    templates: the ways to score, where they do not follow from the scenarios alone.
    choosers: ends at which others choose, the hand-over being the last; empty where plans may have none.
    alike: of worlds of drawn cases, more cases, as many of each kind, by which resting is judged: a search over a few
    cases would settle on what happens to be best for these. n_added: how many scenarios, the last, are not drawn cases.
    washout: the rounds after a change of arm that do not count. care: how losses count;
    corrected: these weights instead.
    """

    scenarios: Collection
    group: IntArray
    weight: FloatArray
    share: FloatArray
    templates: Templates | None = None
    choosers: tuple[Chooser, ...] = ()
    alike: Collection | None = None
    n_added: int = 0
    washout: int = 0
    care: Care = NO_CARE
    corrected: FloatArray | None = None

    def __post_init__(self) -> None:
        for name, dtype in (("group", np.int64), ("weight", np.float64), ("share", np.float64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    @property
    def n_scenarios(self) -> int:
        """S."""
        return self.scenarios.n_tasks

    @property
    def n_kinds(self) -> int:
        """How many kinds there are, scenarios that were added aside."""
        return len(self.share) - self.n_added

    @cached_property
    def members(self) -> FloatArray:
        """(S, G), the weight of each scenario in its kind."""
        return np.asarray((self.group[:, None] == np.arange(len(self.share))) * self.weight[:, None])

    @cached_property
    def groups(self) -> IntArray:
        """(V,), the kind of each value of a draft: of what each scenario loses, and what `care` adds to these."""
        return np.tile(self.group, 1 + len(self.care.sights))

    @cached_property
    def weights(self) -> FloatArray:
        """(1, V), how each value counts; with care (2, V), and how it counts beyond the bearable."""
        return self.care.weights(self.weight) if self.corrected is None else self.corrected

    @cached_property
    def counted(self) -> FloatArray:
        """(1 or 2, V, G), the same in its kind."""
        return np.asarray(self.weights[..., None] * (self.groups[:, None] == np.arange(len(self.share))))

    @property
    def by_task(self) -> FloatArray | None:
        """(S, M), the weight of each drawn case in its task; None where the first scenarios are the tasks."""
        if self.alike is None:
            return None
        n_drawn = self.n_scenarios - self.n_added
        drawn = np.arange(self.n_scenarios) < n_drawn
        return np.asarray(self.members[:, : self.group[:n_drawn].max() + 1] * drawn[:, None])

    @property
    def for_the_worst(self) -> "World":
        """The world in which no kind is so rare that a high power mean of regrets forgets it; none may in the worst."""
        least = LEAST_SHARE / len(self.share)
        if self.share.min() >= least:
            return self
        share = np.maximum(self.share, least)
        return replace(self, share=share / share.sum())

    def by_group(self, values: FloatArray) -> FloatArray:
        """What is lost (..., G) in each kind, of values (..., V)."""
        return np.asarray(values[..., : self.n_scenarios] @ self.members)

    def felt(self, values: FloatArray) -> FloatArray:
        """What is lost under each scenario (1, S), and with care what is felt beyond it (2, S), of values (V,)."""
        each = self.care.weights(np.ones(self.n_scenarios)) * values
        return np.asarray(each.reshape(len(each), -1, self.n_scenarios).sum(axis=1))

    def parts(self, values: FloatArray) -> FloatArray:
        """What counts in each kind (1, G), or with care (2, G), of values (V,)."""
        return np.asarray(values @ self.counted)


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
    alike = _scenarios(collection, draw_cases(collection, ALIKE, seed + 1).means)
    return World(_scenarios(collection, cases.means), cases.task, weight, collection.weights, alike=alike)


def resting_costs(world: World, horizon: int) -> tuple[FloatArray, FloatArray]:
    """What a round costs (S, K) at rest with each arm, and what resting costs in all (C, S) where others choose.

    Of drawn cases it is the average over all that are alike, whatever the own rates of a case.
    """
    scenarios, choosers, alike = world.scenarios, world.choosers, world.alike
    if alike is None:
        return scenarios.gaps, losses_of(choosers, scenarios, horizon)
    n_drawn, kinds = len(world.group) - world.n_added, (alike.n_tasks // ALIKE, ALIKE)
    gaps, kind = scenarios.gaps.copy(), world.group[:n_drawn]
    gaps[:n_drawn] = alike.gaps.reshape(*kinds, alike.n_arms).mean(axis=1)[kind]
    added = _scenarios(scenarios, scenarios.parameters[n_drawn:]) if world.n_added else None
    losses = np.zeros((len(choosers), len(world.group)))
    losses[:, :n_drawn] = losses_of(choosers, alike, horizon).reshape(len(choosers), *kinds).mean(axis=2)[:, kind]
    if added is not None:
        losses[:, n_drawn:] = losses_of(choosers, added, horizon)
    return gaps, losses


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
        alike=world.alike,
        n_added=world.n_added + added,
        washout=world.washout,
        care=world.care,
    )


def choosers_for(collection: Collection, fallback: Fallback) -> tuple[Chooser, ...]:
    """The rivals of each kind's best arm where cases of a kind differ, and the hand-over.

    What a person would lose after a hand-over is taken to be what Thompson sampling loses.
    """
    names = collection.arms
    everyone = tuple(range(len(names))) if fallback.arm is None else (names.index(fallback.arm),)
    if not collection.varies or collection.spread is None:
        return (Chooser(everyone),)
    worth, sets = expected_worth(collection), list[Chooser]()
    decimals = 2 - int(np.floor(np.log10(_unit(collection))))
    for mean, spread, best in zip(collection.means, collection.spread, collection.best_arms, strict=True):
        reach = np.minimum(mean[best] - RIVALS * np.sqrt(spread**2 + spread[best] ** 2), np.sort(mean)[-2:].min())
        arms = np.flatnonzero(mean >= reach)
        if len(arms) > 1:
            rates = tuple(float(rate) for rate in mean[arms].round(decimals))
            sets.append(Chooser(tuple(arms.tolist()), rates, worth, fallback.odds))
    return (*dict.fromkeys(sets), Chooser(everyone))


def expected_worth(collection: Collection) -> int:
    """The rounds that the rate of a good arm (among the best fifth of its kind's) is worth to a case, in the middle."""
    assert collection.spread is not None
    spread = np.maximum(collection.spread, LEAST_SPREAD * np.sqrt(collection.rewards.variance_proxy))
    worth = np.maximum(collection.rewards.most_variance(collection.means) / spread**2 - 1.0, 1.0)
    good = collection.means >= np.quantile(collection.means, 0.8, axis=1, keepdims=True)
    return int(np.median(worth[good]).round())


def _scenarios(collection: Collection, parameters: FloatArray) -> Collection:
    """A collection of as many tasks as there are rows of parameters, all known exactly."""
    return with_parameters(collection, parameters, **_unnamed(len(parameters)))


def _unnamed(n: int) -> dict[str, Any]:
    names = tuple(f"scenario {number}" for number in range(1, n + 1))
    return {"tasks": names, "counts": None, "shares": None, "spread": None}
