"""A plan while it is being searched for: score boxes that can be added, replaced and removed, and their exact values.

Places are numbers: 0 to K - 1 are the leaves "use arm k from now on", K + n is score box n. Compiled by numba: import
this module where it is used, not at the top of another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

LOW, HIGH = 0, 1  # the two sides on which a box is left
MAX_SWEEPS = 200  # passes over a draft with links back; one that has not settled by then is refused
SETTLED = 1e-7  # change, relative to the regret of the worst task, at which the passes end ...
LEFT = 1e-8  # chance to be still on the way below which a case has ended
LOOK_EVERY = 4  # ... which is looked at every so many passes


@dataclass(frozen=True, eq=False)
class Test:
    """What a score box does: an arm, a template of the library, levels, where it leads, and its laws under M tasks.

    links: the places (low, high). up: (M,), the chance to leave above. cost: (M,), of the pulls.
    """

    __test__ = False  # not a test of this project, whatever its name

    arm: int
    template: int
    floor: int
    ceil: int
    links: tuple[int, int]
    up: FloatArray
    cost: FloatArray

    @property
    def what(self) -> tuple[int, int, int, int]:
        """(arm, template, floor, ceil)."""
        return self.arm, self.template, self.floor, self.ceil


@dataclass(frozen=True, eq=False)
class Draft:
    """N score boxes over K leaves, starting at place `root`; every change gives a new draft.

    tests: (N, 4), the arm, template, floor and ceil of each box. links: (N, 2), the places where it leads. up, cost:
    (N, M), its laws. leaf: (K, M), what settling for an arm costs over the whole horizon. All boxes can be reached from
    the root.
    """

    root: int
    tests: IntArray
    links: IntArray
    up: FloatArray
    cost: FloatArray
    leaf: FloatArray

    @property
    def n_leaves(self) -> int:
        """K, the number of places that are leaves."""
        return len(self.leaf)

    @property
    def n_tests(self) -> int:
        """N, the number of score boxes."""
        return len(self.tests)

    @cached_property
    def n_boxes(self) -> int:
        """Tests and the leaves that they lead to."""
        leaves = self.links[self.links < self.n_leaves]
        return self.n_tests + max(len(np.unique(leaves)), 1)

    def test(self, box: int) -> Test:
        """What one box does."""
        arm, template, floor, ceil = (int(number) for number in self.tests[box])
        low, high = (int(place) for place in self.links[box])
        return Test(arm, template, floor, ceil, (low, high), self.up[box], self.cost[box])

    def target(self, box: int, side: int) -> int:
        """The place that a link leads to; box -1 is the start."""
        return self.root if box < 0 else int(self.links[box, side])

    @cached_property
    def order(self) -> IntArray:
        """The boxes so that links lead to later ones except where they return."""
        return np.asarray(_order(self.root - self.n_leaves, self.links - self.n_leaves))

    @cached_property
    def value(self) -> FloatArray:
        """(K + N, M), the exact cost from each place on; infinite if links back keep it from settling."""
        value = np.concatenate([self.leaf, np.zeros_like(self.up)])
        settled = _fill_value(
            self.root, self.n_leaves, self.links, self.order, self.up, self.cost, value, returns(self)
        )
        return value if settled else np.full_like(value, np.inf)

    @cached_property
    def visits(self) -> FloatArray:
        """(N, M), how often each box is entered, of a draft that ends."""
        visits = np.zeros_like(self.up)
        _fill_visits(self.root, self.n_leaves, self.links, self.order, self.up, visits, returns(self))
        return visits

    @property
    def regret(self) -> FloatArray:
        """(M,), the cost from the start on."""
        return np.asarray(self.value[self.root])

    @property
    def ends(self) -> bool:
        """Whether a case ends from every box, under every task, however rarely it comes there."""
        return bool(_ends(self.n_leaves, self.links, self.order, self.up))

    def flow(self, box: int, side: int) -> FloatArray:
        """The expected number of times (M,) that a case takes a link; box -1 is the start."""
        if box < 0:
            return np.ones_like(self.regret)
        return np.asarray(self.visits[box] * (self.up[box] if side == HIGH else 1.0 - self.up[box]))

    def flows(self, side: int) -> FloatArray:
        """The expected number of times (N, M) that a case takes each link on one side."""
        return np.asarray(self.visits * (self.up if side == HIGH else 1.0 - self.up))

    def with_test(self, box: int, test: Test) -> "Draft":
        """The draft with box number `box` replaced, and without boxes that this leaves unreached."""
        tests, links, up, cost = self.tests.copy(), self.links.copy(), self.up.copy(), self.cost.copy()
        tests[box], links[box], up[box], cost[box] = test.what, test.links, test.up, test.cost
        return tidy(Draft(self.root, tests, links, up, cost, self.leaf))

    def with_new(self, box: int, side: int, test: Test) -> "Draft":
        """The draft with a new box between `box` and where one side of it leads; box -1 is the start."""
        place = self.n_leaves + self.n_tests
        tests, links = np.vstack([self.tests, test.what]), np.vstack([self.links, test.links])
        up, cost = np.vstack([self.up, test.up]), np.vstack([self.cost, test.cost])
        if box >= 0:
            links[box, side] = place
        return tidy(Draft(place if box < 0 else self.root, tests, links, up, cost, self.leaf))

    def with_links(self, links: IntArray) -> "Draft":
        """The draft with its boxes leading elsewhere, (N, 2), and without those that this leaves unreached."""
        return tidy(replace(self, links=links))


def drafted(root: int, tests: Sequence[Test], leaf: FloatArray) -> Draft:
    """The draft with these boxes, starting at place `root`, without those that cannot be reached."""
    n_tasks = leaf.shape[1]
    what = np.array([test.what for test in tests], np.int64).reshape(-1, 4)
    links = np.array([test.links for test in tests], np.int64).reshape(-1, 2)
    up, cost = (np.array([getattr(test, name) for test in tests]).reshape(-1, n_tasks) for name in ("up", "cost"))
    return tidy(Draft(root, what, links, up, cost, leaf))


def tidy(draft: Draft) -> Draft:
    """The draft without the boxes that cannot be reached."""
    kept = np.sort(draft.order)
    if len(kept) == draft.n_tests:
        return draft
    K = draft.n_leaves
    number = np.arange(K + draft.n_tests)
    number[K + kept] = K + np.arange(len(kept))
    links = number[draft.links[kept]]
    return Draft(int(number[draft.root]), draft.tests[kept], links, draft.up[kept], draft.cost[kept], draft.leaf)


def ancestors(draft: Draft, box: int) -> BoolArray:
    """Which boxes (N,) can reach `box`, itself included."""
    return np.asarray(_ancestors(draft.links - draft.n_leaves, box))


def returns(draft: Draft) -> bool:
    """Whether some box leads back to one before it."""
    rank = np.zeros(draft.n_tests, np.int64)
    rank[draft.order] = np.arange(len(draft.order))
    box, side = np.nonzero(draft.links >= draft.n_leaves)
    return bool((rank[draft.links[box, side] - draft.n_leaves] <= rank[box]).any())


def path_lengths(draft: Draft) -> tuple[IntArray, IntArray]:
    """(before, after), each (N,): the most tests on a path to and from each box, itself included, links back aside."""
    before, after = _path_lengths(draft.links - draft.n_leaves, draft.order)
    return np.asarray(before), np.asarray(after)


@njit(cache=True)
def _order(root: int, links: IntArray) -> IntArray:
    n = len(links)
    finished, stack, state = np.empty(n, np.int64), np.empty(3 * n + 3, np.int64), np.zeros(n, np.int8)
    count, top = 0, 0
    if root >= 0:
        stack[0], top = root, 1
    while top > 0:
        box = stack[top - 1]
        if state[box] == 0:
            state[box] = 1
            for child in links[box]:
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
def _fill_value(
    root: int,
    n_leaves: int,
    links: IntArray,
    order: IntArray,
    up: FloatArray,
    cost: FloatArray,
    value: FloatArray,
    returns: bool,
) -> bool:
    """Fill in the values by passes over the boxes; False if links back keep them from settling."""
    before = value
    for sweep in range(MAX_SWEEPS if returns else 1):
        looking = sweep % LOOK_EVERY == LOOK_EVERY - 1
        if looking:
            before = value.copy()
        for box in order[::-1]:
            below, above, here = value[links[box, LOW]], value[links[box, HIGH]], value[n_leaves + box]
            for i in range(up.shape[1]):
                here[i] = cost[box, i] + up[box, i] * above[i] + (1.0 - up[box, i]) * below[i]
        if not returns or (looking and np.abs(value - before).max() <= SETTLED * value[root].max()):
            return True
    return False


@njit(cache=True)
def _fill_visits(
    root: int,
    n_leaves: int,
    links: IntArray,
    order: IntArray,
    up: FloatArray,
    visits: FloatArray,
    returns: bool,
) -> None:
    """Follow the cases through the boxes, pass by pass, until hardly any is left."""
    n_tasks = up.shape[1]
    arriving, here = np.zeros_like(visits), np.empty(n_tasks)
    if root >= n_leaves:
        arriving[root - n_leaves] = 1.0
    for sweep in range(MAX_SWEEPS if returns else 1):
        for box in order:
            low, high = links[box, LOW] - n_leaves, links[box, HIGH] - n_leaves
            for i in range(n_tasks):
                here[i] = arriving[box, i]
                visits[box, i] += here[i]
                arriving[box, i] = 0.0
            if high >= 0:
                above = arriving[high]
                for i in range(n_tasks):
                    above[i] += here[i] * up[box, i]
            if low >= 0:
                below = arriving[low]
                for i in range(n_tasks):
                    below[i] += here[i] * (1.0 - up[box, i])
        if not returns or (sweep % LOOK_EVERY == LOOK_EVERY - 1 and arriving.max() < LEFT):
            break


@njit(cache=True)
def _ends(n_leaves: int, links: IntArray, order: IntArray, up: FloatArray) -> bool:
    """Whether the chance to be still on the way gets small from every box, pass by pass."""
    going = np.zeros((n_leaves + len(links), up.shape[1]))
    going[n_leaves:] = 1.0
    for _ in range(MAX_SWEEPS):
        for box in order[::-1]:
            below, above, here = going[links[box, LOW]], going[links[box, HIGH]], going[n_leaves + box]
            for i in range(up.shape[1]):
                here[i] = up[box, i] * above[i] + (1.0 - up[box, i]) * below[i]
        if going.max() < LEFT:
            return True
    return False


@njit(cache=True)
def _ancestors(links: IntArray, box: int) -> BoolArray:
    found = np.zeros(len(links), np.bool_)
    found[box] = True
    grown = True
    while grown:
        grown = False
        for other in range(len(links)):
            low, high = links[other]
            if not found[other] and ((low >= 0 and found[low]) or (high >= 0 and found[high])):
                found[other] = True
                grown = True
    return found


@njit(cache=True)
def _path_lengths(links: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    n = len(links)
    rank, before, after = np.zeros(n, np.int64), np.ones(n, np.int64), np.ones(n, np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for box in order:
        for child in links[box]:
            if child >= 0 and rank[child] > rank[box]:
                before[child] = max(before[child], before[box] + 1)
    for box in order[::-1]:
        for child in links[box]:
            if child >= 0 and rank[child] > rank[box]:
                after[box] = max(after[box], after[child] + 1)
    return before, after
