"""Tables of points by what was promised: a few rows that a person reads, for lines that treat a case as a kind.

Where the rule of a kind promised much, a failure tells more than where it promised little. A table has one row of
points per range of promises: the log-likelihood ratios of two kinds in that range, in small whole numbers.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from banditree.plans.points import PromiseTable
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.rewards import Scoring

CUTS = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())  # A table may be cut at these promises.
MOST_ROWS = 3  # A table has at most this many rows.
MOST_OF_TABLES = 9  # The most points of one round, up or down.
FULL_PAIRS = 6  # With at most this many kinds, every option may be scored by every two kinds.
WORTH = 0.05  # A row is added if the table then tells this share more.
SIZES = (2, 4)  # The largest points of a table: coarse ones, and finer ones.
LEAST_CHANCE = 0.01  # Chances are taken as no closer to 0 and 1, so that one outcome does not outweigh all others.


def one_row_tables(scorings: Sequence[Scoring]) -> list[PromiseTable]:
    """Points of the outcome alone, as tables of one row, for scorings of small points only."""
    pairs = [(one.points[0], one.points[1]) for one in scorings if max(map(abs, one.points)) <= MOST_OF_TABLES]
    return [PromiseTable((), (pair,), MOST_OF_TABLES) for pair in pairs]


def tables_for(option: int, choices: IntArray, promise: FloatArray, predicted: FloatArray) -> list[PromiseTable]:
    """The tables worth trying where a case is treated as kind `option`, which gives `choices` (n,) and promises (n,).

    predicted: (M, n, K), by kind.

    Those that compare this kind with each other one and, for few kinds, any other two.
    """
    every = np.arange(len(promise))
    chance = np.clip(predicted[:, every, choices], LEAST_CHANCE, 1 - LEAST_CHANCE)  # (M, n)
    M = len(chance)
    pairs = [(option, other) for other in range(M) if other != option]
    if M <= FULL_PAIRS:
        pairs += [pair for pair in combinations(range(M), 2) if option not in pair]
    found = [table for a, b in pairs for table in _tables(chance[a], chance[b], promise)]
    return list(dict.fromkeys(found))


def _tables(first: FloatArray, second: FloatArray, promise: FloatArray) -> list[PromiseTable]:
    """The tables of two rows and more that tell two kinds apart, given the chances (n,) of success under each."""
    cuts: tuple[float, ...] = ()
    told = _information(first, second, promise, cuts)
    while len(cuts) < MOST_ROWS - 1:
        longer = [tuple(sorted((*cuts, cut))) for cut in CUTS if cut not in cuts]
        values = [_information(first, second, promise, one) for one in longer]
        best = int(np.argmax(values))
        if values[best] < told * (1 + WORTH):
            break
        cuts, told = longer[best], values[best]
    ratios = _ratios(first, second, promise, cuts)
    # Where a success speaks for the other kind, nobody would believe the points of a failure: such a row has none.
    ratios = np.where(ratios[:, 1:] >= ratios[:, :1], ratios, 0.0)
    if not cuts or not np.abs(ratios).max() > 0:
        return []
    found = []
    for size in SIZES:
        whole = np.rint(ratios * (size / np.abs(ratios).max())).astype(int)
        if whole.min() < 0 < whole.max():
            found.append(PromiseTable(cuts, tuple((int(a), int(b)) for a, b in whole), MOST_OF_TABLES))
    return found


def _by_row(promise: FloatArray, cuts: tuple[float, ...], *chances: FloatArray) -> list[FloatArray]:
    """The share of each row of a table (R,), and the mean in it of each of the chances (n,)."""
    row = np.searchsorted(np.array(cuts), promise, side="right")
    count = np.bincount(row, minlength=len(cuts) + 1)
    means = [np.bincount(row, chance, len(cuts) + 1) / np.maximum(count, 1) for chance in chances]
    return [count / len(promise), *means]


def _information(first: FloatArray, second: FloatArray, promise: FloatArray, cuts: tuple[float, ...]) -> float:
    """How much a round tells two kinds apart when its row and outcome are seen: the symmetric divergence."""
    share, a, b = _by_row(promise, cuts, first, second)
    here = share > 0
    a, b = a[here], b[here]
    return float(share[here] @ ((a - b) * (np.log(a / b) - np.log((1 - a) / (1 - b)))))


def _ratios(first: FloatArray, second: FloatArray, promise: FloatArray, cuts: tuple[float, ...]) -> FloatArray:
    """The log-likelihood ratios (R, 2) of a failure and of a success in each row."""
    share, a, b = _by_row(promise, cuts, first, second)
    a, b = np.where(share > 0, a, 0.5), np.where(share > 0, b, 0.5)
    return np.stack([np.log((1 - a) / (1 - b)), np.log(a / b)], axis=1)
