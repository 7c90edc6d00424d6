"""The largest set of tasks in which every test fails: an exact, compiled search behind the coefficients.

A coefficient is the largest |S|/t such that every test has, in S, something to fail at: a task that it tells from at
most t others (Eq. 2), or a side with at most t tasks (C_soft). So for each t we ask for the largest such S. The search
decides tasks in or out one by one and keeps, per test, the *candidates* by which it may still fail. It prunes with

- candidates that already see more than t chosen tasks, or without which S would be too small;
- tests with one candidate left: at most t of its tasks may be in S, which throws the others out;
- a bound on |S| from those: disjoint groups of tasks that may give at most t each.

Importing this module imports numba. Sets of tasks are the bits of one 64-bit word, hence M <= 64.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.extending import intrinsic

from banditree.progress import OnProgress, goes_on

Words = npt.NDArray[np.uint64]
Word = Any  # one 64-bit set
MAX_TASKS = 64  # Sets of tasks are the bits of one word.
FOUND, NONE_EXISTS, UNDECIDED = 1, 0, -1  # The three answers of the search.
CHUNK = 50_000  # Nodes after which the caller is asked whether to go on.
TASK_IN, TASK_OUT = -2, -3  # The marks of a node that branches on a task: which branch is open.

F = TypeVar("F", bound=Callable[..., Any])
_compiled = cast(Callable[[F], F], numba.njit(cache=True))
_ONE, _EMPTY = np.uint64(1), np.uint64(0)


class Tests(NamedTuple):
    """T tests with up to C candidates each; candidate c fails its test if at most t of `sets[test, c]` are in S.

    `owners[test, c]` is the set that must be part of S for that (one task, or empty), `existing[test]` the bits of the
    candidates there are. A test with at most `few` candidates left is branched on by candidate, else a task is.
    """

    sets: Words
    owners: Words
    existing: Words
    n_tasks: int
    few: int = 1


def find_subset(
    tests: Tests, limit: int, size: int, max_nodes: int, on_progress: OnProgress | None = None
) -> tuple[int, list[int], int]:
    """(FOUND, S, nodes) with |S| >= `size` in which every test fails at `limit`, or NONE_EXISTS, or UNDECIDED.

    max_nodes: after how many nodes to give up. on_progress is told the nodes now and then; returning False gives up.

    >>> two = np.array([[0b10, 0b01]], dtype=np.uint64)  # one test, which tells task 0 from task 1
    >>> tests = Tests(two, np.array([[0b01, 0b10]], dtype=np.uint64), np.array([0b11], dtype=np.uint64), 2)
    >>> find_subset(tests, limit=1, size=2, max_nodes=100)[:2], find_subset(tests, 0, 2, 100)[:2]
    ((1, [0, 1]), (0, []))
    """
    n_tests = tests.sets.shape[0]
    depth = n_tests + tests.n_tasks + 2
    open_ = np.zeros((depth, n_tests), dtype=np.uint64)
    open_[0] = tests.existing
    chosen, available, left = (np.zeros(depth, dtype=np.uint64) for _ in range(3))
    available[0] = np.uint64((1 << tests.n_tasks) - 1)
    branch = np.zeros(depth, dtype=np.int64)
    cursor = np.array([0, 1, 0], dtype=np.int64)  # depth, whether the node there is new, nodes so far
    while True:
        budget = min(int(cursor[2]) + CHUNK, max_nodes)
        status, found = _search(
            tests.sets, tests.owners, tests.few, limit, size, budget, open_, chosen, available, left, branch, cursor
        )
        nodes = int(cursor[2])
        if status != UNDECIDED:
            return int(status), _members(int(found)), nodes
        if nodes >= max_nodes or not goes_on(on_progress, nodes, max_nodes):
            return UNDECIDED, [], nodes


def _members(word: int) -> list[int]:
    return [task for task in range(MAX_TASKS) if word >> task & 1]


def _count_bits(_context: Any, _word: Any) -> Any:
    """How many bits are set, as one machine instruction."""
    signature = numba.types.int64(numba.types.uint64)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return signature, generate


_count = cast(Callable[[Word], int], intrinsic(_count_bits))


@_compiled
def _bit(index: int) -> Word:
    return _ONE << np.uint64(index)


@_compiled
def _lowest(word: Word) -> int:
    """The number of the lowest bit that is set."""
    return _count((word & (~word + _ONE)) - _ONE)


@_compiled
def _search(
    sets: Words,
    owners: Words,
    few: int,
    limit: int,
    size: int,
    budget: int,
    open_: Words,
    chosen: Words,
    available: Words,
    left: Words,
    branch: npt.NDArray[np.int64],
    cursor: npt.NDArray[np.int64],
) -> tuple[int, Word]:
    """Depth first from where `cursor` stands, until an answer or `budget` nodes in all."""
    # Row d of open_, chosen, available, left and branch is the node at depth d of the path at hand: its S contains
    # `chosen` and lies inside `available`, and `left` has the branches not yet opened. Nothing else is kept, so a
    # search that ran out of budget goes on where it stood. No S is missed: branches of a node cover all of its sets (a
    # task in or out; one of the candidates by which a test fails), and a node is left only when all of them are
    # searched or `_propagate` has shown that it holds no S of the size asked for.
    groups = np.zeros(sets.shape[0], dtype=np.uint64)
    room = np.zeros(sets.shape[0], dtype=np.int64)
    weight = np.zeros(MAX_TASKS)
    depth, new = cursor[0], cursor[1] == 1
    while depth >= 0:
        if new:
            if cursor[2] >= budget:
                cursor[0], cursor[1] = depth, 1
                return UNDECIDED, _EMPTY
            cursor[2] += 1
            alive, inside, outside = _propagate(
                sets, owners, limit, size, open_[depth], chosen[depth], available[depth], groups, room
            )
            chosen[depth], available[depth] = inside, outside
            if alive:
                test = _test_to_branch_on(open_[depth], few)
                if test == -1 or inside == outside:
                    return FOUND, outside
                branch[depth], left[depth] = test, open_[depth, max(test, 0)]
                if test < 0:
                    task = _task_to_branch_on(sets, owners, limit, open_[depth], inside, outside, weight)
                    branch[depth], left[depth] = TASK_IN, _bit(task)
            else:
                branch[depth], left[depth] = 0, _EMPTY
        if left[depth] == _EMPTY:
            depth, new = depth - 1, False
        else:
            _open_child(sets, open_, chosen, available, left, branch, depth)
            depth, new = depth + 1, True
    return NONE_EXISTS, _EMPTY


@_compiled
def _open_child(
    sets: Words,
    open_: Words,
    chosen: Words,
    available: Words,
    left: Words,
    branch: npt.NDArray[np.int64],
    depth: int,
) -> None:
    """Write the next branch at `depth` below it: a task in, then out; or the next candidate of a test."""
    open_[depth + 1] = open_[depth]
    chosen[depth + 1], available[depth + 1] = chosen[depth], available[depth]
    if branch[depth] == TASK_IN:
        chosen[depth + 1] |= left[depth]
        branch[depth] = TASK_OUT
    elif branch[depth] == TASK_OUT:
        available[depth + 1] &= ~left[depth]
        left[depth] = _EMPTY
    else:
        test, best, fewest = branch[depth], 0, MAX_TASKS + 1
        for candidate in range(sets.shape[1]):
            if left[depth] & _bit(candidate):
                seen = _count(sets[test, candidate] & available[depth])
                if seen < fewest:
                    best, fewest = candidate, seen
        open_[depth + 1, test] = _bit(best)
        left[depth] &= ~_bit(best)
        open_[depth, test] &= ~_bit(best)  # later children do not use it: no subset is looked at twice


@_compiled
def _test_to_branch_on(open_: Words, few: int) -> int:
    """The undecided test with fewest candidates if they are few, -2 if a task is to be decided, -1 if all is done."""
    best, fewest, pending = -2, few + 1, False
    for test in range(open_.shape[0]):
        if open_[test] != _EMPTY:
            pending = True
            count = _count(open_[test])
            if 1 < count < fewest:
                best, fewest = test, count
    return best if pending else -1


@_compiled
def _task_to_branch_on(
    sets: Words, owners: Words, limit: int, open_: Words, chosen: Word, available: Word, weight: npt.NDArray[np.float64]
) -> int:
    """The undecided task that tests with few candidates care about most."""
    undecided = available & ~chosen
    weight[:] = 0.0
    for test in range(open_.shape[0]):
        candidates = open_[test]
        share = 1.0 / max(_count(candidates), 1) ** 3
        while candidates != _EMPTY:
            candidate = _lowest(candidates)
            candidates &= candidates - _ONE
            if _count(sets[test, candidate] & available) > limit:
                tasks = (sets[test, candidate] | owners[test, candidate]) & undecided
                while tasks != _EMPTY:
                    weight[_lowest(tasks)] += share
                    tasks &= tasks - _ONE
    best, most = _lowest(undecided), -1.0
    for task in range(MAX_TASKS):
        if undecided & _bit(task) and weight[task] > most:
            best, most = task, weight[task]
    return best


@_compiled
def _propagate(
    sets: Words,
    owners: Words,
    limit: int,
    size: int,
    open_: Words,
    chosen: Word,
    available: Word,
    groups: Words,
    room: npt.NDArray[np.int64],
) -> tuple[bool, Word, Word]:
    """(whether an S of `size` may still exist, tasks in, tasks not out) after drawing every simple conclusion."""
    # Every conclusion holds for all S of the node. Each only adds to `chosen` or takes from `available` or the
    # candidates, so the loop ends, at the latest when nothing is left to decide.
    before_in, before_out, dropped = ~chosen, available, True
    while dropped or before_in != chosen or before_out != available:
        before_in, before_out = chosen, available
        alive, chosen, available, n_groups = _apply_forced(sets, owners, limit, open_, chosen, available, groups, room)
        if not alive or chosen & ~available:
            return False, chosen, available
        bound, rest = _bound(chosen, available, groups, room, n_groups)
        if bound < size:
            return False, chosen, available
        alive, dropped, available = _drop_candidates(sets, owners, limit, open_, chosen, available, rest, bound - size)
        if not alive:
            return False, chosen, available
    return True, chosen, available


@_compiled
def _apply_forced(
    sets: Words,
    owners: Words,
    limit: int,
    open_: Words,
    chosen: Word,
    available: Word,
    groups: Words,
    room: npt.NDArray[np.int64],
) -> tuple[bool, Word, Word, int]:
    """Tests with one candidate left: its owner is in S, and at most `limit` of its tasks are; lists those groups."""
    n_groups = 0
    for test in range(open_.shape[0]):
        candidates = open_[test]
        if candidates != _EMPTY and candidates & (candidates - _ONE) == _EMPTY:
            candidate = _lowest(candidates)
            chosen |= owners[test, candidate]
            seen = _count(sets[test, candidate] & chosen)
            if seen > limit:
                return False, chosen, available, 0
            undecided = sets[test, candidate] & available & ~chosen
            if seen == limit:
                available &= ~undecided
            elif _count(undecided) > limit - seen:
                groups[n_groups], room[n_groups] = undecided, limit - seen
                n_groups += 1
    return True, chosen, available, n_groups


@_compiled
def _bound(
    chosen: Word, available: Word, groups: Words, room: npt.NDArray[np.int64], n_groups: int
) -> tuple[int, Word]:
    """(the most tasks S can have, those this count did not limit), from disjoint groups, largest gain first."""
    # A group gives at most its room. Groups that are counted leave `rest`, so they are disjoint, and the sum is a bound
    # whatever the order; the largest gain first makes it small.
    rest = available & ~chosen
    bound = _count(chosen)
    while True:
        best, most = -1, 0
        for group in range(n_groups):
            gain = _count(groups[group] & rest) - room[group]
            if gain > most:
                best, most = group, gain
        if best < 0:
            return bound + _count(rest), rest
        bound += room[best]
        rest &= ~groups[best]


@_compiled
def _drop_candidates(
    sets: Words,
    owners: Words,
    limit: int,
    open_: Words,
    chosen: Word,
    available: Word,
    rest: Word,
    slack: int,
) -> tuple[bool, bool, Word]:
    """Drop what a test can no longer fail by; a test that fails for certain is closed (no candidates to decide)."""
    dropped = False
    for test in range(open_.shape[0]):
        candidates, kept, common, fails = open_[test], _EMPTY, ~_EMPTY, False
        if candidates == _EMPTY:
            continue
        while candidates != _EMPTY:
            candidate = _lowest(candidates)
            candidates &= candidates - _ONE
            tasks, owner = sets[test, candidate], owners[test, candidate]
            seen = _count(tasks & chosen)
            if owner & ~available or seen > limit:
                continue
            if owner & ~chosen == _EMPTY and _count(tasks & available) <= limit:
                fails = True
                break
            if _count(tasks & rest) - (limit - seen) > slack:
                continue
            kept |= _bit(candidate)
            common &= tasks if seen == limit else _EMPTY
        if fails:
            open_[test] = _EMPTY
            continue
        if kept == _EMPTY:
            return False, dropped, available
        dropped = dropped or kept != open_[test]
        open_[test] = kept
        available &= ~(common & ~chosen)  # whichever candidate it is, one more of these would be too many
    return True, dropped, available
