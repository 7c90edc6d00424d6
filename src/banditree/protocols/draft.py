"""A protocol while it is being searched for: lines that can be added, replaced and removed, and their exact values.

Places are numbers: 0 to K - 1 are the ends "use arm k", K is "start again at line 1", K + 1 + n is line n. The value of
a place is affine in the value V1 of line 1: V = a + b V1, so that V1 = a1 / (1 - b1). Where links may lead back
to any line, values are found by passes instead, and b is zero. Compiled by numba: import this module where it is used,
not at the top of another one.
"""

import numpy as np

from banditree.protocols.sheets import N_LINES, ROOT, Ends, Sheet, empty_bench, weigh, weigh_with_links_back
from banditree.protocols.tables import Line, Tables
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

LOW, HIGH = 0, 1  # The two exits of a line; a watch line has both links at its one exit.
NO_RULE = -1


class Draft:
    """N lines over K ends, starting at place `root`; every change gives a new draft.

    lines: (N, 4), a `Line` each. links: (N, 2), places. exits: (4, N, S), as `Tables.exits` has them; down, up: two of
    them. rule: a number of the tables' rules, or NO_RULE. back: whether links may lead back to any line. order: (N,),
    the lines so that links lead to later ones except where they return. before, after: (N,), the most lines on a path
    to and from each, itself included. a, b: (P, S), the value of each place as a + b V1; place_values: (P, S), that
    value. visits: (N, S), of each line in one pass, or in all of them where b is zero. regret: (S,), V1, the cost from
    the start on. passed: (3 + K, S), what one pass leads to. circling: the largest chance, over the scenarios, that a
    pass leads back to line 1 rather than to rest; with links back, that a case comes back to any line, if that line is
    on its way. settled: whether passes over links back came to an end. returns: whether some link leads back.
    """

    def __init__(
        self,
        tables: Tables,
        root: int,
        lines: IntArray,
        links: IntArray,
        exits: FloatArray,
        rule: int = NO_RULE,
        back: bool = False,
        ends: Ends | None = None,
    ) -> None:
        """Lines that cannot be reached are dropped. The arrays become the draft's own. ends: of the tables, unless
        others are given."""
        N, S = exits.shape[1:]
        ends = ends or tables.ends
        K = len(ends.cost)
        shapes = (3, N), (3, K + 1 + N, S), (N, S), (3 + K, S), (S,), (N, N), (3,)
        kinds = (np.int64, float, float, float, float, np.int64, float)
        filled = [np.empty(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
        sheet = Sheet(np.array([N, root, rule]), lines, links, exits, *filled)
        (weigh_with_links_back if back else weigh)(sheet, ends, empty_bench(N, K, S))
        self.tables, self.back, self.sheet, self.rule = tables, back, sheet, rule
        self.n_ends, self.first_line = K, K + 1  # lines come after the ends and the restart
        self.n_lines, self.root = (int(number) for number in sheet.numbers[[N_LINES, ROOT]])
        kept, n_places = self.n_lines, self.first_line + self.n_lines
        self.lines, self.links, self.visits = lines[:kept], links[:kept], sheet.visits[:kept]
        self.exits = exits if kept == N else np.ascontiguousarray(exits[:, :kept])
        self.down, self.up, self.cost, self.rest = self.exits
        self.order, self.before, self.after = sheet.paths[:, :kept]
        self.a, self.b, self.place_values = sheet.places[:, :n_places]
        self.regret, self.passed = sheet.first, sheet.passed
        settled, self.circling, returns = sheet.scores.tolist()
        self.settled, self.returns = settled > 0, returns > 0
        self.judged: tuple[object, float] | None = None  # what a search last thought of it

    @property
    def watching(self) -> BoolArray:
        """Which lines (N,) are watch lines."""
        return np.asarray(self.lines[:, 2] == 0)

    def line(self, n: int) -> Line:
        """What one line does."""
        return Line(*self.lines[n].tolist())

    def target(self, n: int, side: int) -> int:
        """The place that an exit leads to; line -1 is the start."""
        return self.root if n < 0 else int(self.links[n, side])

    def flow(self, n: int, side: int) -> FloatArray:
        """The expected number of times (S,) that a case takes an exit; line -1 is the start."""
        if n < 0:
            return np.ones_like(self.regret)
        return np.asarray(self.visits[n] * self.exits[side, n])

    def ancestors(self, n: int) -> BoolArray:
        """Which lines (N,) can reach line n, itself included."""
        return np.asarray(self.sheet.above[n, : self.n_lines] > 0)

    def barred_lines(self, longest: int) -> BoolArray:
        """Which lines (N, N) each line may not lead to, so that there are no circles and no path is too long."""
        N = self.n_lines
        barred = np.eye(N, dtype=bool) if self.back else self.sheet.above[:N, :N] > 0
        return np.asarray(barred | (self.before[:, None] + self.after > longest))

    def with_line(self, n: int, line: Line, exits: FloatArray, links: tuple[int, int]) -> "Draft":
        """The draft with line n replaced, and without lines that this leaves unreached. exits: (4, S)."""
        lines, all_links, all_exits = self.lines.copy(), self.links.copy(), self.exits.copy()
        lines[n], all_links[n], all_exits[:, n] = line, links, exits
        return Draft(self.tables, self.root, lines, all_links, all_exits, self.rule, self.back)

    def with_new(self, n: int, side: int, line: Line, exits: FloatArray, links: tuple[int, int]) -> "Draft":
        """The draft with a new line between line n and where an exit of it leads; line -1 is the start."""
        place = self.first_line + self.n_lines
        lines, all_links = np.vstack([self.lines, line]), np.vstack([self.links, links])
        all_exits = np.concatenate([self.exits, exits[:, None]], axis=1)
        if n >= 0 and lines[n, 2] == 0:
            all_links[n] = place
        elif n >= 0:
            all_links[n, side] = place
        root = place if n < 0 else self.root
        return Draft(self.tables, root, lines, all_links, all_exits, self.rule, self.back)

    def with_links(self, links: IntArray, root: int | None = None) -> "Draft":
        """The draft with exits that lead elsewhere, (N, 2), and without lines that this leaves unreached."""
        root = self.root if root is None else root
        return Draft(self.tables, root, self.lines.copy(), links, self.exits.copy(), self.rule, self.back)

    def with_links_back(self) -> "Draft":
        """The same draft, valued as one whose links may lead back."""
        return Draft(self.tables, self.root, self.lines, self.links, self.exits, self.rule, back=True)

    def with_rule(self, rule: int) -> "Draft":
        """The draft with another safety rule, or none."""
        return Draft(self.tables, self.root, self.lines, self.links, self.exits, rule, self.back)


def empty_draft(tables: Tables, arm: int, back: bool = False) -> Draft:
    """The draft without lines: give one arm to everyone."""
    return drafted(tables, arm, [], [], NO_RULE, back)


def drafted(tables: Tables, root: int, lines: list[Line], links: list[tuple[int, int]], rule: int, back: bool) -> Draft:
    """The draft with these lines, starting at place `root`, without those that cannot be reached."""
    exits = np.empty((4, len(lines), len(tables.stays.gaps)))
    for n, line in enumerate(lines):
        exits[:, n] = tables.exits(line)
    what, where = np.array(lines, np.int64).reshape(-1, 4), np.array(links, np.int64).reshape(-1, 2)
    return Draft(tables, root, what, where, exits, rule, back)
