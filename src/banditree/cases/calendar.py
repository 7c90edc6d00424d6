"""Do options give more or less as the calendar goes on? A plan, and every estimate, takes them to stay as they are."""

import numpy as np

from banditree.cases.table import Cases
from banditree.languages.language import message
from banditree.tasks.arrays import BoolArray, FloatArray

FALSE_ALARM = 0.01  # The chance of noticing a drift where there is none, over all arms together.
LEAST_CASES = 10  # A drift is looked for where at least this many cases had the arm in either half.


def calendar_notes(cases: Cases) -> tuple[str, ...]:
    """One sentence for each arm whose outcomes differ between the first and the second half of the log's days.

    The case is the unit, so that rounds of one case may depend on each other; a false alarm in 1% of logs.
    """
    from scipy.special import ndtr

    dated = cases.told & ~np.isnan(cases.at)
    if not dated.any():
        return ()
    late, notes = cases.at > np.median(cases.at[dated]), []
    for k, arm in enumerate(cases.arms):
        here = dated & cases.known[:, k]
        halves = [_mean(cases, here & side, k) for side in (~late, late)]
        if min(n for _, _, n in halves) < LEAST_CASES:
            continue
        (before, pull, _), (after, push, _) = halves
        error = float(np.sqrt(((push - pull) ** 2).sum()))
        if error > 0 and 2 * ndtr(-abs(after - before) / error) < FALSE_ALARM / len(cases.arms):
            notes.append(
                message(
                    f"Drift over the calendar: {arm!r} gives {before:.3f} per round in the first half of the days and "
                    f"{after:.3f} in the second. Estimates mix the two, and a plan takes options to stay as they are: "
                    "use the later part of the log, or find out what changed."
                )
            )
    return tuple(notes)


def _mean(cases: Cases, here: BoolArray, arm: int) -> tuple[float, FloatArray, int]:
    """The mean outcome of these rounds, the influence (U,) of every case on it, and how many cases have some."""
    owner, outcome = cases.owner[here], cases.outcomes[here, arm]
    n = np.bincount(owner, minlength=cases.n_cases)
    mean = float(outcome.mean()) if len(outcome) else 0.0
    total = np.bincount(owner, outcome - mean, minlength=cases.n_cases)
    return mean, total / max(int(n.sum()), 1), int(np.count_nonzero(n))
