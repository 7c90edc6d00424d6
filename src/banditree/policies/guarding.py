"""The guard: a plan that a computer follows hands over a case that fits no kind, whether or not its lines say so.

The lines stay as they are signed. A case of a kind of the collection that is where its kind may lead is handed over
with a chance of at most 1 in `ODDS` (`theory.doubt`), a case of no kind soon.
"""

from dataclasses import replace

from banditree.plans.plan import ODDS, Fallback, Plan
from banditree.tasks.cases import reach_of_cases
from banditree.tasks.collection import Collection


def guarded(plan: Plan, collection: Collection) -> Plan:
    """The plan with a hand-over to Thompson sampling that has learned since the first round.

    The plan as it is where it has a fallback of its own, or where nothing is known by which to hand over: with
    contexts, worth or a rule about harm, or for a collection of other kinds.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> guarded(build_tree(two, horizon=1000), two).fallback.odds
    100
    """
    unknown = plan.theta is not None or collection.worth is not None or plan.on_harm is not None
    if plan.fallback is not None or unknown or (plan.tasks, plan.arms) != (collection.tasks, collection.arms):
        return plan
    allow = float((collection.radius + reach_of_cases(collection, 1.0 / (ODDS * collection.n_arms))).max())
    means = tuple(map(tuple, collection.means.tolist()))
    return replace(plan, fallback=Fallback(odds=ODDS, allow=allow, means=means))
