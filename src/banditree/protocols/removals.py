"""Doing without a line of a draft, and what becomes of the whole then.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np
from numba import njit

from banditree.protocols.choices import Adding, added
from banditree.protocols.draft import HIGH, Draft
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray


def without(draft: Draft, n: int, variant: int, elsewhere: IntArray) -> Draft:
    """The draft without line n: exits that led to it lead where its low (variant 0) or its high exit (1) led, or each
    where `elsewhere` (N, 2) says (2)."""
    place, target = draft.first_line + n, int(draft.links[n, min(variant, HIGH)])
    links = np.where(draft.links == place, elsewhere if variant > HIGH else target, draft.links)
    return draft.with_links(links, target if draft.root == place else None)


@njit(cache=True, error_model="numpy")
def judge_removals(
    root: int,
    links: IntArray,
    elsewhere: IntArray,
    a: FloatArray,
    b: FloatArray,
    visits: FloatArray,
    down: FloatArray,
    up: FloatArray,
    watching: BoolArray,
    adding: Adding,
) -> FloatArray:
    """What becomes of the whole (N, 3) without each line: exits to it lead where its low or its high exit does, or to
    `elsewhere` (N, 2). Exact unless one of these places leads to the line itself or the draft has other links back.
    """
    N, S = visits.shape
    lines = len(a) - N
    new_a, new_b = np.zeros((N, 3, S)), np.zeros((N, 3, S))
    for n in range(N):
        for side in range(2):
            place = links[n, side]
            for s in range(S):
                new_a[n, side, s] = visits[n, s] * a[place, s]
                new_b[n, side, s] = visits[n, s] * b[place, s]
            other, to = elsewhere[n, side], place - lines
            if to >= 0 and not (side == 1 and watching[n]):
                for s in range(S):
                    flow = visits[n, s] * (up[n, s] if side == 1 else down[n, s])
                    new_a[to, 2, s] += flow * a[other, s]
                    new_b[to, 2, s] += flow * b[other, s]
    judged, first = np.empty((N, 3)), np.empty(S)
    for n in range(N):
        here = lines + n
        for variant in range(3):
            starts_nowhere = root == here and (variant == 2 or links[n, variant] < lines)
            for s in range(S):
                rest = 1.0 - b[root, s] + visits[n, s] * b[here, s] - new_b[n, variant, s]
                first[s] = (a[root, s] - visits[n, s] * a[here, s] + new_a[n, variant, s]) / max(rest, 1e-9)
            judged[n, variant] = np.inf if starts_nowhere else added(first, adding)
    return judged
