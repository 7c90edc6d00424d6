"""How strong unseen selection would have to be until a plan no longer beats one option.

What is not in the log may have changed the odds of every option in every round by a factor between 1/Gamma and Gamma
(Rosenbaum 1987; Tan 2006), so that a round with chance p counts for between p + (1 - p)/Gamma and p + (1 - p)Gamma of
what it does (Zhao, Small and Bhattacharya 2019). For each Gamma the worst of these is sought.
"""

import numpy as np

from banditree.evaluation.judging import Judged
from banditree.tasks.arrays import FloatArray

MOST = 20.0  # Selection stronger than this is not looked for.
HALVINGS = 30  # Gamma is found to this many bits.
TURNS = 50  # The worst weights are sought in at most this many steps; a handful is usual.


def tolerated(plan: Judged, single: Judged, reward: FloatArray, chance: FloatArray, confidence: float) -> float | None:
    """The least Gamma (at most MOST) at which the interval of the gain holds 0; None if it does so without selection.

    reward, chance: (R,), of every round of the log.
    """
    gain = plan.measured.above(single.measured, confidence).low
    if gain <= 0 or plan.use is None or single.use is None:
        return None
    used = (plan.use > 0) | (single.use > 0)
    about = (plan.use[used], single.use[used], reward[used], chance[used])
    low, high = 1.0, MOST
    if gain + least_shift(*about, MOST) > 0:
        return MOST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gain + least_shift(*about, middle) > 0 else (low, middle)
    return low


def least_shift(plan: FloatArray, single: FloatArray, reward: FloatArray, chance: FloatArray, gamma: float) -> float:
    """By how much (at most 0) selection of this strength may change the gain; uses (R,) of the two, reward, chance.

    The change of the gain with the weight of one round says whether it should be small or large; weights are set so and
    this is asked again, until nothing changes.

    >>> half, outcome = np.full(4, 0.5), np.array([1.0, 0.0, 1.0, 0.0])
    >>> round(least_shift(np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1]), outcome, half, 3.0), 3)
    -0.5
    """
    small, large = chance + (1 - chance) / gamma, chance + (1 - chance) * gamma
    before = _means(plan, single, reward, np.ones(len(reward)))
    weight, least = np.ones(len(reward)), 0.0
    for _ in range(TURNS):
        mine, other = _means(plan, single, reward, weight)
        slope = plan * (reward - mine) / (weight @ plan) - single * (reward - other) / (weight @ single)
        weight = np.where(slope > 0, small, large)
        mine, other = _means(plan, single, reward, weight)
        shift = (mine - other) - (before[0] - before[1])
        if shift >= least - 1e-12:
            break
        least = shift
    return float(least)


def _means(plan: FloatArray, single: FloatArray, reward: FloatArray, weight: FloatArray) -> tuple[float, float]:
    return float((weight * plan) @ reward / (weight @ plan)), float((weight * single) @ reward / (weight @ single))
