"""A circle in the complex plane, at whose points transforms are taken, and the way back from it to the horizon."""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import ComplexArray, FloatArray

ALIASED = 1e-11  # The coefficients beyond the circle are multiplied by this.
PER_ROUND = 3.0  # Points of the circle per round, at least: errors grow by at most ALIASED ** (-1 / PER_ROUND).


class Circle(NamedTuple):
    """Points z of a circle in the upper half plane, and what the transforms at them are multiplied by for the sum over
    all rounds up to H (`total`), and for the sum of those sums over the rounds before H (`spent`).

    n: points of the whole circle. powers: of the radius, one per round.
    """

    n: int
    radius: float
    horizon: int
    powers: FloatArray
    one_minus: ComplexArray
    total: ComplexArray
    spent: ComplexArray


def points_of(horizon: int) -> int:
    """The points of the circle for a horizon: a power of two, for which the errors of a transform are known."""
    return 1 << int(np.ceil(np.log2(PER_ROUND * (horizon + 1))))


def circle_of(horizon: int) -> Circle:
    """The circle for a horizon."""
    n = points_of(horizon)
    radius = float(ALIASED ** (1 / n))
    points = np.arange(n // 2 + 1)
    angle = 2 * np.pi * points / n
    # 1 - z, so that no digits are lost where z is close to 1.
    one_minus = (1 - radius) + radius * (2 * np.sin(angle / 2) ** 2 + 1j * np.sin(angle))
    twice = np.where((points == 0) | (2 * points == n), 1.0, 2.0)  # the lower half plane mirrors the upper one
    at_horizon = twice * radius**-horizon / n * np.exp(2j * np.pi * (points * horizon % n) / n)
    powers = np.asarray(radius ** np.arange(horizon + 1), np.float64)
    spent = at_horizon * radius * np.exp(-1j * angle) / one_minus**2
    return Circle(n, radius, horizon, powers, one_minus, at_horizon / one_minus, spent)
