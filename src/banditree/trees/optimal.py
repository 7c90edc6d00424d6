"""The least-depth tree: C*, and the plan that has it.

The depth of a set of tasks is 1 + the least, over tests, of the deeper of its two soft children (NOTES 6). Up to 20
tasks we work it out for every one of the 2^M sets, small sets first; beyond, we ask "can it be done in d tests?" for
growing d with memory, which proves a lower bound at once and the optimum when it is near. The greedy tree bounds it
from above.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.one_option import at_once
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary
from banditree.tasks.arrays import BoolArray, ByteArray, IntArray
from banditree.tasks.collection import Collection
from banditree.theory.separating_tests import EvenTests, even_tests
from banditree.trees.greedy import Split
from banditree.trees.tree import MAX_BOXES, LazyTree, Splits, expand, lazy_tree, warn_if_long

TABLE_UP_TO = 20  # Up to 20 tasks, a table holds every set: 2^20 sets are a megabyte.
COMPILE_FROM = 9  # Compiling the table pays for nine tasks or more.
EFFORT = 20_000  # The most sets that are looked at, with more tasks than a table holds.
UNREACHED = 255  # In place of a depth: the set has not been reached yet.


@dataclass(frozen=True)
class Depth:
    """C* between `lower` and `upper`, and the depth of the greedy tree, None if that tree is too large to hold."""

    lower: int
    upper: int
    greedy: int | None

    @property
    def proven(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper


def optimal_depth(
    collection: Collection, separation: float | None = None, *, stop_early: bool = False, effort: int = EFFORT
) -> Depth:
    """C*: the least, over trees of soft tests, of the most tests on a path; exact up to 20 tasks, else bounded.

    effort: how many sets of tasks to look at beyond 20 tasks before bounds are returned.

    >>> optimal_depth(Collection.bernoulli([[0.1, 0.5], [0.5, 0.1], [0.9, 0.6], [0.5, 0.9]]), 0.4)
    Depth(lower=3, upper=3, greedy=3)
    """
    tree = lazy_tree(collection, 1, separation, stop_early=stop_early)
    depth, _ = _solve(tree, effort)
    return depth


def build_optimal(
    collection: Collection,
    horizon: int,
    separation: float | None = None,
    *,
    stop_early: bool = False,
    vocabulary: Vocabulary | None = None,
    effort: int = EFFORT,
) -> Plan:
    """The tree of least depth, as a Plan: like `build_tree`, with the best tests instead of the most even ones.

    Exact up to 20 tasks. Beyond, an error says the bounds if the least depth could not be proven within `effort`.

    >>> build_optimal(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]]), horizon=1000).depth
    1
    """
    tree = lazy_tree(collection, horizon, separation, stop_early=stop_early, vocabulary=vocabulary)
    depth, splits = _solve(tree, effort)
    if not depth.proven:
        raise InvalidInput(
            f"The least depth is between {depth.lower} and {depth.upper}, and finding out which took too long for "
            f'{collection.n_tasks} tasks. Use method="tree", whose depth is at most {depth.upper}, or more effort.'
        )
    plan = at_once(tree.lay_out(splits, method="optimal"))
    warn_if_long(plan)
    return plan


def _solve(tree: LazyTree, effort: int) -> tuple[Depth, Splits]:
    greedy_splits = _greedy_splits(tree)
    greedy = tree.lay_out(greedy_splits, method="tree").depth if greedy_splits else None
    tests = _strongest_first(even_tests(tree.collection, tree.gap, radius=tree.usable_radius))
    leaves = _leaves(tree)
    if tree.collection.n_tasks <= TABLE_UP_TO:
        table = depth_table(_words(tests.low), _words(tests.high), _words(leaves), tree.collection.n_tasks)
        depth = Depth(int(table[-1]), int(table[-1]), greedy)
        return depth, expand(tree.start, lambda members: _best_split(tests, table, members))
    enough = tree.collection.n_tasks - 1 if greedy is None else greedy
    deepening = _Deepening(tests, leaves, effort)
    lower = deepening.least(enough)
    if deepening.tired or lower == greedy:
        return Depth(lower, enough, greedy), greedy_splits
    return Depth(lower, lower, greedy), expand(tree.start, deepening.split)


def _greedy_splits(tree: LazyTree) -> Splits:
    """The tests of the greedy tree, or none if there are too many."""
    try:
        return expand(tree.start, tree.split, MAX_BOXES)
    except InvalidInput:
        return {}


def depth_table(low: IntArray, high: IntArray, leaves: IntArray, n_tasks: int) -> ByteArray:
    """The least depth of every set of tasks, by its bits, shape (2^M,).

    low, high: (T,), the bits of the tasks a test decides. leaves: sets whose subsets need no test.

    >>> depth_table(np.array([1, 2, 1]), np.array([2, 4, 4]), np.array([1, 2, 4]), 3).tolist()
    [0, 0, 0, 1, 0, 1, 1, 2]
    """
    table = np.full(1 << n_tasks, UNREACHED, dtype=np.uint8)
    fill = _compiled_fill() if n_tasks >= COMPILE_FROM else fill_depths
    fill(low, high, leaves, table)
    return table


def fill_depths(low: IntArray, high: IntArray, leaves: IntArray, table: ByteArray) -> None:
    """Write the depth of each set; a child has fewer tasks, hence a smaller number. Runs as it is or compiled."""
    table[0] = 0
    for members in range(1, len(table)):
        for leaf in leaves:
            if members & ~leaf == 0:
                table[members] = 0
        best = int(table[members])
        for test in range(len(low)):
            below, above = members & ~high[test], members & ~low[test]
            if best > 1 and below != members and above != members:
                best = min(best, 1 + max(int(table[below]), int(table[above])))
        table[members] = best


@cache
def _compiled_fill() -> Callable[[IntArray, IntArray, IntArray, ByteArray], None]:
    from numba import njit

    compiled: Callable[[IntArray, IntArray, IntArray, ByteArray], None] = njit(cache=True)(fill_depths)
    return compiled


class _Deepening:
    """Can a set of tasks be told apart in d tests? With memory of what was settled, for growing d."""

    def __init__(self, tests: EvenTests, leaves: BoolArray, effort: int) -> None:
        self.tests, self.leaves, self.effort = tests, leaves, effort
        self.looked = 0
        self.at_least: dict[bytes, int] = {}
        self.by_test: dict[bytes, tuple[int, int]] = {}  # depth that is enough, and the test to start with
        # Every task ends in a leaf of its own, unless leaves hold several: then one test may be enough.
        self.per_leaf = int(leaves.sum(axis=1).max())

    @property
    def tired(self) -> bool:
        return self.looked >= self.effort

    def least(self, enough: int) -> int:
        """The least depth if it is below `enough`, or else how much of that is proven."""
        start = np.ones(self.leaves.shape[1], dtype=bool)
        for depth in range(enough):
            if self.fits(start, depth) or self.tired:
                return depth
        return enough

    def fits(self, members: BoolArray, depth: int) -> bool:
        """Whether `depth` tests are enough; False also when tired, which the caller asks about."""
        if (self.leaves | ~members).all(axis=1).any():
            return True
        key = members.tobytes()
        if self.at_least.get(key, 1) > depth or members.sum() > self.per_leaf << depth or self.tired:
            return False
        if key in self.by_test and self.by_test[key][0] <= depth:
            return True
        self.looked += 1
        sides = (members & ~self.tests.high, members & ~self.tests.low)
        sizes = np.maximum(sides[0].sum(axis=1), sides[1].sum(axis=1))
        small = np.flatnonzero((sizes < members.sum()) & (sizes <= self.per_leaf << (depth - 1)))
        for test in small[np.argsort(sizes[small], kind="stable")]:
            if all(self.fits(side[test], depth - 1) for side in sides):
                self.by_test[key] = (depth, int(test))
                return True
        if not self.tired:
            self.at_least[key] = depth + 1
        return False

    def split(self, members: IntArray) -> Split | None:
        """The first test of a least-depth tree for `members`."""
        inside = np.isin(np.arange(self.leaves.shape[1]), members)
        if (self.leaves | ~inside).all(axis=1).any():
            return None
        return _split(self.tests, self.by_test[inside.tobytes()][1], members)


def _best_split(tests: EvenTests, table: ByteArray, members: IntArray) -> Split | None:
    """The test with the shallower deeper child, then the smaller larger child; the first among equals."""
    bits = 1 << members
    whole = int(bits.sum())
    if table[whole] == 0:
        return None
    low, high = tests.low[:, members], tests.high[:, members]
    below, above = (~high @ bits), (~low @ bits)
    deeper = np.maximum(table[below], table[above]).astype(np.int64)
    size = np.maximum((~high).sum(axis=1), (~low).sum(axis=1))
    useless = (below == whole) | (above == whole)
    return _split(tests, int(np.where(useless, 1 << 30, deeper * 1000 + size).argmin()), members)


def _split(tests: EvenTests, test: int, members: IntArray) -> Split:
    low, high = tests.low[test, members], tests.high[test, members]
    score = int(min(low.sum(), high.sum()))
    return Split(tests.arm[test], tests.threshold[test], members[~high], members[~low], score)


def _strongest_first(tests: EvenTests) -> EvenTests:
    """The same tests, the most even first: those are most often the best."""
    order = np.argsort(-np.minimum(tests.low.sum(axis=1), tests.high.sum(axis=1)), kind="stable")
    arms, thresholds = (tuple(values[test] for test in order) for values in (tests.arm, tests.threshold))
    return EvenTests(arms, thresholds, tests.low[order], tests.high[order])


def _leaves(tree: LazyTree) -> BoolArray:
    """The largest sets that need no test (L, M): single tasks or, stopping early, all tasks with one best arm."""
    single = np.eye(tree.collection.n_tasks, dtype=bool)
    if not tree.stop_early:
        return single
    means = tree.collection.means
    return np.unique(np.concatenate([single, (means == means.max(axis=1, keepdims=True)).T]), axis=0)


def _words(members: BoolArray) -> IntArray:
    return np.asarray(members @ (1 << np.arange(members.shape[1])), dtype=np.int64)
