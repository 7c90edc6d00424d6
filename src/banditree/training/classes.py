"""Individuals to tasks, when the log has no labels: find the classes, then go on as with labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT
from banditree.tasks.rewards import Family
from banditree.training.estimates import Estimates, wider
from banditree.training.mixture import Mixture, Sums, sums_of
from banditree.training.overdispersion import MAX_FITTED, fit_kinds, kind_chances, log_likelihoods, refine_kinds
from banditree.training.statistics import Statistics, group_tasks

MAX_CLASSES = 20  # At most this many classes are tried.
PATIENCE = 3  # The search ends after this many numbers of classes that are no better than the best so far.
HELD_OUT = 0.2  # This share of the individuals is held out where the criterion is held-out likelihood.


class Criterion(StrEnum):
    """How the number of classes is chosen."""

    BIC = "bic"
    HELD_OUT = "held-out"


@dataclass(frozen=True)
class Trial:
    """One number of classes, its log-likelihood, and its score: the less the better (BIC, or held-out -2 log L)."""

    n_classes: int
    log_likelihood: float
    score: float


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes found: everyone's class and how certain it is (U,), and the statistics with classes as tasks.

    shares: (C,) of individuals. trials: the numbers of classes tried. doubt: (C, K), the part of each cell's rows that
    belongs to another class, as far as the mixture can tell. chances: (U, C), of every individual's class. rates:
    (C, K) of the mixture and `correlation` within an individual beyond its class, for 0/1 rewards without contexts;
    `strength` (C,) of the tastes of a class, where one arm is a success each time.
    """

    labels: IntArray
    certainty: FloatArray
    statistics: Statistics
    shares: FloatArray
    doubt: FloatArray
    trials: tuple[Trial, ...]
    criterion: Criterion
    chances: FloatArray
    rates: FloatArray | None = None
    correlation: float = 0.0
    strength: FloatArray | None = None

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.shares)


def find_classes(
    statistics: Statistics,
    family: Family = Family.BERNOULLI,
    *,
    n_classes: int | None = None,
    max_classes: int = MAX_CLASSES,
    criterion: Criterion = Criterion.BIC,
    n_starts: int = 5,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Classes:
    """The classes of the individuals that are the tasks of `statistics`.

    0/1 rewards without contexts: a rate per class and arm, around which individuals may vary. All others: a linear
    model per class and arm with Gaussian noise (rewards in a range are treated so too). Everyone is counted in their
    most likely class.
    n_classes: how many, or None to choose by `criterion`: BIC with the number of individuals, or the likelihood of a
    fifth of the individuals held out, with the fewest classes within one standard error of the best. Ever more classes
    are tried until three in a row are no better. With more than 5,000 individuals this is done for 5,000 of them drawn
    by the seed, and the best mixture is then fitted to all.
    on_progress is told how many numbers of classes were tried; returning False goes on with the best so far.
    """
    criterion = Criterion(criterion)
    n_individuals = len(statistics.tasks)
    if n_individuals < 2:
        raise invalid("the number of individuals", "at least 2", n_individuals)
    if n_classes is not None and not 1 <= n_classes <= n_individuals:
        raise invalid("n_classes", f"in [1, {n_individuals}]", n_classes)
    if n_starts < 1:
        raise invalid("n_starts", "at least 1", n_starts)
    sums = sums_of(statistics, family)
    tried = [n_classes] if n_classes is not None else list(range(1, min(max_classes, n_individuals) + 1))
    some = sums
    if n_individuals > MAX_FITTED:
        some = sums.only(np.random.default_rng([seed, 0]).choice(n_individuals, MAX_FITTED, replace=False))
    best, trials = _choose(some, tried, criterion, n_starts, seed, on_progress)
    if some is not sums:
        best = refine_kinds(sums, best)
    return _classify(statistics, sums, best, trials, criterion)


def _choose(
    sums: Sums,
    tried: Sequence[int],
    criterion: Criterion,
    n_starts: int,
    seed: int,
    on_progress: OnProgress | None,
) -> tuple[Mixture, list[Trial]]:
    trials: list[Trial] = []
    mixtures: list[Mixture] = []
    scores: list[FloatArray] = []
    for done, number in enumerate(tried, 1):
        mixture = fit_kinds(sums, number, n_starts, np.random.default_rng([seed, number]))
        each = _scores(sums, mixture, criterion, n_starts, seed)
        mixtures.append(mixture)
        scores.append(each)
        trials.append(Trial(number, mixture.log_likelihood, float(each.sum())))
        lead = min(range(len(trials)), key=lambda index: trials[index].score)
        stopped = not goes_on(on_progress, done, len(tried), trials[lead].score, f"{number} classes")
        if stopped or len(trials) - 1 - lead >= PATIENCE:
            break
    return mixtures[_fewest_within_one_error(scores)], trials


def _fewest_within_one_error(scores: Sequence[FloatArray]) -> int:
    """The first that is no worse than the best by more than one standard error of the difference over individuals.

    BIC has one number and no error, so the best itself is taken.
    """
    best = min(range(len(scores)), key=lambda index: float(scores[index].sum()))
    for index, each in enumerate(scores):
        behind = each - scores[best]
        if (
            float(behind.sum()) <= float(behind.std(ddof=1) * np.sqrt(len(behind)))
            if len(behind) > 1
            else index == best
        ):
            return index
    return best


def _scores(sums: Sums, mixture: Mixture, criterion: Criterion, n_starts: int, seed: int) -> FloatArray:
    """What adds up to the score: one number for BIC, -2 log L of every held-out individual otherwise."""
    if criterion is Criterion.BIC:
        free = mixture.n_classes * (sums.n_parameters + 1) - 1 + (mixture.correlation > 0 and mixture.strength is None)
        return np.array([-2 * mixture.log_likelihood + free * float(np.log(sums.n_individuals))])
    order = np.random.default_rng([seed, 0]).permutation(sums.n_individuals)
    held = max(1, round(HELD_OUT * sums.n_individuals))
    rest = fit_kinds(sums.only(order[held:]), mixture.n_classes, n_starts, np.random.default_rng([seed, 1]))
    return -2 * log_likelihoods(sums.only(order[:held]), rest)


def _classify(
    statistics: Statistics, sums: Sums, mixture: Mixture, trials: list[Trial], criterion: Criterion
) -> Classes:
    """Everyone in their most likely class; empty classes are omitted, the largest comes first."""
    chances = kind_chances(sums, mixture)
    labels = chances.argmax(axis=1)
    sizes = np.bincount(labels, minlength=mixture.n_classes)
    order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
    if len(order) < 2:
        raise InvalidInput(
            "Everyone responds alike: one kind fits best, so there is nothing to find out about a new case. "
            f"{_instead(statistics)}, or ask for two kinds: kinds=2."
        )
    mixture = mixture.sorted(order)
    labels = np.argsort(order)[np.searchsorted(np.sort(order), labels)]
    chances = chances[:, order] / chances[:, order].sum(axis=1, keepdims=True)
    certainty = chances.max(axis=1)
    grouped = group_tasks(statistics, labels, [f"kind {index + 1}" for index in range(len(order))])
    K, unsure = len(statistics.arms), statistics.count * (1 - certainty)[statistics.task]
    mixed = np.bincount(labels[statistics.task] * K + statistics.arm, unsure, len(order) * K).reshape(-1, K)
    doubt = np.asarray(mixed / np.maximum(grouped.counts, 1))
    shares, found = sizes[order] / sizes.sum(), (mixture.rates, mixture.correlation, mixture.strength)
    return Classes(labels, certainty, grouped, shares, doubt, tuple(trials), criterion, chances, *found)


def _instead(statistics: Statistics) -> str:
    """What to do where everyone responds alike: contexts may still decide which option is best."""
    names = dict.fromkeys(feature.name for feature in statistics.features if feature.name != INTERCEPT)
    if not names:
        return "Use the arm with the highest mean"
    known = ", ".join(names)
    return f"Which option is best may depend on {known} alone: `banditree fit` with this context makes a rule of it"


def widen(estimates: Estimates, classes: Classes) -> Estimates:
    """The estimates with radii that allow for individuals counted in the wrong class.

    A part `doubt` of a cell's rows may belong to another class, which moves its mean by at most that part of the
    largest difference between classes for that arm.
    """
    spread = np.nan_to_num(np.fmax.reduce(estimates.means) - np.fmin.reduce(estimates.means))
    if estimates.chances is not None:  # classes of the same mean may still have other chances
        spread = np.full_like(spread, estimates.rewards.width)
    return wider(estimates, estimates.radius + classes.doubt * spread)
