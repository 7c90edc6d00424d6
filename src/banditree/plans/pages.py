"""The pages of a plan: which lines a case follows that must not get some of the arms."""

from collections.abc import Iterable
from dataclasses import replace

from banditree.errors import InvalidInput, invalid
from banditree.plans.gives import Give, TreatAsLeader, TreatByState
from banditree.plans.plan import Plan
from banditree.plans.words import quoted


def page_number(plan: Plan, missing: Iterable[str]) -> int:
    """The page for a case that must not get these arms; page 1 is the plan itself.

    It gives none of them, and was made for a case that may get all others.

    >>> from banditree import Collection, Give, Line, make_plan
    >>> from banditree.plans.plan import Page
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> plan = make_plan([Line(Give("A"))], two, 50, pages=(Page(("A",), (Line(Give("B")),)),))
    >>> page_number(plan, []), page_number(plan, ["B"]), page_number(plan, ["A"])
    (1, 1, 2)
    """
    without = set(missing)
    if unknown := without - set(plan.arms):
        raise invalid("the arms that a case must not get", f"some of {', '.join(plan.arms)}", sorted(unknown))
    least = {1: 0} | {number: len(own.missing) for number, own in enumerate(plan.pages, 2) if without >= {*own.missing}}
    for number in sorted(least, key=lambda number: -least[number]):
        if not without & given_arms(page(plan, number)):
            return number
    names = " or ".join(quoted(arm) for arm in plan.arms if arm in without)
    raise InvalidInput(f"This plan has no page for a case that must not get {names}. Make the plan again with pages.")


def page(plan: Plan, number: int) -> Plan:
    """One page as a plan of its own."""
    if number == 1:
        return replace(plan, pages=()) if plan.pages else plan
    own = plan.pages[number - 2]
    return replace(plan, lines=own.lines, rule=own.rule, origin=replace(plan.origin, missing=own.missing), pages=())


def page_for(plan: Plan, missing: Iterable[str]) -> Plan:
    """The page that a case follows which must not get these arms, as a plan of its own."""
    return page(plan, page_number(plan, missing))


def given_arms(plan: Plan) -> set[str]:
    """The arms that lines, ends and the fallback give; an end between several omits those that a case must not get."""
    fallback = {plan.fallback.arm} if plan.fallback is not None and plan.fallback.arm is not None else set()
    by_state = {
        arm for row in plan.rows if isinstance(row.gives, TreatByState | TreatAsLeader) for arm in row.gives.options
    }
    return {row.gives.arm for row in plan.rows if isinstance(row.gives, Give)} | by_state | fallback
