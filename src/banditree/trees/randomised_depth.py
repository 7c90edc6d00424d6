"""C~*: the least average depth of a randomised tree, in the task where it is largest (Section 3.1).

A randomised tree is a mixture of trees, drawn before the first test. Its average depth in a task is the average of
theirs, so the best mixture is a game of trees against tasks. There are too many trees to list. We start with the greedy
one and the one that is best for tasks of equal chance, solve the game, look for the tree that is best on average under
the game's weights over tasks, and add it, until no tree is better than the mixture. That tree's average bounds C~* from
below, whatever the weights; the mixture bounds it from above.
"""

from dataclasses import dataclass

import numpy as np

from banditree.tasks.collection import Collection
from banditree.theory.randomised import solve_game
from banditree.trees.expected_depth import WeightedSearch, greedy_depths
from banditree.trees.tree import lazy_tree

EFFORT = 6_000  # The most pairs of survivors and arriving tasks that are looked at, in all.
WHOLE = 10**9  # Weights are whole parts of this, so that sums are exact.
CLOSE = 1e-6  # Bounds with a smaller relative gap count as met.


@dataclass(frozen=True)
class RandomisedDepth:
    """C~* between `lower`, which `weights` over tasks prove, and `upper`, which a mixture of trees attains.

    `trees`: the tests that each task goes through in each tree of the mixture; `mixture`: how often each is drawn.
    """

    lower: float
    upper: float
    weights: tuple[float, ...]
    trees: tuple[tuple[int, ...], ...]
    mixture: tuple[float, ...]

    @property
    def proven(self) -> bool:
        """Whether the bounds meet to a millionth."""
        return self.upper <= self.lower * (1 + CLOSE)


def randomised_depth(
    collection: Collection, separation: float | None = None, *, effort: int = EFFORT
) -> RandomisedDepth:
    """C~*: min over mixtures of trees of max over tasks of the average number of tests.

    As for the expected depth, a test comes out as the task's own mean says. It is at least the least expected depth,
    where tasks have equal chances, and at most C*. effort: how far to look before bounds are returned.

    >>> found = randomised_depth(Collection.bernoulli([[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]]), 0.4)
    >>> round(found.lower, 6), round(found.upper, 6), len(found.trees)  # either task may be the one that is found first
    (1.666667, 1.666667, 3)
    """
    tree = lazy_tree(collection, 1, separation)
    trees, looked, lower = [greedy_depths(tree)], 0, 0.0
    weights = proof = np.full(collection.n_tasks, 1 / collection.n_tasks)
    game = solve_game(-np.array(trees).T.astype(float))
    while True:
        upper = -game.value
        if upper <= lower * (1 + CLOSE) or looked >= effort:
            break
        whole = np.maximum(np.round(weights * WHOLE), 1).astype(int).tolist()
        search = WeightedSearch(tree, effort - looked, whole)
        limit = int(np.ceil(upper * sum(whole))) + 1
        total = search.cost(search.everyone, search.everyone, limit)
        looked += max(search.looked, 1)
        least = (search.fewest(search.everyone) if search.tired else min(total, limit)) / sum(whole)
        if least > lower:
            lower, proof = least, np.array(whole) / sum(whole)
        if search.tired or (total >= limit and weights is game.weights):
            break
        if total < limit:
            trees.append(search.depths())
            game = solve_game(-np.array(trees).T.astype(float))
        weights = game.weights
    used = np.flatnonzero(game.distribution > 0)
    return RandomisedDepth(
        min(lower, upper),
        upper,
        tuple(proof.tolist()),
        tuple(tuple(trees[t].tolist()) for t in used),
        tuple(game.distribution[used].tolist()),
    )
