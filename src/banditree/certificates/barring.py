"""The certificate of a plan whose cases never get an arm again that has harmed them."""

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.harm import follow_harm
from banditree.certificates.outcomes import Claim
from banditree.plans.counts import Counting
from banditree.plans.plan import Plan
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection

AT_ESTIMATES = "What a case gets after harm depends on it, so these numbers are computed at the estimated rates."
NO_CHANGES = "What changes of option cost is not part of these numbers, since harm turns to other pages."


def certify_barring(plan: Plan, collection: Collection, horizon: int) -> Certificate:
    """The numbers of a plan with a rule about harm, over all its pages.

    Losses are against the best arm of all; where no arm is left, nothing more is counted. What is said box by box is
    about page 1.
    """
    sure = trust_estimates(collection)
    followed = follow_harm(plan, sure, horizon)
    book, kind = followed.book, followed.book.machine.kind
    tests = (kind == Counting.FIXED) | (kind == Counting.SCORE)
    at_end, spent = followed.at_end.sum(axis=1), followed.spent.sum(axis=1)
    estimated, hands_over, first = sure is not collection, plan.hand_over is not None, slice(plan.n_boxes)
    return Certificate(
        tasks=collection.tasks,
        horizon=horizon,
        claim=Claim.ESTIMATE if estimated else Claim.EXACT,
        regret=followed.total(book.cost),
        pulls=spent[:, tests].sum(axis=1),
        wrong_arm=np.minimum((at_end * book.wrong).sum(axis=1), 1.0),
        wrong_task=None,
        undecided=at_end[:, tests].sum(axis=1),
        at_end=at_end[:, first],
        entered=followed.sides[:, first, 0],
        exits=followed.sides[:, first, 1:],
        error=followed.lost,
        regret_at=(spent * book.cost)[:, first],
        remarks=(*([AT_ESTIMATES] if estimated else []), *([NO_CHANGES] if collection.change_cost else [])),
        shares=collection.shares,
        handed_over=at_end[:, book.handed].sum(axis=1) if hands_over else None,
        until_hand_over=horizon - spent[:, book.handed].sum(axis=1) if hands_over else None,
        harm=followed.total(book.harm),
        unit=collection.unit,
    )
