"""How far the kinds of a collection with states are apart along the trajectories of their policies, and where a plan
cannot promise much: states that are hard to leave, and kinds that look alike while they are treated as one of them."""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.optimal_states import Optimal, in_the_long_run, optimal
from banditree.tasks.states import StateCollection

LONG = 0.1  # A way back that takes this share of the horizon is long.
DEAR = 0.02  # A loss of this share of the horizon is dear.
TELLING = 3.0  # Nats of evidence over the horizon below which kinds are not told apart (odds of 20 to 1).
MOST_ROUNDS = 1e9  # A state that is never left takes this long.


class HardState(NamedTuple):
    """A state of a task from which the way back is long: the expected rounds, with the options that get back soonest,
    and what being there instead of at the usual state costs."""

    task: int
    state: int
    rounds: float
    cost: float


class Alike(NamedTuple):
    """While cases of `task` are treated as `treated`, what is seen speaks only `nats` for the one against the other
    over the horizon, and it loses `cost`."""

    task: int
    treated: int
    nats: float
    cost: float


def hard_states_of(collection: StateCollection, horizon: int, best: Optimal | None = None) -> list[HardState]:
    """The states that are hard to leave and that some policy for a kind leads to, the dearest first."""
    best = best or optimal(collection, horizon)
    found = []
    for i in range(collection.n_tasks):
        usual = int(stationary(collection, i, best.options[i]).argmax())
        rounds = rounds_to(collection, i, usual)
        entered = np.any([_reached(collection, i, options) for options in best.options], axis=0)
        cost = best.values[horizon, i, usual] - best.values[horizon, i]
        for s in np.flatnonzero(entered & (rounds > LONG * horizon) & (cost > DEAR * horizon)):
            found.append(HardState(i, int(s), float(rounds[s]), float(cost[s])))
    return sorted(found, key=lambda one: -one.cost)


def rounds_to(collection: StateCollection, task: int, state: int) -> FloatArray:
    """The least expected rounds (S,) until a case of a task is in a state, whatever is given; a lower bound where it
    takes more than 100,000."""
    moves, rounds = collection.moves[task], np.zeros(collection.n_states)
    away = np.arange(collection.n_states) != state
    for _ in range(100_000):
        after = np.where(away, 1 + (moves @ rounds).min(axis=1), 0.0)
        if np.max(after - rounds) < 1e-9 * (1 + after.max()):
            break
        rounds = after
    return after


def _reached(collection: StateCollection, task: int, options: IntArray) -> BoolArray:
    """Which states (S,) a case comes to from the start under one option per state, by chances above 1 in a million."""
    leads = collection.moves[task, np.arange(collection.n_states), options] > 1e-6
    here = collection.start > 0
    for _ in range(collection.n_states):
        here = here | (here @ leads)
    return np.asarray(here)


def stationary(collection: StateCollection, task: int, options: IntArray) -> FloatArray:
    """The share of rounds (S,) in every state in the long run, from the start."""
    moves = collection.moves[task, np.arange(collection.n_states), options]
    return np.asarray(collection.start @ in_the_long_run(moves))


def alike_of(collection: StateCollection, horizon: int, best: Optimal | None = None) -> list[Alike]:
    """The pairs (task, treated as) that hardly differ along the trajectory, where the mistake is dear."""
    best = best or optimal(collection, horizon)
    nats, cost = evidence_along(collection, horizon, best)
    M = collection.n_tasks
    pairs = [(i, j) for i in range(M) for j in range(M) if i != j]
    found = [Alike(i, j, float(nats[i, j]), float(cost[i, j])) for i, j in pairs]
    found = [one for one in found if one.nats < TELLING and one.cost > DEAR * horizon]
    return sorted(found, key=lambda one: -one.cost)


def evidence_along(
    collection: StateCollection, horizon: int, best: Optimal | None = None
) -> tuple[FloatArray, FloatArray]:
    """(nats (M, M), cost (M, M)): while a case of task i is treated as task j for the whole horizon, the expected
    log-likelihood ratio of i against j of everything seen, outcomes and next states; and what that loses."""
    best = best or optimal(collection, horizon)
    M, every = collection.n_tasks, np.arange(collection.n_states)
    nats, cost = np.zeros((M, M)), np.zeros((M, M))
    for j in range(M):
        rates, moves = collection.rates[:, every, best.options[j]], collection.moves[:, every, best.options[j]]
        both = np.stack([1 - rates, rates], axis=-1)
        for i in range(M):
            each = _divergence(both[i], both[j]) + _divergence(moves[i], moves[j])
            visits, here = np.zeros(len(every)), collection.start.copy()
            for _ in range(horizon):
                visits += here
                here = here @ moves[i]
            nats[i, j], cost[i, j] = visits @ each, best.total[i] - visits @ rates[i]
    return nats, np.maximum(cost, 0.0)


def _divergence(one: FloatArray, other: FloatArray) -> FloatArray:
    """The Kullback-Leibler divergence of the rows of two tables; what only one has counts 20 nats."""
    safe = np.log(np.maximum(one, 1e-300)) - np.log(np.maximum(other, 1e-300))
    return np.asarray((one * np.minimum(np.where(one > 0, safe, 0.0), 20.0)).sum(axis=-1))
