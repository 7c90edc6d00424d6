"""The best that can be done in each task of a collection with states, where the task is known."""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.states import StateCollection

DOUBLINGS = 40  # The long run is 2 to this power of rounds.
SAME = 1e-12  # Options whose values differ by less are equally good; the first is given.


class Optimal(NamedTuple):
    """What the best policy of each task earns over H rounds.

    values: (H + 1, M, S), with h rounds left. options: (M, S), the best with H rounds left, which "treat as a kind"
    gives. total: (M,), from the start. gain: (M,), per round in the long run.
    """

    values: FloatArray
    options: IntArray
    total: FloatArray
    gain: FloatArray


def optimal(collection: StateCollection, horizon: int) -> Optimal:
    """The optimal policy of every task over `horizon` rounds, by backward induction; exact.

    >>> from banditree.tasks.collection import Collection
    >>> rates = [[[0.8, 0.3], [0.4, 0.2]], [[0.3, 0.7], [0.1, 0.5]]]
    >>> moves = [[[[0.9, 0.1], [0.5, 0.5]]] * 2, [[[0.4, 0.6], [0.8, 0.2]]] * 2]
    >>> best = optimal(Collection.states(rates, moves), 100)
    >>> best.options.tolist(), best.total.round(2).tolist(), best.gain.round(3).tolist()
    ([[0, 0], [1, 1]], [76.04, 66.04], [0.76, 0.66])
    """
    M, S, _K = collection.rates.shape
    values = np.zeros((horizon + 1, M, S))
    worth = collection.rates
    for h in range(1, horizon + 1):
        worth = action_values(collection, values[h - 1])
        values[h] = worth.max(axis=2)
    options = (worth >= worth.max(axis=2, keepdims=True) - SAME).argmax(axis=2)
    gain = np.array([stationary_gain(collection, i, options[i]) for i in range(M)])
    return Optimal(values, options, values[horizon] @ collection.start, gain)


def action_values(collection: StateCollection, ahead: FloatArray) -> FloatArray:
    """What each arm is worth in each state (M, S, K): its rate, and what lies ahead (M, S)."""
    return np.asarray(collection.rates + np.einsum("mskt,mt->msk", collection.moves, ahead))


def missed(collection: StateCollection, best: Optimal, horizon: int) -> FloatArray:
    """What giving an arm once costs against the best, (H, M, S, K), with 1, 2, ... rounds left; at least 0."""
    ahead = best.values[:horizon]
    worth = collection.rates + np.einsum("mskt,hmt->hmsk", collection.moves, ahead)
    return np.asarray(np.maximum(best.values[1 : horizon + 1, :, :, None] - worth, 0.0))


def discounted_costs(collection: StateCollection, horizon: int) -> tuple[FloatArray, IntArray]:
    """What giving an arm once costs (M, S, K) where every round is the last with a chance of 1/H, and the best options.

    By policy iteration, which ends at the exact values.
    """
    going, (M, S, _K) = 1.0 - 1.0 / horizon, collection.rates.shape
    costs, options = np.zeros_like(collection.rates), np.zeros((M, S), np.int64)
    every = np.arange(S)
    for i in range(M):
        chosen = collection.rates[i].argmax(axis=1)
        for _ in range(1000):
            moves, rates = collection.moves[i, every, chosen], collection.rates[i, every, chosen]
            value = np.linalg.solve(np.eye(S) - going * moves, rates)
            worth = collection.rates[i] + going * collection.moves[i] @ value
            better = worth.max(axis=1) > worth[every, chosen] + 1e-11 * horizon
            if not better.any():
                break
            chosen = np.where(better, worth.argmax(axis=1), chosen)
        costs[i], options[i] = np.maximum(value[:, None] - worth, 0.0), chosen
        costs[i][every, chosen] = 0.0
    return costs, options


def stationary_gain(collection: StateCollection, task: int, options: IntArray) -> float:
    """The success rate in the long run of giving one option per state (S,), from the start of a case."""
    every = np.arange(collection.n_states)
    moves, rates = collection.moves[task, every, options], collection.rates[task, every, options]
    return float(collection.start @ in_the_long_run(moves) @ rates)


def in_the_long_run(moves: FloatArray) -> FloatArray:
    """The shares of rounds in every state (S, S) from every state, of a chain with these chances of next states."""
    far = (moves + np.eye(len(moves))) / 2  # lazy, so that it does not swing
    for _ in range(DOUBLINGS):
        far = far @ far
        far = far / far.sum(axis=1, keepdims=True)  # or rounding errors would double as well
    return far
