"""A page of a plan for each option that a case may have to go without: its own lines, searched for from the others."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from banditree.errors import InvalidInput, invalid
from banditree.plans.gives import Give
from banditree.plans.line import Exit, Line
from banditree.plans.pages import given_arms
from banditree.plans.plan import Page, Plan, make_plan, renumbered
from banditree.protocols.judging import loses
from banditree.tasks.changes import without_arms
from banditree.tasks.collection import Collection

Build = Callable[[Collection, Plan | None], Plan]


def with_pages(
    plan: Plan, collection: Collection, build: Build, missing: Iterable[Sequence[str]] | None = None
) -> Plan:
    """The plan with a page for each of its arms, or for each of some groups of arms that are missing together.

    build: makes a plan for a collection of fewer arms, from a plan that may be worth beginning with, or None.
    """
    if plan.theta is not None or plan.fallback is not None or plan.outcomes_choose:
        raise InvalidInput("Pages are for plans without contexts and without a fallback. Omit pages, or these.")
    groups = [(arm,) for arm in plan.arms if arm in given_arms(plan)] if missing is None else list(missing)
    return replace(plan, pages=tuple(_page(plan, collection, build, tuple(group)) for group in groups))


def _page(plan: Plan, collection: Collection, build: Build, missing: tuple[str, ...]) -> Page:
    left = [arm for arm in plan.arms if arm not in missing]
    if len(left) < 2:
        if not left:
            raise invalid("the missing arms of a page", "fewer than all arms", missing)
        return Page(missing, (Line(Give(left[0])),))
    fewer = without_arms(collection, missing)
    found = build(fewer, _shortened(plan, fewer))
    return Page(missing, found.lines, found.rule)


def _shortened(plan: Plan, fewer: Collection) -> Plan | None:
    """The plan without its lines for arms that are missing: their cases go where an unclear outcome leads, or settle on
    the best arm that is left. None where nothing is left, or what is left may go in circles for ever."""

    def gives_missing(line: Line) -> bool:
        return isinstance(line.gives, Give) and line.gives.arm not in fewer.arms

    def end(line: Line) -> Line:
        rows = [fewer.tasks.index(task) for task in line.possible or fewer.tasks]
        best = int((fewer.weights[rows] @ fewer.round_worth[rows]).argmax())
        return Line(Give(fewer.arms[best]), possible=line.possible)

    def leads_to(target: Exit | None, passed: tuple[int, ...] = ()) -> Exit | None:
        if isinstance(target, Line):
            return end(target) if gives_missing(target) else target
        if target is None or not gives_missing(line := plan.lines[target - 1]):
            return target
        return end(line) if target in passed or line.below is None else leads_to(line.below, (*passed, target))

    first = leads_to(1)
    if not isinstance(first, int):
        return None
    lines = [replace(line, below=leads_to(line.below), above=leads_to(line.above)) for line in plan.lines]
    order = [first - 1, *(place for place in range(len(lines)) if place != first - 1)]
    with suppress(InvalidInput):
        shortened = make_plan(renumbered(lines, order), fewer, plan.horizon, rule=plan.rule)
        return shortened if loses(shortened, fewer) < float("inf") else None
    return None
