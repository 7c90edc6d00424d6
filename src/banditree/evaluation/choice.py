"""Choosing the number of kinds and the length of a plan by what the plans earn on cases they were not made from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from banditree.cases.table import Cases, only_cases
from banditree.evaluation.intervals import Estimate, Measured, per_round
from banditree.evaluation.judging import Judge, Judged
from banditree.evaluation.splits import fold_numbers
from banditree.plans.plan import Plan
from banditree.policies.following import policy_for
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray, IntArray

ONE_ERROR = 1.0  # A simpler plan is chosen if it is behind the best one by at most this many standard errors.
FALSE_ALARM = 0.05  # The chance of choosing a plan where none of those tried is better than one option for everyone.
DRAWS = 2_000  # Draws of how far the best of many plans leads by luck.


@dataclass(frozen=True, order=True)
class Candidate:
    """How many lines a plan may have, how many kinds it tells apart, and the rows of a rule by context in their place.

    by_context: whether the best option of a kind is computed from the context. The simpler comes first.
    """

    lines: int
    kinds: int
    by_context: bool = False
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
JudgeOf = Callable[[Cases, Cases], Judge]  # (cases learned from, others) -> what judges plans on the others


def cross_validate(
    history: Cases,
    kinds: Sequence[int],
    plans_of: PlansOf,
    judge_of: JudgeOf,
    *,
    folds: int = 5,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> dict[Candidate, FloatArray]:
    """What every case gave in all, and in how many rounds (2, U), by plans of each candidate made from the other folds.

    NaN for all cases of folds that were not reached before `on_progress` said stop.
    """
    fold = fold_numbers(history.n_cases, folds, seed)
    found: dict[Candidate, FloatArray] = {}
    n_folds = int(fold.max()) + 1
    for number in range(n_folds):
        judged = np.flatnonzero(fold == number)
        rest, held = only_cases(history, np.flatnonzero(fold != number)), only_cases(history, judged)
        plans: dict[Candidate, Plan] = {}
        goes = True
        for step, n_kinds in enumerate(kinds, 1):
            plans |= dict(plans_of(rest, n_kinds))
            text = f"fold {number + 1} of {n_folds}, {n_kinds} kind{'s' if n_kinds > 1 else ''}"
            goes = goes_on(on_progress, number * len(kinds) + step, n_folds * len(kinds), None, text)
            if not goes:
                break
        if goes or not found:
            _spread(_judged(plans, judge_of(rest, held)), judged, history.n_cases, found)
        if not goes:
            break
    return found


def _judged(plans: dict[Candidate, Plan], judge: Judge) -> dict[Candidate, Judged]:
    """The plans; those that are the same are judged once."""
    every = {plan: judge.judge(plan, policy_for(plan)) for plan in dict.fromkeys(plans.values())}
    return {candidate: every[plan] for candidate, plan in plans.items()}


def _spread(part: dict[Candidate, Judged], judged: IntArray, n_cases: int, found: dict[Candidate, FloatArray]) -> None:
    """Put what one fold gave in its places."""
    for candidate, one in part.items():
        found.setdefault(candidate, np.full((2, n_cases), np.nan))[:, judged] = one.total, one.n


def trials_of(earned: dict[Candidate, FloatArray]) -> list[Trial]:
    """The candidates with their values, the simplest first, and the one that is chosen; earned: see `cross_validate`.

    Of those that are behind the best by at most one standard error of the paired difference, the simplest is chosen:
    the one with the fewest lines, and of these the one with the fewest kinds. If that is a rule by context, the rule
    that earns most is taken instead: a few rows more are as easy to look up, and no score is kept by them. One option
    for everyone is also chosen where the lead of the best of all these plans may be luck.
    """
    reached = np.any([~np.isnan(one[0]) for one in earned.values()], axis=0)
    values = {candidate: per_round(*one[:, reached]) for candidate, one in earned.items()}
    best = max(sorted(values), key=lambda candidate: values[candidate].value)
    trials = [
        Trial(candidate, value.estimate(), values[best].above(value), is_best=candidate == best)
        for candidate, value in sorted(values.items())
    ]
    by_luck = trials[0].candidate == Candidate(0, 1) and leads_by_luck(
        *values.values(), than=values[trials[0].candidate]
    )
    chosen = next(index for index, trial in enumerate(trials) if by_luck or within_one_error(trial.behind))
    if trials[chosen].candidate.rows:
        rules = [index for index, trial in enumerate(trials) if trial.candidate.rows]
        chosen = max(rules, key=lambda index: trials[index].value.value)
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
