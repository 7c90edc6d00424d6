"""A plan all of whose ends give the same option has nothing to find out."""

from dataclasses import replace

from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import Origin, Plan


def at_once(plan: Plan) -> Plan:
    """The plan that gives its option at once if all its ends give the same one; otherwise the plan itself.

    >>> from banditree.plans.counts import Score
    >>> from banditree.plans.gives import Give
    >>> from banditree.plans.plan import make_plan
    >>> from banditree.plans.points import ByOutcome
    >>> from banditree.tasks.collection import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.6, 0.3]], arms=["A", "B"])
    >>> test = Line(Give("B"), Score(ByOutcome((-2, 1)), 4, 6), below=Line(Give("A")), above=Line(Give("A")))
    >>> at_once(make_plan([test], two, horizon=100)).n_boxes
    1
    """
    staying = {row.gives for row in plan.rows if row.counts.rests}  # a watch line may never be left either
    ends = [row for row in plan.rows if not row.counts.exits]
    if plan.n_boxes == 1 or not ends or len(staying) > 1 or not ends[0].gives.is_scored or ends[0].gives.task:
        return plan
    return replace(plan, lines=(Line(ends[0].gives, possible=plan.lines[0].possible),), rule=None)


def one_option(plan: Plan, arm: str) -> Plan:
    """The plan that gives everyone one option, about the same cases and in the same words as another plan."""
    line, origin = Line(Give(arm)), Origin("one option")
    return replace(
        plan, lines=(line,), rule=None, fallback=None, kind_rules=(), pages=(), on_harm=None, washout=0, origin=origin
    )
