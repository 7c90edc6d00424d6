"""Totals over a whole case, box by box from the last to the first, in compiled loops.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from banditree.certificates.lean import lean
from banditree.tasks.arrays import FloatArray, IntArray


@lean()
def values_by_link(
    low: IntArray, high: IntArray, down: FloatArray, up: FloatArray, cost: FloatArray, slot: IntArray, value: FloatArray
) -> None:
    """Fill in each box's value, cost + down value[low] + up value[high], in terms of those that links lead back to.

    down, up, cost: (N, M). slot: (N,), the number of such a box, or -1. value: zeros (N, 1 + slots, M), filled in with
    the constant and the weight of each of those boxes. One pass from the last box to the first.
    """
    n_parts, n_tasks = value.shape[1], value.shape[2]
    for box in range(low.size - 1, -1, -1):
        for i in range(n_tasks):
            value[box, 0, i] = cost[box, i]
        if low[box] < 0:
            continue
        for side in range(2):
            child = low[box] if side == 0 else high[box]
            chance = down[box] if side == 0 else up[box]
            if child < 0:
                continue
            if child <= box:
                for i in range(n_tasks):
                    value[box, 1 + slot[child], i] += chance[i]
                continue
            for part in range(n_parts):
                for i in range(n_tasks):
                    value[box, part, i] += chance[i] * value[child, part, i]
