"""Rows of one individual are not independent: how far means may be off when individuals are what is drawn.

The linearised effect of every individual on every mean is computed from the individual's own sums, so that one pass
over the log is enough on any engine. Its squares add up to the variance of the mean (the cluster-robust sandwich).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.rewards import Rewards
from banditree.training.estimates import Estimates, OutcomeArray
from banditree.training.intervals import joint_tail, radius_of_clustered_rate, radius_of_normal_mean
from banditree.training.regression import Outcome
from banditree.training.statistics import Statistics, group_tasks

if TYPE_CHECKING:
    from banditree.training.classes import Classes
    from banditree.training.logs import Reading


@dataclass(frozen=True, eq=False)
class Individuals:
    """U individuals with their own sums (the tasks of `statistics`) and the kind of each: labels (U,) into `kinds`."""

    statistics: Statistics
    labels: IntArray
    kinds: tuple[str, ...]

    @property
    def shares(self) -> FloatArray:
        """The share (M,) of each kind among individuals."""
        sizes = np.bincount(self.labels, minlength=len(self.kinds))
        return np.asarray(sizes / sizes.sum())

    def by_kind(self) -> Statistics:
        """The statistics with kinds as tasks, which hold nobody's name."""
        return group_tasks(self.statistics, self.labels, self.kinds)

    @property
    def kind(self) -> IntArray:
        """The kind (C,) of every cell of the statistics."""
        return np.asarray(self.labels[self.statistics.task])


def individuals_of(reading: "Reading", classes: "Classes | None" = None) -> Individuals | None:
    """The individuals of a log with their kinds, named in the log or found; None where rows are independent."""
    if classes is not None:
        return Individuals(reading.statistics, classes.labels, classes.statistics.tasks)
    if reading.labels is None:
        return None
    return Individuals(reading.statistics, reading.labels.labels, reading.labels.kinds)


def by_individual(estimates: Estimates, individuals: Individuals) -> Estimates:
    """The estimates with radii that hold when individuals, not rows, are independent.

    Rewards in a range: the exact interval with the effective number of rows (`radius_of_clustered_rate`). Others, and
    means over contexts: Student with one degree of freedom less than individuals. All means hold at once: without
    contexts their correlations are allowed for (`joint_tail`), with contexts each gets an equal part of the chance.
    """
    shape = estimates.means.shape
    n_individuals = _count(individuals, shape)
    if int(n_individuals.max(initial=0)) < 2:
        raise InvalidInput(
            "No kind and option has rows of two individuals, so nothing can be said about others like them. "
            "Omit the individual if every row is a case of its own."
        )
    alpha, theta_error = estimates.failure_probability, None
    if estimates.contexts is not None:
        tail = alpha / estimates.means.size / 2  # half for the mean, half for theta
        variance, theta_error = _variance_over_contexts(estimates, individuals, tail)
    else:
        effect = effects(estimates.means - individuals.statistics.shift[-1], individuals)
        variance, tail = _variance(effect, individuals, shape), _tail(effect, individuals, shape, alpha)
    return replace(
        estimates,
        radius=radii(estimates, np.sqrt(variance), n_individuals, tail),
        outcomes=_outcomes(estimates, n_individuals),
        individuals=n_individuals,
        theta_error=theta_error,
    )


def radii(estimates: Estimates, error: FloatArray, n_individuals: IntArray, tail: float) -> FloatArray:
    """The radius (M, K) of every mean, from its standard error by individual; NaN where there is no estimate."""
    family: Rewards = estimates.rewards
    groups, n = n_individuals.astype(float), estimates.counts.astype(float)
    if estimates.chances is not None:
        return _wider_chances(estimates, error)
    if family.has_range and estimates.theta is None:
        rate = (estimates.means - family.low) / family.width
        radius = family.width * radius_of_clustered_rate(rate, error / family.width, n, groups, tail)
    else:
        radius = radius_of_normal_mean(error, np.maximum(groups - 1, 1e-3), tail)
    if family.has_range:
        most = np.maximum(estimates.means - family.low, family.high - estimates.means)
        radius = np.where(groups > 1, np.minimum(radius, most), most)
    return np.where(np.isnan(estimates.means), np.nan, radius)


def _wider_chances(estimates: Estimates, error: FloatArray) -> FloatArray:
    """Radii of graded rewards, which are of chances: widened as much as the error of the mean is by individual."""
    chances, values = estimates.chances, np.array(estimates.rewards.support)
    assert chances is not None
    variance = np.einsum("ikg,g->ik", chances, values**2) - np.einsum("ikg,g->ik", chances, values) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = error / np.sqrt(np.maximum(variance, 1e-12) / estimates.counts)
    return np.asarray(np.minimum(estimates.radius * np.fmax(factor, 1.0), estimates.rewards.width))


def effects(means: FloatArray, individuals: Individuals) -> FloatArray:
    """How much each cell (C,) of the individuals moves the mean of its kind and arm: (total - mean x rows) / all rows.

    means: (M, K) less the shift of the rewards. With propensities, rows count by their weights.
    """
    statistics, kind = individuals.statistics, individuals.kind
    rows, total = statistics.count.astype(float), statistics.sums[:, -1]
    if statistics.weighted is not None:
        rows, total = statistics.weighted[:, 0], statistics.weighted[:, 2]
    all_rows = np.zeros(means.shape)
    np.add.at(all_rows, (kind, statistics.arm), rows)
    at = (kind, statistics.arm)
    return np.asarray((total - np.nan_to_num(means)[at] * rows) / all_rows[at])


def _count(individuals: Individuals, shape: tuple[int, ...]) -> IntArray:
    """How many individuals (M, K) have rows of each kind and arm."""
    found = np.zeros(shape, dtype=np.int64)
    np.add.at(found, (individuals.kind, individuals.statistics.arm), 1)
    return found


def _variance(effect: FloatArray, individuals: Individuals, shape: tuple[int, ...]) -> FloatArray:
    squares = np.zeros(shape)
    np.add.at(squares, (individuals.kind, individuals.statistics.arm), effect**2)
    groups = _count(individuals, shape)
    return np.asarray(squares * groups / np.maximum(groups - 1, 1))


def _tail(effect: FloatArray, individuals: Individuals, shape: tuple[int, ...], alpha: float) -> float:
    """The chance that each mean may fail; means of one kind are correlated through its individuals."""
    table = np.zeros((len(individuals.labels), shape[1]))
    table[individuals.statistics.task, individuals.statistics.arm] = effect
    return joint_tail([correlation(table[individuals.labels == kind]) for kind in range(shape[0])], alpha)


def correlation(effect: FloatArray) -> FloatArray:
    """The correlations of the columns of `effect` (U, K) that vary."""
    products = effect.T @ effect
    scale = np.sqrt(products.diagonal())
    used = scale > 0
    return np.asarray(products[np.ix_(used, used)] / np.outer(scale[used], scale[used]))


def _outcomes(estimates: Estimates, n_individuals: IntArray) -> OutcomeArray:
    """Which means are known: without a range of rewards, one individual says nothing about how far others are."""
    outcomes = estimates.outcomes.copy()
    if not estimates.rewards.has_range:
        outcomes[(outcomes == Outcome.FINE) & (n_individuals < 2)] = Outcome.TOO_FEW_ROWS
    return outcomes


def _variance_over_contexts(
    estimates: Estimates, individuals: Individuals, tail: float
) -> tuple[FloatArray, FloatArray]:
    """The variance (M, K) of the mean over contexts: of theta (the sandwich by individual) and of the mean context.

    And theta_error (M, K, q, q): the sandwich times Scheffe's factor, with one degree of freedom less than individuals.
    """
    statistics, contexts, theta = individuals.statistics, estimates.contexts, estimates.theta
    assert contexts is not None
    assert theta is not None
    moments, design, columns = _moments(estimates, statistics)
    shift = statistics.shift[columns]
    at = contexts.mean - design[:, 1:-1] @ shift if estimates.intercept else contexts.mean
    own, size = np.zeros((len(individuals.labels), len(at))), np.zeros(len(individuals.labels))
    np.add.at(own, statistics.task, moments[:, 0] @ design.T)
    np.add.at(size, statistics.task, statistics.count)
    moved = (own - size[:, None] * at) / size.sum()  # what each individual adds to the mean context
    groups, found = _count(individuals, theta.shape[:2]), np.full(theta.shape[:2], np.nan)
    error, back = np.full((*theta.shape, len(at)), np.nan), np.eye(len(at))
    if estimates.intercept:
        back[1:, 0] = -shift  # (1, x - shift) from (1, x)
    penalty = np.diag(np.where(np.arange(len(at)) < estimates.intercept, 0.0, estimates.ridge))
    for i, k in np.argwhere(estimates.outcomes == Outcome.FINE):
        cells = (individuals.kind == i) & (statistics.arm == k)
        slopes = theta[i, k, 1:] if estimates.intercept else theta[i, k]
        constant = statistics.shift[-1] - slopes @ shift - (theta[i, k, 0] if estimates.intercept else 0.0)
        residual = np.concatenate([[constant], -slopes, [1.0]])  # of (1, x, r) less their shifts
        scores = moments[cells] @ residual @ design.T
        gram = design @ moments[cells].sum(axis=0) @ design.T + penalty
        each = scores @ np.linalg.pinv(gram) @ back
        effect = scores @ np.linalg.lstsq(gram, at, rcond=None)[0]
        few = groups[i, k] / max(groups[i, k] - 1, 1)
        found[i, k] = few * (effect**2).sum() + ((moved @ theta[i, k]) ** 2).sum()
        error[i, k] = few * scheffe(len(at), int(groups[i, k]) - 1, tail) * each.T @ each
    return found, error


def scheffe(n_features: int, freedom: int, tail: float) -> float:
    """How much the squared error at any context may exceed its variance, at every context at once."""
    from scipy.special import fdtri

    return float(n_features * fdtri(n_features, max(freedom, 1), 1 - tail))


def _moments(estimates: Estimates, statistics: Statistics) -> tuple[FloatArray, FloatArray, IntArray]:
    """Products (C, p, p) of v = (1, x, r) less shifts, D (q, p) with D v the context, and the columns of x in use.

    With an intercept the context is (1, x - shift), which keeps the digits; without one, x itself.
    """
    assert estimates.contexts is not None
    place = {(feature.name, feature.level): number for number, feature in enumerate(statistics.features)}
    used = estimates.contexts.features[1:] if estimates.intercept else estimates.contexts.features
    columns = np.array([place[feature.name, feature.level] for feature in used], dtype=np.int64)
    kept = np.append(columns, len(statistics.features))
    p = len(kept) + 1
    moments = np.empty((len(statistics.count), p, p))
    moments[:, 0, 0] = statistics.count
    moments[:, 0, 1:] = moments[:, 1:, 0] = statistics.sums[:, kept]
    moments[:, 1:, 1:] = statistics.products[:, kept[:, None], kept[None, :]]
    design = np.eye(p)[: p - 1] if estimates.intercept else np.eye(p)[1 : p - 1]
    if not estimates.intercept:
        design[:, 0] = statistics.shift[columns]
    return moments, design, columns
