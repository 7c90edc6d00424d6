"""How likely each box is for each task, what it has cost to get there, and the most likely path."""

import heapq
from dataclasses import dataclass, replace

import numpy as np

from banditree.certificates.certify import certify
from banditree.certificates.equations import exit_distributions
from banditree.certificates.outcomes import Outcomes, box_outcomes
from banditree.errors import InvalidInput
from banditree.languages.language import message
from banditree.plans.counts import Counting
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan, by_place
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

LEAST = 1e-12  # For a box that is reached with a smaller chance, it is not said what it costs to get there.
MOST_WORK = 3e10  # A plan with links back may take this many multiplications here, which are some seconds.


@dataclass(frozen=True, eq=False)
class ReachInfo:
    """For each of M tasks and N boxes, as if the tests had all the rounds they need.

    chance: (M, N), to get to the box at all. cost, rounds: (M, N), the expected regret and rounds until a case gets
    there, of those that do; nan where none does. paths: for each task the boxes (counted from 1) of its most likely
    way. note: what the numbers rest on, or "".

    For plans with watch lines or a safety rule: over the horizon. chance is how often a case gets to the box, at most
    1: exact where it cannot start again, else an upper bound of the chance. cost and rounds are those of the first time
    it gets there, as if every round were the last one with a chance of 1 in `horizon`.
    """

    tasks: tuple[str, ...]
    chance: FloatArray
    cost: FloatArray
    rounds: FloatArray
    paths: tuple[tuple[int, ...], ...]
    note: str


@dataclass(frozen=True, eq=False)
class Exits:
    """Of each test under each task, low and high side: chance (N, M, 2), and expected pulls on that event (N, M, 2)."""

    chance: FloatArray
    pulls: FloatArray


def reach_info(plan: Plan, collection: Collection) -> ReachInfo:
    """The chance, the cost and the rounds of getting to every box; estimated means are taken as they are.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> info = reach_info(build_tree(two, horizon=1000), two)
    >>> info.chance.round(3).tolist(), info.cost[:, 2].round(1).tolist(), info.paths
    ([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [0.0, 28.8], ((1, 3), (1, 2)))
    """
    known = replace(collection, radius=np.zeros_like(collection.means)) if collection.is_estimated else collection
    outcomes = box_outcomes(plan, known)
    if outcomes.reasons:
        raise InvalidInput(f"The chances of the boxes are not known: {'; '.join(outcomes.reasons)}.")
    note = "" if known is collection else message("if the means are as estimated")
    if (machine_of(plan).kind == Counting.WATCH).any() or plan.n_seen < plan.n_boxes:
        return _over_the_horizon(plan, known, note)
    exits = _exits(plan, outcomes)
    price = np.stack(
        [outcomes.cost.T, np.ones_like(outcomes.cost.T)], axis=2
    )  # (N, M, 2): regret and rounds of one pull
    chance, spent = _forward(plan, exits, price) if not plan.has_links_back else _with_loops(plan.links, exits, price)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(chance[:, :, None] > 0, spent / chance[:, :, None], np.nan)
    paths = tuple(_likely_path(plan, exits.chance[:, task]) for task in range(collection.n_tasks))
    return ReachInfo(collection.tasks, chance.T, mean[:, :, 0].T, mean[:, :, 1].T, paths, note)


def _over_the_horizon(plan: Plan, collection: Collection, note: str) -> ReachInfo:
    """Of a plan with watch lines or a safety rule: what its certificate says about each box."""
    certificate = certify(plan, collection, must_rest=False)
    assert certificate.entered is not None
    assert certificate.exits is not None  # the rewards are known
    entered = by_place(plan, certificate.entered)
    exits = by_place(plan, certificate.exits.transpose(0, 2, 1)).transpose(0, 2, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        leaves = np.nan_to_num(exits / entered[:, :, None])
    paths = tuple(_likely_path(plan, leaves[task]) for task in range(collection.n_tasks))
    cost, rounds = _until_first_there(plan, collection)
    note = message("if the means are as estimated, over the horizon") if note else message("over the horizon")
    return ReachInfo(collection.tasks, np.minimum(entered, 1.0), cost, rounds, paths, note)


def _until_first_there(plan: Plan, collection: Collection) -> tuple[FloatArray, FloatArray]:
    """(cost, rounds), (M, N) each, of a plan with watch lines or a rule until a case first gets to a box; nan where
    none does, or where that takes too long to compute. Where line 1 may be begun only a few times: the first time."""
    outcomes = box_outcomes(plan, collection)
    price = np.stack([outcomes.cost.T, np.ones_like(outcomes.cost.T)], axis=2)
    try:
        chance, spent = _with_loops(machine_of(plan).links, _discounted(plan, outcomes), price)
    except InvalidInput:
        unknown = np.full((len(outcomes.cost), plan.n_seen), np.nan)
        return unknown, unknown
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(chance[:, :, None] > LEAST, spent / chance[:, :, None], np.nan)
    return mean[: plan.n_seen, :, 0].T, mean[: plan.n_seen, :, 1].T


def _discounted(plan: Plan, outcomes: Outcomes) -> Exits:
    """What each box does before a last round that comes with chance 1/H: E[g^pulls; side] and E[pulls g^pulls; side].

    The second is g times the derivative of the first, here over a step of a hundredth of 1 - g.
    """
    from banditree.certificates.discounted import discounted_exits

    going, step = 1.0 - 1.0 / plan.horizon, 0.01 / plan.horizon
    less, here, more = (
        np.stack(discounted_exits(machine_of(plan), outcomes, going + sign * step)[:2], axis=2) for sign in (-1, 0, 1)
    )
    return Exits(here, going * (more - less) / (2 * step))


def _exits(plan: Plan, outcomes: Outcomes) -> Exits:
    """What each test does; the pulls of a score box are not independent of the side on which it is left."""
    down, up, pulls = exit_distributions(machine_of(plan), outcomes, plan.horizon)
    chance = np.stack([down, up], axis=2)
    joint = chance * np.where(np.isfinite(pulls), pulls, 0.0)[:, :, None]
    for box in np.flatnonzero(machine_of(plan).kind == Counting.SCORE):
        for task in np.flatnonzero(np.isfinite(pulls[box])):
            low = _pulls_if_low(machine_of(plan), int(box), outcomes.least[task, box])
            joint[box, task] = low, pulls[box, task] - low
    return Exits(chance, joint)


def _pulls_if_low(machine: Machine, box: int, chances: FloatArray) -> float:
    """E[pulls; left below] of a score that starts at 0: with h the chance of leaving below, (I - P) g = h."""
    floor, ceil = int(machine.floor[box]), int(machine.ceil[box])
    n = floor + ceil - 1  # scores from 1 - floor to ceil - 1
    step, below = np.eye(n), np.zeros(n)
    for points, p in zip(machine.points[box].tolist(), chances.tolist(), strict=False):
        inside = np.arange(max(0, -points), min(n, n - points))
        step[inside, inside + points] -= p
        below[: max(0, min(n, -points))] += p
    left_below = np.linalg.solve(step, below)
    return float(np.linalg.solve(step, left_below)[floor - 1])


def _forward(plan: Plan, exits: Exits, price: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Chance (N, M) of each box and E[price so far; the box is reached] (N, M, 2): one pass, as numbers only rise."""
    M = price.shape[1]
    chance, spent = np.zeros((plan.n_boxes, M)), np.zeros((plan.n_boxes, M, 2))
    chance[0] = 1.0
    for box in range(plan.n_boxes):
        for side, child in enumerate(plan.links[box]):
            p, pulls = exits.chance[box, :, side], exits.pulls[box, :, side]
            chance[child] += chance[box] * p
            spent[child] += spent[box] * p[:, None] + (chance[box] * pulls)[:, None] * price[box]
    return chance, spent


def _with_loops(links: list[list[int]], exits: Exits, price: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same where links lead back: for each box in turn, the walk that stops on its first arrival there.

    With x the expected visits of each box before that, and h the chance of still getting there,
    E[price; reached] is the sum over links u -> v of x_u price_u E[pulls of u; it leads to v] h_v.
    """
    n, M = len(links), price.shape[1]
    if M * n**4 > MOST_WORK:
        raise InvalidInput(f"The chances of {n} boxes with links back take too long. Show the plan without chances.")
    move, pulls = np.zeros((M, n, n)), np.zeros((M, n, n))
    for box in range(n):
        for side, child in enumerate(links[box]):
            move[:, box, child] += exits.chance[box, :, side]
            pulls[:, box, child] += exits.pulls[box, :, side]
    chance, spent = np.zeros((n, M)), np.zeros((n, M, 2))
    for target in range(n):
        before = move.copy()
        before[:, target] = 0.0
        before[:, :, target] = 0.0
        stay = np.eye(n) - before
        start = np.zeros((M, n, 1))
        start[:, 0] = 1.0
        visits = np.linalg.solve(stay.transpose(0, 2, 1), start)[:, :, 0]
        hits = move[:, :, target].copy()
        hits[:, target] = 0.0
        yet = np.linalg.solve(stay, hits[:, :, None])[:, :, 0]
        yet[:, target] = 1.0
        visits[:, target] = 0.0
        chance[target] = yet[:, 0]
        onward = np.einsum("muv,mv->mu", pulls, yet)
        spent[target] = np.einsum("mu,ump,mu->mp", visits, price, onward)
    return chance, spent


def _likely_path(plan: Plan, chance: FloatArray) -> tuple[int, ...]:
    """The path with the highest chance from box 1 to where a case rests, given the chances (N, 2) of one task.

    Staying at a watch line is a place of its own, numbered from N up.
    """
    n = len(chance)
    best: dict[int, tuple[float, int]] = {}
    todo = [(0.0, 0, -1)]
    while todo:
        length, box, parent = heapq.heappop(todo)
        if box in best:
            continue
        best[box] = (length, parent)
        if box >= n or not plan.rows[box].counts.exits:
            break
        ways = [(child, chance[box, side]) for side, child in enumerate(plan.links[box])]
        if plan.rows[box].counts.rests:
            ways.append((n + box, 1.0 - chance[box].sum()))
        for child, p in ways:
            if p > 0:
                heapq.heappush(todo, (length - float(np.log(p)), child, box))
    path = [box]
    while best[path[-1]][1] >= 0:
        path.append(best[path[-1]][1])
    return tuple(number + 1 for number in reversed(path) if number < n)
