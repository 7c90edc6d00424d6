"""Does the order of a log mean anything: is it sorted, and do its cases respond alike early and late?"""

from math import lgamma

import numpy as np

from banditree.cases.calendar import calendar_notes
from banditree.cases.table import Cases
from banditree.tasks.arrays import IntArray

SORTED_SHARE = 0.9  # A log is sorted if this share of the cases that could show it are.
UNLIKELY = 1e-4  # Sorting is no accident if its chance under a random order is below this.
FALSE_ALARM = 0.01  # The chance of noticing a drift where there is none, over all arms together.
LEAST_CASES = 10  # A drift is looked for among at least this many cases.
LEAST_ROUNDS = 4  # A case needs this many rounds for its order to show anything.


def order_notes(history: Cases) -> tuple[str, ...]:
    """What to say about the order of a log: sorted within cases, or drifting; nothing if neither is noticed."""
    return (*_within_cases(history), *calendar_notes(history))


def _within_cases(history: Cases) -> tuple[str, ...]:
    if is_sorted(history):
        return (
            "The log is sorted: within a case, rounds with the same option stand together, so following a plan through "
            "it does not show what a case would meet. If the order means nothing, shuffle it: shuffle=True. If there "
            'is a time, give it: time="NAME".',
        )
    return drift_notes(history)


def is_sorted(history: Cases) -> bool:
    """Whether in nearly all cases rounds with the same option (the best one, or the one given) stand together.

    Told apart from habit by the chance that a random order looks so: d! c_1! ... c_d! / n! if d options are seen, c_i
    times each.
    """
    eligible, together, log_chance = 0, 0, 0.0
    label = _labels(history)
    for begin, end in zip(history.first[:-1], history.first[1:], strict=True):
        row = label[begin:end]
        counts = np.bincount(row)
        counts = counts[counts > 0]
        if end - begin < LEAST_ROUNDS or len(counts) < 2:
            continue
        eligible += 1
        if 1 + np.count_nonzero(np.diff(row)) == len(counts):
            together += 1
            log_chance += lgamma(len(counts) + 1) + sum(lgamma(c + 1) for c in counts) - lgamma(end - begin + 1)
    return bool(eligible and together >= SORTED_SHARE * eligible and log_chance < np.log(UNLIKELY))


def _labels(history: Cases) -> IntArray:
    if not history.is_full:
        return history.arm
    return np.asarray(np.where(history.known, history.outcomes, -np.inf).argmax(axis=1))


def drift_notes(history: Cases) -> tuple[str, ...]:
    """One sentence for each arm whose reward differs between the first and the second half of a case's rounds.

    Paired by case, Student's t, with a false alarm in 1% of logs without a drift.
    """
    from scipy.special import stdtr

    early, late = (_half_means(history, half) for half in (0, 1))
    notes = []
    for k, arm in enumerate(history.arms):
        both = ~np.isnan(early[:, k]) & ~np.isnan(late[:, k])
        change = late[both, k] - early[both, k]
        n = len(change)
        if n < LEAST_CASES or not change.any():
            continue
        t = change.mean() / (change.std(ddof=1) / np.sqrt(n)) if change.std() > 0 else np.inf
        if 2 * stdtr(n - 1, -abs(t)) < FALSE_ALARM / len(history.arms):
            notes.append(
                f"Drift: {arm!r} gives {early[both, k].mean():.3f} per round in the first half of a case's rounds and "
                f"{late[both, k].mean():.3f} in the second. A plan assumes that a case responds alike throughout."
            )
    return tuple(notes)


def _half_means(history: Cases, half: int) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """The mean outcome (U, K) in one half of every case's rounds, NaN where none is known."""
    place = np.arange(len(history.outcomes)) - history.first[:-1][history.owner]
    middle = history.n_rounds[history.owner] / 2
    inside = place < np.floor(middle) if half == 0 else place >= np.ceil(middle)
    values = np.where(history.known & inside[:, None], history.outcomes, 0.0)
    known = history.known & inside[:, None]
    shape = (history.n_cases, len(history.arms))
    total, count = np.zeros(shape), np.zeros(shape)
    np.add.at(total, history.owner, values)
    np.add.at(count, history.owner, known)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
