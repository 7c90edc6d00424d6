"""The search for a short protocol: long drafts that are improved and shrunk, then chains of moves from the best few.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from banditree.protocols.draft import Draft
from banditree.protocols.grown import grown_draft
from banditree.protocols.moves import Moves, Stopped
from banditree.protocols.starts import first_draft, first_lines, quick_start
from banditree.tasks.arrays import FloatArray
from banditree.tasks.one_thread import in_one_thread

LONG = 1.6  # A long draft has this many times the lines that are wanted.
COARSE, FINE = 0.02, 0.003  # A long and a short draft are swept until the relative gain is below these.
SHRINK = 0.9  # The draft is swept again each time it has shrunk to this share of its lines.
STARTS = 0.3  # A start from nothing may begin within this share of the steps ...
# ... less, in proportion, for more scenarios than these: chains go on gaining for longer there. For more kinds than
# these a start is grown in turns, since what trials find goes round in circles there.
MANY = 15
FEW = 4  # Chains of moves go on from this many drafts at first; the number falls to one ...
ALONE = 0.6  # ... at this share of the chains.
MOST_OUT = 8  # A chain takes out at most this many lines before it puts in as many.
FIRST_MORE = 0.1  # This share of the chains adds lines first ...
MOST_NEW = 3  # ... this many at most, and then drops as many.
NEARBY = 0.7  # Of the exits behind which most is lost, each next one gets a new line less often, by this factor.
LOCAL = 8  # This many lines of a long draft are replaced after others were added or dropped.
EVENLY = 0.5  # This part of their choice does not look at what is lost behind them.
WARM = 0.01  # A chain goes on from a draft that is worse by this share on average; it falls to nothing.
LOST = 1.05  # A chain that has strayed from the best by more than this factor goes back to it.
# Values are corrected after these shares of the chains; without care after the third alone.
CORRECTED = (0.2, 0.4, 0.6, 0.8)
LATE = 0.8  # Chains that go on from one draft begin at this share of the chains.
POWERS = ((0.0, 1), (0.4, 2), (0.8, 4))  # From each share of the chains on, the objective's power times this.

Exact = Callable[[Draft], FloatArray]


def search(moves: Moves, exact: Exact | None = None, begun: Draft | None = None, until: float = 1.0) -> Draft:
    """The best draft that is found within the steps of `moves`.

    exact: the regret (S,) of a draft over the horizon itself, by which the values are corrected once, near the end.
    begun: a draft to begin with, besides those that are found from nothing. until: the share of the chains that these
    steps are for; `go_on` has the others.
    """
    # More threads would add up in another order, and the plan would depend on the number of cores.
    with in_one_thread(), suppress(Stopped):
        if moves.world.n_kinds <= MANY:
            quick_start(moves)
        elif moves.clock is not None:
            first_lines(moves)  # time counts when everything is compiled
        moves.begin_clock()
        if begun is not None:
            moves.accept(begun)
        if moves.objective(moves.best) > 0:
            _chains(moves, _starts(moves, begun, until), exact, until=until)
    return moves.best


def search_from(moves: Moves, draft: Draft) -> Draft:
    """The best draft within the limits of `moves` that is found from a given one, which may be longer."""
    moves.begin_clock()
    with in_one_thread(), suppress(Stopped):
        shorter = moves.shrink(draft, moves.limits.lines)
        if shorter is not None:
            moves.accept(shorter)
            _chains(moves, [moves.settle(shorter, moves.limits.lines, FINE)])
    return moves.best


def go_on(moves: Moves, draft: Draft, since: float = LATE, until: float = 1.0) -> Draft:
    """The best draft that chains from a given one find within the steps of `moves`, which are for a share of them."""
    moves.begin_again()
    moves.accept(draft)
    moves.begin_clock()
    with in_one_thread(), suppress(Stopped):
        _chains(moves, [draft], since=since, until=until)
    return moves.best


def _starts(moves: Moves, begun: Draft | None, until: float) -> list[Draft]:
    """The best few of the drafts that starts from nothing, or from one that was given, led to."""
    share, found = STARTS * min(1.0, MANY / moves.world.n_scenarios) / until, list[Draft]()
    start = grown_draft if moves.world.n_kinds > MANY else first_draft
    until = moves.steps + share * (moves.last - moves.steps)
    if begun is not None:
        found.append(moves.settle(begun, moves.limits.lines, FINE))
    while moves.steps < until or not found:
        found.append(_shortened(moves, moves.ruled(start(moves))))
    return sorted(found, key=moves.objective)[:FEW]


def _shortened(moves: Moves, draft: Draft) -> Draft:
    """The draft grown to a long one, improved, and shrunk to the limits."""
    lines = moves.limits.lines
    draft = moves.settle(draft, int(np.ceil(LONG * lines)), COARSE)
    while draft.n_lines > lines:
        shorter = moves.shrink(draft, max(lines, int(draft.n_lines * SHRINK)))
        if shorter is None:
            return moves.best
        draft = moves.sweep(shorter)
    return moves.settle(draft, lines, FINE)


def _chains(moves: Moves, few: list[Draft], exact: Exact | None = None, since: float = 0.0, until: float = 1.0) -> None:
    """Moves from the best few, and in the end from the best, until the steps are used up.

    since, until: which part of all chains that there might be these are.
    """
    first, corrections = moves.steps, list(CORRECTED if moves.world.care.extra else CORRECTED[2:3])
    while True:
        share = since + (until - since) * (moves.steps - first) / max(moves.last - first, 1)
        _sharpen(moves, share)
        if exact is not None and corrections and share >= corrections[0]:
            moves.correct(exact(moves.best))
            del corrections[0]
        few = sorted(few, key=moves.objective)[: max(1, int(np.ceil(FEW * (1 - share / ALONE))))]
        which = int(moves.rng.integers(len(few)))
        changed = _chain(moves, few[which])
        near = 1 + WARM * (1 - share) * moves.rng.exponential()
        if changed is not None and moves.objective(changed) < near * moves.objective(few[which]):
            few[which] = changed
        if min(map(moves.objective, few)) > LOST * moves.objective(moves.best):
            few[0] = moves.best


def _sharpen(moves: Moves, share: float) -> None:
    """Judge by the power of the objective that belongs to a share of the chains."""
    times = max(times for since, times in POWERS if share >= since)
    if moves.adding.power not in (1, moves.power * times):
        moves.sharpen(times)


def _chain(moves: Moves, draft: Draft) -> Draft | None:
    """Another draft near a given one: lines are taken out, and others put in; or, now and then, the other way round."""
    if draft.n_lines < 2 or moves.rng.random() < FIRST_MORE:
        return _more_then_fewer(moves, draft)
    fewer = int(moves.rng.integers(min(MOST_OUT, draft.n_lines - 1)))
    draft = _swept(moves, moves.thin_out(draft, draft.n_lines - 1 - fewer))
    return _swept(moves, moves.grow(draft, moves.limits.lines))


def _more_then_fewer(moves: Moves, draft: Draft) -> Draft | None:
    """New lines at exits behind which much is lost, better lines, and the lines dropped that are missed least."""
    exits = moves.costly(draft)
    chance = NEARBY ** np.arange(len(exits))
    more = min(len(exits), 1 + int(moves.rng.integers(MOST_NEW)))
    for index in moves.rng.choice(len(exits), size=more, replace=False, p=chance / chance.sum()):
        n, side = exits[index]
        if n < draft.n_lines:
            draft = moves.extend(draft, n, side)
    shorter = moves.shrink(_swept(moves, draft), moves.limits.lines)
    return None if shorter is None else _swept(moves, shorter)


def _swept(moves: Moves, draft: Draft) -> Draft:
    """The draft with some of its lines replaced, mostly of those behind which much is lost."""
    if draft.n_lines <= LOCAL:
        return moves.sweep(draft)
    visits = draft.visits / (1.0 - draft.b[draft.root])
    lost = (visits * draft.place_values[draft.first_line :]) @ moves.gradient(draft)
    chance = lost / max(lost.sum(), 1e-300) + EVENLY / len(lost)
    some = moves.rng.choice(draft.n_lines, size=LOCAL, replace=False, p=chance / chance.sum())
    return moves.sweep(draft, some)
