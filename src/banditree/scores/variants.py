"""Other protocols near a given one: a line less, two lines more, no rule.

Each is made from the given protocol by a short search of its own, and certified as every plan is.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from banditree.certificates.certify import Certificate, certify
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load
from banditree.progress import OnProgress
from banditree.scores.defaults import default_path, default_steps
from banditree.scores.objectives import Limits, Objective, objective_named
from banditree.scores.reading import draft_of, plan_of, scorings_of
from banditree.scores.worlds import known_world, with_scenarios
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from banditree.scores.draft import Draft
    from banditree.scores.tables import Tables

LESS, MORE, NO_RULE, NOTHING = "one line less", "two lines more", "no safety rule", "one arm for everyone"
ALL = (LESS, MORE, NO_RULE, NOTHING)
SHARE = 0.05  # The short search for one variant takes this share of the steps of a whole search.


class Variant(NamedTuple):
    """A plan beside the one that was built, what makes it another, and its certificate."""

    name: str
    plan: Plan
    certificate: Certificate


def lost(certificate: Certificate, objective: Objective | str = Objective.WORST) -> float:
    """What a plan loses by the objective it was made for: in the worst task, or on average."""
    worst = objective_named(objective) is Objective.WORST
    return certificate.worst_regret if worst else certificate.mean_regret


def variants(plan: Plan, collection: Collection, **options: Any) -> list[Variant]:
    """What one line less, two lines more and no safety rule would give; empty for a plan that tries nothing, or
    at whose ends others choose.

    plan: a protocol with round numbers that was made for the collection. options: objective, longest_path, steps and
    on_progress, as they were given to `build_protocol`.
    """
    objective = options.get("objective") or Objective.WORST
    itself, found = certify(plan, collection), []
    for variant in _variants(plan, collection, (LESS, MORE, NO_RULE), **options):
        unused = variant.name == MORE and (
            variant.plan.n_tests <= plan.n_tests or lost(variant.certificate, objective) > lost(itself, objective)
        )
        found.append(Variant(MORE, plan, itself) if unused else variant)
    return found


def _variants(
    plan: Plan,
    collection: Collection,
    names: tuple[str, ...],
    *,
    objective: Objective | str | None = None,
    longest_path: int | None = None,
    steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Variant]:
    """The variants of these names, each when it is found."""
    by_others = plan.fallback is not None or plan.by_thompson.any()
    if plan.n_tests == 0 or collection.theta is not None or by_others:  # nothing is sought beside such a plan yet
        return
    near = Nearby(plan, collection, objective or Objective.WORST, on_progress, steps)
    allowed = replace(near.limits, longest_path=longest_path or near.longest_path)
    limits = {
        LESS: replace(allowed, lines=plan.n_tests - 1) if plan.n_tests > 1 else None,
        MORE: replace(allowed, lines=plan.n_tests + 2),
        NO_RULE: replace(allowed, lines=plan.n_tests, rule=False) if plan.rule is not None else None,
    }
    for name in names:
        wanted = limits.get(name)
        if wanted is not None or name == NOTHING:
            other = near.as_plan(near.nothing) if wanted is None else near.plan(near.draft, wanted)
            yield Variant(name, other, certify(other, collection))


def settled(plan: Plan, collection: Collection, *, thorough: bool, **options: Any) -> Plan:
    """The plan, or what `variants` shows beside it if that is no longer and loses less, again and again.

    What is printed under a plan is thereby never a shorter plan that loses less. thorough: look at all of the variants,
    and at giving one arm to everyone; otherwise at a line less. options: of `variants`.
    """
    objective = options.get("objective") or Objective.WORST

    def rank(certificate: Certificate, plan: Plan) -> tuple[float, float]:
        return lost(certificate, objective), reading_load(plan)

    with suppress(InvalidInput):  # what cannot be certified is not shown either
        reached = rank(certify(plan, collection), plan)
        while True:
            near = _variants(plan, collection, ALL if thorough else (LESS,), **options)
            ranked = [(rank(certificate, other), other) for _name, other, certificate in near]
            better = [one for one in ranked if one[0] < reached and one[1].n_tests <= plan.n_tests]
            if not better:
                break
            reached, plan = min(better, key=lambda one: one[0])
    return plan


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
        from banditree.scores.scenarios import hardest_parameters
        from banditree.scores.tables import build_tables

        self.collection, self.horizon, self.seed = collection, plan.horizon, plan.seed or 0
        self.objective, self.on_progress = objective_named(objective), on_progress
        self.steps = max(1, int(SHARE * (steps or default_steps(collection))))
        self.world = known_world(collection, self.seed)
        if collection.is_estimated:
            self.world = with_scenarios(self.world, hardest_parameters(collection))
        self.tables: Tables = build_tables(self.world, plan.horizon, more=scorings_of(plan))
        back = any(0 < child <= box for box, children in enumerate(plan.links) for child in children)
        restarts = plan.rule is not None or any(0 in children for children in plan.links)
        self.limits = Limits(plan.n_tests, None, plan.rule is not None, restarts, back)
        self.draft: Draft = draft_of(plan, self.tables, back)
        self.longest_path = None if back else max(plan.depth, default_path(collection))

    def plan(self, draft: "Draft", limits: Limits) -> Plan:
        """The best plan within other limits that a short search from a draft finds."""
        return self.as_plan(self._searched(draft, limits))

    def shorter(self, draft: "Draft", lines: int) -> "Draft | None":
        """The best draft of so many lines that a short search from a longer one finds."""
        return self._searched(draft, replace(self.limits, lines=lines))

    def as_plan(self, draft: "Draft") -> Plan:
        """The draft as a plan."""
        from banditree.plans.plan import Vocabulary

        made_for = (self.collection, self.horizon, self.seed, Vocabulary())
        return plan_of(draft, *made_for, members=self.world.by_task)

    @property
    def nothing(self) -> "Draft":
        """The draft that gives one arm to everyone."""
        from banditree.scores.moves import Moves

        return Moves(self.tables, self.world, self.limits, power=self.objective.power, seed=self.seed, steps=1).nothing

    def _searched(self, draft: "Draft", limits: Limits) -> "Draft":
        from banditree.scores.draft import NO_RULE
        from banditree.scores.moves import Moves
        from banditree.scores.search import search_from
        from banditree.scores.simplify import simplified

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
        return simplified(moves, best)
