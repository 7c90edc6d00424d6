"""How the mean reward at a context follows from x'theta: x'theta itself, kept within the range, or a logistic curve."""

from enum import StrEnum

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray

# The reach and step of the trapezoidal rule, in standard deviations; its error falls exponentially in 1 / STEP.
REACH, STEP = 9.0, 0.05


class Link(StrEnum):
    """The closed choice of links.

    LINEAR: x'theta, or the nearest end of the range of the rewards. LOGISTIC: 1 / (1 + exp(-x'theta)), of 0/1 rewards.
    """

    LINEAR = "linear"
    LOGISTIC = "logistic"


def link_named(name: str) -> Link:
    """The link of that name."""
    try:
        return Link(name)
    except ValueError:
        raise invalid("link", f"one of {', '.join(Link)}", name) from None


def logistic(value: FloatArray) -> FloatArray:
    """1 / (1 + exp(-value)).

    >>> logistic(np.array([-np.inf, 0.0, np.inf])).tolist()
    [0.0, 0.5, 1.0]
    """
    from scipy.special import expit

    return np.asarray(expit(value))


def logit(chance: FloatArray) -> FloatArray:
    """The value at which `logistic` is `chance`; infinite at 0 and 1."""
    from scipy.special import logit as log_odds

    return np.asarray(log_odds(chance))


def logistic_over_normal(centre: FloatArray, spread: FloatArray) -> FloatArray:
    """The mean of `logistic` of a normal variable with this mean and standard deviation.

    >>> logistic_over_normal(np.array([0.0, 1.0]), np.array([2.0, 0.0])).round(4).tolist()
    [0.5, 0.7311]
    """
    z = np.arange(-REACH, REACH + STEP / 2, STEP)
    weight = np.exp(-(z**2) / 2)
    values = logistic(centre[..., None] + spread[..., None] * z)
    return np.asarray(values @ (weight / weight.sum()))


def clipped_over_normal(centre: FloatArray, spread: FloatArray, low: float, high: float) -> FloatArray:
    """The mean of a normal variable whose values outside [low, high] are moved to the nearest end."""
    from scipy.special import ndtr

    safe = np.where(spread > 0, spread, 1.0)
    a, b = (low - centre) / safe, (high - centre) / safe
    density = (np.exp(-(a**2) / 2) - np.exp(-(b**2) / 2)) / np.sqrt(2 * np.pi)
    inside = ndtr(b) - ndtr(a)
    found = low * ndtr(a) + high * ndtr(-b) + centre * inside + safe * density
    return np.asarray(np.where(spread > 0, np.clip(found, low, high), np.clip(centre, low, high)))
