"""The search of protocols with states: lines are replaced, added, moved and taken out, each change judged exactly.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from banditree.progress import OnProgress, goes_on
from banditree.protocols.state_polish import polished
from banditree.protocols.state_tables import Lines, World
from banditree.protocols.state_values import FIRST_END, RESTART, judge, screen
from banditree.tasks.arrays import FloatArray, IntArray

TRIED = 6  # This many lines that look best are judged exactly.
SMALL = 1e-6  # A smaller relative gain counts as none.
WORST, EVEN = 12.0, 1.0  # The power of the mean over the tasks that is minimised: nearly their worst, or their average.
REPORT_EVERY = 10
FIRST_FLOOR = 6  # Of the watch lines that a search begins with.
ORDERS = 150  # A search begins with the best of 150 chains of watch lines in random orders, ...
EXCHANGES = 60  # ... exchanges lines for 60 steps per task, polishes the draft, ...
CHANGES = 8  # ... polishes the best of 8 changed drafts again and again, ...
AGAIN = 12  # ... and begins anew after 12 in a row that were no better.
HOPELESS = 5.0  # A changed draft that loses more than 6 times as much is not polished.
WORSE = 0.02  # A chain of changes may go on from a draft that is worse by this share.


@dataclass(frozen=True, eq=False)
class StateDraft:
    """N lines: which of the E lines each is, and where its exits lead, to later lines, ends or the start."""

    world: World
    lines: Lines
    chosen: IntArray
    low: IntArray
    high: IntArray

    @cached_property
    def judged(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(loss (M,), values (N, M, S), visits (N, M, S))."""
        shape = (len(self.chosen), *self.lines.cost.shape[1:])
        values, visits = np.zeros(shape), np.zeros(shape)
        known = self.lines
        numbers = (self.chosen, self.low, self.high)
        table = (known.down, known.up, known.cost, self.world.ends, self.world.start)
        lost = judge(*numbers, *table, values, visits)
        return lost, values, visits

    @property
    def loss(self) -> FloatArray:
        """(M,)."""
        return self.judged[0]

    def objective(self, power: float) -> float:
        """The power mean of the losses over the tasks."""
        most = float(self.loss.max())
        return most * float(np.mean((self.loss / most) ** power)) ** (1 / power) if most > 0 else most

    def tidy(self) -> "StateDraft":
        """Without lines that nobody reaches."""
        N = len(self.chosen)
        seen, todo = set[int](), [0]
        while todo:
            n = todo.pop()
            if n not in seen:
                seen.add(n)
                todo += [int(t) for t in (self.low[n], self.high[n]) if t >= 0]
        kept = sorted(seen)
        if len(kept) == N:
            return self
        number = np.full(N, RESTART)
        number[kept] = np.arange(len(kept))
        low, high = (np.where(side >= 0, number[np.maximum(side, 0)], side)[kept] for side in (self.low, self.high))
        return replace(self, chosen=self.chosen[kept], low=low, high=high)

    def with_line(self, n: int, chosen: int, low: int, high: int) -> "StateDraft":
        """With line n replaced."""
        parts = [part.copy() for part in (self.chosen, self.low, self.high)]
        parts[0][n], parts[1][n], parts[2][n] = chosen, low, high if self.lines.ceil[chosen] else RESTART
        return replace(self, chosen=parts[0], low=parts[1], high=parts[2]).tidy()

    def with_new(self, n: int, side: int, chosen: int, low: int, high: int) -> "StateDraft":
        """With a new line behind one exit of line n (of the start, for n = -1); its exits are numbered as before."""
        place = n + 1
        moved = [np.where(part >= place, part + 1, part) for part in (self.low, self.high)]
        own = [target + 1 if target >= place else target for target in (low, high)]
        if n >= 0:
            moved[side][n] = place
        new_low, new_high = np.insert(moved[0], place, own[0]), np.insert(moved[1], place, own[1])
        if not self.lines.ceil[chosen]:
            new_high[place] = RESTART
        return replace(self, chosen=np.insert(self.chosen, place, chosen), low=new_low, high=new_high).tidy()

    def without(self, n: int) -> "StateDraft":
        """Without line n: what led to it leads to where it leads below."""
        target = int(self.low[n])
        if n == 0 and target < 0:
            return self
        sides = [np.where(part == n, target, part) for part in (self.low, self.high)]
        if n == 0:  # the line below becomes the first, and nothing may lead back to it but a restart
            first = [np.delete(part, 0) for part in (self.chosen, *sides)]
            order = [target - 1, *(m for m in range(len(first[0])) if m != target - 1)]
            return _in_order(self, first, order)
        chosen, low, high = (np.delete(part, n) for part in (self.chosen, *sides))
        low, high = (np.where(part > n, part - 1, part) for part in (low, high))
        return replace(self, chosen=chosen, low=low, high=high).tidy()


def _in_order(draft: StateDraft, parts: list[IntArray], order: list[int]) -> StateDraft:
    """The draft of lines in a new order; exits (numbered one too high) that would lead upwards start again."""
    number = {old + 1: new for new, old in enumerate(order)}
    chosen = parts[0][order]
    sides = []
    for part in parts[1:]:
        moved = [number.get(int(t), RESTART) if t >= 0 else int(t) for t in part[order]]
        sides.append(np.array([t if t < 0 or t > n else RESTART for n, t in enumerate(moved)], np.int64))
    return replace(draft, chosen=chosen, low=sides[0], high=sides[1]).tidy()


def chain(world: World, lines: Lines, chosen: Sequence[int]) -> StateDraft:
    """One watch line after the other, and then start again."""
    low = np.array([*range(1, len(chosen)), RESTART], np.int64)
    return StateDraft(world, lines, np.array(chosen, np.int64), low, np.full(len(chosen), RESTART, np.int64))


class Budget:
    """The steps that a search has left, and whether it was told to stop."""

    def __init__(self, steps: int, on_progress: OnProgress | None = None, done: int = 0, total: int = 0) -> None:
        self.left, self.done, self.total, self.on_progress = steps, done, total or done + steps, on_progress

    def spend(self) -> None:
        """One step."""
        self.left -= 1
        self.done += 1
        if self.done % REPORT_EVERY == 0 and not goes_on(self.on_progress, self.done, self.total):
            self.left = 0


class StateSearch:
    """One search: its random numbers, the steps that are left and the best draft so far.

    Lines are first taken from `first`, with points by evidence and a few levels; then the points and levels of each are
    changed for the better, one by one (`polished`), and lines are exchanged again.
    """

    def __init__(
        self, world: World, first: Lines, budget: Budget, *, most_lines: int, seed: int, power: float, restarts: bool
    ) -> None:
        self.world, self.first, self.budget = world, first, budget
        self.most_lines, self.power, self.restarts = most_lines, power, restarts
        self.rng = np.random.default_rng(seed)
        self.best: StateDraft | None = None
        self.until = 0

    def run(self) -> StateDraft:
        """The best draft that is found within the steps."""
        while self.budget.left > 0:
            draft, idle = self._polished(self._exchanged(self._beginning())), 0
            while self.budget.left > 0 and idle < AGAIN:
                pool = replace(draft, lines=draft.lines.plus(self.first))
                other = self._neighbour(pool)
                other = draft if other is pool else self._polished(other)
                better = other.objective(self.power) < draft.objective(self.power) * (1 - SMALL)
                draft, idle = (other, 0) if better else (draft, idle + 1)
        assert self.best is not None
        return self.best

    def _neighbour(self, draft: StateDraft) -> StateDraft:
        """The best of some changed drafts that is worth polishing; the draft itself where none is."""
        self.until, now = 0, draft.objective(self.power)
        drafts = [self._swept(self._changed(draft)) for _ in range(CHANGES)]
        others = [one for one in drafts if SMALL < abs(one.objective(self.power) / now - 1) < HOPELESS]
        return min(others, key=lambda one: one.objective(self.power), default=draft)

    def _polished(self, draft: StateDraft) -> StateDraft:
        self.until = 0
        return self._note(polished(draft, self.power, self.budget))

    @property
    def goes_on(self) -> bool:
        """Whether the steps of this part are not used up."""
        return self.budget.left > self.until

    def _beginning(self) -> StateDraft:
        """The best of many chains of watch lines in random orders."""
        watching = np.flatnonzero((self.first.ceil == 0) & (self.first.floor == FIRST_FLOOR))
        orders = {tuple(self.rng.permutation(watching)[: self.most_lines].tolist()) for _ in range(ORDERS)}
        drafts = [chain(self.world, self.first, order) for order in sorted(orders)]
        return min(drafts, key=lambda draft: draft.objective(self.power))

    def _exchanged(self, draft: StateDraft) -> StateDraft:
        """A draft with lines of its pool exchanged, for some steps."""
        self.until = max(self.budget.left - EXCHANGES * len(draft.world.ends), 0)
        best = draft
        while self.goes_on:
            other = self._climb(best)
            best = min(best, other, key=lambda one: one.objective(self.power))
        return self._note(best)

    def _climb(self, draft: StateDraft) -> StateDraft:
        """The best of sweeping, and changing and sweeping again until nothing better has come for a while."""
        draft, idle = self._swept(draft), 0
        best = draft
        while idle < 8 and self.goes_on:
            other = self._swept(self._changed(draft))
            best = min(best, other, key=lambda one: one.objective(self.power))
            better = other.objective(self.power) < draft.objective(self.power) * (1 - SMALL)
            idle = 0 if better else idle + 1
            if better or other.objective(self.power) < draft.objective(self.power) * (1 + WORSE * self.rng.random()):
                draft = other
        return best

    def _note(self, draft: StateDraft) -> StateDraft:
        fits = len(draft.chosen) <= self.most_lines
        if fits and (self.best is None or draft.objective(self.power) < self.best.objective(self.power)):
            self.best = draft
        return draft

    def _changed(self, draft: StateDraft) -> StateDraft:
        """One or two lines taken out, or put in where much is lost, or in another order."""
        for _ in range(int(self.rng.integers(1, 3))):
            N, coin = len(draft.chosen), self.rng.random()
            if N > 2 and (coin < 0.35 or self.most_lines < N):
                draft = draft.without(int(self.rng.integers(N)))
            elif self.most_lines >= N and coin < 0.8:
                draft = self._grown(draft)
            elif N > 2:
                order = self.rng.permutation(N).tolist() if coin > 0.97 else _swapped(N, self.rng)
                parts = [draft.chosen, draft.low + (draft.low >= 0), draft.high + (draft.high >= 0)]
                draft = _in_order(draft, parts, order)
        return draft

    def _swept(self, draft: StateDraft) -> StateDraft:
        """Every line replaced by the best there, in random order; lines above the most taken out."""
        while len(draft.chosen) > self.most_lines:
            shorter = [draft.without(n) for n in range(len(draft.chosen))]
            shorter = [one for one in shorter if len(one.chosen) < len(draft.chosen)]
            if not shorter:
                break
            draft = min(shorter, key=lambda one: one.objective(self.power))
        for n in self.rng.permutation(len(draft.chosen)).tolist():
            if n < len(draft.chosen) and self.goes_on:
                draft = self._replaced(draft, n)
        return draft

    def _replaced(self, draft: StateDraft, n: int) -> StateDraft:
        now = draft.objective(self.power)
        for chosen, low, high in self._candidates(draft, n, draft.judged[2][n]):
            other = draft.with_line(n, chosen, low, high)
            if other.objective(self.power) < now * (1 - SMALL):
                draft, now = other, other.objective(self.power)
                break
        return draft

    def _grown(self, draft: StateDraft) -> StateDraft:
        """A new line behind an exit through which much is still lost."""
        exits = [(n, side) for n in range(len(draft.chosen)) for side in (0, 1)]
        exits = [(n, side) for n, side in exits if side == 0 or draft.lines.ceil[draft.chosen[n]]]
        n, side = exits[int(self.rng.integers(len(exits)))]
        leave = (draft.lines.down if side == 0 else draft.lines.up)[draft.chosen[n]]
        entering = np.einsum("is,ist->it", draft.judged[2][n], leave)
        new = [draft.with_new(n, side, *found) for found in self._candidates(draft, n, entering)[:2]]
        return min(new, key=lambda one: one.objective(self.power), default=draft)

    def _candidates(self, draft: StateDraft, n: int, entering: FloatArray) -> list[tuple[int, int, int]]:
        """(line, low, high) of those that look best at a place after line n - 1."""
        self.budget.spend()
        loss, values, _visits = draft.judged
        weight = (loss / loss.max()) ** (self.power - 1) / np.maximum(loss, 1e-300)
        weight = weight / weight.max()
        M = len(draft.world.ends)
        later = np.arange(n + 1, len(draft.chosen))
        targets = np.concatenate([later, [RESTART] if self.restarts else [], FIRST_END - np.arange(M)]).astype(np.int64)
        worth = np.concatenate([values[later], values[:1] if self.restarts else values[:0], draft.world.ends])
        known = draft.lines
        some = np.arange(len(known.way))
        judged, low, high = np.zeros(len(some)), np.full(len(some), RESTART), np.full(len(some), RESTART)
        entered = np.ascontiguousarray(entering * weight[:, None])
        screen(entered, targets, worth, known.ceil, known.down, known.up, known.cost, some, judged, low, high)
        return [(int(some[c]), int(low[c]), int(high[c])) for c in np.argsort(judged)[:TRIED]]


def _swapped(N: int, rng: np.random.Generator) -> list[int]:
    order = list(range(N))
    a, b = rng.choice(N, 2, replace=False)
    order[a], order[b] = order[b], order[a]
    return order
