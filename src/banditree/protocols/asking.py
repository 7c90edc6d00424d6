"""The sentence for paper on cases of no kind: they come back to line 1 again and again, and the others hardly ever."""

from dataclasses import replace

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.plan import ODDS, Decider, Fallback, Plan
from banditree.tasks.collection import Collection

STARTS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # Line 1 may be begun this many times.


def asking(plan: Plan, collection: Collection) -> Plan:
    """The plan, in which a person decides about a case instead of its beginning line 1 more than N times.

    N is the smallest number with which at most one of 100 cases of every task is handed over. The plan as it is where
    nothing leads back to line 1, or where no N is enough.

    >>> from banditree import ByOutcome, Give, Line, Watch, make_plan
    >>> two = Collection.bernoulli([[0.9, 0.2], [0.1, 0.8]], arms=["A", "B"])
    >>> points = ByOutcome((-2, 1))
    >>> lines = [Line(Give("A"), Watch(points, 4), below=2), Line(Give("B"), Watch(points, 8), below=1)]
    >>> asking(make_plan(lines, two, horizon=200), two).fallback.starts
    2
    """
    others = plan.theta is not None or plan.washout or plan.states or plan.pages or plan.fallback is not None
    if others or plan.on_harm is not None:
        raise InvalidInput(
            "ask must be omitted with contexts, states, washout, pages, a rule about harm, allow, unknown and "
            "fallback: it is for plans whose lines are all there is."
        )
    for starts in STARTS:
        asked = replace(plan, fallback=Fallback(Decider.PERSON, starts=starts))
        if asked.hand_over is None:
            return plan
        handed_over = certify(asked, collection, must_rest=False).handed_over
        if handed_over is not None and handed_over.max() <= 1.0 / ODDS:
            return asked
    return plan
