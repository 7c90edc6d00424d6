"""The means, within what is known of them, under which a given plan does worst."""

import numpy as np

from banditree.certificates.certify import regret_bound
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection, with_parameters

PASSES = 2  # over the arms; a third one changes next to nothing


def worst_parameters(plan: Plan, collection: Collection) -> FloatArray:
    """Means or chances within the radius of the estimates, at which each task's regret is as high as could be found.

    Arm by arm, the mean goes to the end of its interval that costs more: a local search, so that the true worst may
    cost a little more. Takes 4 K times as long as `regret_bound`.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.05)
    >>> worst_parameters(build_tree(two, horizon=1000), two).round(2).tolist()
    [[0.65, 0.15], [0.25, 0.65]]
    """
    parameters = collection.parameters.copy()
    worst = regret_bound(plan, with_parameters(collection, parameters))
    for _ in range(PASSES):
        for arm in range(collection.n_arms):
            for sign in (-1, 1):
                other = parameters.copy()
                shift = sign * collection.radius[:, arm]
                other[:, arm] = collection.rewards.shifted(collection.parameters[:, arm], shift)
                try:
                    regret = regret_bound(plan, with_parameters(collection, other))
                except InvalidInput:  # some case may never end there, which the search has to find out by itself
                    continue
                parameters[regret > worst] = other[regret > worst]
                worst = np.maximum(worst, regret)
    return parameters


def hardest_parameters(collection: Collection) -> FloatArray:
    """The means or chances at which tasks are hardest to tell apart: best arms low, others high."""
    sign = np.ones_like(collection.means)
    sign[np.arange(collection.n_tasks), collection.best_arms] = -1.0
    return collection.rewards.shifted(collection.parameters, sign * collection.radius)
