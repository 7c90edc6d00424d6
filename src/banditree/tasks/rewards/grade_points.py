"""Points per grade that tell tasks apart, in small whole numbers."""

from math import gcd

import numpy as np

from banditree.tasks.arrays import FloatArray
from banditree.tasks.rewards.base import Scoring

SPLITS = 3  # The places in the order of the means at which an arm is asked to tell tasks apart.
SIZES = (2, 4, 8)  # The largest points that a rounding may give.
LEAST_CHANCE = 1e-3  # Smaller chances are taken as this, so that one rare grade does not outweigh all others.


def grade_scorings(values: FloatArray, chances: FloatArray) -> list[Scoring]:
    """Ways to score one arm, given the values (G,) and the chances (M, G) of its tasks.

    The tasks are split in two at the widest gaps between their means, and where one task differs most from the rest.
    Each split gives the log-likelihood ratio of its two sides and a slope in the values, which is even half-way between
    their means; both rounded so that the largest points are 2, 4 and 8.

    >>> grade_scorings(np.array([0.0, 0.5, 1.0]), np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]))[0]
    Scoring(points=(-1, 0, 1), cuts=(0.25, 0.75))
    """
    cuts = tuple(float(f"{cut:.12g}") for cut in (values[:-1] + values[1:]) / 2)
    found: dict[Scoring, None] = {}
    for low, high in _splits(values, chances):
        ratio = np.log(np.maximum(high, LEAST_CHANCE) / np.maximum(low, LEAST_CHANCE))
        slope = values - (low @ values + high @ values) / 2
        for shape in (ratio, slope):
            for size in SIZES:
                if (points := _rounded(shape, size)) is not None:
                    found[Scoring(points, cuts)] = None
    return list(found)


def _splits(values: FloatArray, chances: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """The average chances of the two sides of each split, the lower mean first."""
    means = chances @ values
    order = np.argsort(means, kind="stable")
    gaps = np.diff(means[order])
    places = [int(i) + 1 for i in np.argsort(-gaps, kind="stable")[:SPLITS] if gaps[i] > 0]
    sides = [(chances[order[:i]].mean(axis=0), chances[order[i:]].mean(axis=0)) for i in places]
    odd = int(np.abs(chances - chances.mean(axis=0)).sum(axis=1).argmax())
    rest = np.delete(chances, odd, axis=0).mean(axis=0)
    pair = (chances[odd], rest) if means[odd] <= rest @ values else (rest, chances[odd])
    return [*sides, pair] if np.abs(pair[0] - pair[1]).max() > 0 else sides


def _rounded(shape: FloatArray, size: int) -> tuple[int, ...] | None:
    """Whole numbers in these proportions, at most `size`, or None unless they have both signs."""
    most = float(np.abs(shape).max())
    if most == 0:
        return None
    points = np.round(shape * (size / most)).astype(int)
    if points.min() >= 0 or points.max() <= 0:
        return None
    return tuple(int(point) // gcd(*points.tolist()) for point in points)
