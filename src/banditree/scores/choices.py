"""The best line at a place of a protocol: every line of the tables with its best exits, then the best few in full.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.scores.tables import Exits, Line, SingleArray, Tables
from banditree.tasks.arrays import FloatArray, IntArray

N_CHEAP, N_ANY = 1000, 200  # score lines that are screened: the cheapest, and some whatever they cost
N_SCORE, N_WATCH = 4, 2  # how many of the best screened ones are refined
LOOKS = 12  # steps of a refinement, at most


class Adding(NamedTuple):
    """How regrets (S,) are added up: the group and weight (S,) of each scenario, shares (G,), a power of the mean."""

    group: IntArray
    weight: FloatArray
    share: FloatArray
    power: float


class Judge(NamedTuple):
    """What a line of value a + b V1 makes of the whole: V1 = (rest_a + visits a) / (1 - rest_b - visits b), added."""

    rest_a: FloatArray
    rest_b: FloatArray
    visits: FloatArray
    adding: Adding


@dataclass(frozen=True, eq=False)
class Choice:
    """The best line found, where it leads, its exits, its value (S,) and how that is judged (less is better)."""

    judged: float
    line: Line
    links: tuple[int, int]
    exits: Exits


class Places(NamedTuple):
    """Where a line may lead: n places with a, b (n, S) and their present values (n, S)."""

    number: IntArray
    a: FloatArray
    b: FloatArray
    value: FloatArray


class Way(NamedTuple):
    """One arm scored in one way, at n levels: up, rounds (n, n, S) of score lines by ceil and floor; watch_down,
    watch_rounds (n, S) of watch lines by floor; gap, rest (S,), what a round of testing or watching costs."""

    up: SingleArray
    rounds: SingleArray
    watch_down: FloatArray
    watch_rounds: FloatArray
    gap: FloatArray
    rest: FloatArray
    stopping: float


@njit(cache=True)
def added(regret: FloatArray, adding: Adding) -> float:
    """The power mean over the groups of the weighted regrets."""
    groups = np.zeros(adding.share.size)
    for s in range(regret.size):
        groups[adding.group[s]] += adding.weight[s] * regret[s]
    top = groups.max()
    if not top > 0.0:
        return 0.0
    total = 0.0
    for g in range(groups.size):
        total += adding.share[g] * (max(groups[g], 0.0) / top) ** adding.power
    return float(top * total ** (1.0 / adding.power))


@njit(cache=True, error_model="numpy")
def judged_pair(
    judge: Judge,
    down: FloatArray,
    up: FloatArray,
    cost: FloatArray,
    places: Places,
    low: int,
    high: int,
    out: FloatArray,
) -> float:
    """What a line with these exits to two places makes of the whole. out: (S,), to work with."""
    for s in range(cost.size):
        a = cost[s] + up[s] * places.a[high, s] + down[s] * places.a[low, s]
        b = up[s] * places.b[high, s] + down[s] * places.b[low, s]
        rest = 1.0 - judge.rest_b[s] - judge.visits[s] * b
        if rest <= 1e-9:
            return np.inf
        out[s] = (judge.rest_a[s] + judge.visits[s] * a) / rest
    return added(out, judge.adding)


@njit(cache=True)
def cheapest(weighted: FloatArray, exit: FloatArray) -> int:
    """The place of least weighted value for the cases that leave by an exit (S,)."""
    best, least = 0, np.inf
    for p in range(weighted.shape[0]):
        total = 0.0
        for s in range(exit.size):
            total += weighted[p, s] * exit[s]
        if total < least:
            best, least = p, total
    return best


@njit(cache=True)
def judged_level(
    way: Way, a: int, b: int, judge: Judge, places: Places, weighted: FloatArray, work: FloatArray
) -> float:
    """How a line of one way with levels number a (ceil; -1: a watch line) and b (floor) is judged."""
    down, up, cost, out = work[0], work[1], work[2], work[3]
    for s in range(way.gap.size):
        if a < 0:
            down[s], up[s], cost[s] = way.watch_down[b, s], 0.0, way.watch_rounds[b, s] * way.rest[s]
        else:
            up[s] = way.up[a, b, s]
            down[s] = max(1.0 - up[s] - way.stopping * way.rounds[a, b, s], 0.0)
            cost[s] = way.rounds[a, b, s] * way.gap[s]
    low = cheapest(weighted, down)
    high = low if a < 0 else cheapest(weighted, up)
    return judged_pair(judge, down, up, cost, places, low, high, out)


@njit(cache=True)
def refine(way: Way, a: int, b: int, judge: Judge, places: Places, weighted: FloatArray) -> tuple[float, int, int]:
    """(judged, a, b): the levels around given ones that are judged best."""
    n, work = way.watch_down.shape[0], np.empty((4, way.gap.size))
    best = judged_level(way, a, b, judge, places, weighted, work)
    came = (a, b)
    for _ in range(LOOKS):
        before = (a, b)
        for step in range(4):
            if a < 0 and step >= 2:
                break
            new_b = b + (1, -1, 0, 0)[step]
            new_a = a + (0, 0, 1, -1)[step]
            if not (0 <= new_b < n) or (a >= 0 and not (0 <= new_a < n)) or (new_a, new_b) == came:
                continue
            judged = judged_level(way, new_a, new_b, judge, places, weighted, work)
            if judged < best - 1e-9 * abs(best):
                best, came = judged, (a, b)
                a, b = new_a, new_b
        if (a, b) == before:
            break
    return best, a, b


@njit(cache=True)
def best_links(
    judge: Judge, down: FloatArray, up: FloatArray, cost: FloatArray, places: Places, low: int, high: int
) -> tuple[float, int, int]:
    """(judged, low, high): the exits that are judged best, found in turns. high -1: a watch line."""
    out, watching = np.empty(cost.size), high < 0
    if watching:
        high = low
    best = judged_pair(judge, down, up, cost, places, low, high, out)
    for _ in range(3):
        before = best
        for p in range(places.number.size):
            judged = judged_pair(judge, down, up, cost, places, p, high, out)
            if judged < best - 1e-12 * abs(best):
                best, low = judged, p
        if watching:
            break
        for p in range(places.number.size):
            judged = judged_pair(judge, down, up, cost, places, low, p, out)
            if judged < best - 1e-12 * abs(best):
                best, high = judged, p
        if best >= before - 1e-12 * abs(best):
            break
    return best, low, low if watching else high


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


def best_line(
    tables: Tables,
    weights: FloatArray,
    places: Places,
    judge: Judge,
    start: int,
    n_rows: int,
    present: Line | None = None,
    longest: FloatArray | None = None,
) -> Choice:
    """The line and exits that are judged best, of those that look best at given weights (S,) of the scenarios.

    start, n_rows: which part of the score lines is looked at. present: a line that is looked at whatever the screening
    says.
    """
    weights = weights / weights.sum()
    weighted = places.value * weights
    starts = _screened(tables, weights, weighted, start, n_rows)
    found = [(*refine(_way(tables, way), a, b, judge, places, weighted), way) for way, a, b in starts]
    _judged, a, b, way = min(found)
    unit = int(tables.templates.unit[tables.template[way]])
    line = Line(int(way), int(tables.levels[b]) * unit, int(tables.levels[a]) * unit if a >= 0 else 0)
    choice = linked(tables, line, tables.exits(line), places, judge, weighted)
    if present is not None:
        kept = linked(tables, present, tables.exits(present), places, judge, weighted)
        choice = min(choice, kept, key=lambda one: one.judged)
    return choice


def _way(tables: Tables, way: int) -> Way:
    arm = tables.arm[way]
    return Way(
        tables.up[way],
        tables.rounds[way],
        tables.watch_down[way],
        tables.watch_rounds[way],
        tables.gaps[:, arm],
        tables.resting[:, arm],
        1.0 - tables.going,
    )


def linked(tables: Tables, line: Line, exits: Exits, places: Places, judge: Judge, weighted: FloatArray) -> Choice:
    """A line with the exits that are judged best."""
    low = cheapest(weighted, exits.down)
    high = cheapest(weighted, exits.up) if line.ceil else -1
    judged, low, high = best_links(judge, exits.down, exits.up, exits.cost, places, low, high)
    return Choice(judged, line, (int(places.number[low]), int(places.number[high])), exits)


def _screened(
    tables: Tables, weights: FloatArray, weighted: FloatArray, start: int, n_rows: int
) -> list[tuple[int, int, int]]:
    """(way, number of the ceil or -1, number of the floor) of the lines that look best."""
    weights32, weighted32 = weights.astype(np.float32), np.ascontiguousarray(weighted.T, np.float32)
    with np.errstate(invalid="ignore"):  # some BLAS kernels warn of what they leave in unused lanes
        part = slice(start, start + n_rows)
        cost = tables.screen_cost[part] @ weights32
        kept = np.arange(len(cost))
        if len(cost) > N_CHEAP + N_ANY:
            # The best line is nearly always among the cheap ones; some others are looked at whatever they cost.
            kept = np.concatenate([np.arange(N_ANY), N_ANY + np.argpartition(cost[N_ANY:], N_CHEAP)[:N_CHEAP]])
        judged = screen(tables.screen_up[part][kept] @ weighted32, weighted32.sum(axis=0), cost[kept])
        watch_cost = tables.watch_screen_cost @ weights32
        cheap = np.arange(len(watch_cost))
        if len(watch_cost) > N_CHEAP // 2:
            cheap = np.argpartition(watch_cost, N_CHEAP // 2)[: N_CHEAP // 2]
        watch = watch_cost[cheap] + (tables.watch_screen_down[cheap] @ weighted32).min(axis=1)
    best = start + np.sort(kept[_least(judged, N_SCORE)])
    best_watch = np.sort(cheap[_least(watch, N_WATCH)])
    score_lines = [(int(way), int(a), int(b)) for way, a, b in tables.rows[best]]
    return score_lines + [(int(way), -1, int(b)) for way, b in tables.watch_rows[best_watch]]


def _least(values: SingleArray, n: int) -> IntArray:
    """The positions of the n least values."""
    return np.argpartition(values, n - 1)[:n] if len(values) > n else np.arange(len(values))
