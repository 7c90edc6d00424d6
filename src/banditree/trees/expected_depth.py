"""The least expected depth of a tree: the fewest tests on average, for a task drawn with equal chance.

A test is taken to come out as the task's own mean says (mu <= b is low), which long tests do. So a case stands at
(S, A): the survivors, and those of them that really get there. A soft split keeps tasks near b in both S but sends each
to one A only.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.theory.separating_tests import even_tests
from banditree.trees.greedy import Split
from banditree.trees.tree import LazyTree, lazy_tree

EFFORT = 6_000  # The most pairs (S, A) that are looked at.


@dataclass(frozen=True)
class ExpectedDepth:
    """The least expected depth, between `lower` and `upper`, and that of the greedy tree."""

    lower: float
    upper: float
    greedy: float

    @property
    def proven(self) -> bool:
        """Whether the bounds meet."""
        return self.upper <= self.lower * (1 + 1e-12)


def least_expected_depth(
    collection: Collection, separation: float | None = None, *, effort: int = EFFORT
) -> ExpectedDepth:
    """The least average number of tests over tasks; exact if `effort` pairs (S, A) are enough, else bounds.

    >>> least_expected_depth(Collection.bernoulli([[0.1, 0.5], [0.5, 0.1], [0.9, 0.6], [0.5, 0.9]]), 0.4)
    ExpectedDepth(lower=2.25, upper=2.25, greedy=2.25)
    """
    tree = lazy_tree(collection, 1, separation)
    M, greedy = collection.n_tasks, int(greedy_depths(tree).sum())
    search = WeightedSearch(tree, effort, [1] * M)
    total = search.cost(search.everyone, search.everyone, greedy)
    lower = search.fewest(search.everyone) if search.tired else min(total, greedy)
    return ExpectedDepth(lower / M, greedy / M if search.tired else lower / M, greedy / M)


def greedy_depths(tree: LazyTree) -> IntArray:
    """The tests (M,) that each task goes through in the greedy tree."""
    means: FloatArray = tree.collection.means
    known: dict[bytes, Split | None] = {}
    depths = np.zeros(tree.collection.n_tasks, dtype=np.int64)
    for task in range(tree.collection.n_tasks):
        members: IntArray = tree.start
        while True:
            key = members.tobytes()
            split = known[key] if key in known else known.setdefault(key, tree.split(members))
            if split is None:
                break
            members = split.low if means[task, split.arm] <= split.threshold else split.high
            depths[task] += 1
    return depths


class WeightedSearch:
    """Least total cost of (S, A), sets as bits, with memory, cut off where the best known is out of reach.

    A test costs the weights (whole numbers, for exact sums) of the tasks that go through it.
    """

    def __init__(self, tree: LazyTree, effort: int, weights: Sequence[int]) -> None:
        tests = even_tests(tree.collection, tree.gap, radius=tree.usable_radius)
        arrives = [tree.collection.means[:, arm] <= b for arm, b in zip(tests.arm, tests.threshold, strict=True)]
        self.tests = [
            (_word(~high), _word(~low), _word(goes))
            for low, high, goes in zip(tests.low, tests.high, arrives, strict=True)
        ]
        self.weights, self.everyone = weights, (1 << len(weights)) - 1
        self.effort, self.looked = effort, 0
        self.exact: dict[tuple[int, int], int] = {}
        self.at_least: dict[tuple[int, int], int] = {}
        self.children: dict[tuple[int, int], tuple[tuple[int, int], tuple[int, int]]] = {}  # of the best test
        self.weight, self.fewest = cache(self._weight), cache(self._fewest)

    def _weight(self, tasks: int) -> int:
        """The weight of a set."""
        return sum(weight for task, weight in enumerate(self.weights) if tasks >> task & 1)

    def _fewest(self, tasks: int) -> int:
        """The least weighted sum of depths of any binary tree with these leaves: Huffman's."""
        heap = [weight for task, weight in enumerate(self.weights) if tasks >> task & 1]
        heapq.heapify(heap)
        total = 0
        while len(heap) > 1:
            merged = heapq.heappop(heap) + heapq.heappop(heap)
            total += merged
            heapq.heappush(heap, merged)
        return total

    @property
    def tired(self) -> bool:
        """Whether the effort is spent."""
        return self.looked >= self.effort

    def bound(self, survivors: int, arriving: int) -> int:
        """Tests that `arriving` tasks need at least."""
        if arriving == 0 or survivors & (survivors - 1) == 0:
            return 0
        known = self.exact.get((survivors, arriving)) or self.at_least.get((survivors, arriving), 0)
        return max(known, self.weight(arriving), self.fewest(arriving))

    def cost(self, survivors: int, arriving: int, limit: int) -> int:
        """The least total number of tests if it is below `limit`, else some number from `limit` on."""
        key, least = (survivors, arriving), self.bound(survivors, arriving)
        if least == 0 or key in self.exact or least >= limit or self.tired:
            return least
        self.looked += 1
        here, best = self.weight(arriving), limit
        options = []
        for low, high, goes in self.tests:
            below, above = survivors & low, survivors & high
            if below != survivors and above != survivors:
                sides = ((below, arriving & goes), (above, arriving & ~goes))
                options.append((here + self.bound(*sides[0]) + self.bound(*sides[1]), sides))
        for least_here, (first, second) in sorted(options):
            if least_here >= best:
                break
            one = self.cost(*first, best - here - self.bound(*second))
            if here + one + self.bound(*second) < best:
                total = here + one + self.cost(*second, best - here - one)
                if total < best:
                    best, self.children[key] = total, (first, second)
        if best < limit and not self.tired:
            self.exact[key] = best
        elif not self.tired:
            self.at_least[key] = max(limit, least)
        return best

    def depths(self) -> IntArray:
        """The tests (M,) that each task goes through in the best tree, once `cost` has found it."""
        found = np.zeros(len(self.weights), dtype=np.int64)
        for task in range(len(self.weights)):
            place = (self.everyone, self.everyone)
            while place in self.children:
                found[task] += 1
                place = next(side for side in self.children[place] if side[1] >> task & 1)
        return found


def _word(members: np.ndarray) -> int:
    return int(sum(1 << int(task) for task in np.flatnonzero(members)))
