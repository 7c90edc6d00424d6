"""What a plan with states loses at most where its chances are known only within margins.

The regret of a case is the sum of what each round gives up. A bound for every (round, state, option), which holds at
all chances within the margins, is carried backwards through (line, state, score), each round with the chances of its
margins that are worst there. Chances that change from round to round are among those, so the bound may be loose.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditree.plans.state_machine import StateMachine
from banditree.tasks.arrays import FloatArray
from banditree.tasks.optimal_states import Optimal, missed
from banditree.tasks.states import StateCollection

if TYPE_CHECKING:
    from banditree.certificates.state_propagation import Walk


class Margins(NamedTuple):
    """The least and the highest chances of one task: of a success (S, K), and of every next state (S, K, S)."""

    rate_low: FloatArray
    rate_high: FloatArray
    move_low: FloatArray
    move_high: FloatArray


def margins_of(collection: StateCollection, task: int) -> Margins:
    """Those of a task; a margin of 0 where there is none."""
    rate, move = collection.rates[task], collection.moves[task]
    by_rate = 0.0 if collection.rate_margin is None else collection.rate_margin[task]
    by_move = 0.0 if collection.move_margin is None else collection.move_margin[task]
    low, high = np.maximum(rate - by_rate, 0.0), np.minimum(rate + by_rate, 1.0)
    return Margins(low, high, np.maximum(move - by_move, 0.0), np.minimum(move + by_move, 1.0))


def most_missed(collection: StateCollection, best: Optimal, task: int, horizon: int) -> FloatArray:
    """What giving an option once may cost at most at any chances within the margins (H, S, K), with 1, 2, ... rounds
    left.

    V and V' are what is still to come at the estimated chances p and at others p'. How much V' - V may differ between
    two states is carried from round to round: what the margins change in one round, and the same of the next states of
    both, coupled. With it, the difference of two options at p' is that at p, and at most so much more.
    """
    within, (S, K) = margins_of(collection, task), collection.rates[task].shape
    nominal = missed(collection, best, horizon)[:, task]
    spread = np.maximum(within.rate_high - collection.rates[task], collection.rates[task] - within.rate_low)
    coupled, free = _coupled(within.move_low)
    found, apart, every = np.zeros((horizon, S, K)), np.zeros((S, S)), np.arange(S)
    for left in range(horizon):
        ahead = best.values[left, task]
        middle = collection.moves[task] @ ahead
        up = spread + highest(within.move_low, within.move_high, ahead) - middle
        down = spread + highest(within.move_low, within.move_high, -ahead) + middle
        behind = coupled @ apart.ravel() + free * apart.max()
        other = nominal[left][:, :, None] - nominal[left][:, None, :]
        more = other + down[:, :, None] + up[:, None, :] + behind[every, :, every].transpose(0, 2, 1)
        found[left] = np.where(np.eye(K, dtype=bool), 0.0, more).max(axis=2)
        chosen = nominal[left].argmin(axis=1)
        apart = ((up - nominal[left])[:, :, None] + down[every, chosen] + behind[:, :, every, chosen]).max(axis=1)
        apart[every, every] = 0.0
    return np.maximum(found, 0.0)


def _coupled(low: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(chances (S, K, S, K, S * S) of pairs of next states that hold at any chances above the lower limits (S, K, S),
    for every two states and options, as many as possible of them of equal states; what is left (S, K, S, K))."""
    one, other = low[:, :, None, None, :], low[None, None, :, :, :]
    same = np.minimum(one, other)
    one, other = one - same, other - same
    most = np.maximum(np.maximum(one.sum(axis=-1), other.sum(axis=-1)), 1e-300)
    pairs = one[..., :, None] * other[..., None, :] / most[..., None, None]
    pairs += same[..., None] * np.eye(low.shape[-1])
    return pairs.reshape(*pairs.shape[:4], -1), 1 - pairs.sum(axis=(-1, -2))


def highest(low: FloatArray, high: FloatArray, value: FloatArray) -> FloatArray:
    """The highest mean of values (S,) over chances (..., S) between two limits that add up to 1."""
    order = np.argsort(-value)
    low, room, left = low[..., order], (high - low)[..., order], 1 - low.sum(axis=-1)
    before = np.concatenate([np.zeros((*left.shape, 1)), room.cumsum(axis=-1)[..., :-1]], axis=-1)
    chances = low + np.clip(left[..., None] - before, 0.0, room)
    return np.asarray(chances @ value[order])


def within_margins(
    machine: StateMachine, collection: StateCollection, best: Optimal, walks: list["Walk"], horizon: int
) -> FloatArray:
    """What the plan loses at most in every task (M,) at any chances within the margins."""
    from banditree.certificates.state_backwards import carry_back

    every, found = np.arange(machine.n_states), np.zeros(collection.n_tasks)
    for i, walk in enumerate(walks):
        within = margins_of(collection, i)
        cost = most_missed(collection, best, i, horizon)
        limits = [np.ascontiguousarray(part[every, machine.options]) for part in within]
        costs = np.stack([cost[:, every, options] for options in machine.options], axis=1)
        lost: FloatArray = carry_back(walk, limits[0], limits[1], limits[2], limits[3], costs)
        found[i] = min(float(collection.start @ lost), horizon)
    return found
