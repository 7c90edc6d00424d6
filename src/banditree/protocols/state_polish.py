"""The points and levels of the lines of a draft changed where the loss falls: which entries of a table to change is
seen from the derivative of the loss by every one of them, and each change is judged exactly.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.points import StateTable
from banditree.protocols.state_exits import DELTAS, gains_of_points, held_and_worth
from banditree.protocols.state_tables import MOST_POINTS, Way, build_lines
from banditree.protocols.state_values import FIRST_END, RESTART
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.one_thread import in_one_thread

if TYPE_CHECKING:
    from banditree.protocols.state_search import Budget, StateDraft

SMALL = 1e-5  # A smaller relative gain of one change counts as none.
ENOUGH = 2e-3  # A sweep over all lines that gains less is the last.
TOGETHER = (16, 4, 1)  # Entries of a table changed at once, the most promising ones.
SINGLE = 4  # Single entries that are tried.
OFTEN = 4  # The points of a line are changed this often before the next line.
LEVELS = (-2, -1, 1, 2)
MOST_LEVEL = 24
BEYOND = 2 * MOST_POINTS + 3  # No round and no change takes a score further.


def polished(draft: "StateDraft", power: float, budget: "Budget") -> "StateDraft":
    """The draft with other points and levels, until nothing is gained or the steps are used up."""
    draft = replace(draft, lines=draft.lines.some(draft.chosen), chosen=np.arange(len(draft.chosen)))
    with in_one_thread():
        while budget.left > 0:
            before = draft.objective(power)
            for n in range(len(draft.chosen)):
                own = Changing(draft, n, power, budget)
                own.change_points()
                own.change_levels()
                draft = own.draft
            if draft.objective(power) > before * (1 - ENOUGH):
                break
    return draft


@dataclass
class Changing:
    """One line of a draft that is being changed."""

    draft: "StateDraft"
    n: int
    power: float
    budget: "Budget"

    @property
    def way(self) -> Way:
        """What it gives, and its points."""
        return self.draft.lines.way[self.n]

    @property
    def levels(self) -> tuple[int, int, int]:
        """Floor, ceil and cap."""
        lines = self.draft.lines
        return int(lines.floor[self.n]), int(lines.ceil[self.n]), int(lines.cap[self.n])

    def change_points(self) -> None:
        """Change the entries of the table by which most is gained."""
        for _ in range(OFTEN):
            if self.budget.left <= 0:
                return
            gains = self.gains()
            order = np.argsort(gains, axis=None)[: int((gains < 0).sum())]
            changes = [(int(d), int(s), int(c)) for d, s, c in zip(*np.unravel_index(order, gains.shape), strict=True)]
            tried = [changes[:many] for many in TOGETHER] + [[one] for one in changes[1:SINGLE]]
            if not any(self._try(self._with(some), self.levels) for some in tried if some):
                return

    def change_levels(self) -> None:
        """Move the floor, and the ceiling or the cap."""
        for place in (0, 1 if self.levels[1] else 2):
            for by in LEVELS:
                levels = list(self.levels)
                levels[place] += by * max(place, 1)
                if 1 <= levels[place] <= MOST_LEVEL and self._try(self.way, (levels[0], levels[1], levels[2])):
                    break

    def gains(self) -> FloatArray:
        """What changing each entry adds to the loss that counts, to first order (D, S, 2 + S)."""
        draft, n = self.draft, self.n
        loss, values, visits = draft.judged
        weight = (loss / loss.max()) ** (self.power - 1)
        low, high = (self._behind(int(part[n]), values) for part in (draft.low, draft.high))
        chance, cost = draft.world.chance(self.way.options), draft.world.cost(self.way.options)
        points = self.way.table.by_round
        entering = visits[n] * weight[:, None]
        held, worth = held_and_worth(chance, points, cost, self.levels, entering, low, high, BEYOND)
        found: FloatArray = gains_of_points(chance, points, held, worth, BEYOND)
        return found

    def _behind(self, target: int, values: FloatArray) -> FloatArray:
        lost: FloatArray = values[max(target, 0)] if target >= RESTART else self.draft.world.ends[FIRST_END - target]
        return lost

    def _with(self, changes: list[tuple[int, int, int]]) -> Way | None:
        """The way with entries changed, the first change of each; None where points have one sign only."""
        entries: IntArray = np.hstack([self.way.table.outcomes, self.way.table.moves]).astype(np.int64)
        seen = set[tuple[int, int]]()
        for d, s, column in changes:
            if (s, column) not in seen:
                seen.add((s, column))
                entries[s, column] = np.clip(entries[s, column] + DELTAS[d], -MOST_POINTS, MOST_POINTS)
        rows = [tuple(row) for row in entries.tolist()]
        try:
            return self.way._replace(table=StateTable(tuple(row[:2] for row in rows), tuple(row[2:] for row in rows)))
        except InvalidInput:
            return None

    def _try(self, way: Way | None, levels: tuple[int, int, int]) -> bool:
        """Take the changed line if less is lost with it."""
        if way is None or self.budget.left <= 0:
            return False
        self.budget.spend()
        draft, n = self.draft, self.n
        lines = draft.lines.with_line(n, build_lines(draft.world, [(way, *levels)]))
        other = replace(draft, lines=lines)
        if other.objective(self.power) >= draft.objective(self.power) * (1 - SMALL):
            return False
        self.draft = other
        return True
