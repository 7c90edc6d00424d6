"""Substitutes: what each line gives to a case that must not have its arm."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from banditree.certificates.certify import certify
from banditree.certificates.missing import without_arms
from banditree.errors import InvalidInput
from banditree.plans.gives import Give, Gives
from banditree.plans.line import Exit, Line
from banditree.plans.plan import Plan
from banditree.protocols.objectives import Objective, objective_named
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

END = -1  # In place of the number of a line: the end at which the arm is given for good.
PASSES = 1  # Each line is looked at once, for time: whether a second look gains anything was not measured.
TRIED = 4  # This many arms are tried on each line, those with the highest means for the cases that come there.


def with_substitutes(plan: Plan, collection: Collection, objective: Objective | str = Objective.WORST) -> Plan:
    """The plan in which every line names what to give where its arm is not possible.

    For each arm in turn, the substitutes that lose least where it is missing, against the best arm that is left: in
    the worst task, or on average. They begin as the arms that are best for the cases that come to a line, and are
    changed one by one for as long as less is lost.

    >>> three = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
    >>> from banditree.plans.plan import make_plan
    >>> with_substitutes(make_plan([Line(Give("A"))], three, 100), three).lines[0].gives.names
    'A, or B where A is not possible'
    """
    if plan.theta is not None or plan.outcomes_choose:
        raise InvalidInput("Substitutes are for plans without contexts, at whose ends nobody else chooses.")
    entered = certify(plan, collection, must_rest=False).entered
    visits = np.ones((collection.n_tasks, plan.n_boxes)) if entered is None else entered
    weights = visits * collection.weights[:, None]
    kind = objective_named(objective)
    for arm in plan.arms:
        places = [place for place in range(END, len(plan.lines)) if _gives_at(plan, place, arm)]
        if places and len(plan.arms) > 1:
            plan = _chosen(plan, arm, places, collection, weights, kind)
    return plan


def _chosen(
    plan: Plan, arm: str, places: list[int], collection: Collection, weights: FloatArray, objective: Objective
) -> Plan:
    """The plan with the substitutes of one arm at these places."""
    tried = {place: _by_mean(plan, arm, place, collection, weights) for place in places}
    best = {place: arms[0] for place, arms in tried.items()}
    least = _loss(plan, arm, best, collection, objective)
    for _ in range(PASSES):
        before = least
        for place, arms in tried.items():
            for other in arms:
                loss = _loss(plan, arm, {**best, place: other}, collection, objective)
                if loss < least:
                    least, best = loss, {**best, place: other}
        if least == before:
            break
    return _with(plan, arm, best)


def _loss(plan: Plan, arm: str, substitutes: Mapping[int, str], collection: Collection, objective: Objective) -> float:
    changed = without_arms(_with(plan, arm, substitutes), [arm])
    lost = certify(changed, collection, must_rest=False).regret
    left = [k for k, name in enumerate(plan.arms) if name != arm]
    lost = lost - plan.horizon * (collection.means.max(axis=1) - collection.means[:, left].max(axis=1))
    return float(lost.max() if objective is Objective.WORST else collection.weights @ lost)


def _by_mean(plan: Plan, arm: str, place: int, collection: Collection, weights: FloatArray) -> list[str]:
    """The arms to try at a place, that with the highest mean for the cases that come there first."""
    ends = [row for row, line in enumerate(plan.rows) if not line.counts.exits and _is(line.gives, arm)]
    rows = ends if place == END else [place]
    means = weights[:, rows].sum(axis=1) @ collection.means
    return [plan.arms[k] for k in np.argsort(-means, kind="stable") if plan.arms[k] != arm][:TRIED]


def _is(gives: Gives, arm: str) -> bool:
    return isinstance(gives, Give) and gives.arm == arm


def _gives_at(plan: Plan, place: int, arm: str) -> bool:
    if place == END:
        return any(not row.counts.exits and _is(row.gives, arm) for row in plan.rows)
    return bool(plan.lines[place].counts.exits) and _is(plan.lines[place].gives, arm)


def _with(plan: Plan, arm: str, substitutes: Mapping[int, str]) -> Plan:
    """The plan whose lines, and the end, that give an arm name these substitutes for it."""

    def named(line: Line, place: int) -> Line:
        if not _is(line.gives, arm) or place not in substitutes:
            return line
        return replace(line, gives=Give(arm, substitute=substitutes[place]))

    def exit_to(target: Exit | None) -> Exit | None:
        return named(target, END) if isinstance(target, Line) else target

    lines = [
        named(replace(line, below=exit_to(line.below), above=exit_to(line.above)), n if line.counts.exits else END)
        for n, line in enumerate(plan.lines)
    ]
    return replace(plan, lines=tuple(lines))
