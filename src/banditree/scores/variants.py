"""Other protocols near a given one: a line less, two lines more, no rule; and the whole front from one line up.

Each is made from the given protocol by a short search of its own, and certified as every plan is.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load
from banditree.progress import OnProgress
from banditree.scores.objectives import Limits, Objective, objective_named
from banditree.scores.protocol import build_protocol, default_path, default_steps
from banditree.scores.reading import draft_of, plan_of, scorings_of
from banditree.scores.worlds import known_world, with_scenarios
from banditree.tasks.collection import Collection

if TYPE_CHECKING:
    from banditree.scores.draft import Draft
    from banditree.scores.tables import Tables

SHARE = 0.05  # The short search for one variant takes this share of the steps of a whole search.
ALONE = 0.3  # The same where a variant is searched for by itself, for tasks with contexts.
SIZES = 10  # A front tries at most so many numbers of lines below that of its longest plan.


class Variant(NamedTuple):
    """A plan beside the one that was built, what makes it another, and its certificate."""

    name: str
    plan: Plan
    certificate: Certificate


def lost(certificate: Certificate, objective: Objective | str = Objective.WORST) -> float:
    """What a plan loses by the objective it was made for: in the worst task, or on average."""
    worst = objective_named(objective) is Objective.WORST
    return certificate.worst_regret if worst else certificate.mean_regret


def variants(
    plan: Plan,
    collection: Collection,
    *,
    objective: Objective | str = Objective.WORST,
    longest_path: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[Variant]:
    """What one line less, two lines more and no safety rule would give; empty for a plan that tries nothing, or
    at whose ends others choose.

    plan: a protocol with round numbers that was made for the collection.
    """
    by_others = plan.fallback is not None or plan.by_thompson.any()
    if plan.n_tests == 0 or collection.theta is not None or by_others:  # nothing is sought beside such a plan yet
        return []
    near = Nearby(plan, collection, objective, on_progress)
    allowed = replace(near.limits, longest_path=longest_path or near.longest_path)
    wanted = {"one line less": replace(allowed, lines=plan.n_tests - 1)} if plan.n_tests > 1 else {}
    wanted["two lines more"] = replace(allowed, lines=plan.n_tests + 2)
    if plan.rule is not None:
        wanted["no safety rule"] = replace(allowed, lines=plan.n_tests, rule=False)
    itself, found = certify(plan, collection), []
    for name, limits in wanted.items():
        other = near.plan(near.draft, limits)
        certificate = certify(other, collection)
        if limits.lines > plan.n_tests and lost(certificate, objective) > lost(itself, objective):
            other, certificate = plan, itself  # more lines may be left unused
        found.append(Variant(name, other, certificate))
    return found


def pareto_front(
    collection: Collection, horizon: int, *, on_progress: OnProgress | None = None, **options: Any
) -> list[Plan]:
    """The protocols that no other one beats in both reading load and loss, from "give A to everyone" up.

    options: of `build_protocol`, whose plan is the last of the front; shorter ones are made from it. The front has
    none of these that happens to lose less than that plan: whether a line less would do was found out with it.
    """
    objective = options.get("objective") or Objective.WORST
    rated = []
    for plan in shorter_and_shorter(collection, horizon, on_progress=on_progress, **options):
        with suppress(InvalidInput):  # one that cannot be certified is not offered
            rated.append((reading_load(plan), lost(certify(plan, collection), objective), plan))
    return _unbeaten(rated[:1] + [one for one in rated[1:] if one[1] > rated[0][1]])


def shorter_and_shorter(
    collection: Collection, horizon: int, *, on_progress: OnProgress | None = None, **options: Any
) -> Iterator[Plan]:
    """The protocol that `build_protocol` finds, then shorter ones made from it, each when it is found.

    The last one gives one arm to everyone.
    """
    longest = build_protocol(collection, horizon, on_progress=on_progress, **options)
    yield longest
    if longest.n_tests and collection.theta is not None:
        yield from _each_by_itself(collection, longest, on_progress, options)
    elif longest.n_tests:
        near = Nearby(longest, collection, options.get("objective") or Objective.WORST, on_progress)
        near.limits = replace(near.limits, longest_path=options.get("longest_path") or near.longest_path)
        draft = near.draft
        for lines in _sizes(longest.n_tests):
            shorter = near.shorter(draft, lines)
            if shorter is not None:
                draft = shorter
                yield replace(near.as_plan(draft), vocabulary=longest.vocabulary)
        yield replace(near.as_plan(near.nothing), vocabulary=longest.vocabulary)


def _each_by_itself(
    collection: Collection, longest: Plan, on_progress: OnProgress | None, options: dict[str, Any]
) -> Iterator[Plan]:
    """Shorter plans for tasks with contexts, each found by a search of its own, with fewer steps than the longest's."""
    steps = max(1, int(ALONE * (options.get("steps") or default_steps(collection))))
    for lines in _sizes(longest.n_tests):
        given = {**options, "lines": lines, "steps": steps}
        yield build_protocol(collection, longest.horizon, on_progress=on_progress, **given)


def _sizes(most: int) -> list[int]:
    """Numbers of lines below `most`, the largest first."""
    return sorted({int(n) for n in np.round(np.geomspace(1, most, SIZES + 1))} - {most}, reverse=True)


def _unbeaten(rated: list[tuple[float, float, Plan]]) -> list[Plan]:
    """The plans with a lower loss than all that are as easy to read, the easiest first."""
    front, best = [], np.inf
    for _load, loss, plan in sorted(rated, key=lambda one: one[:2]):
        if loss < best:
            front.append(plan)
            best = loss
    return front


class Nearby:
    """Short searches from the draft of a protocol."""

    def __init__(
        self, plan: Plan, collection: Collection, objective: Objective | str, on_progress: OnProgress | None
    ) -> None:
        from banditree.scores.scenarios import hardest_parameters
        from banditree.scores.tables import build_tables

        self.collection, self.horizon, self.seed = collection, plan.horizon, plan.seed or 0
        self.objective, self.on_progress = objective_named(objective), on_progress
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

        return plan_of(draft, self.collection, self.horizon, self.seed, Vocabulary())

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

        steps = max(1, int(SHARE * default_steps(self.collection)))
        moves = Moves(
            self.tables,
            self.world,
            limits,
            power=self.objective.power,
            seed=self.seed,
            steps=steps,
            on_progress=self.on_progress,
        )
        best = search_from(moves, draft if limits.rule else draft.with_rule(NO_RULE))
        moves.last += steps
        return simplified(moves, best)
