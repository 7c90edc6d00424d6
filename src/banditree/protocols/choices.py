"""The best line at a place of a protocol: every line of the tables with its best exits, then the best few in full.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.protocols.care import felt
from banditree.protocols.screening import look
from banditree.protocols.tables import Exits, Line, Tables, Ways
from banditree.tasks.arrays import FloatArray, IntArray

N_SCORE, N_WATCH = 4, 2  # This many of the best screened score lines and watch lines are refined.
LOOKS = 12  # A refinement takes at most this many steps.
N_LINKS = 24  # This many of the places to which an exit may lead, those that look best, are judged exactly.


class Adding(NamedTuple):
    """How regrets (S,) are added up: the group and weight (S,) of each scenario, shares (G,), a power of the mean.

    power: 1, 2, 4, 8, ...
    """

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


@njit(cache=True)
def added(regret: FloatArray, adding: Adding) -> float:
    """The power mean over the groups of the weighted regrets."""
    groups = np.zeros(adding.share.size)
    for s in range(regret.size):
        groups[adding.group[s]] += adding.weight[s] * regret[s]
    top = 0.0
    for g in range(groups.size):
        top = max(top, groups[g])
    if top == 0.0:
        return 0.0
    total = 0.0
    for g in range(groups.size):
        ratio, power = max(groups[g], 0.0) / top, adding.power
        while power > 1.0:
            ratio *= ratio
            power /= 2.0
        total += adding.share[g] * ratio
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
def cheapest(weighted: FloatArray, places: IntArray, exit: FloatArray) -> int:
    """The place, of some, of least weighted value for the cases that leave by an exit (S,)."""
    best, least = 0, np.inf
    for p in places:
        total = 0.0
        for s in range(exit.size):
            total += weighted[p, s] * exit[s]
        if total < least:
            best, least = p, total
    return best


class Setting(NamedTuple):
    """Where lines are compared: the judge, the places with their weighted values (P, S), and those worth a look."""

    judge: Judge
    places: Places
    weighted: FloatArray
    few: IntArray


@njit(cache=True)
def judged_level(ways: Ways, way: int, cap: int, a: int, b: int, setting: Setting, work: FloatArray) -> float:
    """How a line of one way with levels number a (ceil; -1: a watch line) and b (floor) is judged."""
    down, up, cost, out = work[0], work[1], work[2], work[3]
    for s in range(down.size):
        if a < 0:
            down[s], up[s] = ways.watch_down[way, cap, b, s], 0.0
            cost[s] = ways.watch_rounds[way, cap, b, s] * ways.resting[way, s]
        else:
            up[s] = ways.up[way, a, b, s]
            down[s] = max(1.0 - up[s] - ways.stopping * ways.rounds[way, a, b, s], 0.0)
            cost[s] = felt(ways.rounds[way, a, b, s] * ways.gaps[way, s], ways.care)
    low = cheapest(setting.weighted, setting.few, down)
    high = low if a < 0 else cheapest(setting.weighted, setting.few, up)
    return judged_pair(setting.judge, down, up, cost, setting.places, low, high, out)


@njit(cache=True)
def refine(ways: Ways, way: int, cap: int, a: int, b: int, setting: Setting) -> tuple[float, int, int]:
    """(judged, a, b): the levels around given ones that are judged best."""
    n, work = ways.up.shape[1], np.empty((4, ways.up.shape[3]))
    best = judged_level(ways, way, cap, a, b, setting, work)
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
            judged = judged_level(ways, way, cap, new_a, new_b, setting, work)
            if judged < best - 1e-9 * abs(best):
                best, came = judged, (a, b)
                a, b = new_a, new_b
        if (a, b) == before:
            break
    return best, a, b


@njit(cache=True)
def best_levels(ways: Ways, rows: IntArray, watch_rows: IntArray, setting: Setting) -> tuple[int, int, int, int]:
    """(way, ceil or -1, floor, cap), as numbers: the best line near some score lines and watch lines."""
    best, found = np.inf, (0, 0, 0, 0)
    for i in range(len(rows) + len(watch_rows)):
        if i < len(rows):
            way, a, b = rows[i]
            cap = 0
        else:
            way, cap, b = watch_rows[i - len(rows)]
            a = -1
        judged, a, b = refine(ways, way, cap, a, b, setting)
        if judged < best:
            best, found = judged, (way, a, b, cap)
    return found


@njit(cache=True)
def least_places(weighted: FloatArray, exit: FloatArray) -> IntArray:
    """The places of least weighted value for the cases that leave by an exit (S,), the best first."""
    P, S = weighted.shape
    total, best = np.zeros(P), np.empty(min(N_LINKS, P), np.int64)
    for p in range(P):
        for s in range(S):
            total[p] += weighted[p, s] * exit[s]
    for i in range(best.size):
        best[i] = np.argmin(total)
        total[best[i]] = np.inf
    return best


@njit(cache=True)
def best_links(
    setting: Setting, down: FloatArray, up: FloatArray, cost: FloatArray, watching: bool
) -> tuple[float, int, int]:
    """(judged, low, high): the exits that are judged best, found in turns."""
    judge, places, out = setting.judge, setting.places, np.empty(cost.size)
    lows, highs = least_places(setting.weighted, down), least_places(setting.weighted, up)
    low, high = lows[0], lows[0] if watching else highs[0]
    best = judged_pair(judge, down, up, cost, places, low, high, out)
    for _ in range(3):
        before = best
        for p in lows:
            judged = judged_pair(judge, down, up, cost, places, p, high, out)
            if judged < best - 1e-12 * abs(best):
                best, low = judged, p
        if watching:
            break
        for p in highs:
            judged = judged_pair(judge, down, up, cost, places, low, p, out)
            if judged < best - 1e-12 * abs(best):
                best, high = judged, p
        if best >= before - 1e-12 * abs(best):
            break
    return best, low, low if watching else high


def best_line(
    tables: Tables,
    weights: FloatArray,
    places: Places,
    judge: Judge,
    part: float,
    n_rows: int,
    present: Line | None = None,
) -> Choice:
    """The line and exits that are judged best, of those that look best at given weights (S,) of the scenarios.

    part: which part of the screened lines is looked at, between 0 and 1. n_rows: how many score lines; of watch lines
    a quarter as many. present: a line that is looked at whatever the screening says.
    """
    weights = weights / weights.sum()
    weighted = places.value * weights
    best, few = look(tables.screened, part, n_rows, False, weights, weighted, N_SCORE)
    best_watch, few_watch = look(tables.watch_screened, part, n_rows // 4, True, weights, weighted, N_WATCH)
    setting = Setting(judge, places, weighted, np.concatenate((few, few_watch)))
    found = best_levels(tables.ways, tables.rows[best], tables.watch_rows[best_watch], setting)
    choice = linked(tables, tables.line(*(int(number) for number in found)), setting)
    if present is not None:
        choice = min(choice, linked(tables, present, setting), key=lambda one: one.judged)
    return choice


def linked(tables: Tables, line: Line, setting: Setting) -> Choice:
    """A line with the exits that are judged best."""
    exits, number = tables.exits(line), setting.places.number
    judged, low, high = best_links(setting, exits.down, exits.up, exits.cost, line.ceil == 0)
    return Choice(judged, line, (int(number[low]), int(number[high])), exits)
