"""From statistics to estimates: theta, mean rewards, how well they are known, and which are missing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT, ContextKind, Contexts, moment_contexts
from banditree.tasks.predictions import mean_rewards
from banditree.tasks.rewards import BERNOULLI, Family, Rewards, family_named
from banditree.training.grades import observed_chances, radius_of_chances
from banditree.training.intervals import (
    radius_of_bounded_mean,
    radius_of_normal_mean,
    radius_of_prediction,
    radius_of_rate,
    squared_reach,
)
from banditree.training.regression import Design, Fit, Outcome, fit_cell, make_design
from banditree.training.statistics import Statistics

FAILURE_PROBABILITY = 0.05  # All margins hold at once except with this probability, by default.
OutcomeArray = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Estimates:
    """What a log or a simulator tells about M tasks and K arms; NaN where `outcomes` (M, K) is not FINE.

    means, radius: (M, K); all means are within their radius at once, except with `failure_probability`.
    theta, theta_radius: (M, K, q) or None; each entry within its radius, except with `failure_probability` / (M K).
    counts: (M, K) rows. notes: what the reader should know, in sentences. intercept, ridge: how theta was fitted.
    chances: (M, K, G) of graded rewards, or None. theta_error: (M, K, q, q), see `Collection`.
    individuals: (M, K), how many have rows there, where the radius is by individual; None where rows are independent.
    """

    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    rewards: Rewards
    means: FloatArray
    radius: FloatArray
    counts: IntArray
    outcomes: OutcomeArray
    failure_probability: float
    contexts: Contexts | None = None
    theta: FloatArray | None = None
    theta_radius: FloatArray | None = None
    notes: tuple[str, ...] = field(default=())
    intercept: bool = True
    ridge: float = 0.0
    chances: FloatArray | None = None
    individuals: IntArray | None = None
    theta_error: FloatArray | None = None

    @property
    def missing(self) -> list[tuple[str, str, Outcome]]:
        """(task, arm, outcome) of every mean that could not be estimated."""
        where = np.argwhere(self.outcomes != Outcome.FINE)
        return [(self.tasks[i], self.arms[k], self.outcomes[i, k]) for i, k in where]


def estimate(
    statistics: Statistics,
    rewards: Rewards | Family = BERNOULLI,
    *,
    intercept: bool = True,
    ridge: float = 0.0,
    failure_probability: float | FloatArray = FAILURE_PROBABILITY,
    sample: FloatArray | None = None,
) -> Estimates:
    """The estimates of every task and arm that the statistics have rows of.

    Without context columns a mean is the average reward (weighted by 1/propensity where the log has propensities).
    With them it is the average of x'theta over all logged contexts, not over those the arm was given in (NOTES 9).
    rewards: the family, or Family.GAUSSIAN to estimate sigma as well. ridge: the penalty on theta, 0 for least squares.
    failure_probability: of any mean being outside its radius, shared equally by the M K means; an (M, K) array gives
    each its own. sample: (n, d) contexts to keep beside their moments, in the order of the statistics' features.

    >>> from banditree.training.statistics import collect
    >>> found = estimate(collect(["a"] * 4 + ["b"] * 4, ["x", "y"] * 4, [1, 0, 1, 1, 0, 0, 0, 1]))
    >>> found.means.tolist()
    [[1.0, 0.5], [0.0, 0.5]]
    """
    if not statistics.n_rows:
        raise InvalidInput("The log has no rows to learn from. Check that it is the right one.")
    if not np.isfinite(ridge) or ridge < 0:
        raise invalid("ridge", "a finite number of at least 0", ridge)
    share = _shares(statistics, failure_probability)
    if (rewards if isinstance(rewards, Rewards) else family_named(rewards)).by_chances:
        found = _graded(statistics, rewards, share)
    elif statistics.features:
        found = _linear(statistics, rewards, intercept, ridge, share, sample)
    else:
        found = _plain(statistics, rewards, share)
    return replace(found, intercept=intercept, ridge=ridge)


def wider(estimates: Estimates, radius: FloatArray) -> Estimates:
    """The estimates with a radius (M, K) that is larger, and theta_error larger by as much."""
    error = estimates.theta_error
    if error is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.fmax(radius / estimates.radius, 1.0)
        error = error * np.where(np.isfinite(factor), factor, 1e6)[:, :, None, None] ** 2
    return replace(estimates, radius=radius, theta_error=error)


def _shares(statistics: Statistics, failure_probability: float | FloatArray) -> FloatArray:
    """The failure probability (M, K) of each mean."""
    shape = (len(statistics.tasks), len(statistics.arms))
    given = np.asarray(failure_probability, dtype=float)
    if not ((given > 0) & (given < 1)).all():
        raise invalid("failure_probability", "between 0 and 1", failure_probability)
    return np.broadcast_to(given / (shape[0] * shape[1]) if given.ndim == 0 else given, shape)


def _plain(statistics: Statistics, rewards: Rewards | Family, share: FloatArray) -> Estimates:
    """Estimates without contexts: one number per cell."""
    n = statistics.count.astype(float)
    delta = share[statistics.task, statistics.arm]
    average = statistics.sums[:, 0] / n
    scatter = np.maximum(statistics.products[:, 0, 0] - n * average**2, 0.0)
    family = rewards if isinstance(rewards, Rewards) else family_named(rewards).fitted(scatter, n - 1)
    outcome = np.full(n.shape, Outcome.FINE, dtype=object)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = scatter / (n - 1)
        if statistics.weighted is not None:
            average, radius = _weighted_mean(statistics.weighted, delta)
        elif family.counts:
            radius = radius_of_rate(np.round(n * (average + statistics.shift[-1])), n, delta)
        elif family.has_range:
            radius = radius_of_bounded_mean(variance, n, family.width, delta)
        else:
            radius = radius_of_normal_mean(np.sqrt(variance / n), n - 1, delta)
    outcome[~np.isfinite(radius)] = Outcome.TOO_FEW_ROWS
    means = np.clip(average + statistics.shift[-1], family.low, family.high)
    return _assemble(statistics, family, share, outcome, means, radius)


def _graded(statistics: Statistics, rewards: Rewards | Family, share: FloatArray) -> Estimates:
    """Estimates of graded rewards: the share of every value, and a radius that holds for all sets of values."""
    family, chances = observed_chances(statistics, rewards)
    delta = share[statistics.task, statistics.arm]
    radius = family.width * radius_of_chances(statistics.count.astype(float), len(family.support), delta)
    outcome = np.full(len(chances), Outcome.FINE, dtype=object)
    found = _assemble(statistics, family, share, outcome, family.means(chances), radius)
    table = np.full((*found.means.shape, chances.shape[1]), np.nan)
    table[statistics.task, statistics.arm] = chances
    return replace(found, chances=table)


def _weighted_mean(weighted: FloatArray, delta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean weighted by 1/propensity (Hajek), and its radius from the linearised variance.

    Freedom is that of the effective number of rows, (sum w)^2 / sum w^2.
    """
    w, ww, wr, wwr, wwrr = weighted.T
    mean = wr / w
    error = np.sqrt(np.maximum(wwrr - 2 * mean * wwr + mean**2 * ww, 0.0)) / w
    return mean, radius_of_normal_mean(error, np.maximum(w**2 / ww - 1, 0.0), delta)


def _linear(
    statistics: Statistics,
    rewards: Rewards | Family,
    intercept: bool,
    ridge: float,
    share: FloatArray,
    sample: FloatArray | None,
) -> Estimates:
    """Estimates with contexts: theta by least squares, means over all logged contexts."""
    design = make_design(statistics.features, statistics.sums[:, :-1].sum(axis=0), intercept)
    contexts, n_contexts = _contexts(statistics, design, sample)
    at = contexts.mean[1:] if intercept else contexts.mean
    fits = [
        fit_cell(int(n), sums, products, statistics.shift, design, at, ridge)
        for n, sums, products in zip(statistics.count, statistics.sums, statistics.products, strict=True)
    ]
    good = np.array([isinstance(fit, Fit) for fit in fits])
    done = [fit for fit in fits if isinstance(fit, Fit)]
    if not done:
        raise InvalidInput(
            f"No task and arm has enough rows for {len(design.features)} features ({fits[0]}). "
            "Use fewer context columns, or a ridge above 0."
        )
    freedom = statistics.count[good].astype(float) - len(design.features)
    rss = np.array([fit.rss for fit in done])
    family = rewards if isinstance(rewards, Rewards) else family_named(rewards).fitted(rss, freedom)
    theta = np.array([fit.theta for fit in done])
    delta = share[statistics.task, statistics.arm][good] / 2  # half for the mean, half for theta
    leverage = np.array([fit.leverage for fit in done])
    noise = np.sqrt(rss / freedom)
    spread = np.einsum("cd,de,ce->c", theta, contexts.covariance, theta)
    radius = radius_of_prediction(family, leverage, noise, freedom, spread, n_contexts, delta)
    radius = radius + _ridge_bias(theta, leverage, ridge, design)
    means = np.array([fit.prediction for fit in done])
    theta, means = _into_range(theta, means, family, contexts)
    # Where predictions leave the range, the mean of what is left of them may differ from the mean of the rewards.
    clipped = mean_rewards(theta, contexts, family)
    means, radius = clipped, radius + np.abs(clipped - means)
    error = np.array([fit.error for fit in done])
    reach = np.sqrt(squared_reach(family, len(design.features), noise, freedom, delta)) + _ridge_pull(
        theta, ridge, design
    )
    whole = reach[:, None, None] ** 2 * np.array([fit.inverse for fit in done])
    outcome = np.array([Outcome.FINE if isinstance(fit, Fit) else fit for fit in fits], dtype=object)
    found = _assemble(
        statistics,
        family,
        share,
        outcome,
        _fill(good, means),
        _fill(good, radius),
        contexts,
        _fill(good, theta),
        _fill(good, _theta_radius(family, error, noise, freedom, delta)),
        _propensity_notes(statistics) + _context_notes(statistics, design, contexts),
    )
    table = np.full((*found.means.shape, *whole.shape[1:]), np.nan)
    table[statistics.task, statistics.arm] = _fill(good, whole)
    return replace(found, theta_error=table)


def _fill(good: npt.NDArray[np.bool_], values: FloatArray) -> FloatArray:
    """The values of good cells among all cells, NaN for the others."""
    full = np.full((len(good), *values.shape[1:]), np.nan)
    full[good] = values
    return full


def _theta_radius(
    family: Rewards, error: FloatArray, noise: FloatArray, freedom: FloatArray, delta: FloatArray
) -> FloatArray:
    if not family.has_range:
        return radius_of_normal_mean(error * noise[:, None], freedom[:, None], delta[:, None])
    return family.width * error * np.sqrt(np.log(2 / delta) / 2)[:, None]


def _ridge_bias(theta: FloatArray, leverage: FloatArray, ridge: float, design: Design) -> FloatArray | float:
    """How far ridge may pull a mean: at most sqrt(ridge h) |theta|, with the longest theta found as its length."""
    return np.asarray(np.sqrt(leverage) * _ridge_pull(theta, ridge, design))


def _ridge_pull(theta: FloatArray, ridge: float, design: Design) -> float:
    """How far ridge may pull theta, in units of sqrt(x' inverse x)."""
    if ridge == 0:
        return 0.0
    longest = np.linalg.norm(theta[:, 1:] if design.intercept else theta, axis=1).max()
    return float(np.sqrt(ridge) * longest)


def _into_range(
    theta: FloatArray, means: FloatArray, family: Rewards, contexts: Contexts
) -> tuple[FloatArray, FloatArray]:
    """Estimates whose mean lies outside the possible rewards, moved to the edge: the truth is not beyond it."""
    moved = np.clip(means, family.low, family.high)
    direction = contexts.mean / (contexts.mean @ contexts.mean)
    if contexts.features[0].name == INTERCEPT:
        direction = np.eye(len(contexts.mean))[0]
    return theta + (moved - means)[:, None] * direction, moved


def _contexts(statistics: Statistics, design: Design, sample: FloatArray | None) -> tuple[Contexts, int]:
    """The distribution of all logged contexts, whatever the task and arm, and how many rows it comes from."""
    n = statistics.n_rows
    centre = statistics.sums.sum(axis=0)[design.columns] / n
    products = statistics.products.sum(axis=0)[np.ix_(design.columns, design.columns)]
    mean, covariance = centre + statistics.shift[design.columns], products / n - np.outer(centre, centre)
    if design.intercept:
        mean, covariance = np.append(1.0, mean), np.pad(covariance, ((1, 0), (1, 0)))
    if sample is None:
        return moment_contexts(mean, covariance, design.features), n
    rows = np.asarray(sample, float)[:, design.columns]
    rows = np.column_stack([np.ones(len(rows)), rows]) if design.intercept else rows
    # The moments are those of all rows, which the sample stands for.
    return Contexts(ContextKind.SAMPLE, design.features, mean, covariance, rows), n


def _propensity_notes(statistics: Statistics) -> tuple[str, ...]:
    if statistics.weighted is None:
        return ()
    return ("The propensities were not used: with context columns the means need none.",)


def _context_notes(statistics: Statistics, design: Design, contexts: Contexts) -> tuple[str, ...]:
    """A note if some task's contexts are elsewhere than the others': a collection has one distribution for all."""
    rows, tasks = statistics.count, statistics.task
    n = np.bincount(tasks, rows, len(statistics.tasks))
    sums = np.zeros((len(n), len(design.columns)))
    np.add.at(sums, tasks, statistics.sums[:, design.columns])
    first = 1 if design.intercept else 0
    away = np.abs(sums / np.maximum(n, 1)[:, None] + statistics.shift[design.columns] - contexts.mean[first:])
    scale = np.sqrt(contexts.covariance.diagonal()[first:])
    away = np.where(scale > 0, away / np.where(scale > 0, scale, 1.0), 0.0)
    i, column = np.unravel_index(away.argmax(), away.shape)
    noise = 5 / np.sqrt(max(n[i], 1.0))
    if away[i, column] < 0.25 + noise:
        return ()
    return (
        f"The contexts of task {statistics.tasks[i]!r} are not those of the others: its mean of "
        f"{design.features[first + column]} is {away[i, column]:.2g} standard deviations away. A collection has one "
        "distribution of contexts for all tasks; means are over all of them together.",
    )


def _assemble(
    statistics: Statistics,
    family: Rewards,
    share: FloatArray,
    outcome: OutcomeArray,
    means: FloatArray,
    radius: FloatArray,
    contexts: Contexts | None = None,
    theta: FloatArray | None = None,
    theta_radius: FloatArray | None = None,
    notes: Sequence[str] = (),
) -> Estimates:
    """Tables over tasks and arms from values per cell."""
    shape = (len(statistics.tasks), len(statistics.arms))

    def table(values: FloatArray) -> FloatArray:
        full = np.full(shape + values.shape[1:], np.nan)
        full[statistics.task, statistics.arm] = values
        return full

    outcomes = np.full(shape, Outcome.NEVER_TRIED, dtype=object)
    outcomes[statistics.task, statistics.arm] = outcome
    if family.has_range:
        radius = np.minimum(radius, np.maximum(means - family.low, family.high - means))
    fine = outcome == Outcome.FINE
    return Estimates(
        statistics.tasks,
        statistics.arms,
        family,
        table(np.where(fine, means, np.nan)),
        table(np.where(fine, radius, np.nan)),
        statistics.counts,
        outcomes,
        float(share.sum()),
        contexts,
        None if theta is None else table(theta),
        None if theta_radius is None else table(theta_radius),
        tuple(notes),
    )
