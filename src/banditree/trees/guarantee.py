"""What Theorem 4.4 guarantees for the tree of a collection."""

import numpy as np

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.reward_cells import reward_variance
from banditree.theory.bounds import Bound, dt_ece_regret
from banditree.trees.tree import LazyTree, lazy_tree

MAX_TREE = 20_000  # The most boxes of a tree that is grown only to learn its depth.


def guaranteed_regret(tree: LazyTree, depth: int) -> Bound | None:
    """Theorem 4.4 for a tree with at most `depth` tests on a path, or None with contexts that are estimated, or where
    changes cost something.

    The theorem is about the true means. Those of an estimated collection may be anywhere within their radii, so gaps
    count as large as they may be, and an arm that only looks best costs what it may lack, in every round.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], radius=0.01)
    >>> round(guaranteed_regret(lazy_tree(two, 10_000), depth=1).value, 2)
    72.02
    """
    collection = tree.collection
    if collection.change_cost or (collection.is_estimated and collection.theta is not None):
        return None
    largest, arm_loss = float(collection.gaps.max()), 0.0
    if collection.is_estimated:
        off = collection.radius * collection.worth_per_reward
        most, least = collection.round_worth + off, collection.round_worth - off
        best = np.arange(collection.n_tasks), collection.best_arms
        others = most.copy()
        others[best] = -np.inf
        arm_loss = max(float((others.max(axis=1) - least[best]).max()), 0.0)
        largest = float((most.max(axis=1) - least.min(axis=1)).max())
    return dt_ece_regret(
        horizon=tree.horizon,
        depth=max(depth, 1),
        separation=tree.separation,
        variance=reward_variance(collection),
        radius=tree.allowance,
        largest_gap=largest,
        arm_loss=arm_loss,
    )


def dt_ece_guarantee(collection: Collection, horizon: int) -> float | None:
    """What DT-ECE loses at most on any of the tasks, by Theorem 4.4, or None where the theorem says nothing.

    It says nothing about tasks that their means cannot tell apart, or about a horizon so short that losing the largest
    gap in every round costs no more.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> round(dt_ece_guarantee(two, horizon=1000), 2), dt_ece_guarantee(two, horizon=50)
    (48.25, None)
    """
    try:
        tree = lazy_tree(collection, horizon)
        bound = guaranteed_regret(tree, tree.freeze(MAX_TREE).depth)
    except InvalidInput:
        return None
    return None if bound is None or not bound.holds else bound.value
