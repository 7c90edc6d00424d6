"""Points for a success and a failure: whole numbers x : y, even at a rate of y / (x + y)."""

import numpy as np

from banditree.tasks.arrays import FloatArray

# Points per success and per failure: the drift that a test calls even is at a mean of y / (x + y).
SLOPES = (
    *((1, y) for y in (1, 2, 3, 4, 5, 9)),
    *((x, 1) for x in (2, 3, 4, 5, 9)),
    *((2, 3), (3, 2)),
)
WIDEST_GAPS = 3  # An arm whose means none of these tell apart gets slopes of its own for its three widest gaps.
# Each has the smallest numbers at this share of the gap or more away from both means: simple ones, and ones near the
# middle, without which a protocol for means a hundredth apart (hard-5-10, H = 400,000) loses a quarter more.
MARGINS = (0.1, 0.3)
MOST_POINTS = 400  # Slopes have at most this product of their two points, on which the cost of a score depends.


def own_slopes(means: FloatArray) -> list[tuple[int, int]]:
    """Slopes for an arm whose means (M,) all lie on one side of every usual slope, as low rates do: the simplest ones.

    >>> own_slopes(np.array([0.03, 0.04])), own_slopes(np.array([0.3, 0.6]))
    ([(25, 1), (27, 1)], [])
    """
    ordered = np.unique(means)
    if any(ordered[0] < y / (x + y) < ordered[-1] for x, y in SLOPES):
        return []
    widest = np.argsort(-np.diff(ordered), kind="stable")[:WIDEST_GAPS]
    gaps = [(ordered[i], ordered[i + 1] - ordered[i]) for i in widest]
    found = [slope_between(low + share * gap, low + (1 - share) * gap) for low, gap in gaps for share in MARGINS]
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
