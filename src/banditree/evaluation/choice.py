"""Choosing the number of kinds and the length of a plan by what the plans earn on cases they were not made from."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from banditree.cases.table import Cases, only_cases
from banditree.evaluation.evaluate import LEAST_CASES, measured
from banditree.evaluation.intervals import Estimate, Measured
from banditree.evaluation.replay import replay, replayed
from banditree.evaluation.splits import fold_numbers
from banditree.plans.plan import Plan
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray

ONE_ERROR = 1.0  # A simpler plan is chosen if it is behind the best one by at most this many standard errors.
FALSE_ALARM = 0.05  # The chance of choosing a plan where none of those tried is better than one option for everyone.
DRAWS = 2_000  # Draws of how far the best of many plans leads by luck.


@dataclass(frozen=True, order=True)
class Candidate:
    """How many lines a plan may have, how many kinds it tells apart, and the rows of a rule by context in their place.

    The simpler comes first.
    """

    lines: int
    kinds: int
    rows: int = 0


@dataclass(frozen=True)
class Trial:
    """A candidate's reward per round over the folds, and how far it is behind the best one, paired by case."""

    candidate: Candidate
    value: Estimate
    behind: Estimate
    is_best: bool = False
    is_chosen: bool = False


PlansOf = Callable[[Cases, int], Iterator[tuple[Candidate, Plan]]]  # (cases, number of kinds) -> plans, one by one


def cross_validate(
    history: Cases,
    kinds: Sequence[int],
    plans_of: PlansOf,
    horizon: int,
    *,
    folds: int = 5,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> dict[Candidate, FloatArray]:
    """The rewards (U, H) of every candidate, each case's by plans that were made from the other folds.

    NaN where a round did not count, and for all cases of folds that were not reached before `on_progress` said stop.
    """
    fold = fold_numbers(history.n_cases, folds, seed)
    width = int(min(horizon, history.n_rounds.max()))
    found: dict[Candidate, FloatArray] = {}
    n_folds = int(fold.max()) + 1
    for number in range(n_folds):
        judged = np.flatnonzero(fold == number)
        rest, held = only_cases(history, np.flatnonzero(fold != number)), only_cases(history, judged)
        part: dict[Candidate, FloatArray] = {}
        for step, n_kinds in enumerate(kinds, 1):
            for candidate, plan in plans_of(rest, n_kinds):
                part[candidate] = replay(plan, held, horizon).rewards
            text = f"fold {number + 1} of {n_folds}, {n_kinds} kind{'s' if n_kinds > 1 else ''}"
            if not goes_on(on_progress, number * len(kinds) + step, n_folds * len(kinds), None, text):
                return found or _spread(part, judged, history.n_cases, width, found)
        _spread(part, judged, history.n_cases, width, found)
    return found


def _spread(
    part: dict[Candidate, FloatArray],
    judged: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    n_cases: int,
    width: int,
    found: dict[Candidate, FloatArray],
) -> dict[Candidate, FloatArray]:
    """Put the rewards of one fold in their places."""
    for candidate, rewards in part.items():
        table = found.setdefault(candidate, np.full((n_cases, width), np.nan))
        table[judged, : rewards.shape[1]] = rewards
    return found


def trials_of(rewards: dict[Candidate, FloatArray], *, is_full: bool) -> list[Trial]:
    """The candidates with their values, the simplest first, and the one that is chosen.

    Of those that are behind the best by at most one standard error of the paired difference, the simplest is chosen:
    the one with the fewest lines, and of these the one with the fewest kinds. One option for everyone is also chosen
    where the lead of the best of all these plans may be luck.
    """
    values = _measured(rewards, is_full)
    best = max(sorted(values), key=lambda candidate: values[candidate].value)
    trials = [
        Trial(candidate, value.estimate(), values[best].above(value), is_best=candidate == best)
        for candidate, value in sorted(values.items())
    ]
    by_luck = trials[0].candidate == Candidate(0, 1) and leads_by_luck(
        *values.values(), than=values[trials[0].candidate]
    )
    chosen = next(index for index, trial in enumerate(trials) if by_luck or within_one_error(trial.behind))
    trials[chosen] = replace(trials[chosen], is_chosen=True)
    return trials


def leads_by_luck(*plans: Measured, than: Measured) -> bool:
    """Whether the best of the plans may lead only because it is the best of several that are no better than another.

    The largest lead in standard errors is compared with what it would be by chance: the influences of the cases are
    multiplied by random numbers, the same for all plans, since what plans earn on the same cases is correlated (White
    2000, with Gaussian multipliers). It raises a false alarm in 5% of logs.
    """
    leads = [plan.above(than) for plan in plans]
    pulls = [plan.influence - than.influence for plan in plans]
    used = [(lead.value / lead.error, pull / lead.error) for lead, pull in zip(leads, pulls, strict=True) if lead.error]
    if not used:
        return True
    drawn = np.random.default_rng(0).standard_normal((DRAWS, len(pulls[0])))
    largest = np.max([drawn @ pull for _, pull in used], axis=0)
    return bool(max(lead for lead, _ in used) <= np.quantile(largest, 1 - FALSE_ALARM))


def within_one_error(behind: Estimate) -> bool:
    """Whether a candidate is behind the best by at most one standard error."""
    return bool(behind.value <= ONE_ERROR * np.nan_to_num(behind.error))


def _measured(rewards: dict[Candidate, FloatArray], is_full: bool) -> dict[Candidate, Measured]:
    """The value of every candidate over the same cases, and over the same rounds where the log shows only some."""
    judged = _cases_of_all(rewards.values())
    tables = {candidate: table[judged] for candidate, table in rewards.items()}
    reached = np.min([(~np.isnan(table)).sum(axis=0) for table in tables.values()], axis=0)
    shown = max(1, int(np.count_nonzero(np.minimum.accumulate(reached) >= min(LEAST_CASES, len(judged)))))
    nothing = np.zeros(0, np.int64)
    return {
        candidate: measured(replayed(table[None], nothing), shown, is_full=is_full)
        for candidate, table in tables.items()
    }


def _cases_of_all(tables: Iterable[FloatArray]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The cases that some candidate was judged on."""
    return np.flatnonzero(np.any([~np.isnan(table).all(axis=1) for table in tables], axis=0))
