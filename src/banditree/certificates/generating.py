"""The loops of `renewal`: how each line is left, and what comes of all lines at the points of a circle.

Compiled by numba, without counting references: import this module where it is used, and make the arrays outside.
"""

from banditree.certificates.propagation import FIXED, SCORE, Boxes, Flow, lean, move_walk
from banditree.tasks.arrays import BoolArray, ComplexArray, FloatArray, IntArray

# Rows of the sums that `collect` fills in; what leaves above follows what leaves below.
SPENT, ENTERED, BELOW = 0, 1, 2


@lean()
def fill_exits(
    boxes: Boxes, flow: Flow, box: int, horizon: int, done: float, below: FloatArray, above: FloatArray
) -> float:
    """Fill in the chances to leave a test or watch line after t pulls, t = 0..horizon; what may be wrong with them.

    `above` is for tests only: at a watch line who gets there stays for good. Those who are left when they are fewer
    than `done` are counted as staying.
    """
    if boxes.kind[box] == FIXED:
        if boxes.pulls[box] <= horizon:
            below[boxes.pulls[box]], above[boxes.pulls[box]] = boxes.chance[box, 0], boxes.chance[box, 1]
        return 0.0
    first, last = boxes.first[box], boxes.first[box] + boxes.floor[box] - 1 + boxes.height[box]
    here, new = flow.inside[first:last], flow.spare[first:last]
    wrong, flow.arrive[box] = 0.0, 1.0
    for t in range(1, horizon + 1):
        down, up, dropped = move_walk(boxes, flow, box, here, new, done / horizon)
        flow.arrive[box], below[t] = 0.0, down
        wrong += dropped
        if boxes.kind[box] == SCORE:
            above[t] = up
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

    rows: (N, 2), of `tables`. weights: `total` and `spent` of a circle. places: entries of each box per case that
    starts at box 0, and what comes back to it.
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
        for box in range(low.size):
            entered, below, above, pulled = 0.0, 0.0, 0.0, 0.0
            for f in range(size):
                entries = arrive[box, f] * back[f]
                summed, stays = entries * total[start + f], entries
                entered += summed.real
                if rows[box, 0] >= 0:
                    leaves = tables[rows[box, 0], start + f]
                    below += (summed * leaves).real
                    stays -= entries * leaves
                if rows[box, 1] >= 0:
                    leaves = tables[rows[box, 1], start + f]
                    above += (summed * leaves).real
                    stays -= entries * leaves
                pulled += (stays * spent[start + f]).real
                if tests[box]:
                    testing[start + f] += stays
            add(sums, lost, SPENT, box, pulled)
            add(sums, lost, ENTERED, box, entered)
            add(sums, lost, BELOW, box, below)
            add(sums, lost, BELOW + 1, box, above)


@lean(forceinline=True)
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
