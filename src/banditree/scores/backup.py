"""The best test at given weights over the tasks: every test of the library with its best two continuations.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.certificates.walks import leave
from banditree.scores.draft import Test
from banditree.scores.library import Library, SingleArray
from banditree.scores.objectives import power_mean
from banditree.tasks.arrays import FloatArray, IntArray

N_CHEAP, N_ANY = 2000, 500  # tests that are screened, of those considered: the cheapest, and some whatever they cost
N_SCREENED = 4  # tests that are looked at again in full precision ...
N_FINALISTS = 2  # ... and how many of them with levels between those of the library
STEP = 1.3  # by how much a level is stretched or shrunk in looking for a better one
LOOKS = 100  # how often, at most


@dataclass(frozen=True, eq=False)
class Judge:
    """What a box of value v (M,) makes of the whole: the power mean over tasks of others + reaching v; less is better.

    others: (M,), what the rest of the plan costs. reaching: (M,), how often the box is entered.
    """

    others: FloatArray
    reaching: FloatArray
    power: float

    def __call__(self, values: FloatArray) -> FloatArray:
        """What values (..., M) come to, (...)."""
        return power_mean(self.others + self.reaching * values, self.power)


def at_belief(belief: FloatArray) -> Judge:
    """The judge for a case that is of each task with a given chance (M,): the expected cost."""
    return Judge(np.zeros_like(belief), belief * len(belief), 1.0)


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
    judge: Judge,
    rows: slice | IntArray = slice(None),
    present: Test | None = None,
    extra: Sequence[int] = (),
) -> Backup:
    """The test and continuations of least weighted cost: sum over tasks of w (cost + up V[high] + (1 - up) V[low]).

    weights: (M,). places: (n,), where the test may lead, with their values (n, M). rows: the tests to look at.
    The cheapest are screened by one matrix product in single precision. The best few are decided in double precision,
    by `judge` of the value (M,) that the new box would have. present, extra: a test and rows that are looked at
    whatever the screening says. Costs (rows + 2,500 n) M.
    """
    weights = weights / weights.sum()
    weighted = values * weights
    totals = weighted.sum(axis=1)
    considered = np.arange(library.n_tests)[rows]
    cost = _product(library.cost32[rows], weights.astype(np.float32))
    if len(cost) > N_CHEAP + N_ANY:
        # The best test is nearly always among the cheap ones; some others are looked at whatever they cost.
        kept = np.concatenate([np.arange(N_ANY), N_ANY + np.argpartition(cost[N_ANY:], N_CHEAP)[:N_CHEAP]])
        considered, cost = considered[kept], cost[kept]
    product = _product(library.up32[considered], weighted.T.astype(np.float32))
    screened = screen(product, totals.astype(np.float32), cost)
    n = min(N_SCREENED, len(screened))
    chosen = np.sort(considered[np.argpartition(screened, n - 1)[:n]])
    starts = [tuple(int(column[row]) for column in library.columns) for row in (*chosen, *extra)]
    if present is not None:
        starts.append(present.what)

    question = Question(weighted, totals, values, judge.others, judge.reaching, judge.power)

    def refined(start: tuple[int, ...], looks: int) -> tuple[float, tuple[int, ...]]:
        arm, template, floor, ceil = start
        scored = Scored(library.points[template], library.chance[template, arm], library.gaps[:, arm])
        highest = library.max_level * library.unit[template]
        judged, floor, ceil = _refine(scored, floor, ceil, question, highest, looks)
        return judged, (arm, template, floor, ceil)

    found = sorted(refined(start, 0) for start in starts)[:N_FINALISTS]
    arm, template, floor, ceil = min(refined(start, LOOKS) for _judged, start in found)[1]
    up, law_cost = library.law(arm, template, floor, ceil)
    above = weighted @ up
    links = (int((totals - above).argmin()), int(above.argmin()))
    test = Test(arm, template, floor, ceil, links, up, law_cost)
    return _best_links(test, places, values, judge)


def _product(left: SingleArray, right: SingleArray) -> SingleArray:
    """The matrix product, without the warning that some BLAS kernels cause by what they leave in unused lanes."""
    with np.errstate(invalid="ignore"):
        return np.asarray(left @ right)


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


class Scored(NamedTuple):
    """An arm and how its rewards are scored: points (B,), the chance of each bin (B, M), what a pull costs (M,)."""

    points: IntArray
    chance: FloatArray
    gaps: FloatArray


class Question(NamedTuple):
    """Where a test may lead, by values (n, M), weighted values (n, M) and their totals (n,); and a `Judge`'s fields."""

    weighted: FloatArray
    totals: FloatArray
    values: FloatArray
    others: FloatArray
    reaching: FloatArray
    power: float


@njit(cache=True)
def _refine(
    scored: Scored, floor: int, ceil: int, question: Question, highest: int, looks: int
) -> tuple[float, int, int]:
    """(judged, floor, ceil): the levels around given ones that are judged best; looks: how often to look around."""
    best = _judged(scored, floor, ceil, question)
    came_from = (floor, ceil)
    for _ in range(looks):
        before = (floor, ceil)
        for levels in (
            (_more(floor), ceil),
            (_less(floor), ceil),
            (floor, _more(ceil)),
            (floor, _less(ceil)),
        ):
            if levels in (came_from, (floor, ceil)) or max(levels) > highest:
                continue
            judged = _judged(scored, levels[0], levels[1], question)
            if judged < best - 1e-9 * abs(best):
                best, came_from = judged, (floor, ceil)
                floor, ceil = levels
        if (floor, ceil) == before:
            break
    return best, floor, ceil


@njit(cache=True)
def _judged(scored: Scored, floor: int, ceil: int, question: Question) -> float:
    """How a test with these levels is judged, with the continuations of least weighted cost."""
    _down, up, pulls = leave(scored.points, scored.chance, floor, ceil)
    weighted, totals, values = question.weighted, question.totals, question.values
    n_tasks = up.size
    high, low, least_above, least_below = 0, 0, np.inf, np.inf
    for place in range(totals.size):
        above = 0.0
        for i in range(n_tasks):
            above += weighted[place, i] * up[i]
        if above < least_above:
            high, least_above = place, above
        if totals[place] - above < least_below:
            low, least_below = place, totals[place] - above
    top = 1e-300
    for i in range(n_tasks):
        chance_up = min(up[i], 1.0)
        value = pulls[i] * scored.gaps[i] + chance_up * values[high, i] + (1.0 - chance_up) * values[low, i]
        up[i] = question.others[i] + question.reaching[i] * value
        top = max(top, up[i])
    total = 0.0
    for i in range(n_tasks):
        total += (max(up[i], 0.0) / top) ** question.power
    return float(top * (total / n_tasks) ** (1.0 / question.power))


def _best_links(test: Test, places: IntArray, values: FloatArray, judge: Judge) -> Backup:
    """The test with the continuations that are judged best, one side after the other."""
    low, high = test.links
    value = test.cost + test.up * values[high] + (1.0 - test.up) * values[low]
    judged = float(judge(value))
    for _ in range(3):
        other_high = int(judge(test.cost + test.up * values + (1.0 - test.up) * values[low]).argmin())
        below = judge(test.cost + test.up * values[other_high] + (1.0 - test.up) * values)
        if below.min() >= judged - 1e-12 * abs(judged):
            break
        low, high, judged = int(below.argmin()), other_high, float(below.min())
        value = test.cost + test.up * values[high] + (1.0 - test.up) * values[low]
    return Backup(judged, value, replace(test, links=(int(places[low]), int(places[high]))))


@njit(cache=True)
def _more(level: int) -> int:
    return max(level + 1, int(level * STEP))


@njit(cache=True)
def _less(level: int) -> int:
    return max(1, min(level - 1, int(level / STEP)))
