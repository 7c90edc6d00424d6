"""Doing without a line of a draft, and what becomes of the whole then.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np

from banditree.certificates.lean import lean
from banditree.protocols.choices import Adding, added
from banditree.protocols.draft import HIGH, Draft
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray


def without(draft: Draft, n: int, variant: int, elsewhere: IntArray) -> Draft:
    """The draft without line n: exits that led to it lead where its low (variant 0) or its high exit (1) led, or each
    where `elsewhere` (N, 2) says (2)."""
    place, target = draft.first_line + n, int(draft.links[n, min(variant, HIGH)])
    links = np.where(draft.links == place, elsewhere if variant > HIGH else target, draft.links)
    return draft.with_links(links, target if draft.root == place else None)


@lean()
def judge_removals(
    root: int,
    links: IntArray,
    elsewhere: IntArray,
    a: FloatArray,
    b: FloatArray,
    visits: FloatArray,
    exits: FloatArray,
    watching: BoolArray,
    adding: Adding,
    work: FloatArray,
    judged: FloatArray,
) -> None:
    """Fill in what becomes of the whole (N, 3) without each line: exits to it lead where its low or its high exit does,
    or to `elsewhere` (N, 2). Exact unless one of these places leads to the line itself or the draft has other links
    back. work: zeros (2 N + 1, S).
    """
    N, S = visits.shape
    lines, first = len(a) - N, work[2 * N]
    for n in range(N):  # what comes from lines that lead to line n, if they lead elsewhere
        for side in range(2):
            other, to = elsewhere[n, side], links[n, side] - lines
            if to >= 0 and not (side == 1 and watching[n]):
                for s in range(S):
                    flow = visits[n, s] * exits[side, n, s]
                    work[2 * to, s] += flow * a[other, s]
                    work[2 * to + 1, s] += flow * b[other, s]
    for n in range(N):
        here = lines + n
        for variant in range(3):
            place = links[n, min(variant, 1)]
            starts_nowhere = root == here and (variant == 2 or place < lines)
            for s in range(S):
                more_a, more_b = work[2 * n, s], work[2 * n + 1, s]
                if variant < 2:
                    more_a, more_b = visits[n, s] * a[place, s], visits[n, s] * b[place, s]
                rest = 1.0 - b[root, s] + visits[n, s] * b[here, s] - more_b
                first[s] = (a[root, s] - visits[n, s] * a[here, s] + more_a) / max(rest, 1e-9)
            judged[n, variant] = np.inf if starts_nowhere else added(first, adding)
