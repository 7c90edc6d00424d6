"""What lines with states may give, their first points, and how they are left in every task if a case ends at random."""

from typing import Any, NamedTuple

import numpy as np

from banditree.plans.gives import NONE
from banditree.plans.points import StateTable
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.one_thread import in_one_thread
from banditree.tasks.optimal_states import discounted_costs
from banditree.tasks.states import StateCollection

MOST_POINTS = 8  # No entry of a table is larger, up or down: what hardly ever happens in a kind speaks 2.8 to 4 nats.
UNITS = (0.25, 0.35)  # Nats of evidence per point that a search begins with; it then changes every point.
HALVINGS = 3  # Where the points of a way would all have one sign, a point is worth half as much, up to 3 times.
FLOORS, CEILS, CAPS = (3, 6, 10), (4, 10), (12,)  # The levels that a search begins with; it then moves them.
CHEAP = 0.05  # Successes: what costs less is as good as free where tests are chosen.
IMPOSSIBLE = 1e-9  # A smaller chance counts as this one in the points.


class Way(NamedTuple):
    """What a line may give by state, options (S,), and its points; task: what it treats as, NONE for a test."""

    options: IntArray
    table: StateTable
    task: int


class World(NamedTuple):
    """A collection whose every round is the last with a chance of 1/H, so that what a line loses depends only on the
    state that it is entered in. rates (M, S, K), discounted moves (M, S, K, S), costs (M, S, K) of giving an option
    once; ends (M, M, S): what treating for good as each task costs. start: (S,)."""

    rates: FloatArray
    moves: FloatArray
    costs: FloatArray
    ends: FloatArray
    start: FloatArray

    def chance(self, options: IntArray) -> FloatArray:
        """The chances (M, S, S, 2) of next state and outcome with one option per state (S,)."""
        every = np.arange(len(options))
        rates, moves = self.rates[:, every, options], self.moves[:, every, options]
        return np.ascontiguousarray(np.stack([1 - rates, rates], axis=-1)[:, :, None, :] * moves[..., None])

    def cost(self, options: IntArray) -> FloatArray:
        """(M, S)."""
        return np.ascontiguousarray(self.costs[:, np.arange(len(options)), options])


def world_of(collection: StateCollection, options: IntArray, horizon: int) -> World:
    """The collection as the search sees it; options (M, S): what ends give."""
    costs, _best = discounted_costs(collection, horizon)
    M, S = collection.n_tasks, collection.n_states
    world = World(collection.rates, (1 - 1 / horizon) * collection.moves, costs, np.zeros((M, M, S)), collection.start)
    for j in range(M):
        moves = world.moves[:, np.arange(S), options[j]]
        world.ends[j] = np.linalg.solve(np.eye(S) - moves, world.cost(options[j])[:, :, None])[:, :, 0]
    return world


class Lines(NamedTuple):
    """E lines that a protocol may have, M tasks, S states. (E,) each: way, floor, ceil (0: a watch line), cap. down,
    up: (E, M, S, S), the discounted chances of leaving below and above, by the states at entry and exit; cost:
    (E, M, S)."""

    way: tuple[Way, ...]
    floor: IntArray
    ceil: IntArray
    cap: IntArray
    down: FloatArray
    up: FloatArray
    cost: FloatArray

    def some(self, chosen: IntArray) -> "Lines":
        """The lines of these numbers."""
        parts: list[Any] = [part[chosen] for part in self[1:]]
        return Lines(tuple(self.way[e] for e in chosen), *parts)

    def plus(self, other: "Lines") -> "Lines":
        """These and others."""
        parts: list[Any] = [np.concatenate(both) for both in zip(self[1:], other[1:], strict=True)]
        return Lines(self.way + other.way, *parts)

    def with_line(self, n: int, other: "Lines") -> "Lines":
        """With line n replaced by the only line of others."""
        parts: list[Any] = [np.concatenate([a[:n], b, a[n + 1 :]]) for a, b in zip(self[1:], other[1:], strict=True)]
        return Lines(self.way[:n] + other.way + self.way[n + 1 :], *parts)


def ways_of(collection: StateCollection, options: IntArray, horizon: int, unit: float) -> list[Way]:
    """What lines may give: the best option of each task (M, S), if its points have both signs; and for each task what
    tells it apart from all others at the least cost, where that is something else."""
    costs, _best = discounted_costs(collection, horizon)
    found = list[Way]()
    for j in range(collection.n_tasks):
        telling = _telling(collection, costs, j)
        for rule, task in ((options[j], j), (telling, NONE)):
            known = {tuple(way.options) for way in found} | {tuple(one) for one in options}
            if task == NONE and tuple(rule) in known:
                continue
            for halved in range(HALVINGS + 1):
                table = table_against_others(collection, j, rule, unit / 2**halved)
                if table is not None:
                    found.append(Way(rule, table, task))
                    break
    return found


def _telling(collection: StateCollection, costs: FloatArray, task: int) -> IntArray:
    """The options (S,) that tell most about a task, against the even mixture of the others, for what they cost."""
    others = [i for i in range(collection.n_tasks) if i != task]
    both = np.stack([1 - collection.rates, collection.rates], axis=-1)
    nats = sum(_both_ways(part[task], part[others].mean(axis=0)) for part in (both, collection.moves))
    return np.asarray((nats / (costs.mean(axis=0) + CHEAP)).argmax(axis=1), np.int64)


def _both_ways(one: FloatArray, other: FloatArray) -> FloatArray:
    """The expected evidence of the rows of two tables for one against the other, if the one is true and if not."""
    ratio = np.log(np.maximum(one, IMPOSSIBLE) / np.maximum(other, IMPOSSIBLE))
    return np.asarray(((one - other) * ratio).sum(axis=-1))


def table_against_others(collection: StateCollection, task: int, options: IntArray, unit: float) -> StateTable | None:
    """Whole points by the evidence for a task against the even mixture of all others, `unit` nats a point.

    None where no outcome and no move speaks both for and against it.
    """
    others = [i for i in range(collection.n_tasks) if i != task]
    every = np.arange(collection.n_states)
    rates, moves = collection.rates[:, every, options], collection.moves[:, every, options]
    both = np.stack([1 - rates, rates], axis=2)
    outcomes, steps = (_points(part[task], part[others].mean(axis=0), unit) for part in (both, moves))
    least = (outcomes.min(axis=1) + steps.min(axis=1)).min()
    most = (outcomes.max(axis=1) + steps.max(axis=1)).max()
    if not least < 0 < most:
        return None
    return StateTable(tuple((int(a), int(b)) for a, b in outcomes), tuple(tuple(map(int, row)) for row in steps))


def _points(own: FloatArray, others: FloatArray, unit: float) -> IntArray:
    """Rounded log-likelihood ratios; what is possible in no task has no points."""
    ratio = np.log(np.maximum(own, IMPOSSIBLE) / np.maximum(others, IMPOSSIBLE)) / unit
    return np.clip(np.floor(ratio + 0.5), -MOST_POINTS, MOST_POINTS).astype(np.int64)


def build_lines(world: World, made: list[tuple[Way, int, int, int]]) -> Lines:
    """The lines with these ways, floors, ceilings and caps."""
    from banditree.protocols.state_exits import exits_of_line

    down, up, cost = (list[FloatArray]() for _ in range(3))
    with in_one_thread():  # many small systems: threads would only wait for each other
        for way, *levels in made:
            found = exits_of_line(world.chance(way.options), way.table.by_round, world.cost(way.options), *levels)
            for part, one in zip((down, up, cost), found, strict=True):
                part.append(one)
    floor, ceil, cap = (np.array([one[column] for one in made], np.int64) for column in (1, 2, 3))
    return Lines(tuple(one[0] for one in made), floor, ceil, cap, np.array(down), np.array(up), np.array(cost))


def first_lines(world: World, ways: list[Way]) -> Lines:
    """The lines that a search begins with; nobody goes on testing for as long as it tells."""
    scored = [(way, f, c, 0) for way in ways for f in FLOORS for c in CEILS]
    watched = [(way, f, 0, top) for way in ways if way.task != NONE for f in FLOORS for top in CAPS]
    return build_lines(world, scored + watched)
