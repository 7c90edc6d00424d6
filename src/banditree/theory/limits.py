"""How good could any plan be? A proven lower bound of the worst-case regret of every algorithm.

Whatever an algorithm does, its regret in the worst task is at least its average under any distribution over tasks, and
that is at least what the best of all algorithms loses on average, the Bayes-optimal regret. `belief_tables` bounds the
latter from below for every distribution over up to a handful of tasks at once, so the least favourable one is read off.
The worst case over some of the tasks is never above that over all: of many tasks, those that are hard together
are put together one by one.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray, frozen
from banditree.tasks.collection import Collection
from banditree.theory.belief_tables import LOOKUP, Problem, Table, inside_points, join, pack, rim_width
from banditree.theory.limits_by_context import limit_by_context

if TYPE_CHECKING:
    from banditree.theory.belief_sweeps import Faces

EFFORT = 4_000_000_000  # Additions by default: about 10 seconds of one core.
MOST_TASKS = 7  # The most tasks of one table; with eight, even the coarsest lattice has too many points.
STEPS = {2: 1 / 8, 3: 1 / 4, 4: 1 / 2}  # The step of the coarsest log-weights, by the number of tasks; 1 for more.
REACH = {2: 8, 3: 6}  # How far log-weights spread, by the number of tasks; 5 for more.
FINEST = 4  # The most times that steps are halved: finer ones gain nothing.
SETTLED = (2e-4, 5e-5, 1e-5)  # A table is settled, by level, once a round adds less than this share of the regret.
LOOK_EVERY = 10  # The rounds between two looks at what is still gained.
TOGETHER = 400  # Up to this horizon all tables go round by round together, so that none is cut short.
TYPICAL_ROUNDS = 50  # The rounds after which tables are usually settled, which says how long one takes.
MANY = 8  # About how many outcomes of normal rewards lead to points of their own.
BEAM = {2: 6, 3: 4, 4: 3, 5: 2}  # The sets of each size from which larger ones are made; 1 of larger sizes.
SHARE = 0.4  # The share of the effort for choosing the tasks, when there are more than fit one table.


@dataclass(frozen=True)
class Limit:
    """No algorithm's regret over `horizon` rounds is below `value` in every task of the collection.

    tasks: the numbers of the tasks among which the worst is at least that bad. prior: the distribution over them
    under which even the best algorithm loses `value` on average. depth: how many rounds the proof goes through.
    work: how many numbers it adds up. contexts: how many contexts it is an average over; 0 without any.
    """

    value: float
    horizon: int
    tasks: tuple[int, ...]
    prior: tuple[float, ...]
    depth: int
    work: int = field(compare=False)
    contexts: int = 0


def limit(
    collection: Collection, horizon: int, *, effort: int = EFFORT, on_progress: OnProgress | None = None
) -> Limit:
    """A proven lower bound of the regret, in the worst task, of every algorithm over `horizon` rounds.

    At the means that the collection has: estimates are taken at their word. With contexts it is the bound for a pair of
    tasks, of the hardest ones that were found. effort: additions after which the best
    bound so far is returned; on_progress is told what share of them was
    made, in percent; returning False ends it.

    >>> two = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
    >>> found = limit(two, 10_000, effort=10_000_000)
    >>> round(found.value, 2), [round(p, 1) for p in found.prior]
    (4.23, [0.5, 0.5])
    """
    if horizon < 1:
        raise invalid("horizon", "at least 1", horizon)
    if effort < 1:
        raise invalid("effort", "at least 1", effort)
    if collection.theta is not None:
        pair = limit_by_context(collection, horizon, effort, on_progress)
        return Limit(pair.value, horizon, *pair[1:])
    search = _Search(problem_of(collection), horizon, effort, on_progress)
    members = tuple(range(collection.n_tasks))
    if len(members) > MOST_TASKS:
        members = search.choose()
        search.largest = len(members)
    search.refine(members, together=horizon <= TOGETHER)
    best = search.best
    if best is None or best.value <= 0:
        return Limit(0.0, horizon, (0,), (1.0,), 0, search.work)
    return Limit(best.value, horizon, best.members, best.prior, best.depth, search.work)


@dataclass(frozen=True, eq=False)
class Continuations:
    """The least regret of `depth` rounds from any weights over `tasks`, from below; `prior` is the least favourable."""

    tasks: tuple[int, ...]
    prior: tuple[float, ...]
    depth: int
    table: Table
    faces: "Faces"

    def at_least(self, weights: FloatArray) -> float:
        """What everyone loses on average who goes on with these weights (M,), which need not add up to 1."""
        return self.table.at_least(weights[list(self.tasks)], self.faces) if weights.max() > 0 else 0.0


def continuations_of(collection: Collection, horizon: int, effort: int = EFFORT) -> Continuations:
    """Bounds for going on at any moment of the first half of `horizon` rounds: tables of at most half as many.

    >>> two = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
    >>> best = continuations_of(two, 1_000, effort=10_000_000)
    >>> [round(best.at_least(np.array(weights)), 2) for weights in ([1.0, 0.0], [0.5, 0.5], [0.9, 0.1])]
    [0.0, 4.14, 1.75]
    """
    search = _Search(problem_of(collection), max(1, horizon // 2), effort, None)
    members = tuple(range(collection.n_tasks))
    if len(members) > MOST_TASKS:
        members = search.choose()
        search.largest = len(members)
    search.refine(members, together=False)
    level, table = max(
        ((level, table) for level, known in search.tables.items() for table in known.values()),
        key=lambda found: (found[1].value, found[0]),
    )
    faces = pack(table.members, table.step, search.tables[level])
    return Continuations(table.members, table.prior, table.depth, table, faces)


def problem_of(collection: Collection) -> Problem:
    """The gaps and outcomes of a collection whose rewards have a likelihood."""
    if collection.theta is not None or not collection.rewards.has_likelihood:
        raise InvalidInput("A limit is only worked out for 0/1, graded and normal rewards, without contexts.")
    chances = collection.rewards.outcomes_from_below(collection.parameters)
    return Problem(collection.gaps, frozen(chances, float))


def fitting_scale(chances: FloatArray) -> float:
    """The factor for all steps, near 1, with which the outcomes (G, M, K) lead closest to points of the lattice.

    >>> round(fitting_scale(np.array([[[0.7], [0.3]], [[0.3], [0.7]]])), 2)  # all log-ratios are 0.847
    0.85
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(chances)
        ratios = np.abs(logs[:, :, None] - logs[:, None])
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    scales = np.geomspace(0.7, 1.4, 141)

    def miss(scale: float) -> float:
        part = ratios / scale % 1.0
        return float((part * (1 - part)).sum())

    best = min(scales, key=miss)
    return float(best) if miss(best) < miss(1.0) / 2 else 1.0


def _points(size: int, level: int) -> tuple[float, int]:
    """The step of log-weights of tables of `size` tasks, halved with every level, and the steps they reach."""
    step = STEPS.get(size, 1) / 2**level
    return step, round(REACH.get(size, 5) / step)


def _subsets(members: Sequence[int]) -> list[tuple[int, ...]]:
    """All sets of two and more, small ones first."""
    return [inside for size in range(2, len(members) + 1) for inside in itertools.combinations(members, size)]


class _Search:
    """The tables made so far, at every level, and the best bound among them."""

    def __init__(self, problem: Problem, horizon: int, effort: int, on_progress: OnProgress | None) -> None:
        self.problem, self.horizon, self.effort, self.on_progress = problem, horizon, effort, on_progress
        self.tables: dict[int, dict[tuple[int, ...], Table]] = {}
        self.work = 0
        self.best: Table | None = None
        self.largest = len(problem.gaps)  # tasks of a set to which no other will be added
        self.scale = fitting_scale(problem.chances)
        self.ratio = 1.0  # of what the last level took to what was foreseen

    def new_table(self, members: tuple[int, ...], level: int) -> Table:
        step, reach = _points(len(members), level)
        return Table(self.problem, members, step * self.scale, reach)

    def choose(self) -> tuple[int, ...]:
        """Tasks that are hard together: the hardest pairs, and whoever makes them harder still, one by one."""
        beam = self.hardest_pairs()
        chosen = [beam[0]]
        for size in range(2, MOST_TASKS + 1):
            beam = self.affordable(beam)
            if not beam or not self.timed(beam, 0):
                break
            ranked = sorted(beam, key=lambda members: (-self.tables[0][members].value, members))
            chosen.append(ranked[0])
            beam = self.extended(ranked[: BEAM.get(size, 1)])
        # Steps half as long gain more than one more task: the most tasks for which there is room for that.
        finer = [members for members in chosen if self.foreseen([members], 1) <= self.effort - self.work]
        return finer[-1] if finer else chosen[-1]

    def affordable(self, sets: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The sets that promise most, as many as half of what is left for choosing has room for, or all of it for one.

        A set promises the more the harder its parts are that are known, the largest ones first.
        """
        known = self.tables.get(0, {})

        def promise(members: tuple[int, ...]) -> tuple[float, ...]:
            parts = [
                [known[part].value for part in _subsets(members) if part in known and len(part) == size]
                for size in range(len(members) - 1, 1, -1)
            ]
            return tuple(sum(values) for values in parts)

        ranked = sorted(sets, key=lambda members: (*(-value for value in promise(members)), members))
        room = SHARE * self.effort - self.work
        while len(ranked) > 1 and self.foreseen(ranked, 0) > room / 2:
            ranked = ranked[: max(1, len(ranked) * 3 // 4)]
        return ranked if self.foreseen(ranked, 0) <= room else []

    def hardest_pairs(self) -> list[tuple[int, ...]]:
        """Pairs by what telling them apart costs at least, as many as a quarter of the effort has room for."""
        gaps, chances = self.problem.gaps, np.sqrt(self.problem.chances)
        told = 1 - np.einsum("gik,gjk->ijk", chances, chances)  # squared Hellinger distances
        costs = (gaps[:, None] + gaps[None]) / np.maximum(told, 1e-12)
        hardness = costs.min(axis=2)
        pairs = sorted(itertools.combinations(range(len(gaps)), 2), key=lambda pair: -hardness[pair])
        room = int(SHARE * self.effort / 4 / self.foreseen([pairs[0]], 0)) + 1
        return list(pairs[:room])

    def extended(self, sets: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
        everyone = range(len(self.problem.gaps))
        larger = {tuple(sorted((*members, other))) for members in sets for other in everyone if other not in members}
        return sorted(larger)

    def refine(self, members: tuple[int, ...], together: bool) -> None:
        """The table of all members, with steps halved as often as the effort allows; sets round by round or not."""
        for level in range(FINEST + 1):
            if level > 0 and self.foreseen([members], level) > self.effort - self.work:
                break
            done = self.solve_together(members, level) if together else self.timed([members], level)
            if not done:
                break

    def timed(self, sets: list[tuple[int, ...]], level: int) -> bool:
        """Make the tables of the sets, and learn how well their work was foreseen."""
        foreseen, before = self.foreseen(sets, level), self.work
        done = self.solve(sets, level)
        if foreseen:
            self.ratio *= (self.work - before) / foreseen
        return done

    def solve_together(self, members: tuple[int, ...], level: int) -> bool:
        """The tables of the members and of all their subsets, round by round: of the depth of the horizon."""
        tables = {inside: self.new_table(inside, level) for inside in _subsets(members)}
        faces = join(tables)
        for _ in range(self.horizon):
            # Larger sets first: what they look up has then been through one round less.
            for inside in reversed(tables):
                tables[inside].refresh(faces[inside], everywhere=True)
                tables[inside].play(1, faces[inside])
            if self.work + sum(table.work for table in tables.values()) > self.effort:
                break
        for table in tables.values():
            table.look()
        return all([self.record(table) for table in tables.values()])

    def solve(self, sets: Iterable[tuple[int, ...]], level: int) -> bool:
        """Make the tables of the sets and of all their subsets; False when it is time to stop."""
        known = self.tables.setdefault(level, {})
        for members in sets:
            for inside in _subsets(members):
                if inside not in known and not self.settle(inside, level):
                    return False
        return True

    def settle(self, members: tuple[int, ...], level: int) -> bool:
        """Make one table, whose subsets are there, and play rounds until little is gained or none are left."""
        known = self.tables[level]
        table = self.new_table(members, level)
        faces = pack(members, table.step, known)
        nested = max((known[inside].depth for inside in _subsets(members)[:-1]), default=0)
        table.start(faces, nested)
        left = self.horizon - nested
        rounds = left if len(members) == self.largest else (left + 1) // 2  # so that larger sets have some too
        best, goes = 0.0, True
        while goes and rounds > 0:
            before, now = best, min(LOOK_EVERY, rounds)
            table.play(now, faces)
            table.refresh(faces)
            rounds, best = rounds - now, table.look()
            goes = best - before > SETTLED[min(level, 2)] * now * best and self.work + table.work < self.effort
        known[members] = table
        return self.record(table)

    def record(self, table: Table) -> bool:
        self.work += table.work
        if self.best is None or table.value > self.best.value:
            self.best = table
        percent = round(100 * self.work / self.effort)
        return self.work < self.effort and goes_on(self.on_progress, percent, 100, self.best.value)

    def foreseen(self, sets: Iterable[tuple[int, ...]], level: int) -> float:
        """About how many additions the tables of the sets still take."""
        known = self.tables.get(level, {})
        missing = {inside for members in sets for inside in _subsets(members)} - known.keys()
        sizes = np.bincount([len(members) for members in missing], minlength=1)
        return self.ratio * float(
            sum(count * self.foreseen_of_one(size, level) for size, count in enumerate(sizes) if count)
        )

    def foreseen_of_one(self, size: int, level: int) -> int:
        outcomes, _, arms = map(int, self.problem.chances.shape)
        outcomes = min(outcomes, MANY)  # neighbours on the lattice share what more outcomes lead to
        _, reach = _points(size, level)
        rim = reach + rim_width(size, reach, reach)
        refresh = LOOKUP * inside_points(size, rim) // LOOK_EVERY
        return TYPICAL_ROUNDS * (inside_points(size, reach) * arms * outcomes * size + refresh)
