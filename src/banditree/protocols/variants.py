"""Other protocols near a given one: a line less, two lines more, no rule.

Each is made from the given protocol by a short search of its own, and judged as `protocols.judging` says.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.words import Vocabulary
from banditree.progress import OnProgress
from banditree.protocols.defaults import default_path, default_steps
from banditree.protocols.judging import Judged, judge, loses, lost
from banditree.protocols.objectives import Limits, Objective, objective_named
from banditree.protocols.reading import draft_of, plan_of, scorings_of
from banditree.protocols.worlds import known_world, with_scenarios
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


def variants(plan: Plan, collection: Collection, **options: Any) -> list[Variant]:
    """The plan itself, and what one line less, two lines more and no safety rule would give; nothing is beside a plan
    that tries nothing, or at whose ends others choose.

    plan: a protocol with round numbers that was made for the collection. options: objective, longest_path, steps and
    on_progress, as they were given to `build_protocol`.
    """
    objective = options.get("objective") or Objective.WORST
    itself = Variant(ITSELF, plan, judge(plan, collection))
    found = [itself]
    for name, other in _others(plan, collection, (LESS, MORE, NO_RULE), **options):
        variant = itself._replace(name=name)  # two lines more that are not used, or of no use, are the plan itself
        if name != MORE or other.n_tests > plan.n_tests:
            try:
                judged = judge(other, collection)
            except InvalidInput:  # what cannot be certified is not shown
                continue
            if name != MORE or lost(judged, objective) <= lost(itself.certificate, objective):
                variant = Variant(name, other, judged)
        found.append(variant)
    return found


def _others(
    plan: Plan,
    collection: Collection,
    names: tuple[str, ...],
    *,
    objective: Objective | str | None = None,
    longest_path: int | None = None,
    steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[tuple[str, Plan]]:
    """The plans of these names, each when it is found."""
    by_others = plan.fallback is not None or plan.outcomes_choose
    if plan.n_tests == 0 or collection.theta is not None or by_others:  # nothing is sought beside such a plan yet
        return
    objective = objective_named(objective or Objective.WORST)
    longest_path = longest_path or longest_path_near(plan, collection)
    known, near = _known_others(collection, _content(plan), objective, longest_path, steps), None
    for name in names:
        if (name == LESS and plan.n_tests < 2) or (name == NO_RULE and plan.rule is None):
            continue
        if name not in known:
            near = near or Nearby(plan, collection, objective, on_progress, steps)
            known[name] = near.named(name, longest_path)
        yield name, known[name]
    if near is not None and near.stopped:
        known.clear()  # who stopped a search may ask for all of it later


@lru_cache(maxsize=8)  # What a plan was compared with is shown beside it a moment later.
def _known_others(*_asked: Any) -> dict[str, Plan]:
    """The plans near another that are known already, by name; to be added to."""
    return {}


def _content(plan: Plan) -> tuple[Any, ...]:
    """What makes a protocol the same for a search, whatever its words."""
    return plan.lines, plan.rule, plan.horizon, plan.origin.seed


def settled(plan: Plan, collection: Collection, *, thorough: bool, **options: Any) -> Plan:
    """The plan, or what `variants` shows beside it if that is no longer and loses less, again and again.

    What is printed under a plan is thereby never a shorter plan that loses less. thorough: look also at what two lines
    more may lead to, and at giving one arm to everyone. options: of `variants`.
    """
    objective = options.get("objective") or Objective.WORST

    def rank(plan: Plan) -> tuple[float, float]:
        return loses(plan, collection, objective), reading_load(plan)

    reached = rank(plan)
    while reached[0] < math.inf:  # what cannot be certified is compared with nothing
        near = _others(plan, collection, ALL if thorough else (LESS, NO_RULE), **options)
        ranked = [(rank(other), other) for _name, other in near if other.n_tests <= plan.n_tests]
        better = [one for one in ranked if one[0] < reached]
        if not better:
            break
        reached, plan = min(better, key=lambda one: one[0])
    return plan


def longest_path_near(plan: Plan, collection: Collection) -> int | None:
    """How long paths of plans near this one may be, if nothing else is said; None: as long as they like."""
    return None if _leads_back(plan) else max(plan.depth, default_path(collection))


def _leads_back(plan: Plan) -> bool:
    return any(0 < child <= box for box, children in enumerate(plan.links) for child in children)


class Nearby:
    """Short searches from the draft of a protocol."""

    def __init__(
        self,
        plan: Plan,
        collection: Collection,
        objective: Objective | str,
        on_progress: OnProgress | None,
        steps: int | None = None,
    ) -> None:
        from banditree.protocols.care import care_beyond
        from banditree.protocols.scenarios import hardest_parameters
        from banditree.protocols.tables import build_tables

        self.collection, self.horizon, self.seed = collection, plan.horizon, plan.origin.seed or 0
        self.objective, self.on_progress, self.stopped = objective_named(objective), on_progress, False
        self.steps = max(1, int(SHARE * (steps or default_steps(collection))))
        self.world = known_world(collection, self.seed)
        if collection.is_estimated:
            self.world = with_scenarios(self.world, hardest_parameters(collection))
        self.world = replace(self.world, washout=plan.washout)
        back, build = _leads_back(plan), partial(build_tables, self.world, plan.horizon, more=scorings_of(plan))
        self.tables: Tables = build()
        if extra := self.objective.extra:
            usual = self.world.by_group(draft_of(plan, self.tables, back).regret).max()
            self.tables = build(care=care_beyond(float(usual), extra))
        restarts = plan.rule is not None or any(0 in children for children in plan.links)
        self.limits = Limits(plan.n_tests, None, plan.rule is not None, restarts, back)
        self.draft: Draft = draft_of(plan, self.tables, back)

    def named(self, name: str, longest_path: int | None) -> Plan:
        """The plan of one of the names, the best that a short search finds."""
        if name == NOTHING:
            return self.as_plan(self.nothing)
        allowed = replace(self.limits, longest_path=longest_path)
        lines = self.limits.lines + {LESS: -1, MORE: 2, NO_RULE: 0}[name]
        return self.as_plan(self._searched(self.draft, replace(allowed, lines=lines, rule=self._has_rule(name))))

    def _has_rule(self, name: str) -> bool:
        return self.limits.rule and name != NO_RULE

    def shorter(self, draft: "Draft", lines: int) -> "Draft | None":
        """The best draft of N lines that a short search from a longer one finds."""
        return self._searched(draft, replace(self.limits, lines=lines))

    def as_plan(self, draft: "Draft") -> Plan:
        """The draft as a plan."""
        made_for = (self.collection, self.horizon, self.seed, Vocabulary())
        return plan_of(draft, *made_for, members=self.world.by_task)

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
        return empty_draft(self.tables, int(alone.max(axis=1).argmin()), self.limits.links_back)

    def _searched(self, draft: "Draft", limits: Limits) -> "Draft":
        from banditree.protocols.draft import NO_RULE
        from banditree.protocols.moves import Moves
        from banditree.protocols.search import search_from
        from banditree.protocols.simplify import simplified

        moves = Moves(
            self.tables,
            self.world,
            limits,
            power=self.objective.power,
            seed=self.seed,
            steps=self.steps,
            on_progress=self.on_progress,
        )
        best = search_from(moves, draft if limits.rule else draft.with_rule(NO_RULE))
        moves.last += self.steps
        found = simplified(moves, best)
        self.stopped = self.stopped or moves.stopped_early
        return found
