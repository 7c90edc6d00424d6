"""Least squares of one (task, arm) from its sums, without losing the digits that the rows have."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT, Feature

RANK = 1e-9  # The smallest singular value of a design, relative to the largest, that still identifies theta.


class Outcome(StrEnum):
    """What became of the estimate of one (task, arm)."""

    FINE = "fine"
    NEVER_TRIED = "never tried"
    TOO_FEW_ROWS = "too few rows"
    SINGULAR_DESIGN = "contexts that do not vary enough"


@dataclass(frozen=True, eq=False)
class Design:
    """Which columns of the statistics make up the context x: an intercept or none, and `columns` (numbers).

    Of a categorical column one level has no entry when the others and the intercept already tell it.
    """

    features: tuple[Feature, ...]
    columns: IntArray
    intercept: bool


@dataclass(frozen=True, eq=False)
class Fit:
    """theta (q,) of one cell, `error` (q,) the standard errors for noise of variance 1, and at the context asked for:
    the prediction and its leverage h, so that its variance is h times that of the noise. `rss` is what is left over.
    inverse: (q, q) of x'x summed over the rows, the ridge included: x'theta has a variance of at most x' inverse x."""

    theta: FloatArray
    error: FloatArray
    prediction: float
    leverage: float
    rss: float
    inverse: FloatArray


def make_design(features: Sequence[Feature], frequency: FloatArray, intercept: bool) -> Design:
    """The design with all numeric columns, and of each categorical column all levels but the most frequent.

    Without an intercept the first categorical column keeps all its levels.
    frequency: (d,) how often each feature is 1; only that of levels matters.

    >>> sex = [Feature("sex", "f"), Feature("sex", "m")]
    >>> [str(feature) for feature in make_design(sex, np.array([5.0, 7.0]), True).features]
    ['(intercept)', 'sex=f']
    """
    named: list[Feature] = [Feature(INTERCEPT)] if intercept else []
    columns: list[int] = []
    whole = intercept
    for column in dict.fromkeys(feature.name for feature in features):
        own = [index for index, feature in enumerate(features) if feature.name == column]
        levels = tuple(str(features[index].level) for index in own if features[index].level is not None)
        if levels and whole:
            own.remove(max(own, key=lambda index: frequency[index]))
        whole = whole or bool(levels)
        columns += own
        named += [Feature(column, features[index].level, levels) for index in own]
    return Design(tuple(named), np.array(columns, dtype=np.int64), intercept)


def fit_cell(
    n: int,
    sums: FloatArray,
    products: FloatArray,
    shift: FloatArray,
    design: Design,
    at: FloatArray,
    ridge: float = 0.0,
) -> Fit | Outcome:
    """The least-squares fit of one cell, or why there is none.

    The sums give the scatter around the cell's own mean, whose square root R stands for the rows: least squares on R
    is least squares on the rows, at the condition number of the rows and not of their squares. The intercept, if any,
    follows from the means. ridge: the penalty alpha |slopes|^2 (on all of theta without an intercept).

    at: (q,) the context for which prediction and leverage are wanted, without its intercept.
    """
    q = len(design.features)
    if n <= q:
        return Outcome.TOO_FEW_ROWS
    kept = np.append(design.columns, len(shift) - 1)
    centre = sums[kept] / n
    scatter = products[np.ix_(kept, kept)] - n * np.outer(centre, centre)
    root, target, rss = _square_root(scatter)
    mean, reward_mean = centre[:-1] + shift[design.columns], float(centre[-1] + shift[-1])
    if not design.intercept:
        root = np.vstack([np.sqrt(n) * mean, root])
        target = np.append(np.sqrt(n) * reward_mean, target)
    solved = _least_squares(root, target, ridge)
    if solved is None:
        return Outcome.SINGULAR_DESIGN
    slopes, inverse, left, whole = solved
    rss += left
    if not design.intercept:
        return Fit(slopes, np.sqrt(inverse.diagonal()), float(at @ slopes), float(at @ inverse @ at), rss, whole)
    away = at - mean
    theta = np.append(reward_mean - mean @ slopes, slopes)
    error = np.sqrt(np.append(1 / n + mean @ inverse @ mean, inverse.diagonal()))
    around = np.column_stack([-mean, np.eye(len(mean))])  # the slopes' part of (1, x) is x less the mean
    whole = around.T @ whole @ around
    whole[0, 0] += 1 / n
    leverage = float(1 / n + away @ inverse @ away)
    return Fit(theta, error, float(reward_mean + away @ slopes), leverage, rss, whole)


def _square_root(scatter: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """R (d, d) with R'R the scatter of x, R^-T times the scatter of x and r, and the rest of the scatter of r."""
    d = len(scatter) - 1
    scale = np.sqrt(np.maximum(scatter.diagonal()[:d], 0.0))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(scatter[:d, :d] / np.outer(scale, scale))
    values = np.maximum(values, 0.0)
    with np.errstate(divide="ignore"):
        inverse = np.where(values > RANK**2 * max(values.max(initial=0.0), 1.0), 1 / np.sqrt(values), 0.0)
    target = inverse * (vectors.T @ (scatter[:d, d] / scale))
    root = np.sqrt(values)[:, None] * vectors.T * scale
    return root, target, max(float(scatter[d, d] - target @ target), 0.0)


def _least_squares(
    root: FloatArray, target: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray, float, FloatArray] | None:
    """Minimiser, its covariance per unit of noise, what is left, and the inverse of the normal equations; None if not
    unique."""
    d = root.shape[1]
    if d == 0:
        return np.zeros(0), np.zeros((0, 0)), float(target @ target), np.zeros((0, 0))
    rows = root if ridge == 0 else np.vstack([root, np.sqrt(ridge) * np.eye(d)])
    scale = np.linalg.norm(rows, axis=0)
    if scale.min() == 0:
        return None
    left, values, right = np.linalg.svd(rows / scale, full_matrices=False)
    if values[-1] <= RANK * values[0]:
        return None
    half = (right.T / values) @ left.T / scale[:, None]  # the pseudo-inverse
    half = half[:, : len(root)]
    solution = half @ target
    whole = (right.T / values) / scale[:, None]
    return solution, half @ half.T, float(((root @ solution - target) ** 2).sum()), whole @ whole.T
