"""What a plan loses for a case that cannot have some arms: the substitutes that its lines name are given instead."""

from collections.abc import Collection as Some
from dataclasses import replace
from itertools import combinations

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.gives import Give, Gives
from banditree.plans.line import Exit, Line
from banditree.plans.plan import Plan
from banditree.plans.wording import place_name
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection


def has_substitutes(plan: Plan) -> bool:
    """Whether every line that gives one arm names a substitute for it."""
    return all(row.gives.substitute is not None for row in plan.rows if isinstance(row.gives, Give))


def without_arms(plan: Plan, missing: Some[str]) -> Plan:
    """The plan as a case follows it that cannot have some arms; an error names a line that has nothing else to give.

    >>> from banditree.plans.plan import make_plan
    >>> two = Collection.bernoulli([[0.7, 0.2, 0.5], [0.3, 0.6, 0.5]], arms=["A", "B", "C"])
    >>> print(str(without_arms(make_plan([Line(Give("A", substitute="C"))], two, 50), ["A"])).splitlines()[-1])
    1. Give C from now on.
    """

    def gives(old: Gives, row: int) -> Gives:
        if not isinstance(old, Give) or old.arm not in missing:
            return old
        if old.substitute is None or old.substitute in missing:
            raise InvalidInput(
                f"{place_name(plan, row).capitalize()} gives {old.arm!r} and names nothing to give where it is not "
                "possible. Make the plan again with substitutes."
            )
        return Give(old.substitute)

    def line(old: Line, row: int) -> Line:
        return replace(old, gives=gives(old.gives, row), below=exit_to(old.below, row), above=exit_to(old.above, row))

    def exit_to(target: Exit | None, row: int) -> Exit | None:
        return line(target, row) if isinstance(target, Line) else target

    return replace(plan, lines=tuple(line(old, row) for row, old in enumerate(plan.lines)))


def missing_losses(
    plan: Plan, collection: Collection, horizon: int | None = None, at_once: int = 1
) -> dict[tuple[str, ...], FloatArray]:
    """The exact loss (M,) for every arm of the plan that a case may have to go without, against the best of the others.

    at_once: how many arms are missing together. What nobody can give does not count: a round loses what it gives less
    than the best arm that is left.

    >>> from banditree.plans.plan import make_plan
    >>> two = Collection.bernoulli([[0.7, 0.2, 0.5], [0.3, 0.6, 0.5]], arms=["A", "B", "C"])
    >>> found = missing_losses(make_plan([Line(Give("A", substitute="C"))], two, 50), two)
    >>> {arms: loss.round(9).tolist() for arms, loss in found.items()}
    {('A',): [0.0, 5.0]}
    """
    given = [arm for arm in plan.arms if any(isinstance(row.gives, Give) and row.gives.arm == arm for row in plan.rows)]
    losses = {}
    for missing in combinations(given, at_once):
        left = [k for k, arm in enumerate(plan.arms) if arm not in missing]
        best = collection.round_worth.max(axis=1) - collection.round_worth[:, left].max(axis=1)
        certificate = certify(without_arms(plan, missing), collection, horizon, must_rest=False)
        losses[missing] = certificate.regret - certificate.horizon * best
    return losses
