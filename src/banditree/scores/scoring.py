"""Ways to score the rewards of an arm: points per bin, and the levels at which a line may be left."""

from dataclasses import dataclass

import numpy as np

from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family

# Points per success and per failure: the drift that a line calls even is at a mean of y / (x + y).
SLOPES = tuple((1, y) for y in (1, 2, 3, 4, 5, 9)) + tuple((x, 1) for x in (2, 3, 4, 5, 9)) + ((2, 3), (3, 2))
# Levels that are easy to keep in mind; a search costs no more for being held to them.
ROUND = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
LARGER = (120, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1200, 1500, 2000)
ALWAYS = 60  # levels up to this one are tried at any horizon; above, up to the square root of the horizon
OWN_SLOPES = 3  # slopes of its own, at most, of an arm whose means none of these tell apart ...
MARGIN = 0.1  # ... each this share of a gap between two means away from both ...
MOST_POINTS = 200  # ... and the points of a success times those of a failure, on which the cost of a table depends
FOUR_BINS = (-3, -1, 1, 3)  # points of a normal reward, close to the best four-level rounding of it ...
BIN_WIDTH = 0.98  # ... with cuts this many standard deviations from the middle one
CENTRES = 6  # middle cuts tried per arm for normal rewards, and for all arms together


@dataclass(frozen=True, eq=False)
class Scoring:
    """T templates: points (T, B) and cuts (T, B-1) of the bins, and the chance (T, K, B, S) of each bin.

    unit: (T,), by which levels are multiplied. usable: (T, K), which arms' lines may use a template. common: (T,),
    which templates suit all arms, so that the safety rule may use them.
    """

    points: IntArray
    cuts: FloatArray
    chance: FloatArray
    unit: IntArray
    usable: BoolArray
    common: BoolArray


def levels_for(horizon: int) -> IntArray:
    """The round levels that are worth a look: a score without drift takes as many rounds as its level squared."""
    most = max(ALWAYS, int(horizon**0.5))
    return np.array([level for level in (*ROUND, *LARGER) if level <= most])


def scoring_of(scenarios: Collection) -> Scoring:
    """The templates for all arms of a collection."""
    points, cuts, chance, usable, common = (
        _two_bins(scenarios) if scenarios.rewards.family is Family.BERNOULLI else _four_bins(scenarios)
    )
    # An arm of which all scenarios have the same mean tells nothing, but may be settled on.
    usable = usable & (np.ptp(scenarios.means, axis=0) > 0)
    # Levels are in steps of the score, of which those of the slope 1:9 are the largest that count as one unit.
    unit = np.maximum(1, np.round(np.sqrt(-points.min(axis=1) * points.max(axis=1)) / 3)).astype(np.int64)
    return Scoring(points, cuts, np.ascontiguousarray(chance), unit, usable, common)


def _two_bins(scenarios: Collection) -> tuple[IntArray, FloatArray, FloatArray, BoolArray, BoolArray]:
    means, K = scenarios.means, scenarios.n_arms
    own = [own_slopes(means[:, arm]) for arm in range(K)]
    slopes = [*SLOPES, *sorted({slope for arm in own for slope in arm})]
    points = np.array([(-y, x) for x, y in slopes])
    chance = np.broadcast_to(np.stack([1 - means.T, means.T], axis=1), (len(points), K, 2, len(means)))
    usable = np.array([[slope in SLOPES or slope in own[arm] for arm in range(K)] for slope in slopes])
    return points, np.full((len(points), 1), 0.5), chance, usable, np.ones(len(points), dtype=bool)


def _four_bins(scenarios: Collection) -> tuple[IntArray, FloatArray, FloatArray, BoolArray, BoolArray]:
    from scipy.special import ndtr

    means, K, sigma = scenarios.means, scenarios.n_arms, scenarios.rewards.sigma
    share = (np.arange(CENTRES) + 0.5) / CENTRES
    centres = [np.quantile(means[:, k], share) for k in range(K)] + [np.quantile(means, share)]
    digit = 10.0 ** np.floor(np.log10(sigma / 10))
    middle = np.round(np.concatenate(centres) / digit) * digit
    width = float(f"{BIN_WIDTH * sigma:.2g}")
    cuts = np.round(middle[:, None] + width * np.array([-1.0, 0.0, 1.0]), 12)
    below = ndtr((cuts[:, None, :, None] - means.T[None, :, None, :]) / sigma)
    edges = np.concatenate([np.zeros_like(below[:, :, :1]), below, np.ones_like(below[:, :, :1])], axis=2)
    common = np.repeat(np.arange(K + 1) == K, CENTRES)
    usable = np.concatenate([np.repeat(np.eye(K, dtype=bool), CENTRES, axis=0), np.ones((CENTRES, K), dtype=bool)])
    return np.tile(np.array(FOUR_BINS), (len(cuts), 1)), cuts, np.diff(edges, axis=2), usable, common


def own_slopes(means: FloatArray) -> list[tuple[int, int]]:
    """Slopes for an arm whose means (M,) all lie on one side of every usual slope, as low rates do: the simplest ones.

    >>> own_slopes(np.array([0.03, 0.04])), own_slopes(np.array([0.3, 0.6]))
    ([(25, 1)], [])
    """
    ordered = np.unique(means)
    if any(ordered[0] < y / (x + y) < ordered[-1] for x, y in SLOPES):
        return []
    widest = np.argsort(-np.diff(ordered), kind="stable")[:OWN_SLOPES]
    gaps = [(ordered[i], ordered[i + 1] - ordered[i]) for i in widest]
    found = [slope_between(low + MARGIN * gap, low + (1 - MARGIN) * gap) for low, gap in gaps]
    return sorted({slope for slope in found if slope is not None})


def slope_between(low: float, high: float) -> tuple[int, int] | None:
    """The slope (x, y) of smallest numbers whose drift y / (x + y) is strictly between two means, or None if too large.

    A walk down the Stern-Brocot tree, from 0/1 and 1/1.

    >>> slope_between(0.751, 0.759), slope_between(0.5, 0.5001)
    ((7, 22), None)
    """
    below, above = (1, 0), (0, 1)
    while True:
        x, y = below[0] + above[0], below[1] + above[1]
        if x * y > MOST_POINTS:
            return None
        if low < y / (x + y) < high:
            return x, y
        if y / (x + y) <= low:
            below = x, y
        else:
            above = x, y
