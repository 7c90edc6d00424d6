"""The search for a small plan of score boxes: explore beliefs, then improve and shrink what was found.

One round: trials follow a case through its tests and add, at every belief met, the box that is best there (point-based
value iteration); the plan that this gives is large and good. Sweeps then replace each box by the best one at the cases
that reach it, and boxes that can be spared are removed until the plan is small enough. Every change is judged by the
exact objective. Compiled by numba: import this module where it is used, not at the top of another one.
"""

from dataclasses import replace

import numpy as np

from banditree.plans.backup import Backup, best_backup
from banditree.plans.draft import Draft, Test, ancestors, path_lengths, returns, tidy
from banditree.plans.goals import Limits, OnProgress, Progress, power_mean
from banditree.plans.library import Library
from banditree.tasks.arrays import FloatArray, IntArray

SHORT = (1.5, 3.0, 6.0, 12.0)  # pulls of the short tests that trials take at times, to meet beliefs close to the start
SHORT_SHARE = 2 / 3  # how often they do
WORTH = 1e-3  # relative gain for which a trial adds a box
SHRINK = 0.93  # the share of the boxes that is left before the plan is swept again
SPARED = 6  # boxes whose removal is tried in earnest, of those that look cheapest
NEAR = 1.03  # a round goes on from a plan this close to the best one, which leaves some local optima behind
N_COINS = 2
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
        self.library, self.limits, self.power = library, limits, power
        self.rng = np.random.default_rng(seed)
        self.on_progress = on_progress
        self.steps, self.last = done, done + steps
        self.total = total or self.last
        self.stopped_early = False
        start = Draft(int(np.argmin(power_mean(leaf, power))), (), leaf)
        self.best = start
        self.n_rows = max(1000, int(library.n_tests * min(1.0, 6000 / library.n_tests)))
        self.cheap = np.argsort(library.cost.mean(axis=1), kind="stable")[: max(20, library.n_tests // 50)]
        gap = np.maximum(library.gaps[:, library.arm].T, 1e-12)
        self.length = np.median(library.cost / gap, axis=1)  # pulls that each test of the library takes

    def objective(self, draft: Draft) -> float:
        """What is minimised; infinite for a draft that may never end, or leads back where it must not."""
        evaluation = draft.evaluation
        if not self.limits.links_back and returns(draft):  # two links that may each lead somewhere may not do so both
            return np.inf
        return float(power_mean(evaluation.regret, self.power)) if evaluation.settled else np.inf

    def weights(self, draft: Draft) -> FloatArray:
        """How much the objective feels each task, or a softer version of it, which looks further."""
        power = (1.0, (self.power + 1) / 2, self.power)[self.rng.integers(3)]
        regret = draft.evaluation.regret
        weights = (regret / max(regret.max(), 1e-300)) ** (power - 1)
        return np.asarray(np.maximum(weights / max(weights.sum(), 1e-300), 1e-6))

    def run(self) -> Draft:
        """A first small draft, then rounds until the steps are used up; the best draft within the limits."""
        try:
            draft = self.sweep(self.grow(self.best))
            idle = 0
            while idle < PATIENCE and self.objective(self.best) > 0:
                before = self.objective(self.best)
                draft = self.round(draft)
                if self.objective(draft) > NEAR * self.objective(self.best):
                    draft = self.best
                idle = 0 if self.objective(self.best) < (1 - WORTH) * before else idle + 1
        except Stopped:
            pass
        return self.best

    def round(self, draft: Draft) -> Draft:
        """Explore from a draft, then shrink what that gives to the limits."""
        boxes = self.limits.boxes
        draft = self.sweep(self.explore(draft))
        while draft.n_boxes > boxes:
            draft = self.sweep(self.shrink(draft, max(boxes, int(draft.n_boxes * SHRINK))))
        before = np.inf
        while self.objective(draft) < 0.998 * before:
            before = self.objective(draft)
            draft = self.sweep(self.grow(draft))
        return draft

    def spend(self) -> None:
        """Count a step; report now and then, and stop when the steps are used up or nobody wants more."""
        self.steps += 1
        if self.on_progress is not None and self.steps % REPORT_EVERY == 0:
            progress = Progress(self.steps, self.total, self.objective(self.best), self.best.n_boxes)
            if self.on_progress(progress) is False:
                self.stopped_early = True
                raise Stopped
        if self.steps >= self.last:
            raise Stopped

    def accept(self, draft: Draft) -> Draft:
        """The draft, remembered if it is within the limits and the best so far."""
        if self.fits(draft) and self.objective(draft) < self.objective(self.best):
            self.best = draft
        return draft

    def fits(self, draft: Draft) -> bool:
        """Whether a draft is within the limits."""
        most = self.limits.longest_path
        short = most is None or not draft.tests or path_lengths(draft)[0].max() <= most
        return short and draft.n_boxes <= self.limits.boxes

    def rows(self, longest: float = np.inf) -> IntArray:
        """A random part of the library's tests, of those that take at most so many pulls."""
        wanted = np.flatnonzero(self.length <= longest) if longest < np.inf else np.arange(self.library.n_tests)
        if len(wanted) <= self.n_rows:
            return wanted
        return np.asarray(wanted[self.rng.integers(len(wanted), size=self.n_rows)])

    def explore(self, draft: Draft) -> Draft:
        """A larger draft, with the boxes that trials found best at the beliefs they met."""
        pool = Pool(self, draft)
        wanted = len(draft.tests) + 2 * self.limits.boxes
        while len(pool.tests) < wanted:
            before = len(pool.tests)
            for _ in range(3):
                pool.trial(self.weights(draft))
            if len(pool.tests) == before:
                break
        found = pool.draft()
        return found if self.objective(found) < self.objective(draft) else draft

    def sweep(self, draft: Draft) -> Draft:
        """The draft with each box, in random order, replaced by the best one at the cases that reach it."""
        for box in self.rng.permutation(len(draft.tests)):
            if box < len(draft.tests):
                draft = self.improve(draft, int(box))
        return draft

    def improve(self, draft: Draft, box: int) -> Draft:
        """The draft with one box replaced, if that makes it better."""
        evaluation, present = draft.evaluation, draft.tests[box]
        visits = evaluation.visits[box]
        others = evaluation.regret - visits * evaluation.value[draft.n_leaves + box]
        backup = self.backup(draft, box, visits, others, present)
        if backup.judged < (1 - 1e-9) * self.objective(draft):
            changed = draft.with_test(box, backup.test)
            if self.objective(changed) < self.objective(draft):
                return self.accept(changed)
        return draft

    def backup(self, draft: Draft, box: int, reaching: FloatArray, others: FloatArray, present: Test | None) -> Backup:
        """The best box for cases that reach a place so often (M,), when the rest of the plan costs `others` (M,)."""
        self.spend()
        weights = self.weights(draft) * reaching
        places = self.places(draft, box, new=present is None)
        return best_backup(
            self.library,
            np.maximum(weights, 1e-12 * weights.max() + 1e-300),
            places,
            draft.evaluation.value[places],
            self.rows(),
            lambda value: power_mean(others + reaching * value, self.power),
            present,
            self.coins(),
        )

    def coins(self) -> list[int]:
        """A few cheap tests at random: where tasks cannot be told apart in time, chance is what spares the worst."""
        return [int(row) for row in self.cheap[self.rng.integers(len(self.cheap), size=N_COINS)]]

    def places(self, draft: Draft, box: int, new: bool) -> IntArray:
        """Where `box`, or a new box behind it, may lead within the limits."""
        allowed = np.ones(draft.n_leaves + len(draft.tests), dtype=bool)
        tests = allowed[draft.n_leaves :]
        if box < 0:
            return np.flatnonzero(allowed)
        if self.limits.links_back:
            tests[box] = new
        else:
            tests &= ~ancestors(draft, box)
        if self.limits.longest_path is not None:
            before, after = path_lengths(draft)
            tests &= after <= self.limits.longest_path - before[box] - new
        return np.flatnonzero(allowed)

    def grow(self, draft: Draft) -> Draft:
        """The draft with new boxes at the links where that helps most, while there is room."""
        tried: set[tuple[int, str]] = set()
        while draft.n_boxes < self.limits.boxes:
            links = self.costly_links(draft)
            link = next((link for link in links if link not in tried), None)
            if link is None:
                break
            tried.add(link)
            draft = self.extend(draft, *link)
        return draft

    def costly_links(self, draft: Draft) -> list[tuple[int, str]]:
        """The links, those first behind which most of the objective is spent."""
        evaluation, weights = draft.evaluation, self.weights(draft)
        links = [(box, side) for box in range(len(draft.tests)) for side in ("low", "high")] or [(-1, "root")]
        behind = [
            float(weights @ (evaluation.flow(box, side) * evaluation.value[draft.target(box, side)]))
            for box, side in links
        ]
        return [links[index] for index in np.argsort(behind)[::-1]]

    def extend(self, draft: Draft, box: int, side: str) -> Draft:
        """The draft with the best new box on a link, if that makes it better."""
        evaluation = draft.evaluation
        if (
            box >= 0
            and self.limits.longest_path is not None
            and path_lengths(draft)[0][box] >= self.limits.longest_path
        ):
            return draft
        flow = evaluation.flow(box, side)
        others = evaluation.regret - flow * evaluation.value[draft.target(box, side)]
        backup = self.backup(draft, box, flow, others, None)
        if backup.judged < (1 - 1e-6) * self.objective(draft):
            changed = draft.with_link(box, side, backup.test)
            if self.objective(changed) < self.objective(draft):
                return self.accept(changed)
        return draft

    def shrink(self, draft: Draft, boxes: int) -> Draft:
        """The draft without the boxes whose links can lead elsewhere at least cost, until `boxes` are left."""
        while draft.n_boxes > boxes:
            ranked = sorted(
                (self.spared(draft, box) for box in range(len(draft.tests)) if draft.root != draft.n_leaves + box),
                key=lambda pair: pair[0],
            )
            if not ranked:
                break
            drafts = [redirect(draft, links) for _cost, links in ranked[:SPARED]]
            best = min(drafts, key=self.objective)
            if self.objective(best) == np.inf:
                return self.best
            draft = self.accept(best)
        return draft

    def spared(self, draft: Draft, box: int) -> tuple[float, list[tuple[int, str, int]]]:
        """(objective without a box, where each link to it would lead instead)."""
        evaluation, place = draft.evaluation, draft.n_leaves + box
        regret, links = evaluation.regret, []
        low, high = draft.links
        for side, targets in (("low", low), ("high", high)):
            for parent in np.flatnonzero(targets == place):
                options = self.places(draft, int(parent), new=False)
                options = options[options != place]
                change = evaluation.flow(int(parent), side) * (evaluation.value[options] - evaluation.value[place])
                chosen = int(power_mean(regret + change, self.power).argmin())
                regret = regret + change[chosen]
                links.append((int(parent), side, int(options[chosen])))
        return float(power_mean(regret, self.power)), links


def redirect(draft: Draft, links: list[tuple[int, str, int]]) -> Draft:
    """The draft with some links (box, side, place) leading elsewhere."""
    tests = list(draft.tests)
    for box, side, place in links:
        tests[box] = tests[box].leading(side, place)
    return tidy(replace(draft, tests=tuple(tests)))


class Pool:
    """Boxes found by trials: those of a draft, and new ones that lead to them and to each other, never in a circle."""

    def __init__(self, search: Search, draft: Draft) -> None:
        self.search, self.start = search, draft
        self.tests = list(draft.tests)
        self.values = draft.evaluation.value.copy()
        self.heights = np.zeros(len(self.values), np.int64)  # tests on the longest path from each place
        self.heights[draft.n_leaves :] = path_lengths(draft)[1]

    def trial(self, prior: FloatArray) -> None:
        """Follow one case from a prior belief until settling is best, adding boxes on the way there and back."""
        search, K = self.search, self.start.n_leaves
        belief, path = (prior + prior.mean()) / (2 * prior.sum()), []
        room = search.limits.longest_path or 60
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
        return best_backup(self.search.library, np.maximum(belief, 1e-12), places, self.values[places], rows)

    def add_best(self, belief: FloatArray, room: int) -> Backup:
        """The best box at a belief, added if it is better there than all there are."""
        backup = self.best(belief, room)
        if backup.judged < (1 - WORTH) * (self.values[self.heights <= room] @ belief).min():
            self.tests.append(backup.test)
            self.values = np.concatenate([self.values, backup.value[None]])
            height = 1 + max(self.heights[backup.test.low], self.heights[backup.test.high])
            self.heights = np.append(self.heights, height)
        return backup

    def draft(self) -> Draft:
        """The plan that starts at the best place."""
        within = self.heights <= (self.search.limits.longest_path or len(self.heights))
        judged = np.where(within, power_mean(self.values, self.search.power), np.inf)
        return tidy(replace(self.start, root=int(judged.argmin()), tests=tuple(self.tests)))
