"""How likely every outcome is under every kind, at every rate that the collection holds possible."""

from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from banditree.cases.table import Cases
from banditree.policies.random import uniform
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.changes import by_coin
from banditree.tasks.collection import Collection

GRID = 17  # This many rates are tried across a margin; a rate in between is as good as the nearest one (docs).
SIZES = (0.05, 0.1, 0.2, 0.35)  # The shifts of a rate that are looked for, as parts of the range of the rewards ...
SIGMAS = (0.15, 0.3, 0.6, 1.0)  # ... or of the standard deviation of rewards without a range.
NOT_ALL = 0.75  # A shift goes at most this part of the way to the end of the range: no outcome becomes impossible.
COIN_SEED = 0x6D6F6E69  # The seed of the draws that turn a reward known only by its mean into 0 or 1.


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds that count: the case, box and arm of each, its outcome, when it was told, and what came before it.

    n, total: outcomes of the same case and arm before it.
    """

    case: IntArray
    box: IntArray
    arm: IntArray
    reward: FloatArray
    at: FloatArray
    n: FloatArray
    total: FloatArray

    def only(self, chosen: IntArray) -> "Rounds":
        """Some of the rounds."""
        return Rounds(*(getattr(self, one.name)[chosen] for one in fields(self)))


def counted_rounds(observed: Cases, collection: Collection) -> tuple[Rounds, Collection]:
    """The rounds with known outcomes of cases that went as planned, and the collection that gives their likelihood.

    A reward of which only the mean and the range are known counts as the top of the range with the chance that has the
    same mean, and otherwise as its bottom: a coin that is thrown once for each case and round.
    """
    used = np.flatnonzero(observed.told & observed.planned)
    case, arm, reward = observed.owner[used], observed.arm[used], observed.reward[used]
    if not collection.rewards.has_likelihood:
        number = used - observed.first[case]
        collection, reward = _as_coins(collection, case, number, reward)
    n, total = _before(case, arm, reward, collection.n_arms)
    return Rounds(case, observed.box[used], arm, reward, in_order(observed)[used], n, total), collection


def in_order(observed: Cases) -> FloatArray:
    """The day (R,) from which the outcome of a round counts: when it and those of all earlier rounds were told.

    Bad outcomes may be told later than good ones. What is known of a case at a look would then be too good; its first
    rounds up to some round are not.
    """
    days = np.where(np.isnan(observed.at), np.inf, observed.at)
    for begin, end in pairwise(observed.first.tolist()):
        np.maximum.accumulate(days[begin:end], out=days[begin:end])
    return np.asarray(days)


def _as_coins(
    collection: Collection, case: IntArray, number: IntArray, reward: FloatArray
) -> tuple[Collection, FloatArray]:
    low, width = collection.rewards.low, collection.rewards.width
    drawn = [uniform((COIN_SEED, u, t), 0) for u, t in zip(case.tolist(), number.tolist(), strict=True)]
    return by_coin(collection), (np.array(drawn) < (reward - low) / width).astype(float)


def _before(case: IntArray, arm: IntArray, reward: FloatArray, n_arms: int) -> tuple[FloatArray, FloatArray]:
    """How many outcomes of the same case and arm there were before each round, and their sum."""
    cell = case * n_arms + arm
    order = np.argsort(cell, kind="stable")
    ones, sums = np.arange(len(cell), dtype=float), np.cumsum(reward[order]) - reward[order]
    start = np.searchsorted(cell[order], cell[order])
    n, total = np.empty(len(cell)), np.empty(len(cell))
    n[order], total[order] = ones - start, sums - sums[start] if len(cell) else sums
    return n, total


def log_chances(rounds: Rounds, collection: Collection, shift: FloatArray) -> FloatArray:
    """The log-chance (R, M, *S) of every outcome under every kind, with its rates moved by `shift` (M, K, *S)."""
    steps = shift.shape[2:]
    parameters = collection.parameters.reshape(*collection.means.shape, *(1,) * len(steps), -1)
    parameters = parameters if collection.parameters.ndim > 2 else parameters[..., 0]
    moved = collection.rewards.shifted(
        np.broadcast_to(parameters, (*shift.shape, *parameters.shape[shift.ndim :])), shift
    )
    spread = np.zeros(collection.means.shape) if collection.spread is None else collection.spread
    here = np.swapaxes(moved, 0, 1)[rounds.arm]
    apart = np.swapaxes(spread, 0, 1)[rounds.arm].reshape(len(rounds.arm), -1, *(1,) * len(steps))

    def tall(values: FloatArray) -> FloatArray:
        return values.reshape(-1, *(1,) * (1 + len(steps)))

    return collection.rewards.log_predictive(tall(rounds.reward), here, apart, tall(rounds.n), tall(rounds.total))


def margins(collection: Collection) -> FloatArray:
    """The shifts (M, K, G) within the margins of the rates that the null hypothesis allows for; 0 is among them."""
    if not collection.is_estimated:
        return np.zeros((*collection.means.shape, 1))
    return np.asarray(collection.radius[:, :, None] * np.linspace(-1, 1, GRID))


def alternatives(collection: Collection) -> FloatArray:
    """The shifts (M, K, 2, S) that are looked for, down and up, each beyond the margin."""
    rewards = collection.rewards
    sizes = rewards.width * np.array(SIZES) if rewards.has_range else rewards.sigma * np.array(SIGMAS)
    beyond = collection.radius[:, :, None] + sizes
    down, up = (np.abs(end - collection.means)[:, :, None] * NOT_ALL for end in (rewards.low, rewards.high))
    return np.stack([-np.minimum(beyond, down), np.minimum(beyond, up)], axis=2)
