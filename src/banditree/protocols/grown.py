"""A draft that handles every kind, soon, where kinds are many: lines are added and taken out in turns.

Trials (`starts`) need to know what starting again is worth, and for many kinds nothing is known of that at first: their
lines go round in circles. Growing judges every line exactly from the first one on. By itself it gets stuck: lines that
were good when there were few others hold kinds for which nothing better is in reach. So each turn takes out, besides
lines that are missed little, one at which much is lost. Compiled by numba: import this module where it is used, not at
the top of another one.
"""

import numpy as np

from banditree.protocols.draft import Draft
from banditree.protocols.moves import Moves

TURNS = 30  # The draft grows and is thinned out so often ...
LEFT = 0.85  # ... to this share of its lines.
SWEPT = 0.3  # This share of the lines, drawn evenly, is replaced in between.


def grown_draft(moves: Moves) -> Draft:
    """The best draft within the limits that growing in turns finds."""
    best = draft = moves.nothing
    with moves.smoothly():
        for _ in range(TURNS):
            draft = moves.grow(draft, moves.limits.lines)
            if not draft.n_lines:  # no line is worth its rounds
                break
            some = moves.rng.choice(draft.n_lines, size=int(np.ceil(SWEPT * draft.n_lines)), replace=False)
            draft = moves.accept(moves.sweep(draft, some))
            best = min(best, draft, key=moves.objective)
            draft = moves.thin_out(_without_one(moves, draft), int(LEFT * draft.n_lines))
    return best


def _without_one(moves: Moves, draft: Draft) -> Draft:
    """The draft without a line that is drawn: one at which much is lost, or at ends to which it leads."""
    weights = moves.gradient(draft)
    visits = draft.visits / (1.0 - draft.b[draft.root])
    at_ends = draft.place_values * (np.arange(len(draft.place_values)) < draft.n_ends)[:, None]
    behind = draft.down * at_ends[draft.links[:, 0]] + draft.up * at_ends[draft.links[:, 1]]
    lost = np.maximum((visits * (draft.cost + behind)) @ weights, 0.0)
    chance = lost / lost.sum() if lost.any() else None
    n = int(moves.rng.choice(draft.n_lines, p=chance))
    return moves.take_out(draft, n)
