"""What telling kinds apart is worth: the reward on other cases when each gets the best option of its kind.

This is cheaper than searching for plans, and needs less of a log, which shows few rounds of any one plan. Plans earn
less, since they must first find out the kind: `fit` says what they earn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from banditree.cases.table import Cases, only_cases
from banditree.evaluation.intervals import Estimate, per_round
from banditree.evaluation.kinds import Kinds, find_kinds
from banditree.evaluation.kinds_by_context import KindsByContext, find_kinds_by_context
from banditree.evaluation.singles import best_single
from banditree.evaluation.splits import fold_numbers
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.rewards import Rewards

MOST_CASES = 5_000  # More cases would not change the second digit.


@dataclass(frozen=True)
class Worth:
    """The reward per round when cases are told apart into `n_kinds`, and how much more that is than with one kind."""

    n_kinds: int
    value: Estimate
    gain: Estimate


def worth_of_kinds(
    history: Cases,
    numbers: Sequence[int],
    rewards: Rewards,
    *,
    folds: int = 5,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> list[Worth]:
    """For one kind and each of some numbers of kinds, what cases of other folds earn by the best option of their kind.

    The kind of a case is told from every other round of it, and its reward is that of the rounds between, weighted by
    the chance with which options were given; then the other way round. With one kind, everyone gets the option that is
    best over all cases, those judged included: where two options tie, other folds would choose the wrong one. Where the
    log has contexts, kinds differ in what these mean for them, and a case gets the best option of its kind at the
    context. Of more than 5,000 cases, 5,000 are drawn by the seed. When on_progress returns False, the folds that are
    done count.
    """
    if history.n_cases > MOST_CASES:
        history = only_cases(
            history, np.sort(np.random.default_rng([seed, 4]).permutation(history.n_cases)[:MOST_CASES])
        )
    fold, tried = fold_numbers(history.n_cases, folds, seed), sorted(set(numbers) - {1})
    single = np.full(len(history.outcomes), best_single(history))
    earned = {1: _by_arm(history, single, np.ones(len(history.outcomes), bool))}
    earned |= {n: np.zeros((2, history.n_cases)) for n in tried}
    n_folds = int(fold.max()) + 1
    for number in range(n_folds):
        judged = np.flatnonzero(fold == number)
        rest, other = only_cases(history, np.flatnonzero(fold != number)), only_cases(history, judged)
        for n in tried:
            earned[n][:, judged] = _earned(rest, other, n, rewards, seed)
        if not goes_on(on_progress, number + 1, n_folds, None, f"fold {number + 1} of {n_folds}"):
            break
    done = fold <= number
    measured = {n: per_round(*sums[:, done]) for n, sums in earned.items()}
    return [Worth(n, one.estimate(), one.above(measured[1])) for n, one in measured.items()]


def _earned(rest: Cases, other: Cases, n_kinds: int, rewards: Rewards, seed: int) -> FloatArray:
    """Weighted rewards and weights (2, U) of other cases."""
    find = find_kinds_by_context if rest.features else find_kinds
    kinds = find(rest, n_kinds, rewards, seed=seed)
    place = np.arange(len(other.outcomes)) - other.first[other.owner]
    return sum(_half(kinds, other, place % 2 == half) for half in (0, 1))  # type: ignore[return-value]


def _half(kinds: Kinds | KindsByContext, other: Cases, told: BoolArray) -> FloatArray:
    """What is earned in the rounds from which the kinds were not told."""
    seen = replace(other, outcomes=np.where(told[:, None], other.outcomes, np.nan))
    return _by_arm(other, kinds.expected(other, kinds.chances(seen)).argmax(axis=1), ~told)


def _by_arm(other: Cases, arm: IntArray, counts: BoolArray) -> FloatArray:
    """Weighted rewards and weights (2, U) where every round gets its arm (R,), over the rounds that count."""
    reward = other.outcomes[np.arange(len(other.outcomes)), arm]
    used = counts & ~np.isnan(reward)
    weight = np.where(used, 1 / _chances(other, arm), 0.0)
    return np.stack([np.bincount(other.owner, w, other.n_cases) for w in (weight * np.nan_to_num(reward), weight)])


def _chances(other: Cases, arm: IntArray) -> FloatArray:
    """The chance (R,) that the arm of a round had: as logged, or its share of the log; 1 where all are known."""
    if other.is_full:
        return np.ones(len(other.outcomes))
    if other.chances is not None:
        return other.chances
    share = other.known.mean(axis=0)
    return np.asarray(np.maximum(share, 1e-9)[arm])
