"""Predictions on a logistic curve: theta by maximum likelihood with a weak prior, and how well it is known.

Margins are those of large samples, as those by individual are: the inverse of the curvature, or the sandwich by
individual where that is more. The weak prior keeps theta finite where an option never, or always, succeeded.
"""

from dataclasses import dataclass, replace

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT, Contexts, averaging_rows
from banditree.tasks.predictions import mean_rewards
from banditree.tasks.rewards import Bernoulli, Link
from banditree.tasks.rewards.links import logistic
from banditree.training.decisions import Decisions
from banditree.training.estimates import Estimates
from banditree.training.individuals import scheffe
from banditree.training.intervals import radius_of_normal_mean
from banditree.training.regression import Outcome
from banditree.training.statistics import Statistics

# Standard deviations of the prior, on a scale on which features have a standard deviation of 1: odds that change
# twelvefold with one standard deviation of a feature are unusual, and so are chances below 1 in 20,000.
SLOPE_PRIOR, LEVEL_PRIOR = 2.5, 10.0
STEPS = 60  # Newton's method takes at most this many steps; a handful is usual.
CLOSE = 1e-9  # A step that moves theta by less is the last one.


@dataclass(frozen=True, eq=False)
class Curve:
    """theta (q,) of one task and arm, and its covariance (q, q)."""

    theta: FloatArray
    covariance: FloatArray


def on_a_logistic_curve(
    linear: Estimates, statistics: Statistics, decisions: Decisions, kind: IntArray | None = None
) -> Estimates:
    """The estimates of the same tasks and arms with a logistic link.

    linear: the estimates with a linear one. statistics: those whose units the decisions name. kind: (units,), the task
    of each unit where units are individuals; None where units are the tasks themselves and rows are independent.
    """
    contexts = linear.contexts
    assert contexts is not None
    rewards, rows = Bernoulli(link=Link.LOGISTIC), averaging_rows(contexts)
    x = _designed(contexts, statistics, decisions)
    shape, q = linear.means.shape, contexts.n_features
    theta, error = np.full((*shape, q), np.nan), np.full((*shape, q, q), np.nan)
    radius, outcomes = np.full(shape, np.nan), linear.outcomes.copy()
    tail = linear.failure_probability / linear.means.size / 2  # half for the mean, half for theta
    task = decisions.unit if kind is None else kind[decisions.unit]
    for i, k in np.argwhere(linear.outcomes == Outcome.FINE):
        own = (task == i) & (decisions.arm == k)
        units = None if kind is None else decisions.unit[own]
        freedom = (int(own.sum()) - q) if units is None else len(np.unique(units)) - 1
        if freedom < 1:
            outcomes[i, k] = Outcome.TOO_FEW_ROWS
            continue
        curve = fit_curve(x[own], decisions.reward[own], units)
        theta[i, k], error[i, k] = curve.theta, scheffe(q, freedom, tail) * curve.covariance
        radius[i, k] = radius_of_normal_mean(_standard_error(curve, rows), np.array(float(freedom)), tail)
    means = mean_rewards(theta, contexts, rewards)
    radius = np.minimum(radius, np.maximum(means, 1 - means))
    fine = outcomes == Outcome.FINE
    means = np.where(fine, means, np.nan)
    found = {"means": means, "radius": radius, "theta": theta, "theta_error": error, "outcomes": outcomes}
    counts = None if kind is None else _individuals(decisions, task, shape)
    return replace(linear, rewards=rewards, theta_radius=None, individuals=counts, **found)


def fit_curve(x: FloatArray, reward: FloatArray, units: IntArray | None = None) -> Curve:
    """The curve of 0/1 rewards (n,) over contexts (n, q), whose intercept, if any, is the first column.

    units: (n,), the individual of each row, where rows of one count together.

    >>> x = np.column_stack([np.ones(400), np.tile([0.0, 1.0], 200)])
    >>> fit_curve(x, np.repeat([0.0, 1.0, 1.0, 1.0], 100)).theta.round(1).tolist()
    [1.1, 0.0]
    """
    back, prior = _scaling(x)
    z = x @ back
    theta = np.zeros(x.shape[1])
    for _ in range(STEPS):
        chance = logistic(z @ theta)
        curvature = (z.T * (chance * (1 - chance))) @ z + np.diag(prior)
        step = np.linalg.solve(curvature, z.T @ (reward - chance) - prior * theta)
        theta = theta + step / max(1.0, float(np.abs(step).max()) / 4)  # no step throws it far beyond the rows
        if np.abs(step).max() < CLOSE:
            break
    chance = logistic(z @ theta)
    inverse = np.asarray(np.linalg.inv((z.T * (chance * (1 - chance))) @ z + np.diag(prior)), dtype=np.float64)
    covariance = _covariance(z, reward - chance, inverse, units)
    return Curve(back @ theta, np.asarray(back @ covariance @ back.T))


def _covariance(z: FloatArray, left_over: FloatArray, inverse: FloatArray, units: IntArray | None) -> FloatArray:
    """The covariance of theta: that of independent rows, or the sandwich by individual where that is more."""
    if units is None:
        return inverse
    _, number = np.unique(units, return_inverse=True)
    scores = np.zeros((number.max() + 1, z.shape[1]))
    np.add.at(scores, number, z * left_over[:, None])
    each = scores @ inverse * np.sqrt(len(scores) / max(len(scores) - 1, 1))
    sandwich = each.T @ each
    times = float(np.trace(np.linalg.solve(inverse, sandwich))) / z.shape[1]
    return np.asarray(sandwich if times >= 1 else sandwich + (1 - times) * inverse)


def _scaling(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(q, q) that turns contexts into features of mean 0 and deviation 1, and the precision (q,) of the prior there."""
    q, level = x.shape[1], bool((x[:, 0] == 1).all())
    scale = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    scale = scale if level else np.sqrt((x**2).mean(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    back, prior = np.diag(1 / scale), np.full(q, SLOPE_PRIOR**-2)
    if level:
        back[0] = -x.mean(axis=0) / scale
        back[0, 0], prior[0] = 1.0, LEVEL_PRIOR**-2
    return back, prior


def _standard_error(curve: Curve, rows: FloatArray) -> FloatArray:
    """Of the mean over contexts: theta is estimated, and so is the distribution of the contexts."""
    chance = logistic(rows @ curve.theta)
    slope = (rows * (chance * (1 - chance))[:, None]).mean(axis=0)
    return np.asarray(np.sqrt(slope @ curve.covariance @ slope + chance.var() / len(rows)))


def _designed(contexts: Contexts, statistics: Statistics, decisions: Decisions) -> FloatArray:
    """The contexts (n, q) of the decisions, with the features of the estimates."""
    place = {(feature.name, feature.level): number for number, feature in enumerate(statistics.features)}
    columns = [
        np.ones(len(decisions.arm))
        if feature.name == INTERCEPT
        else decisions.contexts[:, place[feature.name, feature.level]]
        for feature in contexts.features
    ]
    return np.column_stack(columns)


def _individuals(decisions: Decisions, task: IntArray, shape: tuple[int, ...]) -> IntArray:
    """How many individuals (M, K) have rows of each task and arm."""
    found = np.zeros(shape, dtype=np.int64)
    for i, k in np.unique(np.column_stack([task, decisions.arm]), axis=0):
        found[i, k] = len(np.unique(decisions.unit[(task == i) & (decisions.arm == k)]))
    return found
