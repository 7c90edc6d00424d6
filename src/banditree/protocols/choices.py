"""The best line at a place of a protocol: every line of the tables with its best exits, then the best few in full.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from banditree.certificates.lean import inlined, inner, lean
from banditree.protocols.screening import Eye, Screened, empty_eye, look
from banditree.protocols.tables import Line, Tables, Ways
from banditree.tasks.arrays import FloatArray, IntArray

N_SCORE, N_WATCH = 4, 2  # This many of the best screened score lines and watch lines are refined.
LOOKS = 12  # A refinement takes at most this many steps.
N_LINKS = 24  # This many of the places to which an exit may lead, those that look best, are judged exactly.


class Adding(NamedTuple):
    """How the values (V,) of a draft are added up: the group of each, its weight in what is lost, and in what is lost
    beyond the bearable, (2, V), or (1, V) without care; shares (G,), a power of the mean over groups, which is taken of
    either.

    power: 1, 2, 4, 8, ... groups: (G,), to work with.
    """

    group: IntArray
    weight: FloatArray
    share: FloatArray
    power: float
    groups: FloatArray


class Judge(NamedTuple):
    """What a line of value a + b V1 makes of the whole: V1 = (rest_a + visits a) / (1 - rest_b - visits b), added. out:
    (S,), to work with."""

    rest_a: FloatArray
    rest_b: FloatArray
    visits: FloatArray
    adding: Adding
    out: FloatArray


@dataclass(frozen=True, eq=False)
class Choice:
    """The best line found, where it leads, its exits, its value (S,) and how that is judged (less is better)."""

    judged: float
    line: Line
    links: tuple[int, int]
    exits: FloatArray


Present = tuple[Line, FloatArray]  # a line and its exits (4, S)


class Places(NamedTuple):
    """Where a line may lead: n places with a, b (n, S) and their present values (n, S)."""

    number: IntArray
    a: FloatArray
    b: FloatArray
    value: FloatArray


@inner()
def added(regret: FloatArray, adding: Adding) -> float:
    """The power mean over the groups of the weighted values; the sum of both, with care."""
    groups, every = adding.groups, 0.0
    for part in range(adding.weight.shape[0]):
        top, total = 0.0, 0.0
        for g in range(groups.size):
            groups[g] = 0.0
        for s in range(regret.size):
            groups[adding.group[s]] += adding.weight[part, s] * regret[s]
        for g in range(groups.size):
            top = max(top, groups[g])
        if top > 0.0:
            for g in range(groups.size):
                ratio, power = max(groups[g], 0.0) / top, adding.power
                while power > 1.0:
                    ratio *= ratio
                    power /= 2.0
                total += adding.share[g] * ratio
            every += top * total ** (1.0 / adding.power)
    return float(every)


@inner()
def judged_pair(
    judge: Judge, down: FloatArray, up: FloatArray, cost: FloatArray, places: Places, low: int, high: int
) -> float:
    """What a line with these exits to two places makes of the whole."""
    out = judge.out
    for s in range(cost.size):
        a = cost[s] + up[s] * places.a[high, s] + down[s] * places.a[low, s]
        b = up[s] * places.b[high, s] + down[s] * places.b[low, s]
        rest = 1.0 - judge.rest_b[s] - judge.visits[s] * b
        if rest <= 1e-9:
            return np.inf
        out[s] = (judge.rest_a[s] + judge.visits[s] * a) / rest
    return added(out, judge.adding)


class Setting(NamedTuple):
    """Where lines are compared: the judge, the places, their weighted values (P, S), and exits (3, S) to work with."""

    judge: Judge
    places: Places
    weighted: FloatArray
    exits: FloatArray


@inner()
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


@inner()
def judged_level(ways: Ways, way: int, cap: int, a: int, b: int, setting: Setting, few: IntArray) -> float:
    """How a line of one way with levels number a (ceil; -1: a watch line) and b (floor) is judged, at some places."""
    down, up, cost = setting.exits[0], setting.exits[1], setting.exits[2]
    for s in range(down.size):
        if a < 0:
            down[s], up[s] = ways.watch_down[way, cap, b, s], 0.0
            cost[s] = ways.watch_rounds[way, cap, b, s] * ways.resting[way, s]
        else:
            up[s] = ways.up[way, a, b, s]
            down[s] = max(1.0 - up[s] - ways.stopping[way, s] * ways.rounds[way, a, b, s], 0.0)
            cost[s] = ways.rounds[way, a, b, s] * ways.gaps[way, s]
    low = cheapest(setting.weighted, few, down)
    high = low if a < 0 else cheapest(setting.weighted, few, up)
    return judged_pair(setting.judge, down, up, cost, setting.places, low, high)


@inlined()
def refine(ways: Ways, way: int, cap: int, a: int, b: int, setting: Setting, few: IntArray) -> tuple[float, int, int]:
    """(judged, a, b): the levels around given ones that are judged best."""
    n, best, came_a, came_b = ways.up.shape[1], judged_level(ways, way, cap, a, b, setting, few), a, b
    for _ in range(LOOKS):
        before_a, before_b = a, b
        for step in range(4 if a >= 0 else 2):
            new_a, new_b = a, b
            if step < 2:
                new_b += 1 - 2 * step
            else:
                new_a += 5 - 2 * step
            if (
                min(new_b, new_a if a >= 0 else 0) < 0
                or max(new_a, new_b) >= n
                or (new_a == came_a and new_b == came_b)
            ):
                continue
            judged = judged_level(ways, way, cap, new_a, new_b, setting, few)
            if judged < best - 1e-9 * abs(best):
                best, came_a, came_b = judged, a, b
                a, b = new_a, new_b
        if a == before_a and b == before_b:
            break
    return best, a, b


@lean()
def find_line(
    ways: Ways,
    lines: Screened,
    rows: IntArray,
    watch_lines: Screened,
    watch_rows: IntArray,
    part: float,
    n_rows: int,
    weights: FloatArray,
    setting: Setting,
    eye: Eye,
    found: IntArray,
) -> None:
    """Fill in (way, ceil or -1, floor, cap), as numbers: the best line near those that look best at given weights."""
    best, columns, n_score, n_watch = np.inf, eye.columns, 0, 0
    found[0] = 0
    n_places = found[0]  # for a literal 0, `look` would be compiled once more
    for side in range(2):
        seen, n_seen, n_best = (watch_lines, n_rows // 4, N_WATCH) if side else (lines, n_rows, N_SCORE)
        n_watch, n_places = look(seen, part, n_seen, side == 1, weights, setting.weighted, eye, n_places, columns[side])
        n_watch = min(n_watch, n_best)
        n_score = n_score if side else n_watch
    few = eye.worth[:n_places]
    for i in range(n_score + n_watch):
        if i < n_score:
            row = columns[0, i]
            way, a, b = rows[row, 0], rows[row, 1], rows[row, 2]
            cap = 0
        else:
            row = columns[1, i - n_score]
            way, cap, b = watch_rows[row, 0], watch_rows[row, 1], watch_rows[row, 2]
            a = -1
        judged, a, b = refine(ways, way, cap, a, b, setting, few)
        if judged < best:
            best = judged
            found[0], found[1], found[2], found[3] = way, a, b, cap


@inner()
def least_places(weighted: FloatArray, exit: FloatArray, total: FloatArray, best: IntArray) -> int:
    """Fill in the places of least weighted value for the cases that leave by an exit (S,), the best first; how many."""
    P: int = weighted.shape[0]
    n = min(best.size, P)
    for p in range(P):
        total[p] = 0.0
        for s in range(exit.size):
            total[p] += weighted[p, s] * exit[s]
    for i in range(n):
        best[i] = 0
        for p in range(P):
            if total[p] < total[best[i]]:
                best[i] = p
        total[best[i]] = np.inf
    return n


@lean()
def best_links(
    setting: Setting, exits: FloatArray, watching: bool, total: FloatArray, nearest: IntArray, found: IntArray
) -> float:
    """How the exits of a line (3, S) that are judged best, found in turns, are judged; these are filled in.

    total: (P,) and nearest: (2, N_LINKS), to work with."""
    judge, places, down, up, cost = setting.judge, setting.places, exits[0], exits[1], exits[2]
    n = least_places(setting.weighted, down, total, nearest[0])
    least_places(setting.weighted, up, total, nearest[1])
    low, high = nearest[0, 0], nearest[0 if watching else 1, 0]
    best = judged_pair(judge, down, up, cost, places, low, high)
    for _ in range(3):
        before = best
        for side in range(1 if watching else 2):
            for i in range(n):
                p = nearest[side, i]
                judged = judged_pair(judge, down, up, cost, places, low if side else p, p if side else high)
                if judged < best - 1e-12 * abs(best):
                    best = judged
                    if side:
                        high = p
                    else:
                        low = p
        if watching or best >= before - 1e-12 * abs(best):
            break
    found[0], found[1] = low, low if watching else high
    return best


@lean()
def power_mean(regret: FloatArray, adding: Adding) -> float:
    """`added`, for Python to call."""
    return added(regret, adding)


class Scratch:
    """What choosing among some tables works with; no two threads share one."""

    def __init__(self, tables: Tables, n_rows: int) -> None:
        self.n_rows, self.n_places, self.n_scenarios = n_rows, 0, len(tables.stays.gaps)
        self.exits, self.found = np.empty((3, self.n_scenarios)), np.empty(4, np.int64)
        self.eye, self.total, self.nearest = self._room(1)

    def _room(self, n_places: int) -> tuple[Eye, FloatArray, IntArray]:
        self.n_places = n_places
        eye = empty_eye(self.n_rows, self.n_scenarios, n_places, N_SCORE)
        return eye, np.empty(n_places), np.empty((2, N_LINKS), np.int64)

    def for_places(self, n_places: int) -> "Scratch":
        """The same with room for some places."""
        if n_places > self.n_places:
            self.eye, self.total, self.nearest = self._room(2 * n_places)
        return self


def best_line(
    tables: Tables,
    weights: FloatArray,
    places: Places,
    judge: Judge,
    part: float,
    scratch: Scratch,
    present: Present | None = None,
) -> Choice:
    """The line and exits that are judged best, of those that look best at given weights (S,) of the scenarios.

    part: which part of the screened lines is looked at, between 0 and 1. scratch: has room for the score lines that are
    looked at; of watch lines a quarter as many. present: a line that is looked at whatever the screening says.
    """
    weights = weights / weights.sum()
    room, found = scratch.for_places(len(places.number)), scratch.found
    setting = Setting(judge, places, places.value * weights, room.exits)
    screened = tables.screened, tables.rows, tables.watch_screened, tables.watch_rows
    find_line(tables.ways, *screened, part, room.n_rows, weights, setting, room.eye, found)
    line = tables.line(*found.tolist())
    choice = linked(line, tables.exits(line), setting, room)
    if present is not None:
        choice = min(choice, linked(*present, setting, room), key=lambda one: one.judged)
    return choice


def linked(line: Line, exits: FloatArray, setting: Setting, room: Scratch) -> Choice:
    """A line with the exits that are judged best."""
    judged = best_links(setting, exits, line.ceil == 0, room.total, room.nearest, room.found)
    low, high = setting.places.number[room.found[:2]].tolist()
    return Choice(judged, line, (low, high), exits)
