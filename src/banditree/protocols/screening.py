"""Which lines look best at a place: one look at a part of the tables, in single precision.

Tables of screened lines are (S, n), one column per line, in random order. Compiled by numba, which takes seconds once:
plain loops where an expression over arrays would take longer to compile. Import this module where it is used, not at
the top of another one.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from banditree.certificates.lean import inlined, inner
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


class Eye(NamedTuple):
    """What a look works with. cost: (n,), exit: (S, n) and some: (S, 2 TRIED), of columns; total: (n,); values: (S,);
    least, which: (2, n), of the two exits; kept: (n,); felt: (S,); every: (P,), all places; worth: (2 P,), those that
    are worth a look; columns: (2, n_best), of the best lines of two looks."""

    cost: SingleArray
    exit: SingleArray
    some: SingleArray
    total: SingleArray
    values: SingleArray
    least: SingleArray
    which: IntArray
    kept: IntArray
    felt: IntArray
    every: IntArray
    worth: IntArray
    columns: IntArray


def empty_eye(n_lines: int, n_scenarios: int, n_places: int, n_best: int) -> Eye:
    """What looks at up to some columns, for up to some places, work with."""
    n, S, P = n_lines, n_scenarios, n_places
    singles = (np.empty(shape, np.float32) for shape in ((n,), (S, n), (S, 2 * TRIED), (n,), (S,), (2, n)))
    numbers = (np.empty(shape, np.int64) for shape in ((2, n), (n,), (S,), (P,), (2 * P,), (2, n_best)))
    arrays: tuple[Any, ...] = (*singles, *numbers)
    eye = Eye(*arrays)
    eye.every[:] = np.arange(P)
    return eye


@inlined()
def look(
    lines: Screened,
    part: float,
    n_lines: int,
    watch: bool,
    weights: FloatArray,
    weighted: FloatArray,
    eye: Eye,
    n_places: int,
    best: IntArray,
) -> tuple[int, int]:
    """Fill in the best of `n_lines` neighbouring columns; how many, and how many places are worth a look.

    part: where these begin, between 0 and 1. weights: (S,). weighted: (P, S), weights times the values of the places.
    watch: whether the lines have one exit. n_places: how many places are known to be worth a look.
    """
    n_all = lines.cost.shape[1]
    n, start, bound = min(n_lines, n_all), int(part * max(0, n_all - n_lines + 1)), least_total(weighted)
    n_felt = felt_scenarios(weighted, FELT * bound, eye.felt)
    for j in range(n):
        eye.cost[j] = 0.0
    for i in range(n_felt):
        weight, row = np.float32(weights[eye.felt[i]]), lines.cost[eye.felt[i], start:]
        for j in range(n):
            eye.cost[j] += weight * row[j]
    n_kept = worth_looking(eye, n, bound)
    every, known = max(1, n_kept // TRIED), n_places
    n_some = (n_kept + every - 1) // every
    for i in range(n_felt):
        row = lines.exit[eye.felt[i], start:]
        for j in range(n_kept):
            eye.exit[i, j] = row[eye.kept[j]]
        for j in range(n_some):
            eye.some[i, j] = eye.exit[i, j * every]
    find_exits(weighted, eye.every[: weighted.shape[0]], eye, n_felt, eye.some, n_some)
    for p in range(weighted.shape[0]):
        if is_chosen(eye.which, p, n_some, watch):
            eye.worth[n_places] = p
            n_places += 1
    find_exits(weighted, eye.worth[known:n_places], eye, n_felt, eye.exit, n_kept)
    n_best, judged = min(best.size, n_kept), eye.least[0]
    for j in range(n_kept):
        if not watch:
            judged[j] += eye.least[1, j]
        judged[j] += eye.cost[eye.kept[j]]
    for i in range(n_best):
        found = 0
        for j in range(n_kept):
            if judged[j] < judged[found]:
                found = j
        best[i] = start + eye.kept[found]
        judged[found] = np.inf
    return n_best, n_places


@inlined()
def least_total(weighted: FloatArray) -> float:
    """What the best place (P, S) costs, over all scenarios."""
    least = np.inf
    for p in range(weighted.shape[0]):
        total = 0.0
        for s in range(weighted.shape[1]):
            total += weighted[p, s]
        least = min(least, total)
    return least


@inner()
def felt_scenarios(weighted: FloatArray, least: float, felt: IntArray) -> int:
    """Fill in the scenarios under which something is at stake: some place (P, S) costs at least that; how many."""
    n = 0
    for s in range(weighted.shape[1]):
        for p in range(weighted.shape[0]):
            if abs(weighted[p, s]) >= least:
                felt[n] = s
                n += 1
                break
    return n


@inner()
def worth_looking(eye: Eye, n: int, bound: float) -> int:
    """Fill in the lines that may be best, about N_CHEAP of the cheapest and the first few whatever they cost; how many.

    bound: what it costs to go on without a line; one that costs more by itself cannot be best.
    """
    dear = np.float32(np.inf)
    if n > N_CHEAP + N_ANY:
        dear = np.float32(min(bound, about_quantile(eye.cost, min(SAMPLE, n), N_CHEAP / n)))
    kept = 0
    for j in range(n):
        if j < N_ANY or eye.cost[j] <= dear:
            eye.kept[kept] = j
            kept += 1
    return kept


@inlined()
def about_quantile(values: SingleArray, n: int, share: float) -> float:
    """A number that about this share of the first n positive numbers does not exceed, by halving."""
    low, high = np.float32(0.0), np.float32(0.0)
    for j in range(n):
        high = max(high, values[j])
    for _ in range(HALVINGS):
        middle, below = np.float32(0.5) * (low + high), 0
        for j in range(n):
            if values[j] <= middle:
                below += 1
        if below < share * n:
            low = middle
        else:
            high = middle
    return float(high)


@inner()
def find_exits(weighted: FloatArray, places: IntArray, eye: Eye, n_felt: int, exit: SingleArray, n: int) -> None:
    """Fill in, for each exit of n lines, the best of some places with weighted values (P, S), and what it costs.

    exit: (felt, n), the chance of the exit upwards, or of the only one of a watch line. All others leave downwards.
    """
    total, least, which = eye.total, eye.least, eye.which
    for j in range(n):
        least[0, j] = least[1, j] = np.inf
        which[0, j] = which[1, j] = 0
    for p in places:
        everything = np.float32(0.0)
        for j in range(n):
            total[j] = 0.0
        for i in range(n_felt):
            eye.values[i] = weighted[p, eye.felt[i]]
            everything += eye.values[i]
        for i in range(0, n_felt, 4):
            add_rows(
                total, eye.values, exit, i, min(i + 1, n_felt - 1), min(i + 2, n_felt - 1), min(i + 3, n_felt - 1), n
            )
        for j in range(n):
            up, down = total[j], everything - total[j]
            if up < least[0, j]:
                least[0, j], which[0, j] = up, p
            if down < least[1, j]:
                least[1, j], which[1, j] = down, p


@inlined()
def add_rows(
    total: SingleArray, values: SingleArray, table: SingleArray, a: int, b: int, c: int, d: int, n: int
) -> None:
    """Add up to four rows of a table times their values, one after the other; the last may stand for several."""
    first, second, third, fourth = table[a], table[b], table[c], table[d]
    zero = np.float32(0.0)
    w, x = values[a], values[b] if b > a else zero
    y, z = values[c] if c > b else zero, values[d] if d > c else zero
    for j in range(n):
        total[j] = (((total[j] + w * first[j]) + x * second[j]) + y * third[j]) + z * fourth[j]


@inlined()
def is_chosen(which: IntArray, place: int, n: int, watch: bool) -> bool:
    """Whether some exit of n lines should lead to a place."""
    for j in range(n):  # noqa: SIM110
        if which[0, j] == place or (not watch and which[1, j] == place):
            return True
    return False
