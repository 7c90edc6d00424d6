"""What x'theta says about the rewards of contextual tasks: one meaning everywhere, within the range of the rewards.

A prediction is x'theta, which counts as the nearest end where it is outside the range of the rewards, or lies on a
logistic curve (`Rewards.link`): in means, certificates and simulations alike.
"""

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import Contexts, averaging_rows
from banditree.tasks.rewards import Link, Rewards

MUCH = 0.05  # A collection says so if predictions are outside the range for at least this share of the contexts.
RATIO = 1.02  # The ratio of neighbours on the grid for a sub-Gaussian scale, which is then within 4% of the best.
FLAT = 0.01  # Exponents below this change no variance by more than 1% ...
STEEP = 60.0  # ... and above this only the largest value counts.


def predict(theta: FloatArray, rows: FloatArray, rewards: Rewards) -> FloatArray:
    """The mean reward (n, ...) at each of the contexts `rows` (n, d), for parameters theta (..., d)."""
    return rewards.at(np.moveaxis(theta @ rows.T, -1, 0))


def mean_rewards(theta: FloatArray, contexts: Contexts, rewards: Rewards) -> FloatArray:
    """E[link(x'theta)] over the contexts, for theta (..., d): exact for normal contexts and over a sample.

    Contexts known by their moments count as normal.

    >>> from banditree.tasks.contexts import gaussian_contexts
    >>> from banditree.tasks.rewards import BERNOULLI
    >>> mean_rewards(np.array([[1.0]]), gaussian_contexts([0.0], [[1.0]]), BERNOULLI).round(4).tolist()
    [0.3156]
    """
    centre = theta @ contexts.mean
    if not rewards.has_range:
        return np.asarray(centre)
    if contexts.rows is not None:
        found = predict(theta, contexts.rows, rewards).mean(axis=0)
        if rewards.link is Link.LINEAR:  # the rows may be a sample of those that the mean context is of
            found = found + theta @ (contexts.mean - contexts.rows.mean(axis=0))
        return np.asarray(np.clip(found, rewards.low, rewards.high))
    return rewards.at_normal(centre, np.sqrt(np.maximum(_variance(theta, contexts), 0.0)))


def _variance(theta: FloatArray, contexts: Contexts) -> FloatArray:
    """The variance of x'theta."""
    return np.asarray(np.einsum("...d,de,...e->...", theta, contexts.covariance, theta))


def clipped_share(theta: FloatArray, contexts: Contexts, rewards: Rewards) -> FloatArray:
    """The share of the contexts at which x'theta (..., d) is outside the range of the rewards."""
    if not rewards.has_range or rewards.link is not Link.LINEAR:
        return np.zeros(theta.shape[:-1])
    value = np.moveaxis(theta @ averaging_rows(contexts).T, -1, 0)
    return np.asarray(((value < rewards.low) | (value > rewards.high)).mean(axis=0))


def sub_gaussian_variance(values: FloatArray) -> float:
    """The least s^2, within 5%, with E exp(t (z - mean)) <= exp(s^2 t^2 / 2) for all t, z drawn from `values` (n,).

    Never above Hoeffding's range^2 / 4, and about the variance where the values look normal. Between the points of the
    grid the logarithm of the left side is bounded by its convexity: it is at most its value at the next point.

    >>> rare = np.zeros(100)
    >>> rare[0] = 30.0
    >>> float(round(sub_gaussian_variance(rare) / rare.var(), 1)), sub_gaussian_variance(rare) <= 30**2 / 4
    (11.2, True)
    """
    away = values - values.mean()
    width = float(np.ptp(values))
    if width == 0:
        return 0.0
    n_points = int(np.log(STEEP / FLAT) / np.log(RATIO)) + 2
    slopes = FLAT * RATIO ** np.arange(n_points) / width
    found = float(away.var()) * np.exp(2 * FLAT)
    for side in (away, -away):
        top = side.max()
        for t in slopes:  # one at a time: a sample may have many rows
            log = t * top + np.log(np.exp(t * (side - top)).mean())
            found = max(found, 2 * log * RATIO**2 / t**2)
    return float(min(found, width**2 / 4))
