"""What a plan loses for a case that must not get some of its arms, on the page for such a case."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from banditree.certificates.certify import certify
from banditree.plans.pages import given_arms, page_for
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection


def missing_losses(
    plan: Plan,
    collection: Collection,
    horizon: int | None = None,
    at_once: int = 1,
    only: Iterable[tuple[str, ...]] | None = None,
) -> dict[tuple[str, ...], FloatArray]:
    """The exact loss (M,) for every arm of the plan that a case may have to go without, against the best of the others.

    at_once: how many arms are missing together; for each group a page has to serve. only: these groups instead. What
    nobody can give does not count: a round loses what it gives less than the best arm that is left.

    >>> from banditree import Give, Line, make_plan
    >>> from banditree.plans.plan import Page
    >>> two = Collection.bernoulli([[0.7, 0.2, 0.5], [0.3, 0.6, 0.5]], arms=["A", "B", "C"])
    >>> plan = make_plan([Line(Give("A"))], two, 50, pages=(Page(("A",), (Line(Give("C")),)),))
    >>> {arms: loss.round(9).tolist() for arms, loss in missing_losses(plan, two).items()}
    {('A',): [0.0, 5.0]}
    """
    losses, given = {}, [arm for arm in plan.arms if arm in given_arms(plan)]
    for missing in combinations(given, at_once) if only is None else only:
        left = [k for k, arm in enumerate(plan.arms) if arm not in missing]
        best = collection.round_worth.max(axis=1) - collection.round_worth[:, left].max(axis=1)
        own = replace(page_for(plan, missing), on_harm=None)  # what harm changes is in the certificate of the plan
        certificate = certify(own, collection, horizon, must_rest=False)
        losses[missing] = certificate.regret - certificate.horizon * best
    return losses
