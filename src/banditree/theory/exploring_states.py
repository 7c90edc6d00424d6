"""Explore, classify, exploit with states: policies as tests in turn, and then the likeliest kind for good.

The paper's test of an option has fixed distributions; here treating as a kind is a test, and what it shows depends on
the states it leads to. The affinity of two kinds over n rounds of one policy is exact, the product of matrices over
states, so nothing is assumed of the chain; between two tests the state is the least telling one.
"""

from typing import NamedTuple

import numpy as np

from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.optimal_states import missed, optimal
from banditree.tasks.states import StateCollection

BLOCKS = 100  # Tests grow by a hundredth of the horizon.


class Exploring(NamedTuple):
    """The tests (task that is treated as, rounds) in order; wrong (M,): the chance that another task is likeliest
    after them, at most; regret (M,): what is lost over the horizon, at most."""

    tests: tuple[tuple[int, int], ...]
    wrong: FloatArray
    regret: FloatArray

    @property
    def rounds(self) -> int:
        """Of all tests."""
        return sum(rounds for _task, rounds in self.tests)


def affinity(collection: StateCollection, options: IntArray, rounds: int) -> FloatArray:
    """The Bhattacharyya affinity (M, M) of what n rounds of one option per state (S,) show in two tasks, in the least
    telling first state: 1 less the squared Hellinger distance.

    The likelihood of j is at least that of i in a case of i with a chance of at most this.

    >>> from banditree.tasks.state_instances import rand_states
    >>> known = rand_states(2, 2, 2)
    >>> one, ten = (affinity(known, np.zeros(2, int), rounds)[0, 1] for rounds in (1, 10))
    >>> bool(1 > one > ten > 0)
    True
    """
    every = np.arange(collection.n_states)
    rates, moves = collection.rates[:, every, options], np.sqrt(collection.moves[:, every, options])
    both = np.sqrt(np.stack([1 - rates, rates]))
    step = np.einsum("ois,ojs->ijs", both, both)[..., None] * moves[:, None] * moves[None]
    return np.asarray(np.linalg.matrix_power(step, rounds).sum(axis=-1).max(axis=-1))


def exploring(collection: StateCollection, horizon: int) -> Exploring | None:
    """Tests after which the likeliest task is wrong with a chance of at most 1 / horizon, chosen greedily; None where
    half the horizon is not enough.

    The regret holds in every collection. It is small where every state can be left soon (ergodic policies): then a
    round of a test costs at most 1 and the span of values.
    """
    best = optimal(collection, horizon)
    M, block = collection.n_tasks, max(horizon // BLOCKS, 1)
    one = np.log(np.maximum([affinity(collection, options, block) for options in best.options], 1e-300))
    told, rounds = np.where(np.eye(M, dtype=bool), -np.inf, 0.0), np.zeros(M, np.int64)
    while np.exp(told).sum(axis=1).max() > 1 / horizon:
        if 2 * (rounds.sum() + block) > horizon:
            return None
        after = np.exp(told + one).sum(axis=2).max(axis=1)
        equal = after < after.min() * (1 + 1e-12)
        k = int(np.where(equal, np.exp(told + one).sum(axis=(1, 2)), np.inf).argmin())
        told, rounds[k] = told + one[k], rounds[k] + block
    tests = tuple((int(k), int(n)) for k, n in enumerate(rounds) if n)
    affinities = [affinity(collection, best.options[k], n) for k, n in tests]
    wrong = np.prod(affinities, axis=0).sum(axis=1) - np.prod([np.diag(one) for one in affinities], axis=0)
    costs, left = missed(collection, best, horizon), horizon - int(rounds.sum())
    dearest = costs[left:].max(axis=0)
    lost = sum(_most_lost(collection, np.broadcast_to(dearest, (n, *dearest.shape)), best.options[k]) for k, n in tests)
    own = [_most_lost(collection, costs[:left], best.options[i])[i] for i in range(M)]
    return Exploring(tests, wrong, np.minimum(lost + np.array(own) + wrong * left, horizon))


def _most_lost(collection: StateCollection, costs: FloatArray, options: IntArray) -> FloatArray:
    """What some rounds of one option per state lose at most in each task (M,), from any state; costs (n, M, S, K) of
    giving an option once, of the last round first."""
    every = np.arange(collection.n_states)
    moves, total = collection.moves[:, every, options], np.zeros(collection.rates.shape[:2])
    for now in costs:
        total = now[:, every, options] + (moves @ total[..., None])[..., 0]
    return np.asarray(total.max(axis=1))
