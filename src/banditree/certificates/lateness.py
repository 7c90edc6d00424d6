"""What it costs that outcomes come late, or in batches: until they are in, a plan goes on with the option in hand."""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.outcomes import box_outcomes
from banditree.certificates.watched_scores import unfold
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection


@dataclass(frozen=True, eq=False)
class Lateness:
    """What a plan loses in each task (M,) when every outcome comes `late` rounds after its own: at most regret.

    moves: (M,), how often a case moves on to another box within the horizon, on average; each time somebody who waits
    for the outcomes waits `late` rounds, and somebody who does not gives the old option so many times more.
    """

    late: int
    regret: FloatArray
    moves: FloatArray


def with_late_outcomes(plan: Plan, collection: Collection, certificate: Certificate, late: int) -> Lateness:
    """The loss with outcomes that come `late` rounds late, if nobody waits: an upper bound, close if `late` is small.

    Every end of a box is seen `late` rounds later than it came about, and until then the box's option is given and its
    further outcomes count for nothing. That costs `late` rounds of this option each time; what is pushed past the end
    of the horizon by it is not taken off, hence the bound. Batches of b: outcomes are known when the batch is complete,
    at most b - 1 rounds late.

    >>> from banditree.certificates.certify import certify
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> with_late_outcomes(plan, two, certify(plan, two), 10).regret.round(1).tolist()  # 28.8 at once, and 10 times 0.3
    [0.0, 31.8]
    """
    unfolded = unfold(plan)
    cost = box_outcomes(unfolded, collection).cost
    assert certificate.exits is not None
    left = certificate.exits.sum(axis=2)
    most = certificate.horizon * cost.max(axis=1)
    regret = np.minimum(certificate.regret + late * (left * cost).sum(axis=1), most)
    return Lateness(late, np.asarray(regret), np.asarray(left.sum(axis=1)))
