"""The best test at given weights over the tasks: every test of the library with its best two continuations.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from banditree.plans.draft import Test
from banditree.plans.library import Library, SingleArray
from banditree.tasks.arrays import FloatArray, IntArray

N_FINALISTS = 4  # tests that are looked at again in full precision, with levels between those of the library
STEP = 1.3  # by how much a level is stretched or shrunk in looking for a better one
MAX_LEVEL = 200


Judge = Callable[[FloatArray], FloatArray]  # values (..., M) to numbers (...), of which less is better


@dataclass(frozen=True, eq=False)
class Backup:
    """The best test found, the value (M,) of a box with it, and how that is judged (less is better)."""

    judged: float
    value: FloatArray
    test: Test


def best_backup(
    library: Library,
    weights: FloatArray,
    places: IntArray,
    values: FloatArray,
    rows: IntArray | None = None,
    judge: Judge | None = None,
    present: Test | None = None,
    extra: Sequence[int] = (),
) -> Backup:
    """The test and continuations of least weighted cost: sum over tasks of w (cost + up V[high] + (1 - up) V[low]).

    weights: (M,). places: (n,), where the test may lead, with their values (n, M). rows: the tests to look at, or all.
    All are screened by one matrix product in single precision. The best few are decided in double precision, by `judge`
    of the value (M,) that the new box would have: the weighted cost when left out. present, extra: a test
    and rows that are looked at whatever the screening says.
    """
    weights = weights / weights.sum()
    weighted = values * weights
    totals = weighted.sum(axis=1)
    up, cost = (library.up32, library.cost32) if rows is None else (library.up32[rows], library.cost32[rows])
    product = up @ weighted.T.astype(np.float32)
    screened = screen(product, totals.astype(np.float32), cost @ weights.astype(np.float32))
    n = min(N_FINALISTS, len(screened))
    finalists = np.argpartition(screened, n - 1)[:n]
    finalists = np.sort(finalists if rows is None else rows[finalists])
    judge_all = judge or (lambda value: value @ weights)
    starts = [tuple(int(column[row]) for column in library.columns) for row in (*finalists, *extra)]
    if present is not None:
        starts.append((present.arm, present.template, present.floor, present.ceil))
    found = [_refine(library, start, weighted, totals, values, judge_all) for start in starts]
    best = _best_links(min(found, key=lambda backup: backup.judged), values, judge_all)
    test = replace(best.test, low=int(places[best.test.low]), high=int(places[best.test.high]))
    return replace(best, test=test)


@njit(cache=True)
def screen(product: SingleArray, totals: SingleArray, cost: SingleArray) -> SingleArray:
    """cost + the least of a row of `product` + the least of `totals` less that row, for each row."""
    out = np.empty(product.shape[0], np.float32)
    for r in range(product.shape[0]):
        up, down = product[r, 0], totals[0] - product[r, 0]
        for n in range(1, product.shape[1]):
            up = min(up, product[r, n])
            down = min(down, totals[n] - product[r, n])
        out[r] = cost[r] + up + down
    return out


def _refine(
    library: Library,
    start: tuple[int, ...],
    weighted: FloatArray,
    totals: FloatArray,
    values: FloatArray,
    judge: Judge,
) -> Backup:
    """The test (arm, template, floor, ceil) with the levels around its own that are judged best."""
    arm, template, *levels_at_start = start

    def at(floor: int, ceil: int) -> Backup:
        up, cost = library.law(arm, template, floor, ceil)
        above = weighted @ up
        high, low = int(above.argmin()), int((totals - above).argmin())
        value = cost + up * values[high] + (1.0 - up) * values[low]
        return Backup(float(judge(value)), value, Test(arm, template, floor, ceil, low, high, up, cost))

    best = at(*levels_at_start)
    tried = {(best.test.floor, best.test.ceil)}
    improved = True
    while improved:
        improved = False
        floor, ceil = best.test.floor, best.test.ceil
        for levels in ((_more(floor), ceil), (_less(floor), ceil), (floor, _more(ceil)), (floor, _less(ceil))):
            if levels in tried or max(levels) > MAX_LEVEL:
                continue
            tried.add(levels)
            other = at(*levels)
            if other.judged < best.judged - 1e-9 * abs(best.judged):
                best, improved = other, True
    return best


def _best_links(backup: Backup, values: FloatArray, judge: Judge) -> Backup:
    """The same test with the continuations that are judged best, one side after the other."""
    test, best = backup.test, backup
    for _ in range(3):
        above = judge(test.cost + test.up * values + (1.0 - test.up) * values[test.low])
        test = replace(test, high=int(above.argmin()))
        below = judge(test.cost + test.up * values[test.high] + (1.0 - test.up) * values)
        test = replace(test, low=int(below.argmin()))
        if below.min() >= best.judged - 1e-12 * abs(best.judged):
            return best
        value = test.cost + test.up * values[test.high] + (1.0 - test.up) * values[test.low]
        best = Backup(float(below.min()), value, test)
    return best


def _more(level: int) -> int:
    return max(level + 1, int(level * STEP))


def _less(level: int) -> int:
    return max(1, min(level - 1, int(level / STEP)))
