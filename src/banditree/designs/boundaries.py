"""Critical values of group-sequential tests, and the numbers of successes that they come to."""

from collections.abc import Callable, Sequence
from math import ceil, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from banditree.designs.stages import Look
from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray

N_POINTS = 100  # Gauss-Legendre points between two limits: with 300, no constant of up to 20 looks has other 12 digits.
FARTHEST = 9.0  # Standard deviations beyond which a test statistic is not looked for: a chance of 1e-19.


def pocock(looks: int | Sequence[float], alpha: float = 0.025, sided: int = 1) -> FloatArray:
    """The critical values of Pocock: the same at every look. looks: how many, or the rounds of each.

    >>> pocock(5, alpha=0.05, sided=2).round(4).tolist()
    [2.4132, 2.4132, 2.4132, 2.4132, 2.4132]
    """
    return _critical(looks, alpha, sided, np.ones_like)


def obrien_fleming(looks: int | Sequence[float], alpha: float = 0.025, sided: int = 1) -> FloatArray:
    """The critical values of O'Brien and Fleming: at a look with a share t of the rounds, those of the last over √t.

    >>> obrien_fleming(5, alpha=0.05, sided=2).round(4).tolist()
    [4.5617, 3.2256, 2.6337, 2.2809, 2.0401]
    """
    return _critical(looks, alpha, sided, lambda shares: 1 / np.sqrt(shares))


def limits(rounds: Sequence[int], critical: FloatArray, null: float) -> list[Look]:
    """The looks at which a rate is shown to be above `null`: the least successes whose distance from what the null
    expects is at least the critical value times the standard deviation there.

    The chance of an error is that of whole numbers, near alpha and perhaps above it: `characteristics` says it.

    >>> limits([20, 40], pocock(2), null=0.2)
    [Look(rounds=20, few=None, many=8), Look(rounds=40, few=13, many=14)]
    """
    if not 0 < null < 1:
        raise invalid("null", "a rate between 0 and 1", null)
    if len(rounds) != len(critical):
        raise invalid("the rounds of looks", f"{len(critical)}, one per critical value", list(rounds))
    many = [ceil(n * null + z * sqrt(n * null * (1 - null)) - 1e-9) for n, z in zip(rounds, critical, strict=True)]
    looks = [Look(n, None, least if least <= n else None) for n, least in zip(rounds, many, strict=True)]
    return [*looks[:-1], Look(rounds[-1], many[-1] - 1, many[-1])]


def _critical(
    looks: int | Sequence[float], alpha: float, sided: int, shape: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    rounds = np.arange(1, looks + 1) if isinstance(looks, int) else np.asarray(looks, dtype=float)
    if rounds.size < 1 or (np.diff(rounds) <= 0).any() or rounds[0] <= 0:
        raise invalid("looks", "a number from 1, or increasing numbers above 0", looks)
    if not 0 < alpha < 0.5 or sided not in (1, 2):
        raise invalid("alpha and sided", "a chance between 0 and 0.5, and 1 or 2", (alpha, sided))
    shares = rounds / rounds[-1]
    form = shape(shares)
    most = float(norm.isf(alpha / sided / shares.size)) + 1  # by Bonferroni, for the last look
    least = float(norm.isf(alpha / sided)) / 2
    constant = brentq(lambda c: crossing(c * form, shares, sided) - alpha, least, most, xtol=1e-11)
    return np.asarray(constant * form)


def crossing(critical: FloatArray, shares: FloatArray, sided: int = 1, drift: float = 0.0) -> float:
    """The chance that a Brownian motion is at or beyond its limits at a look, by integration from look to look
    (Armitage, McPherson and Rowe 1969). drift: its mean at the end.

    >>> round(crossing(np.array([1.959963984540054]), np.ones(1)), 10)
    0.025
    """
    nodes, weights = np.polynomial.legendre.leggauss(N_POINTS)
    places, density, before, beyond = np.zeros(1), np.ones(1), 0.0, 0.0
    for z, share in zip(critical, shares, strict=True):
        spread, moved = sqrt(share - before), drift * (share - before)
        high = z * sqrt(share)
        low = -high if sided == 2 else min(drift, 0.0) - FARTHEST
        beyond += float((density * norm.sf((high - places - moved) / spread)).sum())
        if sided == 2:
            beyond += float((density * norm.cdf((low - places - moved) / spread)).sum())
        new = (high - low) / 2 * nodes + (high + low) / 2
        arriving = norm.pdf((new[:, None] - places[None, :] - moved) / spread) / spread @ density
        places, density, before = new, arriving * weights * (high - low) / 2, float(share)
    return beyond
