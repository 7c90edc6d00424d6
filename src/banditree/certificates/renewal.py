"""Protocols that go on for long: line by line instead of round by round, on a circle of generating functions.

Each line is followed once, from a case that enters it to the horizon: how it is left below and above, round by round.
With z a complex number, E(z) the sum of the chances e(t) z^t to leave after t rounds, and A(z) the same of the entries,
a line that leads to another adds A(z) E(z) to the entries of that one, and a line that leads back to box 0 closes the
circle: A0(z) = 1 / (1 - F(z)), F being what comes back to box 0 of one case that starts there. The numbers at the
horizon H are the coefficients of z^H, sums over the N points of a circle of radius r < 1. That sum also holds the
coefficients of z^(H + N), z^(H + 2N), ..., which r^N makes small (`ALIASED`), and rounding errors grow by r^-H: how far
that may lead is proven in `rounding`.
"""

from typing import NamedTuple

import numpy as np

from banditree.certificates.circle import Circle, circle_of, points_of
from banditree.certificates.generating import BELOW, ENTERED, SPENT, collect, fill_exits
from banditree.certificates.propagation import EXPLOIT, FIXED, SCORE, WATCH, Boxes, flow_of
from banditree.certificates.rounding import Off, of_transforms
from banditree.tasks.arrays import ComplexArray, FloatArray, IntArray

PER_ENTRY = 1e-10  # This chance, divided by the rounds, may be dropped of those that enter a line.
BATCH = 16  # This many tables are transformed at once.
MOST_NUMBERS = 20_000_000  # The transforms of one task have at most this many numbers, 16 bytes each.
BLOCK = 128  # This many points of the circle are handled at once, so that the entries of all boxes stay in the cache.


class Renewed(NamedTuple):
    """What came of one task: (N,) each, as in `Totals`, with the chances still to be at a test (H+1,)."""

    spent: FloatArray
    entered: FloatArray
    below: FloatArray
    above: FloatArray
    at_end: FloatArray
    testing: FloatArray
    off: Off


def applies(low: IntArray, high: IntArray, horizon: int) -> bool:
    """Whether every link leads on or back to box 0, and the transforms can be kept."""
    box = np.arange(low.size)
    onwards = all(((to > box) | (to <= 0)).all() for to in (low, high))  # NONE is negative
    return bool(onwards and 2 * low.size * (points_of(horizon) / 2) <= MOST_NUMBERS)


class Renewal:
    """The numbers of a machine for which `applies` is true, task by task, in the same memory.

    Memory that is new must be cleared by the system, which takes longer than filling it with transforms.
    """

    def __init__(self, n_boxes: int, horizon: int) -> None:
        self.horizon, self.circle = horizon, circle_of(horizon)
        self.tables = np.empty((2 * n_boxes + 1, self.circle.one_minus.size), complex)
        self.tables[-1] = 0.0
        self.places = np.zeros((n_boxes, BLOCK), complex), np.zeros(BLOCK, complex)

    def follow(self, boxes: Boxes) -> Renewed:
        """The numbers of one task."""
        circle, rows = self.circle, rows_of(boxes)
        dropped = fill_tables(boxes, rows, circle, self.tables)
        tests = (boxes.kind == FIXED) | (boxes.kind == SCORE)
        (sums, lost), testing = np.zeros((2, 4, boxes.kind.size)), np.zeros(circle.one_minus.size, complex)
        weights = circle.total, circle.spent
        collect(boxes.low, boxes.high, rows, self.tables, tests, weights, self.places, sums, lost, testing)
        sums = np.maximum(sums, 0.0)
        entered, below, above = sums[ENTERED], sums[BELOW], sums[BELOW + 1]
        at_end = np.maximum(entered - below - above, 0.0)
        off = of_transforms(boxes, rows, self.tables[:, 0].real, circle, BLOCK).plus(float(entered @ dropped))
        return Renewed(sums[SPENT], entered, below, above, at_end, series(testing, circle, self.horizon), off)


def rows_of(boxes: Boxes) -> IntArray:
    """Which row (N, 2) of the tables belongs to each side of a box: two for a test, one for a watch line; or -1."""
    n_exits = np.where(boxes.kind == EXPLOIT, 0, np.where(boxes.kind == WATCH, 1, 2))
    first = np.cumsum(n_exits) - n_exits
    return np.stack([np.where(n_exits >= 1, first, -1), np.where(n_exits == 2, first + 1, -1)], axis=1)


def fill_tables(boxes: Boxes, rows: IntArray, circle: Circle, tables: ComplexArray) -> FloatArray:
    """Follow every line, and fill in the transforms of how it is left; what was dropped (N,) at each."""
    flow, dropped, n_rows = flow_of(boxes), np.zeros(boxes.kind.size), int(rows.max()) + 1
    exits, ready = np.zeros((BATCH + 1, circle.n)), 0  # a transform that adds the zeros itself takes longer
    for box in np.flatnonzero(rows[:, 0] >= 0):
        below, above = exits[rows[box, 0] - ready], exits[rows[box, 0] - ready + 1]
        dropped[box] = fill_exits(boxes, flow, int(box), circle.powers, PER_ENTRY / circle.horizon, below, above)
        end = int(rows[box].max()) + 1
        if end - ready >= BATCH or end == n_rows:
            np.fft.rfft(exits[: end - ready], axis=1, out=tables[ready:end])
            exits[:, : circle.powers.size], ready = 0.0, end
    return dropped


def series(transform: ComplexArray, circle: Circle, horizon: int) -> FloatArray:
    """The coefficients (H+1,) of a function at the points of the circle, summed up over rounds."""
    return np.asarray(np.fft.irfft(transform / circle.one_minus, circle.n)[: horizon + 1] / circle.powers)
