"""The randomised classification coefficient, Eq. (3): tests are drawn, and the worst task is told from many on average.

For one set S it is a linear programme, and its dual is over tasks (NOTES 15). Over all sets we branch on "task in, task
out" for each size n of S. The bound of a branch comes from the same programme with the order of the players swapped:
a distribution p over tests chosen before S guarantees, whatever S of the branch, the least over i of the n smallest
P_ij = sum over k of p_k [k separates i, j] that S could consist of. Any p gives a valid bound, the programme the best.
"""

import heapq
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import invalid
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.theory.coefficients import Coefficient
from banditree.theory.separating_tests import check_table

EFFORT = 8_000  # linear programmes, about half a minute
STARTS = 12  # random sets that are improved task by task, for the lower bound
CLOSE = 1e-6  # relative gap at which a branch is not worth following
MAX_CUTS = 30  # rounds of adding rows to the programme of one branch
NEW_ROWS = 12  # rows added in one round
ENOUGH = 0.98  # a bound this close to its programme's value is good enough to branch on
MAX_ROWS = 80  # rows that a branch inherits


class Game(NamedTuple):
    """The programme of Eq. (3) on one set: `value` = max over p of min over i of E|S-bar(i)|, and what attains it.

    `distribution`: p over tests. `weights`: over the tasks of the set, the dual: no test beats `value` on average.
    """

    value: float
    distribution: FloatArray
    weights: FloatArray


def solve_game(gains: FloatArray) -> Game:
    """The best mix of the columns of `gains` (tests) for the worst row (task), and the worst mix of rows.

    >>> game = solve_game(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> game.value, game.distribution.tolist(), game.weights.tolist()
    (1.5, [0.5, 0.5], [0.5, 0.5])
    """
    from scipy.optimize import linprog

    rows, columns = gains.shape
    answer = linprog(
        np.append(np.zeros(columns), -1.0),
        A_ub=np.hstack([-gains, np.ones((rows, 1))]),
        b_ub=np.zeros(rows),
        A_eq=np.append(np.ones(columns), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * columns + [(None, None)],
        method="highs",
    )
    if answer.x is None:  # cannot be: the programme has a finite optimum
        raise ArithmeticError(f"The linear programme was not solved: {answer.message}")
    p = np.maximum(answer.x[:columns], 0.0)
    w = np.maximum(-answer.ineqlin.marginals, 0.0)
    p, w = p / p.sum(), w / w.sum()
    return Game(float((gains @ p).min()), p, w)


def randomised_split(table: Any, subset: Any) -> Game:
    """Eq. (3) on the set `subset` alone: the distribution over tests that tells its worst task from most others.

    >>> one_pair_each = np.zeros((3, 3, 3), dtype=bool)
    >>> for test, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
    ...     one_pair_each[test, i, j] = one_pair_each[test, j, i] = True
    >>> round(3 / randomised_split(one_pair_each, [0, 1, 2]).value, 9)
    4.5
    """
    table = check_table(table)
    members = np.unique(np.asarray(subset, dtype=np.int64))
    if len(members) < 2 or members[0] < 0 or members[-1] >= table.shape[1]:
        raise invalid("subset", f"at least 2 of the tasks 0 to {table.shape[1] - 1}", subset)
    return solve_game(table[np.ix_(np.arange(len(table)), members, members)].sum(axis=2).T.astype(float))


def randomised_coefficient(
    table: Any, *, effort: int = EFFORT, at_most: float = np.inf, on_progress: OnProgress | None = None
) -> Coefficient:
    """C~ of Eq. (3): the most, over sets S, of |S| / max over p of min over i in S of E|S-bar(i)|.

    Finite whenever every pair is separated by some test (NOTES 5). The answer carries the best distribution over tests
    on the worst set and the dual weights over its tasks. effort: linear programmes after which bounds are returned.
    at_most: an upper bound already known, such as C of Eq. (2). Proven means to a millionth: it is linear programming.

    >>> one_pair_each = np.zeros((3, 3, 3), dtype=bool)
    >>> for test, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
    ...     one_pair_each[test, i, j] = one_pair_each[test, j, i] = True
    >>> print(randomised_coefficient(one_pair_each))
    4.5 (proven), on 3 tasks
    """
    table = check_table(table)
    apart = table.any(axis=0) | np.eye(table.shape[1], dtype=bool)
    if not apart.all():
        i, j = (int(index) for index in np.argwhere(~apart)[0])
        return Coefficient(np.inf, np.inf, (i, j), reason=f"no test separates tasks {i} and {j}")
    search = _Search(table.astype(float), effort, on_progress)
    search.improve_random_sets()
    upper = search.close_gap()
    subset = tuple(np.flatnonzero(search.best_set).tolist())
    game = randomised_split(table, subset)
    reason = "" if upper <= search.best * (1 + CLOSE) else f"the search ended after {search.solved:,} linear programmes"
    return Coefficient(
        search.best,
        search.best if not reason else max(search.best, min(upper, at_most)),
        subset,
        distribution=tuple(game.distribution.tolist()),
        weights=tuple(game.weights.tolist()),
        reason=reason,
        effort=search.solved,
    )


@dataclass(eq=False)
class _Branch:
    """Sets of n tasks with `inside` in and none outside `available`; what its programme said."""

    n: int
    inside: BoolArray
    available: BoolArray
    p: FloatArray  # the distribution that gave the bound
    upper: float = np.inf
    blamed: list[tuple[int, BoolArray]] = field(default_factory=list)  # the rows of its programme: a task and its set
    weight: FloatArray | None = None  # how much the dual blames each task, and
    share: FloatArray | None = None  # how often a task is in the sets it blames

    def task(self) -> int:
        """The task to decide next: the one blamed most, or the one that is in about half of the blamed sets."""
        undecided = self.available & ~self.inside
        assert self.weight is not None
        assert self.share is not None
        blamed = np.where(undecided, self.weight, -1.0)
        if blamed.max() > 1e-9:
            return int(blamed.argmax())
        return int(np.where(undecided, self.share * (1 - self.share) + 1e-9, -1.0).argmax())

    def children(self) -> list["_Branch"]:
        """The task in, then out; a child whose set is thereby complete says so."""
        task, born = self.task(), []
        for inside in (True, False):
            child = _Branch(self.n, self.inside.copy(), self.available.copy(), self.p, self.upper)
            (child.inside if inside else child.available)[task] = inside
            if child.inside.sum() == self.n:
                child.available = child.inside.copy()
            if child.available.sum() == self.n:
                child.inside = child.available.copy()
            child.blamed = [row for row in self.blamed if row[1][task] == inside]
            if child.inside.sum() <= self.n <= child.available.sum():
                born.append(child)
        return born


class _Search:
    """Best-first over branches of all sizes, with the best set so far."""

    def __init__(self, table: FloatArray, effort: int, on_progress: OnProgress | None) -> None:
        self.table, self.effort, self.on_progress = table, effort, on_progress
        self.n_tests, self.n_tasks = table.shape[:2]
        self.solved = 0
        self.best, self.best_set = 0.0, np.zeros(self.n_tasks, dtype=bool)
        self.try_set(np.arange(self.n_tasks) < 2)
        self.try_set(np.ones(self.n_tasks, dtype=bool))

    @property
    def tired(self) -> bool:
        return self.solved >= self.effort or not goes_on(self.on_progress, self.solved, self.effort, self.best)

    def solve(self, gains: FloatArray) -> Game:
        self.solved += 1
        return solve_game(gains)

    def try_set(self, members: BoolArray) -> float:
        """|S|/value of one set, kept if it is the largest so far."""
        inside = np.flatnonzero(members)
        ratio = len(inside) / self.solve(self.table[:, inside][:, :, inside].sum(axis=2).T).value
        if ratio > self.best * (1 + 1e-12):
            self.best, self.best_set = ratio, members.copy()
        return ratio

    def improve_random_sets(self) -> None:
        """Lower bound: from random sets, put tasks in or take them out as long as the ratio grows."""
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            members = np.zeros(self.n_tasks, dtype=bool)
            members[rng.choice(self.n_tasks, rng.integers(2, self.n_tasks + 1), replace=False)] = True
            ratio, grew = self.try_set(members), True
            while grew and self.solved < self.effort / 3 and not self.tired:
                grew = False
                for task in rng.permutation(self.n_tasks):
                    members[task] ^= True
                    other = self.try_set(members) if members.sum() >= 2 else 0.0
                    if other > ratio * (1 + 1e-9):
                        ratio, grew = other, True
                    else:
                        members[task] ^= True

    def close_gap(self) -> float:
        """The upper bound that is reached within the effort; the best set on the way is kept."""
        heap: list[tuple[float, int, _Branch]] = []
        nothing, everything = np.zeros(self.n_tasks, dtype=bool), np.ones(self.n_tasks, dtype=bool)
        p = np.full(self.n_tests, 1 / self.n_tests)
        count = 0
        for n in range(self.n_tasks, 2, -1):  # a pair that some test separates has ratio 2
            branch = _Branch(n, nothing, everything, p)
            self.bound(branch)
            p = branch.p
            if branch.upper > self.best * (1 + CLOSE):
                heapq.heappush(heap, (-branch.upper, count, branch))
                count += 1
        while heap and -heap[0][0] > self.best * (1 + CLOSE) and not self.tired:
            for child in heapq.heappop(heap)[2].children():
                if child.inside.sum() == child.n:
                    self.try_set(child.inside)
                    continue
                self.bound(child)
                if child.upper > self.best * (1 + CLOSE):
                    heapq.heappush(heap, (-child.upper, count, child))
                    count += 1
        return max(self.best, -heap[0][0] if heap else 0.0)

    def bound(self, branch: _Branch) -> None:
        """Lower `branch.upper` by rows: the n tasks that are worst for task i under p; then the best p for all rows."""
        rows = [self.table[:, i, :] @ members for i, members in branch.blamed]
        p, optimum, dual = branch.p, np.inf, np.zeros(0)
        for _ in range(MAX_CUTS):
            values, sets = self.worst_sets(branch, p)
            upper = branch.n / max(float(values.min()), 1e-12)
            if upper < branch.upper:
                branch.upper, branch.p = upper, p
            closed = branch.upper <= self.best * (1 + CLOSE) or values.min() >= ENOUGH * optimum
            if closed or (dual.size and self.tired):
                break
            for i in np.argsort(values)[:NEW_ROWS]:
                if values[i] < optimum - 1e-9:
                    rows.append(self.table[:, i, :] @ sets[i])
                    branch.blamed.append((int(i), sets[i]))
            game = self.solve(np.array(rows))
            # Halfway to the best p so far: the programme's own p jumps from corner to corner.
            p, optimum, dual = (game.distribution + branch.p) / 2, game.value, game.weights
        branch.weight, branch.share = np.zeros(self.n_tasks), np.zeros(self.n_tasks)
        for part, (i, members) in zip(dual, branch.blamed, strict=False):
            branch.weight[i] += part
            branch.share += part * members
        branch.blamed = branch.blamed[-MAX_ROWS:]

    def worst_sets(self, branch: _Branch, p: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Per task i the set of the branch that p tells i least from, i in it: its value (M,), members (M, M)."""
        separated = np.tensordot(p, self.table, 1)
        order = np.where(branch.inside, -1.0, np.where(branch.available, separated, 3.0))
        np.fill_diagonal(order, -2.0)
        worst = np.argpartition(order, branch.n - 1, axis=1)[:, : branch.n]
        sets = np.zeros_like(order, dtype=bool)
        np.put_along_axis(sets, worst, True, axis=1)
        fits = branch.available & (branch.inside | (branch.inside.sum() < branch.n))
        return np.where(fits, (separated * sets).sum(axis=1), np.inf), sets
