"""What it costs to go on with a case while some of its outcomes are still awaited, against waiting for them.

Whoever waits gives in every round what all outcomes so far lead to, and loses what the certificate says. Whoever gives
one more round now gives the option in hand. That is the same option unless the awaited outcomes lead to a line with
another one; then the round is one of the old option too many, its outcome counts for nothing, and the rest of the plan
comes one round later. So in task i one more round now loses at most

    (chance in task i that they lead to another option) x (what a round of the option in hand costs in task i)

more than waiting. The chance is exact: the awaited outcomes are carried through the lines one by one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from banditree.certificates.outcomes import box_outcomes
from banditree.errors import InvalidInput
from banditree.plans.counts import Counting
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

MOST_OUT = 40  # At most this many rounds under way are carried through the lines; with more, the chance counts as 1.
KEPT = 4096  # This many answers are kept: cases stand in the same places again and again.
SLACK = 1e-9  # A total is compared with its threshold with this much rounding forgiven, as when a plan is followed.


class Place(NamedTuple):
    """Where a case stands, by the outcomes that are counted."""

    box: int
    pulls: int
    total: float


class UnderWay(NamedTuple):
    """A round whose outcome is not counted yet. reward: None where it is still out; NaN where it will never count."""

    arm: int
    reward: float | None = None


@dataclass(frozen=True)
class GoingOn:
    """What giving `arm` now, without the `n_out` outcomes still awaited, loses more than waiting, in the worst task.

    chance: that these lead to another option, in the task where that is likeliest. loss: at most; about, where
    the rates are estimates.
    """

    n_out: int
    arm: int
    chance: float
    loss: float
    at_estimates: bool


class WaitingCosts:
    """What going on costs at every place of a plan.

    >>> from banditree import ByOutcome, Give, Line, Score, make_plan
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> count = Score(ByOutcome((-1, 1)), floor=1, ceil=3)
    >>> switch = [Line(Give("A"), count, below=Line(Give("B")), above=Line(Give("A")))]
    >>> costs = WaitingCosts(make_plan(switch, two, horizon=100), two)
    >>> found = costs.of(Place(0, 0, 0.0), (UnderWay(0),))  # a failure leads to B; where B is better, A costs 0.3
    >>> round(found.chance, 2), round(found.loss, 2)
    (0.7, 0.21)
    """

    def __init__(self, plan: Plan, collection: Collection) -> None:
        if plan.theta is not None or collection.theta is not None:
            raise InvalidInput("What waiting costs is not worked out for plans that look at a context. Simulate both.")
        sure = replace(collection, radius=np.zeros(())) if collection.is_estimated else collection
        self.machine, self.at_estimates = machine_of(plan), collection.is_estimated
        outcomes = box_outcomes(plan, sure)
        self.chance, self.cost, self.is_known = outcomes.most, outcomes.cost, not outcomes.reasons
        self.values = sure.rewards.support
        self.of_values = sure.rewards.outcome_chances(sure.parameters) if self.values else None
        self._known = lru_cache(maxsize=KEPT)(self._work_out)

    def of(self, place: Place, under_way: tuple[UnderWay, ...]) -> GoingOn | None:
        """What one more round costs now; None where what was learned or a person chooses."""
        fixed = self.machine.kind[place.box] == Counting.FIXED
        return self._known(place if fixed else place._replace(pulls=0), under_way)

    def _work_out(self, place: Place, under_way: tuple[UnderWay, ...]) -> GoingOn | None:
        arm = int(self.machine.arm[place.box])
        if arm < 0:
            return None
        n_out = sum(entry.reward is None for entry in under_way)
        chance = self._elsewhere(place, under_way, arm)
        loss = float((chance * self.cost[:, place.box]).max())
        return GoingOn(n_out, arm, float(chance.max()), loss, self.at_estimates)

    def _elsewhere(self, place: Place, under_way: tuple[UnderWay, ...], arm: int) -> FloatArray:
        """The chance (M,) that what is under way leads to another option."""
        M = len(self.cost)
        states = {place: np.ones(M)}
        for entry in under_way[:MOST_OUT] if self.machine.kind[place.box] != Counting.EXPLOIT else ():
            following: dict[Place, FloatArray] = {}
            for here, p in states.items():
                for there, q in self._after(here, entry):
                    following[there] = following.get(there, 0.0) + p * q
            states = following
        elsewhere = sum((p for here, p in states.items() if self.machine.arm[here.box] != arm), start=np.zeros(M))
        many = len(under_way) > MOST_OUT and self.machine.kind[place.box] != Counting.EXPLOIT
        return np.ones(M) if many or not self.is_known else np.minimum(elsewhere, 1.0)

    def _after(self, here: Place, entry: UnderWay) -> Iterator[tuple[Place, FloatArray | float]]:
        """Where the outcome of a round leads from a place, with the chance (M,) of each."""
        machine, box = self.machine, here.box
        counts = machine.arm[box] == entry.arm and entry.reward == entry.reward
        if not counts or machine.kind[box] == Counting.EXPLOIT:
            yield here, 1.0
        elif machine.kind[box] == Counting.FIXED:
            yield from self._after_one_of_many(here, entry)
        elif entry.reward is not None:
            bin_ = int(np.searchsorted(machine.cuts[box], entry.reward, side="left"))
            yield self._scored(here, int(machine.points[box, bin_])), 1.0
        else:
            for bin_, points in enumerate(machine.points[box].tolist()):
                yield self._scored(here, points), self.chance[:, box, bin_]

    def _scored(self, here: Place, points: int) -> Place:
        machine, box, total = self.machine, here.box, here.total + points
        if machine.cap[box] > 0:
            total = min(total, float(machine.cap[box]))
        if machine.kind[box] == Counting.SCORE and total >= machine.ceil[box]:
            return Place(int(machine.high[box]), 0, 0.0)
        return Place(int(machine.low[box]), 0, 0.0) if total <= -machine.floor[box] else Place(box, 0, total)

    def _after_one_of_many(self, here: Place, entry: UnderWay) -> Iterator[tuple[Place, FloatArray | float]]:
        """One round of a fixed number."""
        machine, box, pulls = self.machine, here.box, here.pulls + 1
        done = pulls == machine.pulls[box]
        if entry.reward is None and self.of_values is None:  # any total is possible: the worse end counts
            other = next(
                (side for side in machine.links[box] if machine.arm[side] != machine.arm[box]), machine.links[box][0]
            )
            yield Place(other, 0, 0.0) if done else Place(box, pulls, here.total), 1.0
            return
        for value, chance in self._values(entry):
            total = here.total + value
            side = machine.low if total <= machine.threshold[box] + SLACK else machine.high
            yield Place(int(side[box]), 0, 0.0) if done else Place(box, pulls, total), chance

    def _values(self, entry: UnderWay) -> Iterator[tuple[float, FloatArray | float]]:
        """The outcomes that a round may have, with the chance (M,) of each."""
        if entry.reward is not None:
            yield entry.reward, 1.0
        elif self.of_values is not None:
            yield from zip(self.values, self.of_values[:, :, entry.arm], strict=True)
