"""Where a search starts: a long draft of the lines that are best at beliefs which cases come to hold.

Trials follow a case from line to line and add, at every belief met, the line that is best there (point-based value
iteration). What starting again is worth is taken from the best draft so far. Compiled by numba: import this module
where it is used, not at the top of another one.
"""

import numpy as np

from banditree.protocols.choices import Adding, Choice, Judge, Places, best_line, power_mean
from banditree.protocols.draft import NO_RULE, Draft, drafted
from banditree.protocols.moves import Moves, Stopped
from banditree.protocols.tables import Line
from banditree.tasks.arrays import FloatArray

POOL = 3.0  # Trials find at most this many times the lines that are wanted.
QUICK = 1.2  # The same for the first draft of all, which should be there soon.
FIRST = 3  # The draft before that, which says what starting again may be worth, has this many lines.
LONGEST_TRIAL = 40  # A trial passes at most this many lines.
IDLE_TRIALS = 4  # Trials end after this many without a new line.
WORTH = 1e-3  # A trial adds a line for this relative gain.
AGAIN = 0.3  # This share of beliefs is mixed with the first one, to meet those close to the start.
NEVER = 1e9  # Starting again costs this where it is not allowed.
CERTAIN = 1 - 1e-7  # At such a belief nothing is left to find out.


def first_draft(moves: Moves, most: float = POOL) -> Draft:
    """A draft of the lines that trials find, usually longer than wanted. most: lines, times those that are wanted."""
    pool, idle = Pool(moves), 0
    try:
        while len(pool.lines) < most * moves.limits.lines and idle < IDLE_TRIALS:
            before = len(pool.lines)
            pool.trial()
            idle = 0 if len(pool.lines) > before else idle + 1
    except Stopped:
        moves.shrink(pool.draft(), moves.limits.lines)
        raise
    return moves.accept(pool.draft())


def first_lines(moves: Moves) -> None:
    """The first few lines, which help most kinds."""
    moves.accept(moves.ruled(moves.grow(moves.nothing, min(FIRST, moves.limits.lines))))


def quick_start(moves: Moves) -> None:
    """A first draft within the limits, so that a search that is stopped early has something to show."""
    first_lines(moves)
    shorter = moves.shrink(first_draft(moves, QUICK), moves.limits.lines)
    if shorter is not None:
        moves.accept(moves.ruled(shorter))


class Pool:
    """Lines found by trials, which lead to ends, to the start and to each other, never in a circle."""

    def __init__(self, moves: Moves) -> None:
        self.moves, best, limits = moves, moves.best, moves.limits
        self.rule = best.rule if best.n_lines else NO_RULE
        ends, rule = moves.tables.ends, self.rule
        cost = ends.cost if rule == NO_RULE else ends.rule_cost[rule]
        back = np.zeros_like(cost) if rule == NO_RULE else ends.rule_down[rule]
        again = best.regret if best.n_lines and limits.restarts else np.full(cost.shape[1], NEVER)
        self.K, S = cost.shape
        self.lines: list[Line] = []
        self.links: list[tuple[int, int]] = []
        self.values = np.vstack([cost + back * again, again])
        self.heights = np.zeros(len(self.values), np.int64)  # lines on the longest path from each place
        self.prior = moves.gradient(best) / moves.gradient(best).sum()
        self.evenly = moves.world.care.weights(np.full(moves.world.n_scenarios, 1 / moves.world.n_scenarios)).sum(
            axis=0
        )
        self.adding = Adding(np.zeros(S, np.int64), np.ones((1, S)), np.ones(1), 1.0, np.empty(1))

    def trial(self) -> None:
        """Follow one case until settling is best, adding lines on the way there and back."""
        rng, path, lost = self.moves.rng, [], slice(self.moves.world.n_scenarios)
        belief = (self.prior + self.evenly) / 2
        for room in range(self.moves.limits.longest_path or LONGEST_TRIAL, 0, -1):
            path.append((belief, room))
            choice = self.add_best(belief, room)
            if (self.values[: self.K] @ belief).min() <= choice.judged * (1 + 1e-9):
                break
            task, coin = rng.choice(len(belief[lost]), p=belief[lost] / belief[lost].sum()), rng.random()
            down, up, _cost, _rest = choice.exits
            if coin > up[task] + down[task]:
                break  # the case stays for good
            belief = belief * (up if coin < up[task] else down)
            belief = belief / belief.sum()
            if rng.random() < AGAIN:
                belief = (belief + self.prior) / 2
            if belief[lost].max() > CERTAIN * belief[lost].sum():
                break
        for belief, room in reversed(path):
            self.add_best(belief, room)

    def add_best(self, belief: FloatArray, room: int) -> Choice:
        """The best line at a belief with at most `room` lines on a path, added if it is better there than all are."""
        moves = self.moves
        moves.spend()
        number = np.flatnonzero(self.heights < room)
        values, zero = self.values[number], np.zeros_like(belief)
        judge = Judge(zero, zero, belief, self.adding, np.empty_like(belief))
        places = Places(number, values, np.zeros_like(values), values)
        choice = best_line(moves.tables, belief, places, judge, moves.rng.random(), moves.scratch)
        if choice.judged < (1 - WORTH) * (self.values[self.heights <= room] @ belief).min():
            low, high = choice.links
            down, up, cost, _rest = choice.exits
            self.lines.append(choice.line)
            self.links.append(choice.links)
            value = cost + up * self.values[high] + down * self.values[low]
            self.values = np.vstack([self.values, value])
            self.heights = np.append(self.heights, 1 + max(self.heights[low], self.heights[high]))
        return choice

    def draft(self) -> Draft:
        """The draft that starts at the best place."""
        moves, longest = self.moves, self.moves.limits.longest_path or len(self.heights)
        place = np.arange(len(self.heights))  # a plan does not begin with a restart, nor where others choose
        within = (self.heights <= longest) & ((place < moves.tables.n_arms) | (place > self.K))
        judged = [
            power_mean(value, moves.adding) if here else np.inf for value, here in zip(self.values, within, strict=True)
        ]
        root = int(np.argmin(judged))
        return drafted(moves.tables, root, self.lines, self.links, self.rule, moves.limits.links_back)
