"""What a search does to a draft: better lines, new lines, fewer lines, another safety rule; each judged exactly.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from banditree.certificates.lean import lean
from banditree.nouns import counted
from banditree.progress import Clock, OnProgress, goes_on
from banditree.protocols.choices import Adding, Choice, Judge, Places, Scratch, added, best_line, power_mean
from banditree.protocols.draft import HIGH, LOW, Draft, empty_draft
from banditree.protocols.objectives import Limits
from banditree.protocols.removals import judge_removals, without
from banditree.protocols.sheets import AGAIN, ENDS, PASS_COST, PASS_REST
from banditree.protocols.tables import Tables
from banditree.protocols.worlds import World
from banditree.tasks.arrays import FloatArray, IntArray

TINY = 1e-6  # A smaller relative gain counts as none.
MOST_CIRCLING = 0.9  # A draft goes round in circles if a pass leads to line 1, and not to rest, with a larger chance.
DEAR, NEVER = 20.0, 1e6  # How fast its objective then grows, so that a search finds its way out; and if it never rests.
ENDLESS = 0.999  # Coming back with this chance or more counts as never resting.
SLACK = 3  # On the way, a path may be this many lines too long; refusing it at once leaves too few ways to go.
SMOOTH = 0.25  # The power of the objective that a first draft is judged by, as a share of that of the search.
TOO_LONG = 0.03  # The objective grows by this share for each of them.
MAX_ROWS = 6_000  # One step looks at this many score lines, another part of the tables each time.
REPORT_EVERY = 25  # Progress is reported every this many steps.
MOST_CORRECTED = (1.5, 4.0)  # An exact regret corrects the value that stands for it by at most this factor.
N_REMOVALS = 8  # This many ways to do without a line, those that look best, are judged exactly.
# Lines are drawn to be taken out; one without which the objective grows by so much more (in logarithms), or by this
# share of what it grows by at the median, is drawn e times as rarely.
HEAT, HEATED = 0.02, 0.1
SOME_RULES = 12  # This many rules are tried at a time where links back make a rule costly to judge.


class Stopped(Exception):
    """Not an error: the steps are used up, or the caller has seen enough."""


class Moves:
    """The moves of one search, its random numbers, its count of steps and the best draft so far."""

    def __init__(
        self,
        tables: Tables,
        world: World,
        limits: Limits,
        *,
        power: float,
        seed: int | tuple[int, ...],
        steps: int,
        done: int = 0,
        total: int | None = None,
        on_progress: OnProgress | None = None,
        clock: Clock | None = None,
    ) -> None:
        """steps: how many may be taken; `done` and `total` are for reports, when this is a part of a longer search.
        clock: by which time uses the steps up, however many are taken."""
        world = world if power == 1 else world.for_the_worst
        self.tables, self.world, self.limits = tables, world, limits
        self.given = world
        self.rng = np.random.default_rng(seed)
        self.steps, self.last, self.total = done, done + steps, total or done + steps
        self.on_progress, self.stopped_early = on_progress, False
        self.clock, self.taken = clock, done
        self.power, self.slack, self.scratch = power, SLACK, Scratch(tables, MAX_ROWS)
        self.sharpen(1)
        alone = tables.ends.cost[: tables.n_arms]
        everyone = int(np.argmin([power_mean(cost, self.adding) for cost in alone]))
        self.nothing = self.best = empty_draft(tables, everyone, limits.links_back)

    def sharpen(self, times: float) -> None:
        """Judge by a multiple of the power of the objective: large ones approach the worst kind; a mean stays one."""
        world, power = self.world, self.power * times if self.power > 1 else 1.0
        self.adding = Adding(
            np.array(world.groups),
            np.array(world.weights),
            np.array(world.share),
            float(power),
            np.empty(len(world.share)),
        )

    def judge_in(self, world: World) -> None:
        """Judge by another world of the same scenarios, such as one with corrected weights."""
        self.world = world
        self.sharpen(int(self.adding.power / self.power))

    def correct(self, exact: FloatArray) -> None:
        """Count scenarios by how exact losses (1 or 2, S) under the best draft compare with the values at hand."""
        most, here = np.array(MOST_CORRECTED)[: len(exact), None], self.given.felt(self.best.regret)
        ratio = np.clip(exact / np.maximum(here, 1e-12), 1 / most, most)
        weights = self.given.weights * self.given.care.each(ratio, axis=1)
        self.judge_in(replace(self.world, corrected=weights))

    @contextmanager
    def smoothly(self) -> Iterator[None]:
        """For as long as it lasts, the worst kinds count less than they will, and no path may be too long on the way:
        every draft then counts, and every line that helps many kinds."""
        before, self.slack = self.best, 0
        self.sharpen(SMOOTH)
        try:
            yield
        finally:
            self.slack = SLACK
            self.sharpen(1)
            self.best = min(before, self.best, key=self.objective)

    def begin_clock(self) -> None:
        """Time counts from here on, if it counts at all."""
        if self.clock is not None:
            self.clock.begin()

    def count(self, steps: int, best: float) -> None:
        """Count steps that were taken elsewhere, with the best regret found there, and report them."""
        self.steps += steps
        if not goes_on(self.on_progress, self.steps, self.total, best, counted(self.limits.lines, "line")):
            self.stopped_early = True

    def begin_again(self) -> None:
        """Forget the best draft, so that a search from nothing is not drawn to it."""
        self.best = self.nothing

    # Judging

    def objective(self, draft: Draft) -> float:
        """What is minimised; infinite for a draft that is not allowed at any size."""
        known = draft.judged  # by whom, and how: searches in other threads may look at the same draft
        if known is None or known[0] is not self.adding:
            known = draft.judged = self.adding, self._objective(draft)
        return known[1]

    def _objective(self, draft: Draft) -> float:
        excess = self.excess(draft)
        if excess > self.slack or (not self.limits.links_back and draft.returns) or not draft.settled:
            return np.inf
        return power_mean(draft.regret, self.adding) * dearer(draft.circling) * (1.0 + TOO_LONG * excess)

    def excess(self, draft: Draft) -> int:
        """By how many lines the longest path is longer than allowed."""
        longest = self.limits.longest_path
        return 0 if longest is None or not draft.n_lines else max(0, int(draft.before.max()) - longest)

    @property
    def room(self) -> int | None:
        """The most lines on a path of a draft on the way to one within the limits."""
        return None if self.limits.longest_path is None else self.limits.longest_path + self.slack

    def gradient(self, draft: Draft, power: float | None = None) -> FloatArray:
        """How much the objective feels each value (V,); they add up to about one."""
        power, world = self.adding.power if power is None else power, self.world
        kinds = np.maximum(world.parts(draft.regret), 0.0)
        ratio = kinds / np.maximum(kinds.max(axis=1, keepdims=True), 1e-300)
        felt = ratio ** (power - 1) * world.share
        if len(felt) > 1:
            felt *= np.maximum(ratio**power @ world.share, 1e-300)[:, None] ** (1 / power - 1)
        weights = (world.weights * felt[:, world.groups]).sum(axis=0)
        weights /= max(weights.sum(), 1e-300)
        lost = weights[: world.n_scenarios]
        np.maximum(lost, 1e-6, out=lost)
        return np.asarray(weights)

    def weights(self, draft: Draft) -> FloatArray:
        """The gradient, or that of a lower power, which looks further."""
        power = self.adding.power
        return self.gradient(draft, (1.0, (power + 1) / 2, power)[self.rng.integers(3)])

    def spend(self) -> None:
        """Count a step; report now and then, and stop when the steps are used up or nobody wants more."""
        self.taken += 1
        if self.clock is None or self.clock.began is None:
            self.steps += 1
        else:
            self.steps = max(self.steps, self.clock())
        if self.taken % REPORT_EVERY == 0:
            best, text = float(self.world.by_group(self.best.regret).max()), counted(self.best.n_lines, "line")
            if not goes_on(self.on_progress, self.steps, self.total, best, text):
                self.stopped_early = True
                raise Stopped
        if self.steps >= self.last:
            raise Stopped

    def accept(self, draft: Draft) -> Draft:
        """The draft, remembered if it is short enough and better than the best so far."""
        if self.allows(draft) and self.objective(draft) < self.objective(self.best):
            self.best = draft
        return draft

    def allows(self, draft: Draft) -> bool:
        """Whether the draft is within all limits, and not only on the way to one that is."""
        return draft.n_lines <= self.limits.lines and draft.circling <= ENDLESS and not self.excess(draft)

    # One line

    def places(self, draft: Draft, n: int, new: bool) -> Places:
        """Where line n, or a new line behind it, may lead within the limits; line -1 is the start."""
        allowed = np.ones(draft.first_line + draft.n_lines, dtype=bool)
        allowed[draft.n_ends] = self.limits.restarts
        lines = allowed[draft.first_line :]
        if n >= 0 and self.limits.links_back:
            lines[n] = new
        elif n >= 0:
            lines &= ~draft.ancestors(n)
        if n >= 0 and self.room is not None:
            lines &= draft.after <= self.room - draft.before[n] - new
        number = np.flatnonzero(allowed)
        return Places(number, draft.a[number], draft.b[number], draft.place_values[number])

    def choose(self, draft: Draft, n: int, visits: FloatArray, place: int, present: int | None) -> Choice:
        """The best line instead of `place` (a line or where an exit leads) for the cases that come there (S,).

        present: the line that is there, which is looked at too."""
        self.spend()
        a, b, root = draft.a, draft.b, draft.root
        rest = a[root] - visits * a[place], b[root] - visits * b[place]
        judge = Judge(*rest, visits, self.adding, np.empty_like(visits))
        weights = self.weights(draft) * visits / (1.0 - b[root])
        lost = weights[: self.world.n_scenarios]
        np.maximum(lost, 1e-12 * lost.max() + 1e-300, out=lost)
        places = self.places(draft, n, present is None)
        kept = None if present is None else (draft.line(present), np.ascontiguousarray(draft.exits[:, present]))
        return best_line(self.tables, weights, places, judge, self.rng.random(), self.scratch, kept)

    def better(self, draft: Draft, changed: Draft) -> Draft:
        """The changed draft if it is better, otherwise the draft."""
        return self.accept(changed) if self.objective(changed) < self.objective(draft) else draft

    def improve(self, draft: Draft, n: int) -> Draft:
        """The draft with line n replaced, if that makes it better."""
        choice = self.choose(draft, n, draft.visits[n], draft.first_line + n, n)
        if choice.judged < (1 - TINY) * self.objective(draft):
            return self.better(draft, draft.with_line(n, choice.line, choice.exits, choice.links))
        return draft

    def extend(self, draft: Draft, n: int, side: int) -> Draft:
        """The draft with the best new line at an exit, if that makes it better."""
        before = draft.before[n : n + 1] if n >= 0 else draft.before
        if self.room is not None and before.size and before.max() >= self.room:
            return draft
        choice = self.choose(draft, n, draft.flow(n, side), draft.target(n, side), None)
        if choice.judged < (1 - TINY) * self.objective(draft):
            return self.better(draft, draft.with_new(n, side, choice.line, choice.exits, choice.links))
        return draft

    # Many lines

    def sweep(self, draft: Draft, lines: Iterable[int] | None = None) -> Draft:
        """The draft with each line (or each of some) replaced where that helps, and its rule."""
        for n in self.rng.permutation(draft.n_lines) if lines is None else lines:
            if n < draft.n_lines:
                draft = self.improve(draft, int(n))
        return self.ruled(draft)

    def grow(self, draft: Draft, lines: int) -> Draft:
        """The draft with new lines at the exits behind which most is lost, until there are enough."""
        tried: set[tuple[int, int]] = set()
        while draft.n_lines < lines:
            exit = next((exit for exit in self.costly(draft) if exit not in tried), None)
            if exit is None:
                break
            tried.add(exit)
            draft = self.extend(draft, *exit)
        return draft

    def costly(self, draft: Draft) -> list[tuple[int, int]]:
        """The exits (line, side), those first behind which most of the objective is spent."""
        if not draft.n_lines:
            return [(-1, HIGH)]
        weights, value, links, N = self.weights(draft), draft.place_values, draft.links, draft.n_lines
        watching = draft.watching.tolist()
        visits = draft.visits / (1.0 - draft.b[draft.root])
        behind = [(visits * draft.down * value[links[:, LOW]]) @ weights]
        behind += [(visits * draft.up * value[links[:, HIGH]]) @ weights]
        order = np.argsort(-np.concatenate(behind), kind="stable")
        exits = [(index % N, index // N) for index in order.tolist()]
        return [(n, side) for n, side in exits if side == LOW or not watching[n]]

    def settle(self, draft: Draft, lines: int, gain: float) -> Draft:
        """The draft, grown to a number of lines and swept until that no longer gains enough."""
        before = np.inf
        while self.objective(draft) < (1 - gain) * before:
            before = self.objective(draft)
            draft = self.sweep(self.grow(draft, lines))
        return draft

    def shrink(self, draft: Draft, lines: int) -> Draft | None:
        """The draft without the lines that are missed least, down to a number; None where that cannot be."""
        while draft.n_lines > lines:
            shorter = min(self.removals(draft), key=self.objective, default=None)
            if shorter is None or self.objective(shorter) == np.inf:
                shorter = min(self.endings(draft), key=self.objective, default=None)
            if shorter is None or self.objective(shorter) == np.inf:
                return None
            draft = self.accept(shorter)
        return draft

    def removals(self, draft: Draft) -> Iterator[Draft]:
        """The draft without one line, those few lines that seem to be missed least."""
        elsewhere, judged = self._judged_removals(draft)
        for index in np.argsort(judged, axis=None, kind="stable")[:N_REMOVALS]:
            n, variant = (int(number) for number in np.unravel_index(index, judged.shape))
            if judged[n, variant] == np.inf:
                break
            shorter = without(draft, n, variant, elsewhere)
            if shorter.n_lines < draft.n_lines:
                yield shorter

    def endings(self, draft: Draft) -> Iterator[Draft]:
        """The draft without each of its lines, cases that came there settling on an arm: none circles for that."""
        at_ends = draft.place_values[: draft.n_ends]
        for n in range(draft.n_lines):
            felt = draft.visits[n] * self.gradient(draft)
            shorter = without(draft, n, HIGH + 1, np.full_like(draft.links, int((at_ends @ felt).argmin())))
            if 0 < shorter.n_lines < draft.n_lines:
                yield shorter

    def thin_out(self, draft: Draft, lines: int) -> Draft:
        """The draft without lines that are drawn, mostly such as are missed little, until the rest is short enough."""
        while draft.n_lines > max(lines, 1):
            elsewhere, judged = self._judged_removals(draft)
            objective = min(max(self.objective(draft), 1e-300), NEVER)  # It may be infinite with links back.
            missed = np.log(np.minimum(judged.min(axis=1), NEVER) / objective)
            heat = max(HEAT, HEATED * float(np.median(missed)))
            n = int(np.argmin(missed / heat - self.rng.gumbel(size=draft.n_lines)))
            shorter = self._without(draft, n, elsewhere, judged)
            if shorter is draft:
                break
            draft = shorter
        return draft

    def take_out(self, draft: Draft, n: int) -> Draft:
        """The draft without line n, or as it is where that cannot be."""
        return self._without(draft, n, *self._judged_removals(draft))

    def _without(self, draft: Draft, n: int, elsewhere: IntArray, judged: FloatArray) -> Draft:
        if judged[n].min() == np.inf:
            return draft
        shorter = without(draft, n, int(judged[n].argmin()), elsewhere)
        return shorter if shorter.n_lines < draft.n_lines and self.objective(shorter) < np.inf else draft

    def _judged_removals(self, draft: Draft) -> tuple[IntArray, FloatArray]:
        """(elsewhere, judged), as in `judge_removals`."""
        elsewhere = self._elsewhere(draft)
        (N, S), values = draft.visits.shape, (draft.a, draft.b, draft.visits, draft.exits, draft.watching)
        judged, work = np.empty((N, 3)), np.zeros((2 * N + 1, S))
        judge_removals(draft.root, draft.links, elsewhere, *values, self.adding, work, judged)
        return elsewhere, judged

    def _elsewhere(self, draft: Draft) -> IntArray:
        """Where each exit (N, 2) leads at least cost, at the present weights, if not where it does."""
        visits, value, limits = draft.visits * self.gradient(draft), draft.place_values, self.limits
        cost = np.stack([(visits * draft.down) @ value.T, (visits * draft.up) @ value.T], axis=1)
        barred = np.zeros((draft.n_lines, len(value)), dtype=bool)
        barred[:, draft.n_ends] = not limits.restarts
        barred[:, draft.first_line :] = draft.barred_lines(self.room or draft.n_lines)
        cost[np.broadcast_to(barred[:, None], cost.shape)] = np.inf
        np.put_along_axis(cost, draft.links[..., None], np.inf, axis=2)
        best = np.asarray(cost.argmin(axis=2))
        best[draft.watching, HIGH] = best[draft.watching, LOW]
        return best

    # The safety rule

    def ruled(self, draft: Draft) -> Draft:
        """The draft with the safety rule that makes it best."""
        if not (self.limits.rule and self.limits.restarts):
            return draft
        tables = self.tables
        if self.limits.links_back:
            few = self.rng.integers(len(tables.rules), size=SOME_RULES)
            return self.better(draft, min((draft.with_rule(int(rule)) for rule in few), key=self.objective))
        judged = np.empty(len(tables.rules))
        used = np.flatnonzero(draft.passed[ENDS:].max(axis=1) > 0.0)
        rules = tables.rule_cost, tables.rule_down, tables.rule_rest
        judge_rules(draft.passed, used, *rules, self.adding, np.empty_like(draft.passed[:ENDS]), judged)
        judged[~tables.rule_allowed] = np.inf
        return self.better(draft, draft.with_rule(int(judged.argmin())))


def dearer(circling: float) -> float:
    """By how much an objective is multiplied for going round in circles."""
    return NEVER if circling > ENDLESS else 1.0 + DEAR * max(0.0, circling - MOST_CIRCLING)


@lean()
def judge_rules(
    passed: FloatArray,
    used: IntArray,
    rule_cost: FloatArray,
    rule_down: FloatArray,
    rule_rest: FloatArray,
    adding: Adding,
    work: FloatArray,
    judged: FloatArray,
) -> None:
    """Fill in what each of R rules makes of a draft without links back (R,), as `Moves.objective` has it. used: its
    ends. work: (3, S)."""
    for r in range(judged.size):
        circling = 0.0
        for s in range(passed.shape[1]):
            cost, again, rest = passed[PASS_COST, s], passed[AGAIN, s], passed[PASS_REST, s]
            for k in used:
                cost += passed[ENDS + k, s] * rule_cost[r, k, s]
                again += passed[ENDS + k, s] * rule_down[r, k, s]
                rest += passed[ENDS + k, s] * rule_rest[r, k, s]
            work[0, s] = cost / (1.0 - again)
            circling = max(circling, again / max(again + rest, 1e-300))
        judged[r] = added(work[0], adding) * (
            NEVER if circling > ENDLESS else 1.0 + DEAR * max(0.0, circling - MOST_CIRCLING)
        )
