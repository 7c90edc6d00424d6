"""The points of lines with states, and how such lines are left in every task, exactly, if a case ends at random.

Every round is the last with a chance of 1/H, so that the chances of leaving a line, and its cost, depend only on the
state that it is entered in; they come from one linear system per width between its levels.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from banditree.plans.gives import NONE
from banditree.plans.points import StateTable
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.one_thread import in_one_thread
from banditree.tasks.optimal_states import discounted_costs
from banditree.tasks.states import StateCollection

MOST_POINTS = 8  # No entry of a table is larger, up or down: what hardly ever happens in a kind speaks 2.8 to 4 nats.
UNITS = (0.35, 0.5)  # Nats of evidence per point that are tried.
HALVINGS = 3  # Where the points of a way would all have one sign, a point is worth half as much, up to 3 times.
# The levels of lines. Their sums are few, as one linear system serves all lines of a width.
FLOORS = (2, 4, 6, 8, 10, 12, 16)
CEILS = (4, 8, 12, 20)
CAPS = (10, 20)
SCORED = sorted({f + c - 1 for f in FLOORS for c in CEILS})
WATCHED = sorted({f + top for f in FLOORS for top in CAPS})
CHEAP = 0.05  # Successes: what costs less is as good as free where tests are chosen.
IMPOSSIBLE = 1e-9  # A smaller chance counts as this one in the points.


class Way(NamedTuple):
    """What a line may give by state, options (S,), and its points; task: what it treats as, NONE for a test."""

    options: IntArray
    table: StateTable
    task: int


class Lines(NamedTuple):
    """E lines that a protocol may have, M tasks, S states. (E,) each: way (a number of a `Way`), floor, ceil
    (0: a watch line), cap. down, up: (E, M, S, S), the discounted chances of leaving below and above, by the states at
    entry and exit; cost: (E, M, S). ends: (M, M, S), what treating for good as each task costs. start: (S,)."""

    way: IntArray
    floor: IntArray
    ceil: IntArray
    cap: IntArray
    down: FloatArray
    up: FloatArray
    cost: FloatArray
    ends: FloatArray
    start: FloatArray


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


def build_lines(collection: StateCollection, options: IntArray, ways: list[Way], horizon: int) -> Lines:
    """All lines that a protocol with these ways may have; options (M, S): what ends give."""
    with in_one_thread():  # many small systems: threads would only wait for each other
        return _build_lines(collection, options, ways, horizon)


def _build_lines(collection: StateCollection, options: IntArray, ways: list[Way], horizon: int) -> Lines:
    costs, _best = discounted_costs(collection, horizon)
    going, M, S = 1.0 - 1.0 / horizon, collection.n_tasks, collection.n_states
    every = np.arange(S)
    way, floor, ceil, cap = (list[int]() for _ in range(4))
    down, up, cost = (list[FloatArray]() for _ in range(3))
    ends = np.zeros((M, M, S))
    for j in range(M):
        here, moves = costs[:, every, options[j]], collection.moves[:, every, options[j]]
        ends[j] = np.linalg.solve(np.eye(S) - going * moves, here[:, :, None])[:, :, 0]
    for w, one in enumerate(ways):
        here = costs[:, every, one.options]
        moves, rates = collection.moves[:, every, one.options], collection.rates[:, every, one.options]
        chance = going * np.stack([1 - rates, rates], axis=-1)[:, :, None, :] * moves[..., None]  # (M, S, S', 2)
        points = np.array(one.table.moves)[:, :, None] + np.array(one.table.outcomes)[:, None, :]
        for f, c, top, (one_down, one_up, one_cost) in _of_one_way(chance, points, here):
            if c or one.task != NONE:  # nobody goes on testing for as long as it tells
                way, floor, ceil, cap = [*way, w], [*floor, f], [*ceil, c], [*cap, top]
                down.append(one_down)
                up.append(one_up)
                cost.append(one_cost)
    ways_, floors, ceils, caps = (np.array(part, np.int64) for part in (way, floor, ceil, cap))
    return Lines(ways_, floors, ceils, caps, np.array(down), np.array(up), np.array(cost), ends, collection.start)


def _of_one_way(
    chance: FloatArray, points: IntArray, here: FloatArray
) -> Iterator[tuple[int, int, int, tuple[FloatArray, FloatArray, FloatArray]]]:
    """(floor, ceil, cap, (down, up, cost)) of the score and watch lines of one way."""
    solved = {width: exits_of_width(chance, points, here, width, watched=False) for width in SCORED}
    for f in FLOORS:
        for c in CEILS:
            yield f, c, 0, _entered_at(solved[f + c - 1], f)
    watched = {width: exits_of_width(chance, points, here, width, watched=True) for width in WATCHED}
    for top in CAPS:
        for f in FLOORS:
            yield f, 0, top, _entered_at(watched[f + top], f)


def _entered_at(
    solved: tuple[FloatArray, FloatArray, FloatArray], floor: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    down, up, cost = solved
    return down[:, floor - 1], up[:, floor - 1], cost[:, floor - 1]


def exits_of_width(
    chance: FloatArray, points: IntArray, here: FloatArray, width: int, *, watched: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(down (M, width, S, S), up, cost (M, width, S)) from every score between two levels that are `width` + 1 apart.

    chance: (M, S, S, 2), discounted, of next state and outcome; points: (S, S, 2). watched: a score that would pass the
    upper end stays there.
    """
    M, S = here.shape
    system = np.zeros((M, width, S, width, S))
    right = np.zeros((M, width, S, 2 * S + 1))
    right[..., 2 * S] = here[:, None, :]
    place = np.arange(width)
    for s in range(S):
        for to in range(S):
            for outcome in range(2):
                p, after = chance[:, s, to, outcome], place + points[s, to, outcome]
                if watched:
                    after = np.minimum(after, width - 1)
                stays = (after >= 0) & (after < width)
                system[:, place[stays], s, after[stays], to] += p[:, None]
                right[:, after < 0, s, to] += p[:, None]
                right[:, after >= width, s, S + to] += p[:, None]
    size = width * S
    matrix = np.eye(size) - system.reshape(M, size, size)
    solved = np.linalg.solve(matrix, right.reshape(M, size, 2 * S + 1))
    found: FloatArray = np.asarray(solved, np.float64).reshape(M, width, S, 2 * S + 1)
    return found[..., :S], found[..., S : 2 * S], found[..., 2 * S]
