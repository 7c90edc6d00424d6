"""How fast the chance of leaving falls with the height of a score, in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import math

from banditree.certificates.lean import lean
from banditree.tasks.arrays import FloatArray, IntArray

BISECTIONS = 60  # The interval that holds a decay is halved so often; the end on the safe side is taken.
MOST_EXPONENT = 700.0  # Larger exponents would overflow.


@lean()
def largest_decays(points: IntArray, chance: FloatArray, found: FloatArray) -> None:
    """Fill in, for each of n scores, the largest theta, to rounding, with E exp(-theta points) <= 1.

    points, chance: (n, B). found: zeros (n,), which stay where the score does not drift upwards; infinite where it
    cannot fall.
    """
    n, bins = points.shape
    for score in range(n):
        drift, falls = 0.0, 0
        for b in range(bins):
            drift += chance[score, b] * points[score, b]
            if chance[score, b] > 0:
                falls = max(falls, -points[score, b])
        if falls <= 0:
            found[score] = math.inf
            continue
        if drift <= 0:
            continue
        low, high = 0.0, MOST_EXPONENT / falls
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            expected = 0.0
            for b in range(bins):
                if chance[score, b] > 0:
                    expected += chance[score, b] * math.exp(-middle * points[score, b])
            if expected <= 1.0:
                low = middle
            else:
                high = middle
        found[score] = low
