"""A set of tasks that no mixture of tests splits evenly: the compiled search behind the randomised coefficient.

The question is whether some S has |S| / v(S) > target, v(S) = max over p of min over i in S of sum over j in S of P_ij,
P_ij = sum over k of p_k [k separates i, j]. With c = 1/target: is there an S such that no p has, for every i of S, sum
over j in S of (P_ij - c) >= 0? Tasks are decided in or out one by one. A p rules out all sets of a branch if the sum is
at least 0 for every i and the S that is worst for i: all tasks that are in, and the undecided ones with P_ij < c. The
best p for that is a linear programme with a row for each (i, S), made by adding the rows that the last p violates; its
dual says which task to decide next. Whatever p the programme gives, the sum is checked for it, so nothing rests on the
programme's arithmetic. The size of S needs no branching: it is inside the sum.

Importing this module imports numba.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

FOUND, NONE_EXISTS, UNDECIDED = 1, 0, -1  # The three answers of the search.
OUT, OPEN, IN = 0, 1, 2  # What is decided about a task.
TOLERANCE = 1e-9  # The tolerance of the sum; relative to |S| c it moves the target by less than a millionth.
CHUNK = 2_000  # Nodes after which the caller is asked whether to go on.
NEW_ROWS = 6  # Rows that are added to the programme at a time.
MOST_ROWS = 400  # The most rows that the programme of one node has.
ROUNDS = 60  # The most times that rows are added.
PIVOTS = 400  # The most pivots that one programme takes.
DAMPED_FROM = 4  # From this round on p goes only halfway: the programme's own p jumps from corner to corner.
SLACK = 1 << 20  # Added to the number of a test, this says that the variable is its slack, not a row.
NONE = -1  # In place of a variable: none would raise the sum.

F = TypeVar("F", bound=Callable[..., Any])
_compiled = cast(Callable[[F], F], numba.njit(cache=True))


class Rows(NamedTuple):
    """Rows of a programme: row r says that task `task[r]` is told from enough of `members[r]`; `gain[r]`: per test."""

    task: IntArray
    members: BoolArray
    gain: FloatArray


def find_uneven_set(
    table: BoolArray, target: float, max_nodes: int, on_progress: OnProgress | None = None
) -> tuple[int, BoolArray, int]:
    """(FOUND, S, nodes) with |S| / v(S) > `target`, or NONE_EXISTS, or UNDECIDED after `max_nodes`; |S| >= 3.

    table: (K, M, M). on_progress is told the nodes now and then; returning False gives up.

    >>> one_pair_each = np.zeros((3, 3, 3), dtype=bool)
    >>> for test, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
    ...     one_pair_each[test, i, j] = one_pair_each[test, j, i] = True
    >>> find_uneven_set(one_pair_each, 4.4, 100)[0], find_uneven_set(one_pair_each, 4.6, 100)[0]
    (1, 0)
    """
    K, M, _ = table.shape
    gains: Any = np.ascontiguousarray(table.transpose(1, 0, 2), dtype=np.float32)  # half the size, and 0 or 1 is exact
    decided = np.full((M + 2, M), OPEN, dtype=np.int64)
    mixture = np.full((M + 2, K), 1 / K)
    rows = (np.zeros((M + 2, K), dtype=np.int64), np.zeros((M + 2, K, M), dtype=np.bool_))
    branch = np.zeros((M + 2, 3), dtype=np.int64)  # the task, which branch is open, how many rows the node hands down
    cursor = np.array([0, 1, 0], dtype=np.int64)  # depth, whether the node there is new, nodes so far
    while True:
        budget = min(int(cursor[2]) + CHUNK, max_nodes)
        status = int(_search(gains, 1.0 / target, budget, decided, mixture, rows[0], rows[1], branch, cursor))
        nodes = int(cursor[2])
        if status != UNDECIDED:
            return status, decided[cursor[0]] == IN if status == FOUND else np.zeros(M, dtype=bool), nodes
        if nodes >= max_nodes or not goes_on(on_progress, nodes, max_nodes):
            return UNDECIDED, np.zeros(M, dtype=bool), nodes


@_compiled
def _search(
    table: FloatArray,
    c: float,
    budget: int,
    decided: IntArray,
    mixture: FloatArray,
    tasks: IntArray,
    members: BoolArray,
    branch: IntArray,
    cursor: IntArray,
) -> int:
    """Depth first from where `cursor` stands, until an answer or `budget` nodes in all; a task in, then out.

    table: (M, K, M), the rows of a task together.
    """
    # Row d of decided, mixture, tasks, members and branch is the node at depth d of the path at hand: its S has every
    # task that is IN and none that is OUT. Both branches of a task are searched (branch[d, 1] counts them) unless some
    # p rules the node out, so no S is missed. A node without open tasks that no p was found for is returned as S; the
    # caller works out its ratio, and counts on that alone.
    M, K = table.shape[0], table.shape[1]
    room = Rows(np.zeros(MOST_ROWS, np.int64), np.zeros((MOST_ROWS, M), np.bool_), np.zeros((MOST_ROWS, K)))
    depth, new = cursor[0], cursor[1] == 1
    while depth >= 0:
        if new:
            if cursor[2] >= budget:
                cursor[0], cursor[1] = depth, 1
                return UNDECIDED
            cursor[2] += 1
            ruled_out = (decided[depth] != OUT).sum() < 3  # a pair that some test separates has ratio 2
            if not ruled_out:
                ruled_out = _rule_out(
                    table, c, decided[depth], mixture[depth], tasks[depth], members[depth], branch[depth], room
                )
            if not ruled_out and (decided[depth] != OPEN).all():
                cursor[0] = depth
                return FOUND
            branch[depth, 1] = 2 if ruled_out else 0
        new = branch[depth, 1] < 2
        if not new:
            depth -= 1
            continue
        decided[depth + 1], mixture[depth + 1] = decided[depth], mixture[depth]
        tasks[depth + 1], members[depth + 1], branch[depth + 1, 2] = tasks[depth], members[depth], branch[depth, 2]
        decided[depth + 1, branch[depth, 0]] = IN if branch[depth, 1] == 0 else OUT
        branch[depth, 1] += 1
        depth += 1
    return NONE_EXISTS


@_compiled
def _rule_out(
    table: FloatArray,
    c: float,
    decided: IntArray,
    p: FloatArray,
    tasks: IntArray,
    members: BoolArray,
    branch: IntArray,
    rows: Rows,
) -> bool:
    """Whether some p rules out every set of the branch; `p`: where to start, and the best one found.

    If none does, branch[0] is the task to decide next, and `tasks`, `members` (branch[2] of them) are the rows that
    are in the way: a child starts with them.
    """
    # `here` is the p tried last, `separated` and `sums` belong to it, and `p` is the best so far. True is returned only
    # when the sums themselves are at least 0, whatever the programme says. basis, inverse and level describe the
    # programme's present corner, from which it goes on when rows are added.
    M, K = table.shape[0], table.shape[1]
    separated, sums, here = np.zeros((M, M)), np.zeros(M), p.copy()
    shift = c * M + 1.0  # makes every gain positive, as the programme wants them
    basis, inverse, level = np.arange(K) + SLACK, np.eye(K), np.ones(K)
    used = np.zeros(MOST_ROWS, np.bool_)
    n_rows, best = 0, -np.inf
    _separate(table, p, decided, separated)
    least = _worst_sums(separated, c, decided, sums)
    if least < -TOLERANCE:
        n_rows = _inherit(table, c, shift, decided, tasks, members, branch[2], rows)
    for step in range(ROUNDS):
        if least > best:
            best = least
            p[:] = here
        if least >= -TOLERANCE:
            return True
        n_rows = _add_rows(table, c, shift, decided, separated, sums, rows, n_rows)
        prices = _solve(rows.gain, n_rows, basis, inverse, level, used)
        total = prices.sum()
        if 1.0 / total - shift < -TOLERANCE or n_rows > MOST_ROWS - NEW_ROWS:
            break
        here[:] = prices / total if step < DAMPED_FROM else (prices / total + p) / 2
        _separate(table, here, decided, separated)
        least = _worst_sums(separated, c, decided, sums)
    branch[0], branch[2] = _next_task(decided, rows, basis, level), 0
    for spot in range(K):
        if basis[spot] < SLACK:
            tasks[branch[2]], members[branch[2]] = rows.task[basis[spot]], rows.members[basis[spot]]
            branch[2] += 1
    return False


@_compiled
def _separate(table: FloatArray, p: FloatArray, decided: IntArray, separated: FloatArray) -> None:
    """P_ij for all tasks that are not out."""
    for i in range(decided.shape[0]):
        if decided[i] != OUT:
            separated[i] = 0.0
            for k in range(p.shape[0]):
                if p[k] > 0.0:
                    for j in range(decided.shape[0]):
                        separated[i, j] += p[k] * table[i, k, j]


@_compiled
def _counts(separated: FloatArray, c: float, decided: IntArray, i: int, j: int) -> bool:
    """Whether task j is in the set that is worst for task i."""
    return bool(decided[j] == IN or j == i or (decided[j] == OPEN and separated[i, j] < c))


@_compiled
def _worst_sums(separated: FloatArray, c: float, decided: IntArray, sums: FloatArray) -> float:
    """The least sum, and for each task i that of the worst set with i in it: infinite for tasks that are out."""
    least = np.inf
    for i in range(decided.shape[0]):
        sums[i] = np.inf
        if decided[i] != OUT:
            sums[i] = 0.0
            for j in range(decided.shape[0]):
                if _counts(separated, c, decided, i, j):
                    sums[i] += separated[i, j] - c
            least = min(least, sums[i])
    return least


@_compiled
def _add_rows(
    table: FloatArray,
    c: float,
    shift: float,
    decided: IntArray,
    separated: FloatArray,
    sums: FloatArray,
    rows: Rows,
    n_rows: int,
) -> int:
    """Write the rows of the tasks with the least sums below 0; how many rows there are then."""
    order = np.argsort(sums)
    for i in order[:NEW_ROWS]:
        if sums[i] < 0.0 and n_rows < MOST_ROWS:
            rows.task[n_rows] = i
            for j in range(decided.shape[0]):
                rows.members[n_rows, j] = _counts(separated, c, decided, i, j)
            _write_gain(table, c, shift, rows, n_rows)
            n_rows += 1
    return n_rows


@_compiled
def _inherit(
    table: FloatArray,
    c: float,
    shift: float,
    decided: IntArray,
    tasks: IntArray,
    members: BoolArray,
    count: int,
    rows: Rows,
) -> int:
    """The rows of the parent, with what was decided since put in or taken out; how many remain."""
    n_rows = 0
    for row in range(count):
        if decided[tasks[row]] != OUT:
            rows.task[n_rows] = tasks[row]
            for j in range(decided.shape[0]):
                rows.members[n_rows, j] = decided[j] == IN or (decided[j] == OPEN and members[row, j])
            _write_gain(table, c, shift, rows, n_rows)
            n_rows += 1
    return n_rows


@_compiled
def _write_gain(table: FloatArray, c: float, shift: float, rows: Rows, row: int) -> None:
    """What each test adds to the sum of the row, made positive by `shift`."""
    i, size = rows.task[row], rows.members[row].sum()
    for k in range(table.shape[1]):
        told = 0.0
        for j in range(table.shape[0]):
            if rows.members[row, j]:
                told += table[i, k, j]
        rows.gain[row, k] = told - c * size + shift


@_compiled
def _solve(
    gain: FloatArray, n_rows: int, basis: IntArray, inverse: FloatArray, level: FloatArray, used: BoolArray
) -> FloatArray:
    """The prices x >= 0 of the tests, p = x / sum x, in the game of rows against tests, by the revised simplex method.

    It maximises sum y subject to sum over rows of y_r gain_rk <= 1 for each test k, from the basis given, to which rows
    may have been added since. `basis`: a row or SLACK + test; `inverse`: of the basis; `level`: of its variables.
    """
    # Before and after every pivot `inverse` is that of the basis matrix and level = inverse times 1, with no level
    # below 0: the corner is feasible. A pivot raises the sum by the entering variable's reduced profit, so it never
    # falls.
    K = gain.shape[1]
    prices, column = np.zeros(K), np.zeros(K)
    for _ in range(PIVOTS):
        prices[:] = 0.0
        for spot in range(K):
            if basis[spot] < SLACK:
                prices += inverse[spot]
        entering = _entering(gain, n_rows, prices, used)
        if entering == NONE:
            break
        for spot in range(K):
            if entering >= SLACK:
                column[spot] = inverse[spot, entering - SLACK]
            else:
                column[spot] = 0.0
                for k in range(K):
                    column[spot] += inverse[spot, k] * gain[entering, k]
        leaving, least = NONE, np.inf
        for spot in range(K):
            if column[spot] > 1e-11 and level[spot] < least * column[spot]:
                leaving, least = spot, level[spot] / column[spot]
        if leaving == NONE:
            break
        _pivot(column, leaving, inverse, level)
        if basis[leaving] < SLACK:
            used[basis[leaving]] = False
        if entering < SLACK:
            used[entering] = True
        basis[leaving] = entering
    return np.maximum(prices, 0.0)


@_compiled
def _entering(gain: FloatArray, n_rows: int, prices: FloatArray, used: BoolArray) -> int:
    """The variable that would raise the sum most: a row, SLACK + test, or NONE."""
    best, most = NONE, 1e-9
    for row in range(n_rows):
        if not used[row]:
            reduced = 1.0
            for k in range(prices.shape[0]):
                reduced -= prices[k] * gain[row, k]
            if reduced > most:
                best, most = row, reduced
    for k in range(prices.shape[0]):
        if -prices[k] > most:
            best, most = SLACK + k, -prices[k]
    return best


@_compiled
def _pivot(column: FloatArray, leaving: int, inverse: FloatArray, level: FloatArray) -> None:
    """Bring a variable whose column this is into the basis in place of the one at `leaving`."""
    inverse[leaving] /= column[leaving]
    level[leaving] /= column[leaving]
    for spot in range(column.shape[0]):
        if spot != leaving and column[spot] != 0.0:
            for k in range(column.shape[0]):
                inverse[spot, k] -= column[spot] * inverse[leaving, k]
            level[spot] = max(level[spot] - column[spot] * level[leaving], 0.0)


@_compiled
def _next_task(decided: IntArray, rows: Rows, basis: IntArray, level: FloatArray) -> int:
    """The open task that the dual blames most or, if it blames none, the one in about half of the sets it blames."""
    M = decided.shape[0]
    blame, share, total = np.zeros(M), np.zeros(M), 0.0
    for spot in range(basis.shape[0]):
        if basis[spot] < SLACK:
            blame[rows.task[basis[spot]]] += level[spot]
            share += level[spot] * rows.members[basis[spot]]
            total += level[spot]
    best, most = NONE, 1e-9 * total
    for task in range(M):
        if decided[task] == OPEN and blame[task] > most:
            best, most = task, blame[task]
    if best == NONE:
        most = -np.inf
        for task in range(M):
            uncertain = share[task] * (total - share[task])
            if decided[task] == OPEN and uncertain > most:
                best, most = task, uncertain
    return best
