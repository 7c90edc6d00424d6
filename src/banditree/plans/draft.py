"""A plan while it is being searched for: score boxes that can be added, replaced and removed, and their exact values.

Places are numbers: 0 to K - 1 are the leaves "use arm k from now on", K + n is score box n. Compiled by numba: import
this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

MAX_SWEEPS = 200  # passes over a draft with links back; one that has not settled by then is refused
SETTLED = 1e-9  # relative change at which the passes end


@dataclass(frozen=True, eq=False)
class Test:
    """What a score box does: an arm, a template of the library, levels, where it leads, and its laws under M tasks."""

    __test__ = False  # not a test of this project, whatever its name

    arm: int
    template: int
    floor: int
    ceil: int
    low: int
    high: int
    up: FloatArray
    cost: FloatArray

    def leading(self, side: str, place: int) -> "Test":
        """The same test with one side ("low" or "high") leading elsewhere."""
        return replace(self, low=place) if side == "low" else replace(self, high=place)


@dataclass(frozen=True, eq=False)
class Draft:
    """N score boxes over K leaves, starting at place `root`; every change gives a new draft.

    leaf: (K, M), what settling for an arm costs over the whole horizon. All boxes can be reached from the root.
    """

    root: int
    tests: tuple[Test, ...]
    leaf: FloatArray

    @property
    def n_leaves(self) -> int:
        """K, the number of places that are leaves."""
        return len(self.leaf)

    @cached_property
    def n_boxes(self) -> int:
        """Tests and the leaves that they lead to."""
        leaves = {place for test in self.tests for place in (test.low, test.high) if place < self.n_leaves}
        return len(self.tests) + max(len(leaves), 1)

    @cached_property
    def links(self) -> tuple[IntArray, IntArray]:
        """(low, high), each (N,): where the boxes lead."""
        pairs = np.array([(test.low, test.high) for test in self.tests], dtype=np.int64).reshape(-1, 2)
        return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])

    def target(self, box: int, side: str) -> int:
        """The place that a link leads to; box -1 is the start."""
        return self.root if box < 0 else int(getattr(self.tests[box], side))

    @cached_property
    def order(self) -> IntArray:
        """The boxes so that links lead to later ones except where they return."""
        return np.asarray(_order(self.root - self.n_leaves, *(side - self.n_leaves for side in self.links)))

    @cached_property
    def evaluation(self) -> "Evaluation":
        """The exact value of every place and how often each box is entered."""
        up, cost = (
            np.array([getattr(test, name) for test in self.tests]).reshape(-1, self.leaf.shape[1])
            for name in ("up", "cost")
        )
        value = np.concatenate([self.leaf, np.zeros_like(up)])
        visits = np.zeros_like(up)
        settled = _evaluate(self.root, self.n_leaves, *self.links, self.order, up, cost, value, visits)
        return Evaluation(value, visits, up, value[self.root], settled)

    def with_test(self, box: int, test: Test) -> "Draft":
        """The draft with box number `box` replaced, and without boxes that this leaves unreached."""
        return tidy(replace(self, tests=(*self.tests[:box], test, *self.tests[box + 1 :])))

    def with_link(self, box: int, side: str, test: Test) -> "Draft":
        """The draft with a new box between `box` and where its `side` leads; box -1 is the start."""
        place = self.n_leaves + len(self.tests)
        if box < 0:
            return tidy(replace(self, root=place, tests=(*self.tests, test)))
        changed = self.tests[box].leading(side, place)
        return tidy(replace(self, tests=(*self.tests[:box], changed, *self.tests[box + 1 :], test)))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """value: (K + N, M), the cost from each place on. visits: (N, M), expected entries of each box. up: (N, M).

    regret: (M,), the value of the start. settled: False if the draft may never end.
    """

    value: FloatArray
    visits: FloatArray
    up: FloatArray
    regret: FloatArray
    settled: bool

    def flow(self, box: int, side: str) -> FloatArray:
        """The expected number of times (M,) that a case takes a link; box -1 is the start."""
        if box < 0:
            return np.ones_like(self.regret)
        chance = self.up[box] if side == "high" else 1.0 - self.up[box]
        return np.asarray(self.visits[box] * chance)


def tidy(draft: Draft) -> Draft:
    """The draft without the boxes that cannot be reached."""
    kept = np.sort(draft.order)
    if len(kept) == len(draft.tests):
        return draft
    K = draft.n_leaves
    number = np.arange(K + len(draft.tests))
    number[K + kept] = K + np.arange(len(kept))
    tests = tuple(
        replace(test, low=int(number[test.low]), high=int(number[test.high]))
        for test in (draft.tests[box] for box in kept)
    )
    return replace(draft, root=int(number[draft.root]), tests=tests)


def ancestors(draft: Draft, box: int) -> BoolArray:
    """Which boxes (N,) can reach `box`, itself included."""
    low, high = draft.links
    return np.asarray(_ancestors(low - draft.n_leaves, high - draft.n_leaves, box))


def returns(draft: Draft) -> bool:
    """Whether some box leads back to one before it."""
    rank = np.zeros(len(draft.tests), np.int64)
    rank[draft.order] = np.arange(len(draft.order))
    for side in draft.links:
        child = side - draft.n_leaves
        inside = child >= 0
        if (rank[child[inside]] <= rank[inside]).any():
            return True
    return False


def path_lengths(draft: Draft) -> tuple[IntArray, IntArray]:
    """(before, after), each (N,): the most tests on a path to and from each box, itself included, links back aside."""
    low, high = (side - draft.n_leaves for side in draft.links)
    before, after = _path_lengths(low, high, draft.order)
    return np.asarray(before), np.asarray(after)


@njit(cache=True)
def _order(root: int, low: IntArray, high: IntArray) -> IntArray:
    n = low.size
    finished, stack, state = np.empty(n, np.int64), np.empty(3 * n + 3, np.int64), np.zeros(n, np.int8)
    count, top = 0, 0
    if root >= 0:
        stack[0], top = root, 1
    while top > 0:
        box = stack[top - 1]
        if state[box] == 0:
            state[box] = 1
            for child in (low[box], high[box]):
                if child >= 0 and state[child] == 0:
                    stack[top] = child
                    top += 1
        else:
            top -= 1
            if state[box] == 1:
                state[box] = 2
                finished[count] = box
                count += 1
    return finished[:count][::-1].copy()


@njit(cache=True)
def _evaluate(
    root: int,
    n_leaves: int,
    low: IntArray,
    high: IntArray,
    order: IntArray,
    up: FloatArray,
    cost: FloatArray,
    value: FloatArray,
    visits: FloatArray,
) -> bool:
    """Fill in value and visits by passes over the boxes; False if links back keep them from settling."""
    n_tasks, returns = up.shape[1], False
    rank = np.zeros(low.size, np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for box in order:
        for child in (low[box] - n_leaves, high[box] - n_leaves):
            returns = returns or (child >= 0 and rank[child] <= rank[box])
    for sweep in range(MAX_SWEEPS if returns else 1):
        change, most = 0.0, 0.0
        for box in order[::-1]:
            down_value, up_value, here = value[low[box]], value[high[box]], value[n_leaves + box]
            for i in range(n_tasks):
                new = cost[box, i] + up[box, i] * up_value[i] + (1.0 - up[box, i]) * down_value[i]
                change, most = max(change, abs(new - here[i])), max(most, new)
                here[i] = new
        if change <= SETTLED * most or not returns:
            break
        if sweep == MAX_SWEEPS - 1:
            return False
    return _visit(root, n_leaves, low, high, order, up, visits, returns)


@njit(cache=True)
def _visit(
    root: int,
    n_leaves: int,
    low: IntArray,
    high: IntArray,
    order: IntArray,
    up: FloatArray,
    visits: FloatArray,
    returns: bool,
) -> bool:
    n_tasks = up.shape[1]
    arriving = np.zeros_like(visits)
    if root >= n_leaves:
        arriving[root - n_leaves] = 1.0
    for _ in range(MAX_SWEEPS if returns else 1):
        for box in order:
            low_box, high_box = low[box] - n_leaves, high[box] - n_leaves
            for i in range(n_tasks):
                m = arriving[box, i]
                visits[box, i] += m
                arriving[box, i] = 0.0
                if high_box >= 0:
                    arriving[high_box, i] += m * up[box, i]
                if low_box >= 0:
                    arriving[low_box, i] += m * (1.0 - up[box, i])
        if not returns or arriving.max() < SETTLED:
            return True
    return False


@njit(cache=True)
def _ancestors(low: IntArray, high: IntArray, box: int) -> BoolArray:
    found = np.zeros(low.size, np.bool_)
    found[box] = True
    grown = True
    while grown:
        grown = False
        for other in range(low.size):
            if not found[other] and (
                (low[other] >= 0 and found[low[other]]) or (high[other] >= 0 and found[high[other]])
            ):
                found[other] = True
                grown = True
    return found


@njit(cache=True)
def _path_lengths(low: IntArray, high: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    n = low.size
    rank, before, after = np.zeros(n, np.int64), np.ones(n, np.int64), np.ones(n, np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for box in order:
        for child in (low[box], high[box]):
            if child >= 0 and rank[child] > rank[box]:
                before[child] = max(before[child], before[box] + 1)
    for box in order[::-1]:
        for child in (low[box], high[box]):
            if child >= 0 and rank[child] > rank[box]:
                after[box] = max(after[box], after[child] + 1)
    return before, after
