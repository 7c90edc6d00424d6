"""A plan and the harm of a case carried forward from round to round, in compiled loops.

Where harm changes nothing, a case is in a *stage*: how many harms it has had (0, 1, more). Where harm turns the page,
the rows of all pages that a case may come to are followed as one list, and harm leads to another row. Compiled by
numba: import this module where it is used, not at the top of another one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

FIXED, SCORE, EXPLOIT, WATCH = 0, 1, 2, 3  # Counting, as numbers that numba takes as constants
GONE = 4  # The kind of a row that gives nothing: a person decides, and nothing is counted.


class Rows(NamedTuple):
    """N rows under one task, as in `propagation.Boxes`. harm: (N,), in one round. onward: (N,), the row that harm leads
    to, or -1 where it changes nothing. A row of the kind GONE gives nothing."""

    kind: IntArray
    low: IntArray
    high: IntArray
    pulls: IntArray
    points: IntArray
    floor: IntArray
    cap: IntArray
    height: IntArray
    first: IntArray
    chance: FloatArray
    harm: FloatArray
    onward: IntArray


class Found(NamedTuple):
    """What is filled in: spent, at_end (Q, N): rounds there, and the chance of being there at the end; sides (N, 3):
    entries, exits below and above; gone (N,): the chance of having come to a row that gives nothing; lost (1,): what
    was dropped."""

    spent: FloatArray
    at_end: FloatArray
    sides: FloatArray
    gone: FloatArray
    lost: FloatArray


class Places(NamedTuple):
    """Where cases are: (Q, N) each at rest, inside FIXED rows, arriving and arriving in the next round; scores now and
    in the next round, and FIXED rows by the round of entry, (Q, ...); window, wide (Q, N, 2): which scores hold any."""

    rest: FloatArray
    held: FloatArray
    arrive: FloatArray
    following: FloatArray
    here: FloatArray
    new: FloatArray
    ring: FloatArray
    window: IntArray
    wide: IntArray


def places_of(n_stages: int, rows: Rows) -> Places:
    """A case that arrives at row 0 in stage 0."""
    n, walks = rows.kind.size, (rows.kind == SCORE) | (rows.kind == WATCH)
    n_scores = int((rows.floor - 1 + rows.height)[walks].sum())
    n_ring = int(rows.pulls[rows.kind == FIXED].sum())
    rest, held, arrive, following = np.zeros((4, n_stages, n))
    arrive[0, 0] = 1.0
    here, new = np.zeros((2, n_stages, n_scores))
    window, wide = np.zeros((2, n_stages, n, 2), np.int64)
    return Places(rest, held, arrive, following, here, new, np.zeros((n_stages, n_ring)), window, wide)


@njit(cache=True)
def carry(rows: Rows, horizon: int, tiny: float, at: Places, found: Found) -> None:
    """Carry one task to the horizon. Stages are looked at from the last to the first, so that harm done in a round
    counts in a stage that was looked at before."""
    n_stages, n = at.rest.shape
    here, new = at.here, at.new
    for t in range(horizon):
        for stage in range(n_stages - 1, -1, -1):
            for row in range(n):
                arriving = at.arrive[stage, row]
                found.sides[row, 0] += arriving
                if arriving + at.rest[stage, row] + at.held[stage, row] > 0.0 or holds(at.window[stage, row]):
                    move(rows, stage, row, t, tiny, at, here, new, found)
        here, new = new, here
        at.window[:] = at.wide
        at.wide[:] = 0
        at.arrive[:] = at.following
        at.following[:] = 0.0
    finish(rows, horizon, at, here, found)


@njit(cache=True)
def holds(window: IntArray) -> bool:
    """Whether any score holds a case."""
    return bool(window[1] > window[0])


@njit(cache=True)
def move(
    rows: Rows, stage: int, row: int, t: int, tiny: float, at: Places, here: FloatArray, new: FloatArray, found: Found
) -> None:
    """One round of the cases at a row in a stage."""
    arriving = at.arrive[stage, row]
    if rows.kind[row] == GONE:
        at.rest[stage, row] += arriving
        return
    if rows.kind[row] == EXPLOIT:
        at.rest[stage, row] += arriving
        arriving = 0.0
    resting, harm = at.rest[stage, row], rows.harm[row]
    if resting > 0.0:
        found.spent[stage, row] += resting
        at.rest[stage, row] = resting * (1.0 - harm)
        settle(rows, stage, row, resting * harm, at)
    if rows.kind[row] == FIXED:
        move_fixed(rows, stage, row, t, arriving, at, found)
    elif arriving > 0.0 or holds(at.window[stage, row]):
        move_walk(rows, stage, row, arriving, tiny, at, here, new, found)


@njit(cache=True)
def after_harm(stage: int, at: Places) -> int:
    """The stage of a case after one more harm."""
    return int(min(stage + 1, at.rest.shape[0] - 1))


@njit(cache=True)
def settle(rows: Rows, stage: int, row: int, harmed: float, at: Places) -> None:
    """Cases that are harmed and stay at a row: they rest on, or go where harm leads."""
    if rows.onward[row] >= 0:
        at.following[stage, rows.onward[row]] += harmed
    else:
        at.rest[after_harm(stage, at), row] += harmed


@njit(cache=True)
def leave(rows: Rows, stage: int, row: int, to: int, part: float, at: Places) -> None:
    """Cases that leave a row for another one, some of them harmed in their last round."""
    at.following[stage, to] += part * (1.0 - rows.harm[row])
    if rows.onward[row] >= 0:
        at.following[stage, rows.onward[row]] += part * rows.harm[row]
    else:
        at.following[after_harm(stage, at), to] += part * rows.harm[row]


@njit(cache=True)
def move_fixed(rows: Rows, stage: int, row: int, t: int, arriving: float, at: Places, found: Found) -> None:
    """One round of a row of n rounds, whose cases are kept by the round in which they came.

    Where harm changes nothing the harmed stay, and how many harms they have had is worked out when they leave.
    """
    size, start, harm = rows.pulls[row], rows.first[row], rows.harm[row]
    at.ring[stage, start + t % size] = arriving
    held = at.held[stage, row] + arriving
    found.spent[stage, row] += held
    place = start + (t + 1) % size
    entered = at.ring[stage, place]
    at.ring[stage, place] = 0.0
    last = entered * (1.0 - harm) ** (size - 1) if rows.onward[row] >= 0 else entered
    staying = max(held - last, 0.0)
    for side in range(2):
        part, to = last * rows.chance[row, side], rows.low[row] if side == 0 else rows.high[row]
        found.sides[row, 1 + side] += part
        if rows.onward[row] >= 0:
            leave(rows, stage, row, to, part, at)
        else:
            for later in range(stage, at.rest.shape[0]):
                or_more = later + 1 == at.rest.shape[0]
                at.following[later, to] += part * chance_of_harms(later - stage, size, harm, or_more)
    if rows.onward[row] >= 0:
        at.following[stage, rows.onward[row]] += staying * harm
        staying *= 1.0 - harm
    at.held[stage, row] = staying


@njit(cache=True)
def chance_of_harms(times: int, rounds: int, harm: float, or_more: bool) -> float:
    """The chance of 0 or 1 harms in some rounds; or_more: of at least `times` (at most 2)."""
    none = (1.0 - harm) ** rounds
    once = rounds * harm * (1.0 - harm) ** (rounds - 1) if rounds > 0 else 0.0
    if or_more:
        return 1.0 if times == 0 else max(1.0 - none, 0.0) if times == 1 else max(1.0 - none - once, 0.0)
    return none if times == 0 else once


@njit(cache=True)
def move_walk(
    rows: Rows,
    stage: int,
    row: int,
    arriving: float,
    tiny: float,
    at: Places,
    here: FloatArray,
    new: FloatArray,
    found: Found,
) -> None:
    """One round of a score."""
    start, harm, onward, later = rows.first[row], rows.harm[row], rows.onward[row], after_harm(stage, at)
    size, window, middle = rows.floor[row] - 1 + rows.height[row], at.window[stage, row], rows.floor[row] - 1
    if arriving > 0.0:
        here[stage, start + middle] += arriving
        grow(window, middle)
    for s in range(window[0], window[1]):
        mass = here[stage, start + s]
        here[stage, start + s] = 0.0
        if mass < tiny:
            found.lost[0] += mass
            continue
        found.spent[stage, row] += mass
        for b in range(rows.points.shape[1]):
            part, to = mass * rows.chance[row, b], s + rows.points[row, b]
            if part == 0.0:
                continue
            if to < 0:
                found.sides[row, 1] += part
                leave(rows, stage, row, rows.low[row], part, at)
                continue
            if to >= size and rows.kind[row] == SCORE:
                found.sides[row, 2] += part
                leave(rows, stage, row, rows.high[row], part, at)
                continue
            if to >= size and rows.cap[row] > 0 and rows.cap[row] < rows.height[row]:
                to = size - 1
            if to >= size:
                at.rest[stage, row] += part * (1.0 - harm)
                settle(rows, stage, row, part * harm, at)
                continue
            new[stage, start + to] += part * (1.0 - harm)
            grow(at.wide[stage, row], to)
            if onward >= 0:
                at.following[stage, onward] += part * harm
            elif harm > 0.0:
                new[later, start + to] += part * harm
                grow(at.wide[later, row], to)


@njit(cache=True)
def grow(window: IntArray, place: int) -> None:
    """Widen a window of scores so that it holds a place."""
    if window[1] <= window[0]:
        window[0], window[1] = place, place + 1
    window[0], window[1] = min(window[0], place), max(window[1], place + 1)


@njit(cache=True)
def finish(rows: Rows, horizon: int, at: Places, here: FloatArray, found: Found) -> None:
    """Where cases are when the horizon ends."""
    n_stages, n = at.rest.shape
    for stage in range(n_stages):
        for row in range(n):
            if rows.kind[row] == GONE:
                found.gone[row] += at.rest[stage, row]
            found.at_end[stage, row] += at.rest[stage, row] + at.arrive[stage, row]
            found.sides[row, 0] += at.arrive[stage, row]
            if rows.kind[row] == FIXED and rows.onward[row] < 0:
                size, start = rows.pulls[row], rows.first[row]
                for entry in range(max(horizon - size + 1, 0), horizon):
                    part = at.ring[stage, start + entry % size]
                    for later in range(stage, n_stages):
                        share = chance_of_harms(later - stage, horizon - entry, rows.harm[row], later + 1 == n_stages)
                        found.at_end[later, row] += part * share
            elif rows.kind[row] == FIXED:
                found.at_end[stage, row] += at.held[stage, row]
            else:
                for s in range(at.window[stage, row, 0], at.window[stage, row, 1]):
                    found.at_end[stage, row] += here[stage, rows.first[row] + s]
