"""Deterministic and soft classification coefficients: how many rounds of classification a collection forces.

`deterministic_coefficient` is Eq. (2), `soft_coefficient` the C_soft of NOTES 6. Both are found exactly, by listing all
subsets of few tasks and by the search of `subsets` up to 64, and bounded from both sides if the search is cut short.
The randomised one, Eq. (3), is in `randomised`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.theory.separating_tests import check_table, even_tests

if TYPE_CHECKING:
    from banditree.theory.subsets import Tests

LIST_UP_TO = 11  # Up to 11 tasks, the 2,048 subsets are listed faster than the search is compiled.
SEARCH_UP_TO = 64  # The most tasks that the search takes, the bits of a word.
EFFORT = 6_000_000  # The most nodes that the search looks at, about half a minute.
AT_ONCE = 500  # So few nodes take no time, and are looked at even when told to stop.


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its proof: between `lower`, which `subset` attains, and `upper`; equal when `proven`.

    `subset`: the task numbers of the worst set found. `witnesses`: per test, the task of it that the test tells from
    fewest others (Eq. 2; none for C_soft). `distribution`: the best distribution over tests on `subset` (Eq. 3 only),
    and `weights` its dual, over tasks. `reason` says why a value is infinite or not proven.
    """

    lower: float
    upper: float
    subset: tuple[int, ...]
    witnesses: tuple[int, ...] = ()
    distribution: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    reason: str = ""
    effort: int = field(default=0, compare=False)

    @property
    def proven(self) -> bool:
        """Whether the bounds meet."""
        return self.upper <= self.lower * (1 + 1e-9)

    def __str__(self) -> str:
        if self.lower == np.inf:
            return f"infinite: {self.reason}"
        if self.proven:
            return f"{self.lower:.4g} (proven), on {len(self.subset)} tasks"
        return f"between {self.lower:.4g} (on {len(self.subset)} tasks) and {self.upper:.4g}: {self.reason}"


def deterministic_coefficient(
    table: Any, *, effort: int = EFFORT, on_progress: OnProgress | None = None
) -> Coefficient:
    """C of Eq. (2): the most, over sets S of tasks, of |S| / max over tests of min over i in S of |S-bar(i)|.

    table: (K, M, M), whether test k separates tasks i and j (`tables.separating_arms`, or your own class of tests).
    effort: nodes of the search after which bounds are returned. on_progress is told the nodes so far; returning False
    ends it.

    >>> import numpy as np
    >>> one_pair_each = np.zeros((3, 3, 3), dtype=bool)  # each test separates one pair, the third task is in between
    >>> for test, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
    ...     one_pair_each[test, i, j] = one_pair_each[test, j, i] = True
    >>> print(deterministic_coefficient(one_pair_each))
    infinite: on 3 tasks every test leaves some task separated from no other, so one greedy round may remove nobody
    >>> deterministic_coefficient(one_pair_each[:, :2, :2]).lower
    2.0
    """
    table = check_table(table)
    n_tests, n_tasks, _ = table.shape

    def measure(subset: IntArray) -> int:
        return int(table[np.ix_(np.arange(n_tests), subset, subset)].sum(axis=2).min(axis=1).max())

    def build(members: IntArray) -> "Tests":
        return _witness_tests(table[np.ix_(np.arange(n_tests), members, members)])

    # Whoever fails test k at t keeps all but t of the tasks it is told from out of S.
    needed = table.sum(axis=2)  # (K, M)
    found = _largest_ratio(n_tasks, measure, build, needed, _hardest(table), effort, on_progress)
    witnesses = ()
    if found.subset:
        members = np.array(found.subset)
        within = table[np.ix_(np.arange(n_tests), members, members)].sum(axis=2)
        witnesses = tuple(found.subset[i] for i in within.argmin(axis=1))
    reason = found.reason
    if found.lower == np.inf:
        reason = (
            f"on {len(found.subset)} tasks every test leaves some task separated from no other, "
            "so one greedy round may remove nobody"
        )
    return Coefficient(found.lower, found.upper, found.subset, witnesses, reason=reason, effort=found.effort)


def soft_coefficient(
    collection: Collection,
    separation: float,
    *,
    radius: FloatArray | None = None,
    effort: int = EFFORT,
    on_progress: OnProgress | None = None,
) -> Coefficient:
    """C_soft of NOTES 6: the most, over sets S of tasks, of |S| / the most even soft split of S by any arm.

    It bounds trees with soft splits, as Eq. (2) does not: C_soft <= C* + 1 and D_greedy <= 1 + C_soft ln(M/2).
    radius: of estimated means, as in `tables.even_tests`.

    >>> soft_coefficient(Collection.bernoulli([[0.1, 0.5], [0.5, 0.5], [0.9, 0.6]]), 0.4).lower
    3.0
    """
    tests = even_tests(collection, separation, radius=radius)
    keep = _not_dominated(
        np.concatenate([tests.low, tests.high], axis=1), tests.low.sum(axis=1) + tests.high.sum(axis=1)
    )
    low, high = tests.low[keep], tests.high[keep]

    def measure(subset: IntArray) -> int:
        return int(np.minimum(low[:, subset].sum(axis=1), high[:, subset].sum(axis=1)).max(initial=0))

    def build(members: IntArray) -> "Tests":
        return _side_tests(low[:, members], high[:, members])

    needed = np.stack([low.sum(axis=1), high.sum(axis=1)], axis=1)
    within = even_separated(low, high)
    found = _largest_ratio(collection.n_tasks, measure, build, needed, _hardest(within[None]), effort, on_progress)
    if found.lower == np.inf:
        names = " and ".join(repr(collection.tasks[i]) for i in found.subset[:2])
        return Coefficient(np.inf, np.inf, found.subset, reason=f"no arm separates {names} by {separation:g}")
    return found


def even_separated(low: BoolArray, high: BoolArray) -> BoolArray:
    """Whether some test puts i and j on different sides for certain, shape (M, M)."""
    apart = low.astype(np.int64).T @ high.astype(np.int64) > 0
    return np.asarray(apart | apart.T)


def _largest_ratio(
    n_tasks: int,
    measure: Callable[[IntArray], int],
    build: Callable[[IntArray], "Tests"],
    needed: IntArray,
    hardest: IntArray,
    effort: int,
    on_progress: OnProgress | None,
) -> Coefficient:
    """The largest |S| / measure(S), by listing or by search, with the bounds reached when `effort` ran out."""
    if n_tasks <= LIST_UP_TO:
        return _by_listing(n_tasks, measure)
    members = np.sort(hardest[:SEARCH_UP_TO])
    found = _by_search(build(members), members, measure, effort, on_progress)
    if n_tasks <= SEARCH_UP_TO or found.lower == np.inf:
        return found
    upper = max(found.lower, _root_bound(n_tasks, needed))
    reason = f"more than {SEARCH_UP_TO} tasks: only the {SEARCH_UP_TO} hardest to separate were searched"
    return Coefficient(found.lower, upper, found.subset, reason=reason, effort=found.effort)


def _by_listing(n_tasks: int, measure: Callable[[IntArray], int]) -> Coefficient:
    best, worst = Fraction(0), np.arange(2)
    for word in range(3, 1 << n_tasks):
        subset = np.flatnonzero(word >> np.arange(n_tasks) & 1)
        if len(subset) < 2:
            continue
        split = measure(subset)
        if split == 0:
            return Coefficient(np.inf, np.inf, tuple(subset.tolist()))
        if Fraction(len(subset), split) > best:
            best, worst = Fraction(len(subset), split), subset
    return Coefficient(float(best), float(best), tuple(worst.tolist()), effort=1 << n_tasks)


def _by_search(
    tests: "Tests", members: IntArray, measure: Callable[[IntArray], int], effort: int, on_progress: OnProgress | None
) -> Coefficient:
    """For t = 0, 1, ... ask for a set larger than the best ratio allows, until t is too large to matter."""
    from banditree.theory.subsets import FOUND, NONE_EXISTS, find_subset

    subset, best, nodes, limit = members[:2], Fraction(0), 0, 0
    upper: float | Fraction = 0  # over the t at which the search was cut short
    while best * limit < len(members):
        if (split := measure(subset)) == 0:
            return Coefficient(np.inf, np.inf, tuple(subset.tolist()), effort=nodes)
        best = Fraction(len(subset), split)
        status, found, spent = find_subset(tests, limit, max(2, int(best * limit) + 1), effort - nodes, on_progress)
        nodes += spent
        if status == FOUND:
            subset = members[found]
            assert len(subset) > best * measure(subset)  # a larger ratio each time, so this ends
            continue
        if status != NONE_EXISTS:
            size = _largest_possible(tests, limit, int(best * limit) + 1, effort // 50, on_progress)
            upper = max(upper, Fraction(size, limit) if limit else np.inf if size >= 2 else 0)
        limit += 1
    reason = "" if upper <= best else f"the search ended after {nodes:,} nodes"
    return Coefficient(float(best), float(max(best, upper)), tuple(subset.tolist()), reason=reason, effort=nodes)


def _largest_possible(tests: "Tests", limit: int, low: int, budget: int, on_progress: OnProgress | None) -> int:
    """A size that no set in which every test fails at `limit` exceeds: by bisection, with `budget` nodes a question."""
    from banditree.theory.subsets import NONE_EXISTS, find_subset

    high = tests.n_tasks + 1
    while low < high:
        middle = (low + high) // 2
        nodes = max(budget, AT_ONCE) if goes_on(on_progress, 0, budget) else AT_ONCE
        if find_subset(tests, limit, middle, nodes)[0] == NONE_EXISTS:
            high = middle
        else:
            low = middle + 1
    return high - 1


def _root_bound(n_tasks: int, needed: IntArray) -> float:
    """An upper bound for any number of tasks: to fail one test at t, all but t of some candidate's tasks must go."""
    upper = 0.0
    for limit in range(n_tasks):
        size = int((n_tasks - np.maximum(needed - limit, 0).min(axis=1)).min(initial=n_tasks))
        if size >= 2:
            upper = max(upper, size / limit if limit else np.inf)
    return upper


def _hardest(table: BoolArray) -> IntArray:
    """Tasks by how few others they are separated from, over all tests."""
    return np.argsort(table.sum(axis=(0, 2)), kind="stable").astype(np.int64)


def _witness_tests(table: BoolArray) -> "Tests":
    """Eq. (2): test k fails by task i in S if at most t of those that k separates from i are in S."""
    from banditree.theory.subsets import Tests

    n_tests, n_tasks, _ = table.shape
    table = table[_not_dominated(table.reshape(n_tests, -1), table.sum(axis=(1, 2)))]
    bits = _bits(n_tasks)
    owners = np.broadcast_to(bits, table.shape[:2]).copy()
    existing = np.full(len(table), bits.sum(dtype=np.uint64))
    return Tests(_words(table), owners, existing, n_tasks, few=3)


def _side_tests(low: BoolArray, high: BoolArray) -> "Tests":
    """C_soft: a split fails by either side, if at most t of the tasks on it are in S."""
    from banditree.theory.subsets import Tests

    sets = np.stack([_words(low), _words(high)], axis=1)
    return Tests(sets, np.zeros_like(sets), np.full(len(sets), 3, dtype=np.uint64), low.shape[1])


def _bits(n_tasks: int) -> Any:
    return np.uint64(1) << np.arange(n_tasks, dtype=np.uint64)


def _words(members: BoolArray) -> Any:
    """Sets of tasks, the last axis, as the bits of 64-bit words."""
    return (members * _bits(members.shape[-1])).sum(axis=-1, dtype=np.uint64)


def _not_dominated(separated: BoolArray, strength: IntArray) -> IntArray:
    """The tests (rows) that no other does everything of: where such a test fails, so do those it dominates."""
    kept: list[int] = []
    for test in np.argsort(-strength, kind="stable"):
        if not kept or not (separated[kept] | ~separated[test]).all(axis=1).any():
            kept.append(int(test))
    return np.sort(np.array(kept, dtype=np.int64))
