"""The walk of a score: the chance of leaving a SCORE box on either side, and how many pulls that takes.

The score is a random walk on the integers with a few steps, stopped outside ]-floor, ceil[. Leaving it is a banded
linear system. It is solved by eliminating scores from the top down: for each score, where the walk first goes below it.
Only positive numbers are added, multiplied and divided, so that a chance of 1e-300 has as many correct digits as one
of 1/2. Compiled by numba: import this module where it is used, not at the top of another one.
"""

import numpy as np

from banditree.certificates.lean import inlined, lean
from banditree.tasks.arrays import FloatArray, IntArray


def leave(points: IntArray, chance: FloatArray, floor: int, ceil: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(chance of leaving below, chance of leaving above, expected pulls) under each task of a score that starts at 0.

    points: (B,), of each bin. chance: (B, M), of each bin at one pull under each task. The pulls are infinite if the
    score can never leave. Costs (floor + ceil) times the largest rise times the largest fall, per task.

    >>> below, above, pulls = leave(np.array([-1, 1]), np.array([[0.5, 0.4], [0.5, 0.6]]), 3, 3)
    >>> above.round(3).tolist(), pulls.round(3).tolist()
    ([0.5, 0.771], [9.0, 8.143])
    """
    levels = (
        np.array(points),
        np.ascontiguousarray(chance),
        np.ones(chance.shape[1]),
        np.array([floor]),
        np.array([ceil - 1]),
    )
    down, up, pulls = exits_from(*levels, False)[:, 0, 0]
    return down, up, np.where(np.isnan(pulls), np.inf, pulls)  # zero times infinity: some score is never left


def exits_from(
    points: IntArray, chance: FloatArray, going: FloatArray, floors: IntArray, starts: IntArray, held: bool
) -> FloatArray:
    """(down, up, rounds), (3, starts, floors, S), of scores that start at some rows of one ladder, as in `ladder`."""
    S, rise, fall = chance.shape[1], max(0, int(points.max())), max(0, -int(points.min()))
    deepest, n_scores = int(floors[-1]), int(starts.max() + 1 + floors[-1])
    exits, weight = np.zeros((3, starts.size, floors.size, S)), np.empty((deepest + fall + 2, S))
    below, above, spent = np.zeros((n_scores, fall + 1, S)), np.zeros((n_scores, S)), np.zeros((n_scores, S))
    mass = np.empty((rise + fall + 1, S))
    fill_exits(points, chance, going, floors, starts, held, below, above, spent, mass, weight, exits)
    return exits


@lean()
def fill_exits(
    points: IntArray,
    chance: FloatArray,
    going: FloatArray,
    floors: IntArray,
    starts: IntArray,
    held: bool,
    below: FloatArray,
    above: FloatArray,
    spent: FloatArray,
    mass: FloatArray,
    weight: FloatArray,
    exits: FloatArray,
) -> None:
    """Fill in `exits`, zeros; the other arrays are to work with: a ladder as in `ladder`, and (rows, S) each."""
    ladder(points, chance, going, held, below, above, spent, mass)
    for a in range(starts.size):
        descend(below, above, spent, starts[a], floors, weight, exits[:, a])


@inlined()
def descend(
    below: FloatArray,
    above: FloatArray,
    spent: FloatArray,
    start: int,
    floors: IntArray,
    weight: FloatArray,
    exits: FloatArray,
) -> None:
    """Fill in (down, up, rounds), zeros (3, floors, S), of a score that starts at row `start` of a ladder and is left
    so far below.

    Rows beyond the last of the ladder are like the last one: far below the top, the top no longer matters.
    """
    n_rows, fall, S = below.shape[0], below.shape[1] - 1, below.shape[2]
    for depth in range(weight.shape[0]):
        for s in range(S):
            weight[depth, s] = 1.0 if depth == 0 else 0.0
    leaving, lasting = weight[weight.shape[0] - 2], weight[weight.shape[0] - 1]
    level = 0
    for depth in range(floors[floors.size - 1]):
        row = min(start + depth, n_rows - 1)
        here, up, rounds = weight[depth], above[row], spent[row]
        for s in range(S):
            leaving[s] += here[s] * up[s]
            lasting[s] += here[s] * rounds[s]
        for j in range(1, fall + 1):
            lower, lands = weight[depth + j], below[row, j]
            for s in range(S):
                lower[s] += here[s] * lands[s]
        if depth + 1 == floors[level]:
            for s in range(S):
                exits[1, level, s], exits[2, level, s] = leaving[s], lasting[s]
                for j in range(fall):
                    exits[0, level, s] += weight[depth + 1 + j, s]
            level += 1


@inlined()
def ladder(
    points: IntArray,
    chance: FloatArray,
    going: FloatArray,
    held: bool,
    below: FloatArray,
    above: FloatArray,
    spent: FloatArray,
    mass: FloatArray,
) -> None:
    """Fill in (below, above, spent) of all scores from the highest down, until the walk first goes below each.

    below[i, j]: it lands j below score i. above[i]: it leaves above instead. spent[i]: the rounds until then; each
    under every task, and zero so far. going: the chance of going on after a round, 1 for a walk that ends by itself.
    held: whether the score is held at the top (a cap) instead of leaving there: score 0 is then the cap itself, else
    one below the level. mass: to work with, a row for each score that one round may lead to.
    """
    n_scores, fall, n_tasks = below.shape[0], below.shape[1] - 1, below.shape[2]
    rise = mass.shape[0] - 1 - fall  # mass: chance of being `rise - index` above the score
    for i in range(n_scores):
        up, rounds = above[i], spent[i]
        for task in range(n_tasks):
            rounds[task] = 1.0
            for o in range(mass.shape[0]):
                mass[o, task] = 0.0
        for b in range(points.size):
            point = min(points[b], i) if held else points[b]
            target = up if point > i else mass[rise - point]
            for task in range(n_tasks):
                target[task] += going[task] * chance[b, task]
        for o in range(min(rise, i), 0, -1):
            for task in range(n_tasks):
                m = mass[rise - o, task]
                up[task] += m * above[i - o, task]
                rounds[task] += m * spent[i - o, task]
            for j in range(1, fall + 1):
                for task in range(n_tasks):
                    mass[rise - o + j, task] += mass[rise - o, task] * below[i - o, j, task]
        for task in range(n_tasks):
            away = up[task]  # one minus the chance of coming back to score i, without a subtraction
            if going[task] < 1.0:
                away += (1.0 - going[task]) * rounds[task]
            for j in range(1, fall + 1):
                away += mass[rise + j, task]
            if away > 0.0:
                up[task] /= away
                rounds[task] /= away
                for j in range(1, fall + 1):
                    below[i, j, task] = mass[rise + j, task] / away
            else:
                up[task], rounds[task] = 0.0, np.inf


def leave_all(
    points: IntArray, floor: IntArray, ceil: IntArray, chance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`leave` for N boxes under M tasks: three arrays (N, M). points: (N, B). floor, ceil: (N,). chance: (N, B, M)."""
    exits = [leave(*box) for box in zip(points, chance, floor, ceil, strict=True)]
    down, up, pulls = np.array(exits).transpose(1, 0, 2)
    return down, up, pulls
