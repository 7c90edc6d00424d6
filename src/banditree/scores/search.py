"""The search for a small plan of score boxes: make a large one, improve it, and shrink it to the wanted size.

The first large plan comes from trials, which follow a case through its tests and add, at every belief met, the box that
is best there (point-based value iteration); later ones from new boxes on the links behind which most is lost. Sweeps
replace each box by the best one at the cases that reach it, and the box that is missed least is removed, again and
again, until the plan is small enough. Every change is judged by the exact objective. Compiled by numba: import this
module where it is used, not at the top of another one.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from threadpoolctl import threadpool_limits

from banditree.plans.wording import counted
from banditree.progress import OnProgress, goes_on
from banditree.scores.backup import Backup, Judge, at_belief, best_backup
from banditree.scores.draft import HIGH, LOW, Draft, Test, ancestors, drafted, path_lengths, returns
from banditree.scores.library import Library
from banditree.scores.objectives import Limits, power_mean
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

LARGE = 2.0  # boxes of the large plan, times those that are wanted
COARSE, FINE = 0.02, 0.002  # relative gains below which a large and a small plan are no longer swept
SHRINK = 0.93  # the share of the boxes that is left before the plan is swept again
SPARED = 24  # boxes whose removal is tried in earnest, at most, of those that look cheapest
SHORT = (1.5, 3.0, 6.0, 12.0)  # pulls of the short tests that trials take at times, to meet beliefs close to the start
SHORT_SHARE = 2 / 3  # how often they do
TINY = 1e-6  # relative gain that is no gain
POOL = 4.0  # boxes that trials find, at most, times those that are wanted
LONGEST_TRIAL = 60  # tests
IDLE_TRIALS = 5  # trials without a new box after which they end
WORTH = 1e-3  # relative gain for which a trial adds a box
NEAR = 1.03  # a round goes on from a plan this close to the best one, which leaves some local optima behind
MAX_ROWS = 24_000  # tests of the library that are considered in one step
STARTS = 0.5  # the share of the steps before which a start from nothing may begin
FINISH = 0.05  # the share of the steps that is kept for the worst task alone ...
DOUBLINGS = 2  # ... and how often the power is doubled for it
N_COINS = 2
FEWEST = 3  # boxes of a plan that tests anything: a test and two leaves
PATIENCE = 12  # rounds without a gain after which the search ends before its steps are used up
REPORT_EVERY = 25  # steps


class Stopped(Exception):
    """Not an error: the steps are used up, or the caller has seen enough."""


class Search:
    """One search with its random numbers, its count of steps and the best draft so far."""

    def __init__(
        self,
        library: Library,
        leaf: FloatArray,
        limits: Limits,
        *,
        power: float,
        seed: int,
        steps: int,
        done: int = 0,
        total: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """steps: how many may be taken; `done` and `total` are for reports, when this is a part of a longer search."""
        self.library, self.limits = library, limits
        self.power = self.reported_power = power
        self.rng = np.random.default_rng(seed)
        self.on_progress = on_progress
        self.steps, self.last = done, done + steps
        self.total = total or self.last
        self.stopped_early = False
        self.best = self.present = drafted(int(np.argmin(power_mean(leaf, power))), [], leaf)
        self.cheap = np.argsort(library.cost.mean(axis=1), kind="stable")[: max(20, library.n_tests // 50)]
        gap = np.maximum(library.gaps[:, library.arm].T, 1e-12)
        self.length = np.median(library.cost / gap, axis=1)  # pulls that each test of the library takes

    def objective(self, draft: Draft) -> float:
        """What is minimised; infinite for a draft whose cost is, or that is not allowed at any size."""
        if not self.allowed(draft) or np.isinf(draft.regret).any():
            return np.inf
        return float(power_mean(draft.regret, self.power))

    def allowed(self, draft: Draft) -> bool:
        """Whether a draft keeps to the limits other than its size; links that may each be changed may not all be."""
        if not draft.n_tests:
            return True
        most = self.limits.longest_path
        return (most is None or path_lengths(draft)[0].max() <= most) and (self.limits.links_back or not returns(draft))

    def weights(self, draft: Draft) -> FloatArray:
        """How much the objective feels each task, or a softer version of it, which looks further."""
        power = (1.0, (self.power + 1) / 2, self.power)[self.rng.integers(3)]
        regret = draft.regret
        weights = (regret / max(regret.max(), 1e-300)) ** (power - 1)
        return np.asarray(np.maximum(weights / max(weights.sum(), 1e-300), 1e-6))

    def run(self) -> Draft:
        """Rounds, then a finish; the best draft within the limits."""
        finish = int(FINISH * (self.last - self.steps)) if self.power > 1 else 0
        # More threads would add up in another order, and the plan would depend on the number of cores.
        with threadpool_limits(1, user_api="blas"):
            self.last -= finish
            self.until_stopped(self.rounds)
            self.shrink(self.present, self.limits.boxes)
            self.last += finish
            if finish and not self.stopped_early:
                self.until_stopped(self.finish)
        return self.best

    def until_stopped(self, part: Callable[[], None]) -> None:
        """Do a part of the search until it is done, its steps are used up or the caller has seen enough."""
        with suppress(Stopped):
            part()

    def rounds(self) -> None:
        """Starts from nothing, of which each leads somewhere else, then rounds from the best while they help."""
        if self.limits.boxes < FEWEST:
            return
        nothing, until = self.best, self.steps + STARTS * (self.last - self.steps)
        while self.steps < until and self.objective(self.best) > 0:
            self.round(self.explore(nothing))
        draft, idle = self.best, 0
        while idle < PATIENCE and self.objective(self.best) > 0:
            before = self.objective(self.best)
            draft = self.round(draft)
            if self.objective(draft) > NEAR * self.objective(self.best):
                draft = self.best
            idle = 0 if self.objective(self.best) < (1 - WORTH) * before else idle + 1

    def finish(self) -> None:
        """Spare the worst task at the cost of the others, which a power mean only does when its power is high."""
        for _ in range(DOUBLINGS):
            self.power *= 2
            self.settle(self.best, self.limits.boxes, FINE)

    def round(self, draft: Draft) -> Draft:
        """A large draft made from the given one, improved, and shrunk to the limits."""
        boxes = self.limits.boxes
        draft = self.settle(draft, int(LARGE * boxes), COARSE)
        while draft.n_boxes > boxes:
            draft = self.sweep(self.shrink(draft, max(boxes, int(draft.n_boxes * SHRINK))))
        return self.settle(draft, boxes, FINE)

    def settle(self, draft: Draft, boxes: int, gain: float) -> Draft:
        """The draft, grown to a number of boxes and swept until that no longer gains enough."""
        before = np.inf
        while self.objective(draft) < (1 - gain) * before:
            before = self.objective(draft)
            draft = self.sweep(self.grow(draft, boxes))
        return draft

    def spend(self) -> None:
        """Count a step; report now and then, and stop when the steps are used up or nobody wants more."""
        self.steps += 1
        if self.on_progress is not None and self.steps % REPORT_EVERY == 0:
            best = float(power_mean(self.best.regret, self.reported_power))
            text = f"{best:,.2f} with {counted(self.best.n_boxes, 'box')}"
            if not goes_on(self.on_progress, self.steps, self.total, best, text):
                self.stopped_early = True
                raise Stopped
        if self.steps >= self.last:
            raise Stopped

    def accept(self, draft: Draft) -> Draft:
        """The draft, remembered as the present one, and as the best if it is small enough and better."""
        self.present = draft
        if draft.n_boxes <= self.limits.boxes and self.objective(draft) < self.objective(self.best):
            self.best = draft
        return draft

    def rows(self, longest: float = np.inf) -> slice | IntArray:
        """A random part of the library's tests, which are in random order, of those that take at most so many pulls."""
        if longest == np.inf:
            start = int(self.rng.integers(max(1, self.library.n_tests - MAX_ROWS + 1)))
            return slice(start, start + MAX_ROWS)
        wanted = np.flatnonzero(self.length <= longest)
        return wanted if len(wanted) <= MAX_ROWS else wanted[self.rng.integers(len(wanted), size=MAX_ROWS)]

    def explore(self, draft: Draft) -> Draft:
        """A large draft instead of one without tests, of the boxes that trials found best at the beliefs they met."""
        pool, idle = Pool(self, draft.leaf), 0
        try:
            while len(pool.tests) < POOL * self.limits.boxes and idle < IDLE_TRIALS:
                before = len(pool.tests)
                pool.trial(self.weights(draft))
                idle = 0 if len(pool.tests) > before else idle + 1
        finally:
            found = pool.draft()
            if self.objective(found) < self.objective(draft):
                draft = self.accept(found)
        return draft

    def sweep(self, draft: Draft) -> Draft:
        """The draft with each box, in random order, replaced by the best one at the cases that reach it."""
        for box in self.rng.permutation(draft.n_tests):
            if box < draft.n_tests:
                draft = self.improve(draft, int(box))
        return draft

    def improve(self, draft: Draft, box: int) -> Draft:
        """The draft with one box replaced, if that makes it better."""
        visits = draft.visits[box]
        others = draft.regret - visits * draft.value[draft.n_leaves + box]
        backup = self.backup(draft, box, visits, others, draft.test(box))
        if backup.judged < (1 - TINY) * self.objective(draft):
            changed = draft.with_test(box, backup.test)
            if self.objective(changed) < self.objective(draft) and changed.ends:
                return self.accept(changed)
        return draft

    def backup(self, draft: Draft, box: int, reaching: FloatArray, others: FloatArray, present: Test | None) -> Backup:
        """The best box for cases that reach a place so often (M,), when the rest of the plan costs `others` (M,)."""
        self.spend()
        weights = self.weights(draft) * reaching
        places = np.flatnonzero(self.may_lead(draft, box, new=present is None))
        return best_backup(
            self.library,
            np.maximum(weights, 1e-12 * weights.max() + 1e-300),
            places,
            draft.value[places],
            Judge(others, reaching, self.power),
            self.rows(),
            present,
            self.coins(),
        )

    def coins(self) -> list[int]:
        """A few cheap tests at random: where tasks cannot be told apart in time, chance is what spares the worst."""
        return [int(row) for row in self.cheap[self.rng.integers(len(self.cheap), size=N_COINS)]]

    def may_lead(self, draft: Draft, box: int, new: bool) -> BoolArray:
        """Which places (K + N,) `box`, or a new box behind it, may lead to within the limits."""
        allowed = np.ones(draft.n_leaves + draft.n_tests, dtype=bool)
        tests = allowed[draft.n_leaves :]
        if box < 0:
            return allowed
        if self.limits.links_back:
            tests[box] = new
        else:
            tests &= ~ancestors(draft, box)
        if self.limits.longest_path is not None:
            before, after = path_lengths(draft)
            tests &= after <= self.limits.longest_path - before[box] - new
        return allowed

    def grow(self, draft: Draft, boxes: int) -> Draft:
        """The draft with new boxes at the links where that helps most, until there are so many."""
        tried: set[tuple[int, int]] = set()
        while draft.n_boxes < boxes:
            links = self.costly_links(draft)
            link = next((link for link in links if link not in tried), None)
            if link is None:
                break
            tried.add(link)
            draft = self.extend(draft, *link)
        return draft

    def costly_links(self, draft: Draft) -> list[tuple[int, int]]:
        """The links, those first behind which most of the objective is spent."""
        if not draft.n_tests:
            return [(-1, HIGH)]
        weights = self.weights(draft)
        behind = [(draft.flows(side) * draft.value[draft.links[:, side]]) @ weights for side in (LOW, HIGH)]
        order = np.argsort(np.concatenate(behind), kind="stable")[::-1]
        return [(int(index % draft.n_tests), int(index // draft.n_tests)) for index in order]

    def extend(self, draft: Draft, box: int, side: int) -> Draft:
        """The draft with the best new box on a link, if that makes it better."""
        if (
            box >= 0
            and self.limits.longest_path is not None
            and path_lengths(draft)[0][box] >= self.limits.longest_path
        ):
            return draft
        flow = draft.flow(box, side)
        others = draft.regret - flow * draft.value[draft.target(box, side)]
        backup = self.backup(draft, box, flow, others, None)
        if backup.judged < (1 - TINY) * self.objective(draft):
            changed = draft.with_new(box, side, backup.test)
            if self.objective(changed) < self.objective(draft) and changed.ends:
                return self.accept(changed)
        return draft

    def shrink(self, draft: Draft, boxes: int) -> Draft:
        """The draft without the boxes whose links can lead elsewhere at least cost, until `boxes` are left."""
        while draft.n_boxes > boxes:
            best, least = draft, np.inf
            for n_tried, (predicted, changed) in enumerate(self.removals(draft)):
                if least <= predicted or (n_tried >= SPARED and least < np.inf):
                    break
                if changed.n_boxes < draft.n_boxes and self.objective(changed) < least and changed.ends:
                    best, least = changed, self.objective(changed)
            if least == np.inf:
                return self.best
            draft = self.accept(best)
        return draft

    def removals(self, draft: Draft) -> Iterator[tuple[float, Draft]]:
        """(predicted objective, the draft without one box), those first that look cheapest to remove.

        The links to the box lead where that costs least at the present weights of the tasks; where that never ends, to
        a place that does not lead back to the box.
        """
        K, N, links = draft.n_leaves, draft.n_tests, draft.links
        weights = (draft.regret / draft.regret.max()) ** (self.power - 1)
        flows = np.stack([draft.flows(LOW), draft.flows(HIGH)], axis=1)
        cost = (flows * weights) @ draft.value.T  # (N, 2, K + N), of each link by where it leads
        cost[~np.array([self.may_lead(draft, box, new=False) for box in range(N)])[:, None].repeat(2, axis=1)] = np.inf
        np.put_along_axis(cost, links[..., None], np.inf, axis=2)
        elsewhere = cost.argmin(axis=2)
        change = flows * (draft.value[elsewhere] - draft.value[links])
        regret, inner = np.tile(draft.regret, (N, 1)), links >= K
        np.add.at(regret, links[inner] - K, change[inner])
        predicted = power_mean(regret, self.power)
        for box in np.argsort(predicted, kind="stable"):
            if draft.root == K + box:
                continue
            to_box = links == K + box
            changed = draft.with_links(np.where(to_box, elsewhere, links))
            if self.objective(changed) == np.inf:
                onward = links.copy()
                leading_back = np.concatenate([np.zeros(K, dtype=bool), ancestors(draft, int(box))])
                onward[to_box] = np.where(leading_back, np.inf, cost[to_box]).argmin(axis=1)
                changed = draft.with_links(onward)
            yield float(predicted[box]), changed


class Pool:
    """Boxes found by trials, which lead to leaves and to each other, never in a circle."""

    def __init__(self, search: Search, leaf: FloatArray) -> None:
        self.search, self.leaf = search, leaf
        self.tests: list[Test] = []
        self.values = leaf.copy()
        self.heights = np.zeros(len(leaf), np.int64)  # tests on the longest path from each place

    def trial(self, prior: FloatArray) -> None:
        """Follow one case from a prior belief until settling is best, adding boxes on the way there and back."""
        search, K = self.search, len(self.leaf)
        belief, path = (prior + prior.mean()) / (2 * prior.sum()), []
        room = search.limits.longest_path or LONGEST_TRIAL
        while room > 0:
            path.append((belief, room))
            backup = self.add_best(belief, room)
            if search.rng.random() < SHORT_SHARE:
                backup = self.best(belief, room, search.rng.choice(SHORT))
            if (self.values[:K] @ belief).min() <= backup.judged:
                break
            task = search.rng.choice(len(belief), p=belief)
            up = backup.test.up if search.rng.random() < backup.test.up[task] else 1.0 - backup.test.up
            belief = belief * up / (belief @ up)
            if belief.max() > 1 - 1e-7:
                break
            room -= 1
        for belief, room in reversed(path):
            self.add_best(belief, room)

    def best(self, belief: FloatArray, room: int, longest: float = np.inf) -> Backup:
        """The best box at a belief, with at most `room` tests on a path from it."""
        self.search.spend()
        places = np.flatnonzero(self.heights < room)
        rows = self.search.rows(longest)
        values = self.values[places]
        return best_backup(self.search.library, np.maximum(belief, 1e-12), places, values, at_belief(belief), rows)

    def add_best(self, belief: FloatArray, room: int) -> Backup:
        """The best box at a belief, added if it is better there than all there are."""
        backup = self.best(belief, room)
        if backup.judged < (1 - WORTH) * (self.values[self.heights <= room] @ belief).min():
            self.tests.append(backup.test)
            self.values = np.concatenate([self.values, backup.value[None]])
            self.heights = np.append(self.heights, 1 + self.heights[list(backup.test.links)].max())
        return backup

    def draft(self) -> Draft:
        """The plan that starts at the best place."""
        within = self.heights <= (self.search.limits.longest_path or len(self.heights))
        judged = np.where(within, power_mean(self.values, self.search.power), np.inf)
        return drafted(int(judged.argmin()), self.tests, self.leaf)
