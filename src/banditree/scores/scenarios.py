"""The means, within what is known of them, under which a given plan does worst."""

from dataclasses import replace

import numpy as np

from banditree.certificates.certify import regret_bound
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

PASSES = 2  # over the arms; a third one changes next to nothing


def worst_means(plan: Plan, collection: Collection) -> FloatArray:
    """Means (M, K) within the radius of the estimates, at which each task's regret is as high as could be found.

    Arm by arm, the mean goes to the end of its interval that costs more: a local search, so that the true worst may
    cost a little more. Takes 4 K times as long as `regret_bound`.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.05)
    >>> worst_means(build_tree(two, horizon=1000), two).round(2).tolist()
    [[0.65, 0.15], [0.25, 0.65]]
    """
    rewards, means = collection.rewards, collection.means.copy()
    worst = regret_bound(plan, with_means(collection, means))
    for _ in range(PASSES):
        for arm in range(collection.n_arms):
            for sign in (-1, 1):
                other = means.copy()
                moved = collection.means[:, arm] + sign * collection.radius[:, arm]
                other[:, arm] = np.clip(moved, rewards.low, rewards.high)
                try:
                    regret = regret_bound(plan, with_means(collection, other))
                except InvalidInput:  # some case may never end there, which the search has to find out by itself
                    continue
                means[regret > worst] = other[regret > worst]
                worst = np.maximum(worst, regret)
    return means


def hardest_means(collection: Collection) -> FloatArray:
    """The means (M, K) at which tasks are hardest to tell apart by what is best in them: best arms low, others high."""
    sign = np.ones_like(collection.means)
    sign[np.arange(collection.n_tasks), collection.best_arms] = -1.0
    moved = collection.means + sign * collection.radius
    return np.clip(moved, collection.rewards.low, collection.rewards.high)


def with_means(collection: Collection, means: FloatArray) -> Collection:
    """The collection with other means, known exactly."""
    return replace(collection, means=means, radius=np.zeros_like(means))
