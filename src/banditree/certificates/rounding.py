"""How far rounding may put the numbers of a certificate off, at most.

**Round by round** only positive numbers are added and multiplied, so that every rounding changes a chance by a share of
at most u = 2^-53 of itself. A case meets a known number of them per round and per box that it enters.

**On a circle** (see `renewal`), with u-sized errors that grow by r^-H:

1. A transform is a sum over its inputs x(t) >= 0, and each of them takes one path through log2(n) levels, on which it
   is multiplied by numbers of modulus 1 and added to others. Each level therefore adds an error of at most `LEVEL` u X,
   X = x(0) + x(1) + ... being the transform at z = r (as in Higham, Accuracy and Stability of Numerical Algorithms,
   24.1, with sums in place of norms). Products along the lines, and sums over the links to a line, add a few u X.
2. What is off by d(z) in a link from line m to line c changes the value of the plan by exactly
   A_m(z) d(z) (V_c(z) - V_m(z)), A_m being the entries with the error and V the values without: those who go to c by
   mistake get its value instead of that of staying. By 1, |A_m d| is at most the number of errors, times u, times the
   chances to leave m at z = r; all lines together leave `exits` times.
3. V_c - V_m is the transform of numbers between -1 and 1, one per round, if a round costs at most 1. By Parseval the
   mean of its squares over the circle is at most 1 / (1 - r^2), and so is that of 1 / (1 - z). By the inequality of
   Cauchy and Schwarz the coefficient of V / (1 - z) that is the regret at H is then off by at most r^-H / (1 - r^2) per
   unit of the errors in 2; a chance at H, a coefficient of V, by r^-H / sqrt(1 - r^2).
4. The sums over the points of the circle, in blocks, add their own roundings: a block's size times u of the sum of all
   moduli, for which 3 gives a bound too. Those of N boxes are at most sqrt(N) times that of one.

Tests compare with exact fractions.
"""

from typing import NamedTuple

import numpy as np

from banditree.certificates.circle import ALIASED, Circle
from banditree.certificates.propagation import Boxes
from banditree.tasks.arrays import FloatArray, IntArray

UNIT = 2.0**-53  # The largest relative error of one rounding.
LEVEL = 8  # Roundings of one level of a transform: product (2.3), its factor (4), sum (1).
LINE = 16  # Roundings on the way through a line besides those of its transform: powers of r, products, 1 / (1 - F).
ROUND = 6  # Roundings of a chance in one round, besides those of its sums.
SECOND_ORDER = 1.01  # This factor covers products of errors, and the coefficients beyond the circle.


class Off(NamedTuple):
    """How far a certificate may be off: the regret per round, where a round costs at most 1; and any chance."""

    regret: float
    chance: float

    def plus(self, error: float) -> "Off":
        """With a further error of all chances."""
        return Off(self.regret + error, self.chance + error)


def of_rounds(boxes: Boxes, entered: FloatArray, rounds: float) -> float:
    """The rounding errors of following every case for a number of rounds. entered: (N,), how often on average."""
    n_bins = boxes.points.shape[1]
    reach_a_cap = int(boxes.points.max()) if boxes.cap.any() else 0  # scores whose chances are added at the cap
    per_round = ROUND + n_bins * (1 + reach_a_cap)
    per_box = ROUND + boxes.kind.size + n_bins * int(np.abs(boxes.points).max())  # sums over links, and over who leaves
    return float(SECOND_ORDER * UNIT * (per_round * rounds + per_box * entered.sum()))


def of_transforms(boxes: Boxes, rows: IntArray, leaves: FloatArray, circle: Circle, block: int) -> Off:
    """The errors of a circle: rounding, and the coefficients beyond it. leaves: the transforms, by row, at z = r."""
    children = np.stack([boxes.low, boxes.high], axis=1)
    leaves = np.where(rows >= 0, leaves[rows], 0.0)
    entries = _entries(children, leaves)
    exits = float((entries[:, None] * leaves).sum())
    most_links = int(np.bincount(children[rows >= 0]).max()) if (rows >= 0).any() else 0
    grow = SECOND_ORDER * UNIT * circle.radius**-circle.horizon
    squared = 1.0 - circle.radius**2
    transforms = grow * (LEVEL * np.log2(circle.n) + LINE + most_links) * (exits + 1)
    sums = grow * (block + LINE)
    lasting = sums * 2 * float(np.abs(circle.total).sum() * circle.radius**circle.horizon * entries.sum())
    aliased = (1 + circle.n / circle.horizon) * ALIASED * SECOND_ORDER
    regret = (transforms + sums * np.sqrt(boxes.kind.size)) / squared / circle.horizon
    return Off(float(regret), float(transforms / np.sqrt(squared) + lasting)).plus(aliased)


def _entries(children: IntArray, leaves: FloatArray) -> FloatArray:
    """How often (N,) each box is entered at z = r: all numbers are positive there."""
    entries, back = np.zeros(len(children)), 0.0
    entries[0] = 1.0
    for box in range(len(children)):
        for side in range(2):
            passed = entries[box] * leaves[box, side]
            if children[box, side] == 0:
                back += passed
            elif leaves[box, side] > 0:
                entries[children[box, side]] += passed
    return np.asarray(entries / (1.0 - back))
