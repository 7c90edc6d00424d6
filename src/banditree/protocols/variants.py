"""Other protocols near a given one: a line less, two lines more, no rule.

Each is made from the draft of the given protocol by a short search of its own, and judged as `protocols.judging` says.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.words import Vocabulary
from banditree.progress import Clock, OnProgress
from banditree.protocols.care import NO_CARE, Care
from banditree.protocols.defaults import default_path, default_steps
from banditree.protocols.judging import Judged, judge, loses, lost
from banditree.protocols.objectives import Limits, Objective
from banditree.protocols.reading import among, plan_of, scorings_of
from banditree.protocols.worlds import World, known_world, with_scenarios
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from banditree.protocols.draft import Draft
    from banditree.protocols.tables import Tables

ITSELF = "this plan"
LESS, MORE, NO_RULE, NOTHING = "one line less", "up to two lines more", "no safety rule", "one arm for everyone"
ALL = (LESS, MORE, NO_RULE, NOTHING)
SHARE = 0.05  # The short search for one variant takes this share of the steps of a whole search.


class Variant(NamedTuple):
    """A plan beside the one that was built, what makes it another, and its numbers."""

    name: str
    plan: Plan
    certificate: Judged


@dataclass(eq=False)
class Nearby:
    """A protocol with the draft it was made of, and others near it: found by short searches when they are asked for,
    and remembered.

    objective, care, longest_path, steps, seconds: as the protocol was searched for. draft: None without lines. known:
    the others that were found, by name. stopped: whether a search was.
    """

    plan: Plan
    draft: "Draft | None"
    collection: Collection
    objective: Objective = Objective.WORST
    care: Care = NO_CARE
    longest_path: int | None = None
    steps: int | None = None
    seconds: float | None = None
    on_progress: OnProgress | None = None
    known: "dict[str, Nearby]" = field(default_factory=dict)
    stopped: bool = False

    def others(self, names: tuple[str, ...]) -> "Iterator[tuple[str, Nearby]]":
        """The others of these names, each when it is found; none beside a plan that tries nothing, has contexts, or at
        whose ends others choose."""
        plan, searched = self.plan, False
        by_others = plan.fallback is not None or plan.outcomes_choose
        if plan.n_tests == 0 or self.collection.theta is not None or by_others or self.draft is None:
            return
        for name in names:
            if (name == LESS and plan.n_tests < 2) or (name == NO_RULE and plan.rule is None):
                continue
            if name not in self.known:
                self.known[name], searched = self._named(name), True
            yield name, self.known[name]
        if searched and self.stopped:
            self.known.clear()  # who stopped a search may ask for all of it later
            self.stopped = False

    def _named(self, name: str) -> "Nearby":
        """The best that a short search finds."""
        if name == NOTHING:
            return self.of(self.nothing)
        lines = self.limits.lines + {LESS: -1, MORE: 2, NO_RULE: 0}[name]
        rule = self.limits.rule and name != NO_RULE
        longest = self.longest_path or self.longest_near
        return self.of(self._searched(self.start, replace(self.limits, longest_path=longest, lines=lines, rule=rule)))

    def shorter(self, draft: "Draft", lines: int) -> "Draft":
        """The best draft of N lines that a short search from a longer one finds."""
        longest = self.longest_path or self.longest_near
        return self._searched(draft, replace(self.limits, longest_path=longest, lines=lines))

    def of(self, draft: "Draft") -> "Nearby":
        """The plan of another draft, and what is near that."""
        made_for = (self.collection, self.plan.horizon, self.seed, Vocabulary())
        plan = plan_of(draft, *made_for, members=self.world.by_task)
        return replace(self, plan=plan, draft=draft, known={}, stopped=False)

    @property
    def seed(self) -> int:
        """What the search for the plan began with."""
        return self.plan.origin.seed or 0

    @property
    def leads_back(self) -> bool:
        """Whether a line of the plan leads to one above it, other than the first."""
        return any(0 < child <= box for box, children in enumerate(self.plan.links) for child in children)

    @property
    def longest_near(self) -> int | None:
        """How long paths of plans near this one may be, if nothing else is said; None: as long as they like."""
        return None if self.leads_back else max(self.plan.depth, default_path(self.collection))

    @cached_property
    def world(self) -> World:
        """The rates as they are given, and those in their intervals at which tasks are hardest to tell apart."""
        from banditree.protocols.scenarios import hardest_parameters

        world = known_world(self.collection, self.seed)
        if self.collection.is_estimated:
            world = with_scenarios(world, hardest_parameters(self.collection))
        return replace(world, washout=self.plan.washout, care=self.care)

    @cached_property
    def tables(self) -> "Tables":
        """The lines that are looked at."""
        from banditree.protocols.tables import build_tables

        assert self.draft is not None
        return build_tables(self.world, self.plan.horizon, more=scorings_of(self.draft))

    @cached_property
    def start(self) -> "Draft":
        """The draft of the plan, among these lines."""
        assert self.draft is not None
        return among(self.draft, self.tables, self.leads_back)

    @property
    def limits(self) -> Limits:
        """What the plan itself keeps to."""
        plan = self.plan
        restarts = plan.rule is not None or any(0 in children for children in plan.links)
        return Limits(plan.n_tests, None, plan.rule is not None, restarts, self.leads_back)

    @property
    def nothing(self) -> "Draft":
        """The draft that gives one arm to everyone, the one that loses least.

        A search for the worst task begins with the least power mean, which is not always that one."""
        from banditree.protocols.draft import empty_draft
        from banditree.protocols.moves import Moves

        if self.objective is Objective.MEAN:
            power, seed = self.objective.power, self.seed
            return Moves(self.tables, self.world, self.limits, power=power, seed=seed, steps=1).nothing
        alone = self.tables.ends.cost[: self.tables.n_arms]
        return empty_draft(
            self.tables,
            int(np.array([self.world.parts(one).max(axis=1).sum() for one in alone]).argmin()),
            self.leads_back,
        )

    def _searched(self, draft: "Draft", limits: Limits) -> "Draft":
        from banditree.protocols.draft import NO_RULE
        from banditree.protocols.moves import Moves
        from banditree.protocols.search import search_from
        from banditree.protocols.simplify import simplified

        steps = max(1, int(SHARE * (self.steps or default_steps(self.collection))))
        moves = Moves(
            self.tables,
            self.world,
            limits,
            power=self.objective.power,
            seed=self.seed,
            steps=steps,
            on_progress=self.on_progress,
            clock=None if self.seconds is None else Clock(SHARE * self.seconds, steps=steps),
        )
        best = search_from(moves, draft if limits.rule else draft.with_rule(NO_RULE))
        moves.last += steps
        found = simplified(moves, best)
        self.stopped = self.stopped or moves.stopped_early
        return found


def variants(near: Nearby) -> list[Variant]:
    """The plan itself, and what one line less, two lines more and no safety rule would give.

    near: what `find_protocol` found. Nothing is beside a plan that tries nothing, or at whose ends others choose.
    """
    plan, collection, objective = near.plan, near.collection, near.objective
    itself = Variant(ITSELF, plan, judge(plan, collection))
    found = [itself]
    for name, other in near.others((LESS, MORE, NO_RULE)):
        variant = itself._replace(name=name)  # two lines more that are not used, or of no use, are the plan itself
        if name != MORE or other.plan.n_tests > plan.n_tests:
            try:
                judged = judge(other.plan, collection)
            except InvalidInput:  # what cannot be certified is not shown
                continue
            if name != MORE or lost(judged, objective) <= lost(itself.certificate, objective):
                variant = Variant(name, other.plan, judged)
        found.append(variant)
    return found


def settled(near: Nearby, *, thorough: bool) -> Nearby:
    """The plan, or what `variants` shows beside it if that is no longer and loses less, again and again.

    What is printed under a plan is thereby never a shorter plan that loses less. thorough: look also at what two lines
    more may lead to, and at giving one arm to everyone.
    """

    def rank(one: Nearby) -> tuple[float, float]:
        return loses(one.plan, one.collection, one.objective), reading_load(one.plan)

    reached = rank(near)
    while reached[0] < math.inf:  # what cannot be certified is compared with nothing
        others = near.others(ALL if thorough else (LESS, NO_RULE))
        ranked = [(rank(other), other) for _name, other in others if other.plan.n_tests <= near.plan.n_tests]
        better = [one for one in ranked if one[0] < reached]
        if not better:
            break
        reached, near = min(better, key=lambda one: one[0])
    return near
