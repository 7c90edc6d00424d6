"""The compiled loops behind `belief_tables`: one round of dynamic programming on a lattice, and what lies beyond it.

A table holds the regret still to come at weights exp(step * z) over m tasks, for whole numbers z. Adding a number to
all of z multiplies it, so the last z is 0 and the others, the point y, are counted from it. The spread of a point is
its largest z less its smallest. Points of a spread up to `reach` are worked out; those up to `rim` are stored too, so
that a round need not ask where it looks. A row runs along the last part of y; `rows` says where y = 0 of each would be.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

NO_ROW = -(1 << 40)


class Shape(NamedTuple):
    """The points of a table of `n_tasks` tasks: `rows` (2 rim + 1 to the power of n_tasks - 2)."""

    n_tasks: int
    reach: int
    rim: int
    rows: IntArray


class Faces(NamedTuple):
    """The tables of some of the tasks, by the bits of who is in: where in `values` and `rows` each begins, its rim,
    and how many of its steps make one of the table at hand."""

    values: FloatArray
    rows: IntArray
    value_start: IntArray
    row_start: IntArray
    rim: IntArray
    factor: IntArray


class Stencils(NamedTuple):
    """What a round of each arm leads to, as a sum over lattice points.

    For arm k the entries from start[k] to start[k + 1] are at most the width of the rim away: `rows` says by how many
    rows and `along` by how many places in a row, with `weight`. Those from far_start[k] to far_start[k + 1] may be
    anywhere: `far` (F, m).
    """

    start: IntArray
    rows: IntArray
    along: IntArray
    weight: FloatArray
    far_start: IntArray
    far: IntArray
    far_weight: FloatArray


@njit(cache=True)
def fill_rows(n_tasks: int, rim: int, rows: IntArray) -> int:
    """Fill `rows` and return how many values there are."""
    # The digits of `row` are all parts of y but the last. With a spread of high - low among them and 0, the last part
    # may run from high - rim to low + rim; these values are stored next to each other, after the `stored` ones before.
    width, stored = 2 * rim + 1, 0
    for row in range(len(rows)):
        low, high, rest = 0, 0, row
        for _ in range(n_tasks - 2):
            part = rest % width - rim
            rest //= width
            low, high = min(low, part), max(high, part)
        if high - low > rim:
            rows[row] = NO_ROW
        else:
            rows[row] = stored - (high - rim)
            stored += 2 * rim + 1 - (high - low)
    return stored


@njit(cache=True)
def _point(row: int, width: int, z: IntArray) -> tuple[int, int]:
    """Write all but the last part of the y of a row to z, and return the least and the most of it and 0."""
    low, high = 0, 0
    for i in range(len(z) - 3, -1, -1):
        z[i] = row % width - width // 2
        row //= width
        low, high = min(low, z[i]), max(high, z[i])
    return low, high


@njit(cache=True)
def _read(values: FloatArray, rows: IntArray, rim: int, factor: int, z: IntArray, mask: int, step: float) -> float:
    """The regret to come at `z` of the tasks in `mask`, from a table whose step is `step` / factor."""
    # The last task of the mask is counted from, so its own z comes back as a factor: the regret to come is proportional
    # to the weights. Of the others, all but the last are the digits of the row, and the last is the place along it.
    last = len(z) - 1
    while not mask >> last & 1:
        last -= 1
    row, part, found = 0, 0, False
    for i in range(last):
        if mask >> i & 1:
            if found:
                row = row * (2 * rim + 1) + part + rim
            part, found = (z[i] - z[last]) * factor, True
    return float(values[rows[row] + part] * math.exp(step * z[last]))


@njit(cache=True)
def _of_some(values: FloatArray, shape: Shape, faces: Faces, z: IntArray, mask: int, step: float) -> float:
    """The regret to come at a point within reach of the tasks in `mask` alone."""
    if mask & (mask - 1) == 0:  # the task is known
        return 0.0
    if mask == (1 << shape.n_tasks) - 1:
        return _read(values, shape.rows, shape.rim, 1, z, mask, step)
    face, rows = faces.values[faces.value_start[mask] :], faces.rows[faces.row_start[mask] :]
    return _read(face, rows, faces.rim[mask], faces.factor[mask], z, mask, step)


@njit(cache=True)
def bound_beyond(values: FloatArray, shape: Shape, faces: Faces, z: IntArray, moved: IntArray, step: float) -> float:
    """A lower bound at a point of any spread, from tables within their reach.

    Tasks more than twice the reach below the largest do not count. Of the others, a share exp(-step * shift) of
    the near ones goes with the far ones to a point within reach, and the rest of the near ones stays by itself: the
    regret to come of a sum of weights is at least the sum of the two.
    """
    # After the shift both points are within reach: near tasks lie from `least` to least + reach, and far ones from
    # `least` to most - reach, which is least + shift and no more than least + reach.
    most = z.max()
    alive, near, least = 0, 0, most
    for i in range(shape.n_tasks):
        if z[i] >= most - 2 * shape.reach:
            alive |= 1 << i
            least = min(least, z[i])
            if z[i] >= most - shape.reach:
                near |= 1 << i
    shift = most - shape.reach - least
    if shift <= 0:
        return _of_some(values, shape, faces, z, alive, step)
    for i in range(shape.n_tasks):
        moved[i] = z[i] - shift if near >> i & 1 else z[i]
    together = _of_some(values, shape, faces, moved, alive, step)
    return together - math.expm1(-step * shift) * _of_some(values, shape, faces, z, near, step)


@njit(cache=True)
def fill_rim(values: FloatArray, shape: Shape, faces: Faces, step: float, everywhere: bool) -> None:
    """Bring the values beyond the reach up to those within it; not everywhere: where the faces alone do not say all."""
    # Only values beyond the reach are written, and a bound reads only values within it, so the order does not matter.
    z, moved = np.zeros(shape.n_tasks, np.int64), np.zeros(shape.n_tasks, np.int64)
    most = shape.rim if everywhere else min(shape.rim, 2 * shape.reach)
    for row in range(len(shape.rows)):
        low, high = _point(row, 2 * shape.rim + 1, z)
        if high - low > most:
            continue
        for part in range(high - most, low + most + 1):
            if max(high, part) - min(low, part) > shape.reach:
                z[shape.n_tasks - 2] = part
                place = shape.rows[row] + part
                values[place] = max(values[place], bound_beyond(values, shape, faces, z, moved, step))


@njit(cache=True)
def fill_inside(values: FloatArray, shape: Shape, faces: Faces, step: float) -> None:
    """Start within the reach: a point is worth at least what it is without one of its tasks."""
    z, everyone = np.zeros(shape.n_tasks, np.int64), (1 << shape.n_tasks) - 1
    for row in range(len(shape.rows)):
        low, high = _point(row, 2 * shape.rim + 1, z)
        if high - low > shape.reach:
            continue
        for part in range(high - shape.reach, low + shape.reach + 1):
            z[shape.n_tasks - 2] = part
            best = 0.0
            for left_out in range(shape.n_tasks):
                best = max(best, _of_some(values, shape, faces, z, everyone ^ (1 << left_out), step))
            values[shape.rows[row] + part] = best


@njit(cache=True)
def play_round(
    values: FloatArray,
    after: FloatArray,
    shape: Shape,
    faces: Faces,
    stencils: Stencils,
    gaps: FloatArray,
    power: FloatArray,
    step: float,
) -> None:
    """One round more: `values`, within the reach, become the least over arms of their regret and of what comes next.

    after: room for a value of every point within the reach. gaps: (m, K). power: exp(step * j) for j from -rim to rim.
    """
    # `values` bound the regret of some number of rounds from below. The first pass writes to `after` what one round
    # more gives, because every point needs its neighbours as they were; `done` counts the points of the rows before.
    # `arm` and `best` run along one row: the regret of this round (weights times gaps) plus the sum over what the arm
    # leads to.
    done = 0
    z, last = np.zeros(shape.n_tasks, np.int64), shape.n_tasks - 2
    arm, best = np.empty(2 * shape.reach + 1), np.empty(2 * shape.reach + 1)
    there, moved = np.zeros(shape.n_tasks, np.int64), np.zeros(shape.n_tasks, np.int64)
    for row in range(len(shape.rows)):
        low, high = _point(row, 2 * shape.rim + 1, z)
        if high - low > shape.reach:
            continue
        first, length = high - shape.reach, low - high + 2 * shape.reach + 1
        best[:length] = np.inf
        for k in range(gaps.shape[1]):
            known, along = gaps[last + 1, k], gaps[last, k]
            for i in range(last):
                known += gaps[i, k] * power[z[i] + shape.rim]
            for j in range(length):
                arm[j] = known + along * power[first + shape.rim + j]
            for e in range(stencils.start[k], stencils.start[k + 1]):
                begin = shape.rows[row + stencils.rows[e]] + first + stencils.along[e]
                weight = stencils.weight[e]
                for j in range(length):
                    arm[j] += weight * values[begin + j]
            for e in range(stencils.far_start[k], stencils.far_start[k + 1]):
                for j in range(length):
                    z[last] = first + j
                    there[:] = z + stencils.far[e]
                    arm[j] += stencils.far_weight[e] * bound_beyond(values, shape, faces, there, moved, step)
            for j in range(length):
                best[j] = min(best[j], arm[j])
        after[done : done + length] = best[:length]
        done += length
    # The second pass visits the same points in the same order. More rounds never lose less, so the old bound still
    # holds, and the larger of the two is kept.
    done = 0
    for row in range(len(shape.rows)):
        low, high = _point(row, 2 * shape.rim + 1, z)
        if high - low > shape.reach:
            continue
        begin = shape.rows[row] + high - shape.reach
        for j in range(low - high + 2 * shape.reach + 1):
            values[begin + j] = max(values[begin + j], after[done])
            done += 1


@njit(cache=True)
def largest(values: FloatArray, shape: Shape, power: FloatArray, at: IntArray) -> float:
    """The most regret to come at weights that add up to 1, and where (`at`, (m,))."""
    # Values are proportional to weights, so dividing by the sum of the weights brings them to 1.
    z, last, most = np.zeros(shape.n_tasks, np.int64), shape.n_tasks - 2, -1.0
    for row in range(len(shape.rows)):
        low, high = _point(row, 2 * shape.rim + 1, z)
        if high - low > shape.reach:
            continue
        total = 1.0
        for i in range(last):
            total += power[z[i] + shape.rim]
        for part in range(high - shape.reach, low + shape.reach + 1):
            value = values[shape.rows[row] + part] / (total + power[part + shape.rim])
            if value > most:
                most = value
                at[:last], at[last] = z[:last], part
    return most


@njit(cache=True)
def play_backwards(
    gaps: FloatArray, chances: FloatArray, weights: FloatArray, after: IntArray, horizon: int, steady: float
) -> FloatArray:
    """The regret (N, M) of `horizon` rounds from each of N states, with the arm that is best for its weights (N, M).

    after: (N, K, G), the state that each arm and outcome leads to. Once a round adds no more than a share of `steady`
    of the largest regret, the rounds that are left are played like that one, and none of them adds more.
    """
    # After `done` + 1 turns, regret[s, i] is what `done` + 1 rounds from state s lose in task i. The arm is chosen by
    # the weights of the state and its regret kept task by task, so the result is what this algorithm loses, not an
    # optimum.
    n_states, n_arms, n_outcomes = after.shape
    n_tasks = gaps.shape[0]
    regret, new = np.zeros((n_states, n_tasks)), np.zeros((n_states, n_tasks))
    arm, best = np.zeros(n_tasks), np.zeros(n_tasks)
    for done in range(horizon):
        change, most = 0.0, 0.0
        for s in range(n_states):
            least = np.inf
            for k in range(n_arms):
                total = 0.0
                for i in range(n_tasks):
                    arm[i] = gaps[i, k]
                    for o in range(n_outcomes):
                        arm[i] += chances[o, i, k] * regret[after[s, k, o], i]
                    total += weights[s, i] * arm[i]
                if total < least:
                    least = total
                    best[:] = arm
            for i in range(n_tasks):
                change, most = max(change, best[i] - regret[s, i]), max(most, best[i])
                new[s, i] = best[i]
        regret, new = new, regret
        if change <= steady * most:
            return regret + (horizon - done - 1) * max(change, 0.0)
    return regret
