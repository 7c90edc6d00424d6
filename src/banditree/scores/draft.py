"""A protocol while it is being searched for: lines that can be added, replaced and removed, and their exact values.

Places are numbers: 0 to K - 1 are the ends "use arm k", K is "start again at line 1", K + 1 + n is line n. The value of
a place is affine in the value V1 of line 1: V = a + b V1, so that V1 = a1 / (1 - b1). Where links may lead back
to any line, values are found by passes instead, and b is zero. Compiled by numba: import this module where it is used,
not at the top of another one.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit

from banditree.scores.tables import Exits, Line, Tables
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

LOW, HIGH = 0, 1  # the two exits of a line; a watch line has both links at its one exit
NO_RULE = -1
MAX_PASSES = 400  # over a draft with links back; one that has not settled by then is refused
SETTLED = 1e-7  # change, relative to the regret of the worst scenario, at which the passes end


class Values(NamedTuple):
    """a, b: (P, S), the value of each place as a + b V1. visits: (N, S), of each line in one pass, or in all of them
    where b is zero. first: (S,), V1. settled: whether passes over links back came to an end.
    """

    a: FloatArray
    b: FloatArray
    visits: FloatArray
    first: FloatArray
    settled: bool


Solved = tuple[FloatArray, FloatArray, FloatArray, FloatArray, bool]  # the fields of Values, as compiled code has them


class Chain(NamedTuple):
    """Where lines lead: the place to start, links (N, 2), the lines in reading order, and down, up, cost (N, S)."""

    root: int
    links: IntArray
    order: IntArray
    down: FloatArray
    up: FloatArray
    cost: FloatArray


class Passed(NamedTuple):
    """What one pass from line 1 leads to: its cost (S,) without the ends, how often it ends at each (K, S), starts
    again by itself and comes to rest on a watch line, (S,) each. Where visits are those of all passes, so is this."""

    cost: FloatArray
    ends: FloatArray
    again: FloatArray
    rest: FloatArray


@dataclass(frozen=True, eq=False)
class Draft:
    """N lines over K ends, starting at place `root`; every change gives a new draft.

    lines: (N, 4), a `Line` each. links: (N, 2), places. down, up, cost, rest: (N, S), `Exits` each. rule: a number of
    the tables' rules, or NO_RULE. back: whether links may lead back to any line.
    """

    tables: Tables
    root: int
    lines: IntArray
    links: IntArray
    down: FloatArray
    up: FloatArray
    cost: FloatArray
    rest: FloatArray
    rule: int = NO_RULE
    back: bool = False

    @property
    def n_ends(self) -> int:
        """K."""
        return self.tables.n_ends

    @property
    def first_line(self) -> int:
        """The place of line 0: after the ends and the restart."""
        return self.n_ends + 1

    @property
    def n_lines(self) -> int:
        """N."""
        return len(self.lines)

    @cached_property
    def order(self) -> IntArray:
        """The lines so that links lead to later ones except where they return."""
        return np.asarray(reading_order(self.root - self.first_line, self.links - self.first_line))

    @property
    def chain(self) -> Chain:
        """The lines as compiled code takes them."""
        return Chain(self.root, self.links, self.order, self.down, self.up, self.cost)

    @cached_property
    def values(self) -> Values:
        """The exact values of all places."""
        end_cost, end_back = ends(self.tables, self.rule)
        solve = pass_values if self.back else affine_values
        return Values(*solve(self.chain, end_cost, end_back))

    @property
    def regret(self) -> FloatArray:
        """(S,), the cost from the start on."""
        return self.values.first

    @cached_property
    def place_values(self) -> FloatArray:
        """(P, S), what each place costs from there on."""
        return self.values.a + self.values.b * self.values.first

    @cached_property
    def path_lengths(self) -> tuple[IntArray, IntArray]:
        """(before, after), (N,) each: the most lines on a path to and from each line, itself included, links back
        aside."""
        return _path_lengths(self.links - self.first_line, self.order)

    @cached_property
    def passed(self) -> "Passed":
        """What one pass leads to."""
        visits = self.values.visits
        return Passed(*one_pass(self.chain, self.rest, visits, self.n_ends))

    @cached_property
    def circling(self) -> float:
        """The largest chance, over the scenarios, that a pass leads back to line 1 rather than to rest."""
        end_rest = np.ones_like(self.tables.gaps.T) if self.rule == NO_RULE else self.tables.rule_rest[self.rule]
        if self.root < self.n_ends:
            return float(1.0 - end_rest[self.root].min())
        again = self.values.visits[self.root - self.first_line] - 1.0 if self.back else self.values.b[self.root]
        rests = self.passed.rest + (self.passed.ends * end_rest).sum(axis=0)
        return float((again / np.maximum(again + rests, 1e-300)).max())

    def line(self, n: int) -> Line:
        """What one line does."""
        return Line(*(int(number) for number in self.lines[n]))

    def target(self, n: int, side: int) -> int:
        """The place that an exit leads to; line -1 is the start."""
        return self.root if n < 0 else int(self.links[n, side])

    def flow(self, n: int, side: int) -> FloatArray:
        """The expected number of times (S,) that a case takes an exit; line -1 is the start."""
        if n < 0:
            return np.ones_like(self.regret)
        return np.asarray(self.values.visits[n] * (self.up[n] if side == HIGH else self.down[n]))

    def with_line(self, n: int, line: Line, exits: Exits, links: tuple[int, int]) -> "Draft":
        """The draft with line n replaced, and without lines that this leaves unreached."""
        lines, all_links = self.lines.copy(), self.links.copy()
        lines[n], all_links[n] = line, links
        exit_arrays = {name: getattr(self, name).copy() for name in Exits._fields}
        for name, array in exit_arrays.items():
            array[n] = getattr(exits, name)
        return tidy(replace(self, lines=lines, links=all_links, **exit_arrays))

    def with_new(self, n: int, side: int, line: Line, exits: Exits, links: tuple[int, int]) -> "Draft":
        """The draft with a new line between line n and where an exit of it leads; line -1 is the start."""
        place = self.first_line + self.n_lines
        lines, all_links = np.vstack([self.lines, line]), np.vstack([self.links, links])
        if n >= 0:
            all_links[n, side] = place
            if lines[n, 2] == 0:
                all_links[n] = place
        return tidy(
            replace(
                self,
                root=place if n < 0 else self.root,
                lines=lines,
                links=all_links,
                down=np.vstack([self.down, exits.down]),
                up=np.vstack([self.up, exits.up]),
                cost=np.vstack([self.cost, exits.cost]),
                rest=np.vstack([self.rest, exits.rest]),
            )
        )

    def with_links(self, links: IntArray, root: int | None = None) -> "Draft":
        """The draft with exits that lead elsewhere, (N, 2), and without lines that this leaves unreached."""
        return tidy(replace(self, links=links, root=self.root if root is None else root))

    def with_rule(self, rule: int) -> "Draft":
        """The draft with another safety rule, or none."""
        return replace(self, rule=rule)


def empty_draft(tables: Tables, arm: int, back: bool = False) -> Draft:
    """The draft without lines: give one arm to everyone."""
    return drafted(tables, arm, [], [], NO_RULE, back)


def drafted(tables: Tables, root: int, lines: list[Line], links: list[tuple[int, int]], rule: int, back: bool) -> Draft:
    """The draft with these lines, starting at place `root`, without those that cannot be reached."""
    S = len(tables.gaps)
    exits = [tables.exits(line) for line in lines]
    down, up, cost, rest = (np.array([one[part] for one in exits]).reshape(-1, S) for part in range(4))
    what, where = np.array(lines, np.int64).reshape(-1, 4), np.array(links, np.int64).reshape(-1, 2)
    return tidy(Draft(tables, root, what, where, down, up, cost, rest, rule, back))


def ends(tables: Tables, rule: int) -> tuple[FloatArray, FloatArray]:
    """(cost, chance of starting again), each (K, S), of the ends under a rule."""
    if rule == NO_RULE:
        cost = tables.resting.T / (1.0 - tables.going)
        return np.ascontiguousarray(cost), np.zeros_like(cost)
    return tables.rule_cost[rule], tables.rule_down[rule]


def tidy(draft: Draft) -> Draft:
    """The draft without the lines that cannot be reached."""
    kept = np.sort(draft.order)
    if len(kept) == draft.n_lines:
        return draft
    first = draft.first_line
    number = np.arange(first + draft.n_lines)
    number[first + kept] = first + np.arange(len(kept))
    return replace(
        draft,
        root=int(number[draft.root]),
        lines=draft.lines[kept],
        links=number[draft.links[kept]],
        **{name: getattr(draft, name)[kept] for name in Exits._fields},
    )


def ancestors(draft: Draft, n: int) -> BoolArray:
    """Which lines (N,) can reach line n, itself included."""
    return np.asarray(_ancestors(draft.links - draft.first_line, n))


def barred_lines(draft: Draft, longest: int) -> BoolArray:
    """Which lines (N, N) each line may not lead to, so that there are no circles and no path is too long."""
    if draft.back:
        barred = np.eye(draft.n_lines, dtype=bool)
    else:
        barred = np.asarray(_all_ancestors(draft.links - draft.first_line, draft.order))
    before, after = draft.path_lengths
    return barred | (before[:, None] + after > longest)


def returns(draft: Draft) -> bool:
    """Whether some line leads back to one before it, restarts aside."""
    return bool(_returns(draft.links - draft.first_line, draft.order))


@njit(cache=True)
def _returns(links: IntArray, order: IntArray) -> bool:
    rank = np.zeros(len(links), np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for line in order:
        for child in links[line]:
            if child >= 0 and rank[child] <= rank[line]:
                return True
    return False


@njit(cache=True)
def reading_order(root: int, links: IntArray) -> IntArray:
    """The lines reached from `root`, so that links lead to later ones except where they return."""
    n = len(links)
    finished, stack, state = np.empty(n, np.int64), np.empty(3 * n + 3, np.int64), np.zeros(n, np.int8)
    count, top = 0, 0
    if root >= 0:
        stack[0], top = root, 1
    while top > 0:
        line = stack[top - 1]
        if state[line] == 0:
            state[line] = 1
            for child in links[line]:
                if child >= 0 and state[child] == 0:
                    stack[top] = child
                    top += 1
        else:
            top -= 1
            if state[line] == 1:
                state[line] = 2
                finished[count] = line
                count += 1
    return finished[:count][::-1].copy()


@njit(cache=True, error_model="numpy")
def affine_values(chain: Chain, end_cost: FloatArray, end_back: FloatArray) -> Solved:
    """`Values` of a draft whose only links back are restarts: one pass from the last line to the first."""
    root, links, order, down, up, cost = chain
    K, S = end_cost.shape
    N = links.shape[0]
    a, b = np.zeros((K + 1 + N, S)), np.zeros((K + 1 + N, S))
    a[:K], b[:K] = end_cost, end_back
    b[K] = 1.0
    for position in range(order.size - 1, -1, -1):
        n = order[position]
        low, high = links[n, 0], links[n, 1]
        for s in range(S):
            a[K + 1 + n, s] = cost[n, s] + up[n, s] * a[high, s] + down[n, s] * a[low, s]
            b[K + 1 + n, s] = up[n, s] * b[high, s] + down[n, s] * b[low, s]
    visits = np.zeros((N, S))
    if root > K:
        visits[root - K - 1] = 1.0
    for n in order:
        low, high = links[n, 0] - K - 1, links[n, 1] - K - 1
        for s in range(S):
            if high >= 0:
                visits[high, s] += visits[n, s] * up[n, s]
            if low >= 0:
                visits[low, s] += visits[n, s] * down[n, s]
    return a, b, visits, a[root] / (1.0 - b[root]), True


@njit(cache=True)
def one_pass(
    chain: Chain, rest: FloatArray, visits: FloatArray, K: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The fields of `Passed`, from how often each line is visited (N, S)."""
    N, S = visits.shape
    cost, rests, places = np.zeros(S), np.zeros(S), np.zeros((K + 1, S))
    if chain.root <= K:
        places[chain.root] = 1.0
    for n in range(N):
        low, high = chain.links[n, 0], chain.links[n, 1]
        for s in range(S):
            cost[s] += visits[n, s] * chain.cost[n, s]
            rests[s] += visits[n, s] * rest[n, s]
            if low <= K:
                places[low, s] += visits[n, s] * chain.down[n, s]
            if high <= K:
                places[high, s] += visits[n, s] * chain.up[n, s]
    return cost, places[:K].copy(), places[K].copy(), rests


@njit(cache=True)
def pass_values(chain: Chain, end_cost: FloatArray, end_back: FloatArray) -> Solved:
    """`Values` of a draft with any links back: passes over the lines until nothing changes."""
    root, links, order, down, up, cost = chain
    N, (K, S) = links.shape[0], end_cost.shape
    a, b = np.zeros((K + 1 + N, S)), np.zeros((K + 1 + N, S))
    a[:K] = end_cost
    settled = False
    for _ in range(MAX_PASSES):
        change = 0.0
        for s in range(S):
            a[K, s] = a[root, s]
            for k in range(K):
                a[k, s] = end_cost[k, s] + end_back[k, s] * a[K, s]
        for position in range(order.size - 1, -1, -1):
            n = order[position]
            low, high = links[n, 0], links[n, 1]
            for s in range(S):
                value = cost[n, s] + up[n, s] * a[high, s] + down[n, s] * a[low, s]
                change = max(change, abs(value - a[K + 1 + n, s]))
                a[K + 1 + n, s] = value
        if change <= SETTLED * a[root].max():
            settled = True
            break
    visits, arriving = np.zeros((N, S)), np.zeros((N, S))
    if root > K:
        arriving[root - K - 1] = 1.0
    for _ in range(MAX_PASSES):
        if N == 0 or (settled and arriving.max() < SETTLED):
            break
        for n in order:
            low, high = links[n, 0], links[n, 1]
            for s in range(S):
                here = arriving[n, s]
                arriving[n, s] = 0.0
                visits[n, s] += here
                for place, chance in ((low, down[n, s]), (high, up[n, s])):
                    if place > K:
                        arriving[place - K - 1, s] += here * chance
                    elif root > K:
                        again = 1.0 if place == K else end_back[place, s]
                        arriving[root - K - 1, s] += here * chance * again
    return a, b, visits, a[root].copy(), settled


@njit(cache=True)
def _ancestors(links: IntArray, line: int) -> BoolArray:
    found = np.zeros(len(links), np.bool_)
    found[line] = True
    grown = True
    while grown:
        grown = False
        for other in range(len(links)):
            low, high = links[other]
            if not found[other] and ((low >= 0 and found[low]) or (high >= 0 and found[high])):
                found[other] = True
                grown = True
    return found


@njit(cache=True)
def _all_ancestors(links: IntArray, order: IntArray) -> BoolArray:
    """Which lines (N, N) can reach each line, itself included, of lines that never lead back."""
    found = np.eye(len(links)) > 0.0
    for line in order:
        for child in links[line]:
            if child >= 0:
                found[child] |= found[line]
    return found


@njit(cache=True)
def _path_lengths(links: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    n = len(links)
    rank, before, after = np.zeros(n, np.int64), np.ones(n, np.int64), np.ones(n, np.int64)
    for position in range(order.size):
        rank[order[position]] = position
    for line in order:
        for child in links[line]:
            if child >= 0 and rank[child] > rank[line]:
                before[child] = max(before[child], before[line] + 1)
    for line in order[::-1]:
        for child in links[line]:
            if child >= 0 and rank[child] > rank[line]:
                after[line] = max(after[line], after[child] + 1)
    return before, after
