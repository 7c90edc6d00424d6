"""Which lines look best at a place: one look at a part of the tables, in single precision.

Tables of screened lines are (S, n), one column per line, in random order. Compiled by numba, which takes seconds once:
plain loops where an expression over arrays would take longer to compile. Import this module where it is used, not at
the top of another one.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

SingleArray = npt.NDArray[np.float32]

N_CHEAP = 2000  # The exits of about this many of the cheapest lines are looked at ...
N_ANY = 100  # ... and of this many others, whatever they cost.
SAMPLE = 500  # Which lines are cheap is estimated from this many.
TRIED = 128  # The best exits of this many lines say which places are worth looking at for all of them.
HALVINGS = 16  # The interval that holds the cost below which lines are cheap is halved so often.
FELT = 1e-7  # What is lost under a scenario is not looked at if it is less than this share of a value.


class Screened(NamedTuple):
    """Lines to be screened, n of them: the chance of one exit and the cost of the rounds, (S, n) each."""

    exit: SingleArray
    cost: SingleArray


@njit(cache=True)
def look(
    lines: Screened, part: float, n_lines: int, watch: bool, weights: FloatArray, weighted: FloatArray, n_best: int
) -> tuple[IntArray, IntArray]:
    """(the best columns, the places worth a look) of `n_lines` neighbouring columns.

    part: where these begin, between 0 and 1. weights: (S,). weighted: (P, S), weights times the values of the places.
    watch: whether the lines have one exit.
    """
    n_all = lines.cost.shape[1]
    start, bound = int(part * max(0, n_all - n_lines + 1)), least_total(weighted)
    felt = felt_scenarios(weighted, FELT * bound)
    values = gathered(weighted, np.arange(len(weighted)), felt)
    cost = summed(lines.cost, weights, felt, start, min(n_lines, n_all))
    kept = worth_looking(cost, bound)
    exit = gathered(lines.exit, felt, start + kept)
    some = gathered(exit, np.arange(felt.size), np.arange(0, kept.size, max(1, kept.size // TRIED)))
    places = best_places(values, some, watch)
    judged = least_over(gathered(values, places, np.arange(felt.size)), exit, watch)
    best = np.empty(min(n_best, kept.size), np.int64)
    for j in range(kept.size):
        judged[j] += cost[kept[j]]
    for i in range(best.size):
        position = np.argmin(judged)
        best[i] = start + kept[position]
        judged[position] = np.inf
    return best, places


@njit(cache=True)
def least_total(weighted: FloatArray) -> float:
    """What the best place (P, S) costs, over all scenarios."""
    least = np.inf
    for p in range(weighted.shape[0]):
        total = 0.0
        for s in range(weighted.shape[1]):
            total += weighted[p, s]
        least = min(least, total)
    return least


@njit(cache=True)
def felt_scenarios(weighted: FloatArray, least: float) -> IntArray:
    """The scenarios under which something is at stake: some place (P, S) costs at least so much."""
    P, S = weighted.shape
    felt, n = np.empty(S, np.int64), 0
    for s in range(S):
        for p in range(P):
            if weighted[p, s] >= least:
                felt[n] = s
                n += 1
                break
    return felt[:n]


@njit(cache=True)
def gathered(table: FloatArray | SingleArray, rows: IntArray, columns: IntArray) -> SingleArray:
    """Some rows and columns of a table, in single precision."""
    out = np.empty((rows.size, columns.size), np.float32)
    for i in range(rows.size):
        row = table[rows[i]]
        for j in range(columns.size):
            out[i, j] = row[columns[j]]
    return out


@njit(cache=True)
def summed(table: SingleArray, weights: FloatArray, scenarios: IntArray, start: int, n: int) -> SingleArray:
    """The weighted sum over some scenarios of n columns of a table (S, ...) from `start` on."""
    out = np.zeros(n, np.float32)
    for s in scenarios:
        weight, row = np.float32(weights[s]), table[s, start : start + n]
        for j in range(row.size):
            out[j] += weight * row[j]
    return out


@njit(cache=True)
def worth_looking(cost: SingleArray, bound: float) -> IntArray:
    """The lines that may be best: about N_CHEAP of the cheapest, and the first few whatever they cost.

    bound: what it costs to go on without a line; one that costs more by itself cannot be best.
    """
    if cost.size <= N_CHEAP + N_ANY:
        return np.arange(cost.size)
    dear = np.float32(min(bound, about_quantile(cost[:SAMPLE], N_CHEAP / cost.size)))
    kept, n = np.empty(cost.size, np.int64), 0
    for j in range(cost.size):
        if j < N_ANY or cost[j] <= dear:
            kept[n] = j
            n += 1
    return kept[:n]


@njit(cache=True)
def about_quantile(sample: SingleArray, share: float) -> float:
    """A number that about this share of a sample of positive numbers does not exceed, by halving."""
    low, high = np.float32(0.0), np.float32(0.0)
    for value in sample:
        high = max(high, value)
    for _ in range(HALVINGS):
        middle, below = np.float32(0.5) * (low + high), 0
        for value in sample:
            below += value <= middle
        if below < share * sample.size:
            low = middle
        else:
            high = middle
    return float(high)


@njit(cache=True)
def best_places(values: SingleArray, exit: SingleArray, watch: bool) -> IntArray:
    """The places, of P with weighted values (P, felt), that an exit of some line should lead to. exit: (felt, n)."""
    totals, n = values @ exit, exit.shape[1]
    least, first = np.full(n, np.inf, np.float32), np.zeros(n, np.int64)
    least_down, second = np.full(n, np.inf, np.float32), np.zeros(n, np.int64)
    for p in range(len(values)):
        everything = np.float32(sum_of(values[p]))
        for j in range(n):
            up, down = totals[p, j], everything - totals[p, j]
            if up < least[j]:
                least[j], first[j] = up, p
            if down < least_down[j]:
                least_down[j], second[j] = down, p
    chosen = np.zeros(len(values), np.bool_)
    for j in range(n):
        chosen[first[j]] = True
        if not watch:
            chosen[second[j]] = True
    return np.array([p for p in range(chosen.size) if chosen[p]])


@njit(cache=True)
def least_over(values: SingleArray, exit: SingleArray, watch: bool) -> SingleArray:
    """What the best exits of each line cost, over all places, whose weighted values are (P, felt).

    exit: (felt, n), the chance of the exit upwards, or of the only one of a watch line. All others leave downwards.
    """
    totals, n = values @ exit, exit.shape[1]
    first, second = np.full(n, np.inf, np.float32), np.full(n, np.inf, np.float32)
    for p in range(len(values)):
        everything = np.float32(sum_of(values[p]))
        for j in range(n):
            up, down = totals[p, j], everything - totals[p, j]
            first[j] = up if up < first[j] else first[j]
            second[j] = down if down < second[j] else second[j]
    if not watch:
        for j in range(n):
            first[j] += second[j]
    return first


@njit(cache=True)
def sum_of(row: SingleArray) -> float:
    """The sum, from the first to the last."""
    total = np.float32(0.0)
    for value in row:
        total += value
    return float(total)
