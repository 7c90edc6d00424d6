"""Which lines look best at a place: one look at a part of the tables, in single precision.

Tables of screened lines are (S, n), one column per line, in random order. Sums run along the columns, so that a
processor does many at once without adding up in another order. Compiled by numba: import this module where it is used,
not at the top of another one.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from banditree.tasks.arrays import FloatArray, IntArray

SingleArray = npt.NDArray[np.float32]

N_CHEAP = 2000  # lines whose exits are looked at: about so many of the cheapest ...
N_ANY = 100  # ... and some whatever they cost
SAMPLE = 500  # lines from which it is estimated which ones are cheap
TRIED = 128  # lines whose best exits say which places are worth looking at for all of them
FELT = 1e-7  # the share of a value below which what is lost under a scenario is not looked at


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
    start = int(part * max(0, n_all - n_lines + 1))
    felt = felt_scenarios(weighted)
    cost = summed(lines.cost, weights, felt, start, min(n_lines, n_all))
    kept = worth_looking(cost, weighted.sum(axis=1).min())
    exit = gathered(lines.exit, felt, start + kept)
    places = best_places(weighted, felt, np.ascontiguousarray(exit[:, :: max(1, kept.size // TRIED)]), watch)
    judged = cost[kept] + least_over(weighted, felt, exit, watch, places)
    best = np.empty(min(n_best, kept.size), np.int64)
    for i in range(best.size):
        position = np.argmin(judged)
        best[i] = start + kept[position]
        judged[position] = np.inf
    return np.sort(best), places


@njit(cache=True)
def felt_scenarios(weighted: FloatArray) -> IntArray:
    """The scenarios under which something is at stake."""
    P, S = weighted.shape
    most, least = np.zeros(S), weighted.sum(axis=1).min()
    for p in range(P):
        for s in range(S):
            most[s] = max(most[s], weighted[p, s])
    return np.flatnonzero(most >= FELT * least)


@njit(cache=True)
def gathered(table: SingleArray, scenarios: IntArray, columns: IntArray) -> SingleArray:
    """Some columns of a table (S, n), for some scenarios."""
    out = np.empty((scenarios.size, columns.size), np.float32)
    for i in range(scenarios.size):
        row = table[scenarios[i]]
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
    sample = np.sort(cost[:SAMPLE])
    dear = min(np.float32(bound), sample[min(SAMPLE - 1, SAMPLE * N_CHEAP // cost.size)])
    kept = np.empty(cost.size, np.int64)
    n = 0
    for j in range(cost.size):
        if j < N_ANY or cost[j] <= dear:
            kept[n] = j
            n += 1
    return kept[:n]


@njit(cache=True)
def totals(weighted: FloatArray, place: int, felt: IntArray, exit: SingleArray, out: SingleArray) -> SingleArray:
    """What an exit (felt, n) of each line costs if it leads to a place, into `out` (n,), in single precision."""
    out[:] = 0.0
    for i in range(felt.size):
        value, row = np.float32(weighted[place, felt[i]]), exit[i]
        for j in range(out.size):
            out[j] += value * row[j]
    return out


@njit(cache=True)
def best_places(weighted: FloatArray, felt: IntArray, exit: SingleArray, watch: bool) -> IntArray:
    """The places that an exit of some line should lead to. exit: as in `least_over`."""
    P, n = len(weighted), exit.shape[1]
    costs, chosen = np.empty((P, n), np.float32), np.zeros(P, np.bool_)
    everything = np.empty(P, np.float32)
    for p in range(P):
        totals(weighted, p, felt, exit, costs[p])
        everything[p] = weighted[p][felt].sum()
    for j in range(n):
        chosen[np.argmin(costs[:, j])] = True
        if not watch:
            chosen[np.argmin(everything - costs[:, j])] = True
    return np.flatnonzero(chosen)


@njit(cache=True)
def least_over(weighted: FloatArray, felt: IntArray, exit: SingleArray, watch: bool, places: IntArray) -> SingleArray:
    """What the best exits of each line cost, over some places.

    exit: (felt, n), the chance of the exit upwards, or of the only one of a watch line. All others leave downwards.
    """
    n = exit.shape[1]
    first, second = np.full(n, np.inf, np.float32), np.full(n, np.inf, np.float32)
    total = np.empty(n, np.float32)
    for p in places:
        everything = np.float32(weighted[p][felt].sum())
        totals(weighted, p, felt, exit, total)
        for j in range(n):
            up, down = total[j], everything - total[j]
            first[j] = up if up < first[j] else first[j]
            second[j] = down if down < second[j] else second[j]
    return first if watch else first + second
