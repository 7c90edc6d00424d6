"""Random small tables and collections for Hypothesis, and the slow, obvious answers to compare with."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from banditree.tasks.collection import Collection
from banditree.tasks.separation import tolerance


@st.composite
def tables(draw, max_tasks=6, max_tests=5):
    """A table (K, M, M) of which test separates which pair, anything symmetric."""
    M, K = draw(st.integers(2, max_tasks)), draw(st.integers(1, max_tests))
    pairs = list(combinations(range(M), 2))
    table = np.zeros((K, M, M), dtype=bool)
    for k in range(K):
        word = draw(st.integers(0, 2 ** len(pairs) - 1))
        for index, (i, j) in enumerate(pairs):
            table[k, i, j] = table[k, j, i] = word >> index & 1
    return table


@st.composite
def separating_tables(draw, max_tasks=5, max_tests=4):
    """A table in which some test separates every pair, so that the randomised coefficient is finite."""
    table = draw(tables(max_tasks, max_tests))
    for i, j in np.argwhere(~table.any(axis=0)):
        if i < j:
            k = draw(st.integers(0, len(table) - 1))
            table[k, i, j] = table[k, j, i] = True
    return table


@st.composite
def collections(draw, max_tasks=6, max_arms=4):
    """A collection with means on a coarse grid, so that ties and gaps of exactly the separation occur."""
    M, K = draw(st.integers(2, max_tasks)), draw(st.integers(2, max_arms))
    means = draw(st.lists(st.lists(st.integers(0, 10), min_size=K, max_size=K), min_size=M, max_size=M))
    return Collection.bernoulli(np.array(means) / 10)


@st.composite
def separated_collections(draw, max_tasks=6, max_arms=5):
    """A collection in which the first arms tell every pair of tasks apart by at least 0.3."""
    M = draw(st.integers(2, max_tasks))
    K = draw(st.integers(3, max(max_arms, 3)))
    codes = draw(st.permutations(range(8)))[:M]
    digits = np.array([[code >> bit & 1 for bit in range(3)] for code in codes])
    jitter = draw(st.lists(st.integers(0, 1), min_size=M * 3, max_size=M * 3))
    first = digits * 0.5 + 0.2 - digits * np.array(jitter).reshape(M, 3) * 0.2
    rest = draw(st.lists(st.lists(st.integers(0, 10), min_size=K - 3, max_size=K - 3), min_size=M, max_size=M))
    return Collection.bernoulli(np.concatenate([first, np.array(rest).reshape(M, K - 3) / 10], axis=1))


def subsets_of(n: int) -> Iterator[tuple[int, ...]]:
    for size in range(2, n + 1):
        yield from combinations(range(n), size)


def deterministic_by_definition(table) -> Fraction | float:
    """Eq. (2), word for word."""
    K, M, _ = table.shape
    best: Fraction | float = Fraction(0)
    for S in subsets_of(M):
        split = max(min(sum(table[k, i, j] for j in S) for i in S) for k in range(K))
        if split == 0:
            return np.inf
        best = max(best, Fraction(len(S), int(split)))
    return best


def soft_by_definition(collection, separation) -> Fraction | float:
    """C_soft with every threshold midway between two means of an arm, whether it is a good one or not."""
    slack = tolerance(separation)
    best: Fraction | float = Fraction(0)
    for S in subsets_of(collection.n_tasks):
        most = 0
        for mu in collection.means[list(S)].T:
            for b in ((first + second) / 2 for first in mu for second in mu):
                low = (mu <= b - separation / 2 + slack / 2).sum()
                high = (mu >= b + separation / 2 - slack / 2).sum()
                most = max(most, int(min(low, high)))
        if most == 0:
            return np.inf
        best = max(best, Fraction(len(S), most))
    return best


def soft_tests(collection, separation):
    """Every threshold midway between two means, as (arm, b, tasks surely low, tasks surely high)."""
    slack = tolerance(separation)
    for arm, mu in enumerate(collection.means.T):
        for b in {(first + second) / 2 for first in mu for second in mu}:
            low = frozenset(np.flatnonzero(mu <= b - separation / 2 + slack / 2).tolist())
            high = frozenset(np.flatnonzero(mu >= b + separation / 2 - slack / 2).tolist())
            yield arm, b, low, high


def depth_by_definition(collection, separation, is_leaf=lambda members: len(members) == 1) -> int:
    """C*: try every test on every set, with nothing clever."""
    tests = list(soft_tests(collection, separation))

    @cache
    def depth(members):
        if is_leaf(members):
            return 0
        splits = [(members - high, members - low) for _, _, low, high in tests if members & low and members & high]
        return 1 + min(max(depth(first), depth(second)) for first, second in splits)

    return depth(frozenset(range(collection.n_tasks)))


def tests_and_ways(collection, separation) -> list[tuple[frozenset[int], frozenset[int], frozenset[int]]]:
    """Every test that a tree may use: the tasks surely low, surely high, and those whose own mean is low."""
    from banditree.theory.separating_tests import even_tests

    found = even_tests(collection, separation)
    return [
        (
            frozenset(np.flatnonzero(low).tolist()),
            frozenset(np.flatnonzero(high).tolist()),
            frozenset(np.flatnonzero(collection.means[:, arm] <= b).tolist()),
        )
        for arm, b, low, high in zip(found.arm, found.threshold, found.low, found.high, strict=True)
    ]


def expected_depth_by_definition(collection, separation) -> float:
    """The least average depth over the tests that the tree uses, with nothing clever."""
    tests = tests_and_ways(collection, separation)

    @cache
    def total(members, arriving):
        if len(members) == 1 or not arriving:
            return 0
        return len(arriving) + min(
            total(members - high, arriving & goes) + total(members - low, arriving - goes)
            for low, high, goes in tests
            if members & low and members & high
        )

    everyone = frozenset(range(collection.n_tasks))
    return total(everyone, everyone) / collection.n_tasks


def depths_of_all_trees(collection, separation) -> set[tuple[int, ...]]:
    """The tests that each task goes through, for every tree there is."""
    tests = tests_and_ways(collection, separation)

    @cache
    def trees(members, arriving):
        if len(members) == 1 or not arriving:
            return {(0,) * collection.n_tasks}
        return {
            tuple((task in arriving) + a + b for task, a, b in zip(range(collection.n_tasks), one, other, strict=True))
            for low, high, goes in tests
            if members & low and members & high
            for one in trees(members - high, arriving & goes)
            for other in trees(members - low, arriving - goes)
        }

    everyone = frozenset(range(collection.n_tasks))
    return trees(everyone, everyone)
