"""The loops of `renewal`: how each line is left, and what comes of all lines at the points of a circle.

Compiled by numba, without counting references: import this module where it is used, and make the arrays outside.
"""

from banditree.certificates.lean import inner, lean
from banditree.certificates.propagation import FIXED, SCORE, Boxes, Flow, move_walk
from banditree.tasks.arrays import BoolArray, ComplexArray, FloatArray, IntArray

# Rows of the sums that `collect` fills in; what leaves above follows what leaves below.
SPENT, ENTERED, BELOW = 0, 1, 2


@lean()
def fill_exits(
    boxes: Boxes, flow: Flow, box: int, powers: FloatArray, done: float, below: FloatArray, above: FloatArray
) -> float:
    """Fill in the chances to leave a test or watch line after t pulls, times the power t of the radius, for t from 0 to
    the horizon; what may be wrong with the chances.

    `above` is for tests only: at a watch line who gets there stays for good. Those who are left when they are fewer
    than `done` are counted as staying.
    """
    horizon = powers.size - 1
    if boxes.kind[box] == FIXED:
        t = boxes.pulls[box]
        if t <= horizon:
            below[t], above[t] = boxes.chance[box, 0] * powers[t], boxes.chance[box, 1] * powers[t]
        return 0.0
    first, last = boxes.first[box], boxes.first[box] + boxes.floor[box] - 1 + boxes.height[box]
    here, new = flow.inside[first:last], flow.spare[first:last]
    wrong, flow.arrive[box] = 0.0, 1.0
    for t in range(1, horizon + 1):
        down, up, dropped = move_walk(boxes, flow, box, here, new, done / horizon)
        flow.arrive[box], below[t] = 0.0, down * powers[t]
        wrong += dropped
        if boxes.kind[box] == SCORE:
            above[t] = up * powers[t]
        else:
            wrong += up * boxes.leak[box]
        if flow.held[box] < done:
            return float(wrong + flow.held[box])
        here, new = new, here
    return wrong


@lean()
def collect(
    low: IntArray,
    high: IntArray,
    rows: IntArray,
    tables: ComplexArray,
    tests: BoolArray,
    weights: tuple[ComplexArray, ComplexArray],
    places: tuple[ComplexArray, ComplexArray],
    sums: FloatArray,
    lost: FloatArray,
    testing: ComplexArray,
) -> None:
    """Add up what comes of each box, block by block of the circle so that a block stays in the cache, and the sums of
    the blocks with what is lost by rounding, so that errors do not grow with the points.

    rows: (N, 2), of `tables`, whose last row is zero: that of an exit that is not there. weights: `total` and `spent`
    of a circle. places: entries of each box per case that starts at box 0, and what comes back to it.
    """
    (total, spent), (arrive, back) = weights, places
    block = back.size
    for start in range(0, total.size, block):
        size = min(block, total.size - start)
        arrive[:], back[:] = 0.0, 0.0
        arrive[0] = 1.0
        for box in range(low.size):
            for side in range(2):
                row, child = rows[box, side], low[box] if side == 0 else high[box]
                if row >= 0:
                    pass_on(arrive[box], tables[row, start : start + size], back if child == 0 else arrive[child])
        for f in range(size):
            back[f] = 1.0 / (1.0 - back[f])
        here = slice(start, start + size)
        for box in range(low.size):
            leaves = tables[rows[box, 0], here], tables[rows[box, 1], here]
            pulled, entered, below, above = sum_up(
                arrive[box, :size], back[:size], leaves, total[here], spent[here], testing[here], tests[box]
            )
            add(sums, lost, SPENT, box, pulled)
            add(sums, lost, ENTERED, box, entered)
            add(sums, lost, BELOW, box, below)
            add(sums, lost, BELOW + 1, box, above)


@lean(fastmath={"reassoc", "contract", "nsz"})
def sum_up(
    arrive: ComplexArray,
    back: ComplexArray,
    leaves: tuple[ComplexArray, ComplexArray],
    total: ComplexArray,
    spent: ComplexArray,
    testing: ComplexArray,
    is_test: bool,
) -> tuple[float, float, float, float]:
    """(pulls, entries, exits below, exits above) of one box, summed over a block in any order, and who stays there to
    `testing`."""
    pulled, entered, below, above, counts = 0.0, 0.0, 0.0, 0.0, 1.0 if is_test else 0.0
    for f in range(back.size):
        entries = arrive[f] * back[f]
        summed = entries * total[f]
        entered += summed.real
        below += (summed * leaves[0][f]).real
        above += (summed * leaves[1][f]).real
        stays = entries - entries * (leaves[0][f] + leaves[1][f])
        pulled += (stays * spent[f]).real
        testing[f] += counts * stays
    return pulled, entered, below, above


@inner(forceinline=True)
def add(sums: FloatArray, lost: FloatArray, row: int, box: int, more: float) -> None:
    """Add to a sum, with what rounding has taken from it so far (Kahan's summation)."""
    wanted = more - lost[row, box]
    new = sums[row, box] + wanted
    lost[row, box] = (new - sums[row, box]) - wanted
    sums[row, box] = new


@lean()
def pass_on(entries: ComplexArray, leaves: ComplexArray, to: ComplexArray) -> None:
    """Add the product of the first two to the third."""
    for f in range(leaves.size):
        to[f] += entries[f] * leaves[f]
