"""A protocol while it is being searched for: lines that can be added, replaced and removed, and their exact values.

Places are numbers: 0 to K - 1 are the ends "use arm k", K is "start again at line 1", K + 1 + n is line n. The value of
a place is affine in the value V1 of line 1: V = a + b V1, so that V1 = a1 / (1 - b1). Where links may lead back
to any line, values are found by passes instead, and b is zero. Compiled by numba: import this module where it is used,
not at the top of another one.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from banditree.protocols.care import felt
from banditree.protocols.draft_links import all_reaching, leads_back, path_lengths_of, reaching, reading_order
from banditree.protocols.draft_values import Chain, Passed, Values, affine_values, one_pass, pass_values
from banditree.protocols.moving import OTHERS, with_changes, with_returns
from banditree.protocols.tables import Exits, Line, Tables
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

LOW, HIGH = 0, 1  # The two exits of a line; a watch line has both links at its one exit.
NO_RULE = -1
NEGLIGIBLE = 1e-6  # A number of visits below this is rounding; a negative one means that cases circle for ever.


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

    @property
    def watching(self) -> BoolArray:
        """Which lines (N,) are watch lines."""
        return np.asarray(self.lines[:, 2] == 0)

    @cached_property
    def order(self) -> IntArray:
        """The lines so that links lead to later ones except where they return."""
        return np.asarray(reading_order(self.root - self.first_line, self.links - self.first_line))

    @property
    def chain(self) -> Chain:
        """The lines as compiled code takes them, with what changes of arm cost."""
        lines = Chain(self.root, self.links, self.order, self.down, self.up, self.cost)
        return with_changes(lines, self.arms, self.tables.moving)

    @cached_property
    def arms(self) -> IntArray:
        """The arm of each place: of the ends, of line 1 for a restart, and of the lines."""
        ends, lines = np.arange(self.n_ends), self.tables.arm[self.lines[:, 0]]
        ends[self.tables.n_arms :] = OTHERS
        arms = np.concatenate([ends, [OTHERS], lines])
        arms[self.n_ends] = arms[self.root]
        return arms

    @cached_property
    def values(self) -> Values:
        """The exact values of all places."""
        end_cost, end_back = with_returns(*ends(self.tables, self.rule), self.arms, self.root, self.tables.moving)
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
        return path_lengths_of(self.links - self.first_line, self.order)

    @cached_property
    def passed(self) -> "Passed":
        """What one pass leads to."""
        visits = self.values.visits
        return Passed(*one_pass(self.chain, self.rest, visits, self.n_ends))

    @cached_property
    def circling(self) -> float:
        """The largest chance, over the scenarios, that a pass leads back to line 1 rather than to rest; with links
        back, that a case comes back to any line, if that line is on its way."""
        end_rest = np.ones_like(self.tables.gaps.T) if self.rule == NO_RULE else self.tables.rule_rest[self.rule]
        if self.root < self.n_ends:
            return float(1.0 - end_rest[self.root].min())
        if self.back:
            most = float(self._visits_without_end(end_rest).max())
            return 1.0 - 1.0 / most if most > 1.0 else 0.0
        again, rests = self.values.b[self.root], self.passed.rest + (self.passed.ends * end_rest).sum(axis=0)
        return float((again / np.maximum(again + rests, 1e-300)).max())

    def _visits_without_end(self, end_rest: FloatArray) -> FloatArray:
        """How often (S, N) a case comes to each line if the horizon does not end before it rests; may be infinite."""
        (N, S), first, start = self.down.shape, self.first_line, self.root - self.first_line
        back = np.vstack([ends(self.tables, self.rule)[1], np.ones((1, S))])
        back /= np.maximum(back + np.vstack([end_rest, np.zeros((1, S))]), 1e-300)
        moves, left = np.zeros((S, N, N)), np.maximum(self.down + self.up + self.rest, 1e-300)
        for links, exit in ((self.links[:, LOW], self.down / left), (self.links[:, HIGH], self.up / left)):
            on, off = np.flatnonzero(links >= first), np.flatnonzero(links < first)
            moves[:, on, links[on] - first] += exit[on].T
            moves[:, off, start] += (exit[off] * back[links[off]]).T
        try:
            begun = np.broadcast_to(np.eye(N)[start][:, None], (S, N, 1))
            visits = np.linalg.solve(np.eye(N) - moves.transpose(0, 2, 1), begun)[:, :, 0]
        except np.linalg.LinAlgError:
            return np.full((S, N), np.inf)
        return np.where((visits >= -NEGLIGIBLE).all(axis=1, keepdims=True), visits, np.inf)

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
        cost = np.ascontiguousarray(felt(tables.resting.T / (1.0 - tables.going), tables.ways.care))
        return cost, np.zeros_like(cost)
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
    return np.asarray(reaching(draft.links - draft.first_line, n))


def barred_lines(draft: Draft, longest: int) -> BoolArray:
    """Which lines (N, N) each line may not lead to, so that there are no circles and no path is too long."""
    if draft.back:
        barred = np.eye(draft.n_lines, dtype=bool)
    else:
        barred = np.asarray(all_reaching(draft.links - draft.first_line, draft.order))
    before, after = draft.path_lengths
    return barred | (before[:, None] + after > longest)


def returns(draft: Draft) -> bool:
    """Whether some line leads back to one before it, restarts aside."""
    return bool(leads_back(draft.links - draft.first_line, draft.order))
