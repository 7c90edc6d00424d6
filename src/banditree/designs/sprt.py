"""Wald's sequential probability ratio test: one line that keeps a score."""

from math import inf, log

from banditree.designs.characteristics import Design, end, one_arm
from banditree.errors import invalid
from banditree.plans.counts import Score
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.points import ByOutcome


def sprt(
    null: float,
    alternative: float,
    *,
    alpha: float = 0.05,
    beta: float = 0.2,
    horizon: int = 1000,
    most_points: int = 20,
    arm: str = "treatment",
    control: str = "control",
) -> Design:
    """The test of two rates with Wald's limits, in whole points: a success counts up, a failure down.

    The two points are the logarithms of the likelihood ratios in the unit at which whole numbers of at most
    `most_points` come closest to their proportion; the limits are rounded outwards, so the error rates of the printed
    line are those that `characteristics` says, near alpha and beta. A case that reaches the horizon is undecided.

    >>> print(sprt(0.2, 0.4, most_points=5).plan.lines[0].counts)
    Score(points=ByOutcome(points=(-2, 5), cuts=(0.5,), kind='outcome'), floor=11, ceil=20, kind='score')
    """
    if not 0 < null < alternative < 1:
        raise invalid(
            "null and alternative", "rates between 0 and 1, the null below the alternative", (null, alternative)
        )
    if not (0 < alpha < 0.5 and 0 < beta < 0.5):
        raise invalid("alpha and beta", "chances between 0 and 0.5", (alpha, beta))
    up, down = log(alternative / null), log((1 - null) / (1 - alternative))
    success, failure = _whole(up, down, most_points)
    unit = (up + down) / (success + failure)
    ceil, floor = (max(1, round(limit / unit)) for limit in (log((1 - beta) / alpha), log((1 - alpha) / beta)))
    line = Line(Give(arm), Score(ByOutcome((-failure, success)), floor, ceil), below=end(control), above=end(arm))
    return one_arm([line], horizon, null, alternative, arm, control)


def _whole(up: float, down: float, most: int) -> tuple[int, int]:
    """The whole numbers whose proportion is closest to that of two others, the smallest of them."""
    best, found = inf, (1, 1)
    for failure in range(1, most + 1):
        for success in range(1, most + 1):
            off = abs(log(success / failure) - log(up / down))
            if off < best - 1e-12:
                best, found = off, (success, failure)
    return found
