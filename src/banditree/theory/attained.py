"""What is attained: the exact regret, in every task, of an algorithm that comes close to the limit of all algorithms.

It keeps one lattice point of log-weights in mind and plays the arm that is best there, for the rounds left; after
every outcome it goes to a lattice point nearby, drawn so that log-weights are kept on average. So it is a machine of
finitely many states, and its regret in each task is a sum, not a simulation. The point it starts from is drawn, in the
way that is best for the worst task. People cannot read it: it shows how far a limit is from the best that can be done.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.theory.limits import problem_of
from banditree.theory.randomised import solve_game

STEPS = {2: 1 / 32, 3: 1 / 6, 4: 1 / 2}  # The step of the log-weights, by the number of tasks.
FAR = 15.0  # The largest difference of log-weights that is remembered, which is wrong once in three million.
STARTS = 300  # This many points to start from are looked at, the best ones for their worst task.
STEADY = 1e-12  # Once a round adds less than this share of the regret, the rounds left add no more.


@dataclass(frozen=True)
class Attained:
    """The regret over `horizon` rounds of an algorithm that exists: in each task, and in its `worst`."""

    worst: float
    horizon: int
    regret: tuple[float, ...]


def attained(collection: Collection, horizon: int, *, step: float | None = None) -> Attained:
    """The regret of an algorithm that is close to the best for the worst of two to four tasks.

    step: of the log-weights it remembers; smaller is better and slower. For rewards of a few values, without contexts.

    >>> two = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
    >>> round(attained(two, 100, step=1 / 8).worst, 2)
    2.52
    """
    from banditree.theory.belief_sweeps import play_backwards

    if horizon < 1:
        raise invalid("horizon", "at least 1", horizon)
    if not 2 <= collection.n_tasks <= max(STEPS):
        raise invalid("collection", f"one of 2 to {max(STEPS)} tasks", collection.n_tasks)
    if not collection.rewards.support:
        raise InvalidInput("What is attained is only worked out for rewards of a few values, without contexts.")
    problem = problem_of(collection)
    step = STEPS[collection.n_tasks] if step is None else step
    points, chances, after = _moves(problem.chances, step)
    weights = np.exp(step * (points - points.max(axis=1, keepdims=True)))
    regret = play_backwards(problem.gaps, chances, weights, after, horizon, STEADY)
    starts = np.argsort(regret.max(axis=1), kind="stable")[:STARTS]
    mixed = solve_game(-regret[starts].T).distribution @ regret[starts]
    return Attained(float(mixed.max()), horizon, tuple(mixed.tolist()))


def _moves(chances: FloatArray, step: float) -> tuple[IntArray, FloatArray, IntArray]:
    """All lattice points (N, M); the chances (R, M, K) of every outcome rounded one way; and where from each point each
    arm and rounded outcome leads (N, K, R)."""
    n_tasks, n_arms = chances.shape[1:]
    far = round(FAR / step)
    grid = np.array(list(itertools.product(range(-far, far + 1), repeat=n_tasks - 1)), dtype=np.int64)
    points = np.column_stack([grid, np.zeros(len(grid), np.int64)])
    inside = np.ptp(points, axis=1) <= far
    number = np.where(inside, np.cumsum(inside) - 1, -1)
    points = points[inside]
    strides = (2 * far + 1) ** np.arange(n_tasks - 2, -1, -1)
    rounded = [_rounded(chances[:, :, k], step) for k in range(n_arms)]
    after = np.empty((len(points), n_arms, len(rounded[0][0])), np.int64)
    for k, (_, corners) in enumerate(rounded):
        for r, corner in enumerate(corners):
            there = points + corner
            there = np.maximum(there - there.max(axis=1, keepdims=True), -far)
            after[:, k, r] = number[(there[:, :-1] - there[:, -1:] + far) @ strides]
    return points, np.stack([part for part, _ in rounded], axis=2), after


def _rounded(chances: FloatArray, step: float) -> tuple[FloatArray, IntArray]:
    """The outcomes (G, M) of an arm, each rounded to corners (R, M) of its cell, by chance and right on average; and
    the chances (R, M) of it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.nan_to_num(np.log(chances / chances.max(axis=1, keepdims=True)), nan=0.0, neginf=-2 * FAR)
    parts, corners = [], []
    for chance, log in zip(chances, np.maximum(logs, -2 * FAR) / step, strict=True):
        corner = np.floor(log).astype(np.int64)
        share = log - corner
        order = np.argsort(-share, kind="stable")
        for part in -np.diff([1.0, *share[order], 0.0]):
            parts.append(part * chance)
            corners.append(corner.copy())
            if len(order):
                corner[order[0]] += 1
                order = order[1:]
    return np.array(parts), np.array(corners)
