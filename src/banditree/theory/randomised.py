"""The randomised classification coefficient, Eq. (3): tests are drawn, and the worst task is told from many on average.

For one set S it is a linear programme, and its dual is over tasks (NOTES 15). Over all sets we ask "has some set a
larger ratio than this?" for one target after another; `uneven_sets` answers by branch and bound.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import invalid
from banditree.progress import OnProgress, Progress
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.theory.coefficients import Coefficient
from banditree.theory.separating_tests import check_table

EFFORT = 40_000  # The most nodes that the search looks at, about half a minute for 40 tasks.
LIST_UP_TO = 8  # Up to 8 tasks, all 247 sets are solved before a search is compiled.
CLOSE = 1e-6  # A smaller relative gap counts as none: programmes are solved to about that.
NEAR = 1.02  # Once the ratio of the bounds is below this, the search tries to close them altogether.
STARTS = 4  # This many sets are improved task by task before the search.
SHARE = 4  # No question except the last may take more than a quarter of the effort.


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
    on the worst set and the dual weights over its tasks. effort: nodes of the search after which bounds are returned.
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
    search = _Bounds(table, at_most)
    if table.shape[1] <= LIST_UP_TO:
        search.list_all()
    else:
        search.improve_sets()
        search.close(effort, on_progress)
    reason = "" if search.closed else f"the search ended after {search.nodes:,} nodes"
    return Coefficient(
        search.lower,
        search.upper if reason else search.lower,
        search.subset,
        distribution=tuple(search.game.distribution.tolist()),
        weights=tuple(search.game.weights.tolist()),
        reason=reason,
        effort=search.nodes,
    )


class _Bounds:
    """What is known of C~: the best set so far, and a ratio that no set exceeds."""

    def __init__(self, table: BoolArray, at_most: float) -> None:
        self.table, self.nodes, self.stopped = table, 0, False
        self.lower, self.upper = 0.0, min(at_most, _drawn_evenly(table))
        self.take([0, 1])

    @property
    def closed(self) -> bool:
        """Whether the bounds meet."""
        return self.upper <= self.lower * (1 + CLOSE)

    def take(self, subset: Sequence[int]) -> float:
        """The ratio of a set, which is kept if it is the largest so far."""
        game = randomised_split(self.table, subset)
        ratio = len(subset) / game.value
        if ratio > self.lower:
            self.lower, self.game, self.subset = ratio, game, tuple(subset)
        return ratio

    def list_all(self) -> None:
        """Every set."""
        n_tasks = self.table.shape[1]
        for size in range(2, n_tasks + 1):
            for subset in combinations(range(n_tasks), size):
                self.take(subset)
        self.upper = self.lower

    def improve_sets(self) -> None:
        """From all tasks and from a few random sets, put tasks in or take them out as long as the ratio grows."""
        rng, n_tasks = np.random.default_rng(0), self.table.shape[1]
        for start in range(STARTS):
            members: BoolArray = np.asarray(rng.random(n_tasks) < (0.5 if start else 1.0))
            ratio = 0.0
            for task in rng.permutation(n_tasks):
                members[task] ^= True
                found = self.take(np.flatnonzero(members).tolist()) if members.sum() >= 2 else 0.0
                if found > ratio:
                    ratio = found
                else:
                    members[task] ^= True

    def close(self, effort: int, on_progress: OnProgress | None) -> None:
        """Ask for sets in the middle between the bounds; when those are near, just above the best set."""
        doubtful = 0.0  # the largest target at which the search was cut short
        while not self.closed and self.nodes < effort and not self.stopped:
            near = self.upper <= NEAR * max(self.lower, doubtful)
            target = self.lower * (1 + CLOSE) if near else float(np.sqrt(max(self.lower, doubtful) * self.upper))
            if not self.ask(target, effort - self.nodes if near else effort // SHARE, effort, on_progress):
                if near:
                    break
                doubtful = target

    def ask(self, target: float, nodes: int, effort: int, on_progress: OnProgress | None) -> bool:
        """Move a bound to the far side of `target`, if the search for a set with a larger ratio comes to an end."""
        from banditree.theory.uneven_sets import FOUND, NONE_EXISTS, find_uneven_set

        def told(progress: Progress) -> bool:
            seen = replace(progress, done=self.nodes + progress.done, total=effort, best=self.lower)
            self.stopped = on_progress is not None and on_progress(seen) is False
            return not self.stopped

        if not told(Progress(0, nodes)):
            return False
        status, members, spent = find_uneven_set(self.table, target, nodes, told)
        self.nodes += spent
        if status == FOUND:
            self.take(np.flatnonzero(members).tolist())
        elif status == NONE_EXISTS:
            self.upper = target
        return self.lower > target or self.upper <= target


def _drawn_evenly(table: BoolArray) -> float:
    """A ratio that no set exceeds: tests are drawn with equal chance, and each task meets the tasks most like it."""
    told = np.sort(table.mean(axis=0), axis=1).cumsum(axis=1).min(axis=0)  # from the n - 1 tasks most like it
    sizes = np.arange(1, len(told) + 1)
    return float((sizes[1:] / told[1:]).max())
