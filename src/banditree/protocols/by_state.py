"""Protocols with states: lines that treat a case as a kind, by a rule by state, and score by two tables."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

from banditree.certificates.certify import Certificate, certify
from banditree.errors import InvalidInput, PlanWarning, invalid
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import NONE, TreatByState
from banditree.plans.line import Exit, Line
from banditree.plans.plan import Origin, Plan, make_plan
from banditree.plans.words import Vocabulary
from banditree.progress import Clock, OnProgress
from banditree.protocols.defaults import LINES_PER_TASK
from banditree.protocols.leader import build_leader
from banditree.protocols.objectives import Objective
from banditree.protocols.settings import MOST_STEPS, PlanSettings
from banditree.protocols.state_tables import UNITS, Way, first_lines, ways_of, world_of
from banditree.tasks.arrays import IntArray
from banditree.tasks.optimal_states import Optimal, optimal
from banditree.tasks.states import StateCollection
from banditree.theory.by_state import alike_of, evidence_along, hard_states_of

STEPS_PER_TASK = 1500  # Of a search by default, for each of the two units of points.
WORTH_TALLIES = 0.75  # Tallies of all kinds ask for more at every round than lines: they must lose less by a quarter.
REMEMBER = "remember"  # The method of plans that keep tallies for all kinds.
USES = ("objective", "lines", "forward_only", "steps", "seconds", "seed")  # What may be asked of such a plan.


def build_by_state(
    collection: StateCollection,
    horizon: int,
    method: str | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Plan:
    """The best protocol that the search finds for a collection with states.

    method: "protocol" for lines, "remember" for tallies of all kinds; by default lines, unless tallies lose less than
    three quarters as much. options: objective (worst or mean), lines (at most 1.5 per task by default), forward_only,
    steps or seconds, and seed; with lines or forward_only the default is lines.

    >>> from banditree.tasks.state_instances import rand_states
    >>> plan = build_by_state(rand_states(2, 2, 2), 200, steps=30)
    >>> plan.states, plan.origin.method
    (('state 1', 'state 2'), 'protocol')
    """
    if method == REMEMBER:
        _settings(horizon, "protocol", options)
        _warn(collection, horizon, optimal(collection, horizon))
        return replace(build_leader(collection, horizon)[1], vocabulary=vocabulary or Vocabulary())
    how = _settings(horizon, method, options)
    known = optimal(collection, horizon)
    steps = how.steps or (STEPS_PER_TASK * collection.n_tasks * len(UNITS) if how.seconds is None else MOST_STEPS)
    seconds = None if how.seconds is None else how.seconds / len(UNITS)
    found: list[tuple[float, Plan]] = []
    for number, unit in enumerate(UNITS):
        asked = Asked(collection, horizon, known, unit, how, -(-steps // len(UNITS)), number)
        found.append(_searched(asked, on_progress if seconds is None else _ending(seconds, on_progress)))
        if steps == 1:
            break
    lost, plan = min(found, key=lambda one: one[0])
    _warn(collection, horizon, known)
    origin = Origin("protocol", seed=how.seed)
    if method is None and how.lines is None and not how.forward_only:
        losses, remembering = build_leader(collection, horizon)
        tallied = collection.weights @ losses if how.objective is Objective.MEAN else losses.max()
        if tallied < WORTH_TALLIES * lost:
            plan, origin = remembering, remembering.origin
    if how.seconds is not None:
        origin = origin.timed(how.seconds)
    return replace(plan, vocabulary=vocabulary or Vocabulary(), origin=origin)


def _ending(seconds: float, on_progress: OnProgress | None) -> OnProgress:
    clock = Clock(seconds)
    clock.begin()
    return clock.ending(on_progress)


def _warn(collection: StateCollection, horizon: int, known: Optimal) -> None:
    """Say where a plan cannot promise much."""
    for one in hard_states_of(collection, horizon, known)[:1]:
        warnings.warn(
            f"The state {collection.states[one.state]!r} is hard to leave in {collection.tasks[one.task]!r}: a case "
            f"that a wrong option leads there loses up to {one.cost:,.0f}. banditree analyze names all such states.",
            PlanWarning,
            stacklevel=4,
        )
    for pair in alike_of(collection, horizon, known)[:1]:
        warnings.warn(
            f"Cases of {collection.tasks[pair.task]!r} that are treated as {collection.tasks[pair.treated]!r} look "
            f"like them and lose up to {pair.cost:,.0f}. banditree analyze names all such pairs.",
            PlanWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class Asked:
    """What one search is about; number: which of the searches it is."""

    collection: StateCollection
    horizon: int
    best: Optimal
    unit: float
    how: PlanSettings
    steps: int
    number: int


def _settings(horizon: int, method: str | None, options: dict[str, Any]) -> PlanSettings:
    if method not in (None, "protocol"):
        raise invalid("method", '"protocol" or "remember" for a collection with states', method)
    given = {name: value for name, value in options.items() if value is not None}
    how = PlanSettings(horizon=horizon, **given)
    if others := [name for name in how.changed if name not in (*USES, "horizon", "method")]:
        raise InvalidInput(
            f"{others[0]} must be omitted with states. A plan with states may be asked for {', '.join(USES)}."
        )
    if how.objective is Objective.UNLUCKY:
        raise invalid("objective", "worst or mean for a collection with states", str(how.objective))
    return how


def _lost(certificate: Certificate, objective: Objective | None) -> float:
    return certificate.mean_regret if objective is Objective.MEAN else certificate.worst_regret


def _searched(asked: Asked, on_progress: OnProgress | None) -> tuple[float, Plan]:
    """What is lost, and the plan that one search finds."""
    from banditree.protocols.state_search import EVEN, WORST, Budget, StateSearch

    collection, how = asked.collection, asked.how
    M = collection.n_tasks
    ways = ways_of(collection, asked.best.options, asked.horizon, asked.unit)
    if all(way.task == NONE for way in ways):
        return _one_rule(asked)
    world = world_of(collection, asked.best.options, asked.horizon)
    budget = Budget(asked.steps, on_progress, asked.number * asked.steps, len(UNITS) * asked.steps)
    draft = StateSearch(
        world,
        first_lines(world, ways),
        budget,
        most_lines=how.lines or int(LINES_PER_TASK * M),
        seed=how.seed + 1000 * asked.number,
        power=EVEN if how.objective is Objective.MEAN else WORST,
        restarts=not how.forward_only,
    ).run()
    lines = draft.lines
    written = [
        _line(asked, lines.way[e], (int(lines.floor[e]), int(lines.ceil[e]), int(lines.cap[e])), ends)
        for e, ends in zip(draft.chosen, zip(draft.low.tolist(), draft.high.tolist(), strict=True), strict=True)
    ]
    plan = make_plan(written, collection, asked.horizon)
    loss, (alone, one) = _lost(certify(plan, collection), how.objective), _one_rule(asked)
    return (loss, plan) if loss < alone else (alone, one)


def _rule(asked: Asked, task: int) -> TreatByState:
    return _giving(asked.collection, asked.collection.tasks[task], asked.best.options[task])


def _giving(known: StateCollection, task: str | None, options: IntArray) -> TreatByState:
    return TreatByState(task, known.states, tuple(known.arms[k] for k in options))


def _one_rule(asked: Asked) -> tuple[float, Plan]:
    """Treating everyone as the kind by which least is lost, and what that loses."""
    known = asked.collection
    lost = evidence_along(known, asked.horizon, asked.best)[1]
    by_kind = known.weights @ lost if asked.how.objective is Objective.MEAN else lost.max(axis=0)
    best = int(by_kind.argmin())
    return float(by_kind[best]), make_plan([Line(_rule(asked, best))], known, asked.horizon)


def _line(asked: Asked, way: Way, levels: tuple[int, int, int], leads: tuple[int, int]) -> Line:
    from banditree.protocols.state_values import FIRST_END

    def exit_to(target: int) -> Exit:
        if target <= FIRST_END:
            return Line(_rule(asked, FIRST_END - target))
        return max(target, 0) + 1

    floor, ceil, cap = levels
    task = None if way.task == NONE else asked.collection.tasks[way.task]
    gives = _giving(asked.collection, task, way.options)
    if ceil:
        return Line(gives, Score(way.table, floor, ceil), exit_to(leads[0]), exit_to(leads[1]))
    return Line(gives, Watch(way.table, floor, cap), exit_to(leads[0]))
