"""How good could any plan be where contexts decide? A proven lower bound, from the hardest pairs of tasks.

Whoever does not know which of two tasks a case is loses, in the worse of them, at least what the best algorithm loses
on average over both. That is worked out as in `belief_tables`, on a lattice of the log-ratio of their weights: what is
still lost at least is concave in the weights and proportional to them, so that an outcome leads to a mixture of lattice
points, with the same shares everywhere. Contexts are drawn anew every round and seen before the arm is chosen: the
least is taken over the arms at each context, and the average over contexts afterwards.
"""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from banditree.errors import InvalidInput
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.predictions import predict
from banditree.theory.belief_tables import ROUNDING

REACH = 8.0  # How far log-ratios spread.
# Pairs are first ranked by coarse tables over few contexts and rounds; then some have a fine one.
ROUGH_STEP, ROUGH_CONTEXTS, ROUGH_ROUNDS = 1 / 2, 100, 30
STEP, CONTEXTS = 1 / 8, 1_000
SETTLED = 2e-4  # A bound is settled once a round adds less than this share of it.
NEAR = 0.8  # Pairs with less than this share of the best have no fine table.
PRODUCTS = 30  # A matrix product makes this many additions in the time of one of `theory.limits`, ...
MAKING = 100  # ... and each chance of an outcome takes as long to be worked out as this many.


@dataclass(eq=False)
class PairTable:
    """The least regret of `depth` rounds, from below, for every ratio of the weights of two tasks.

    gaps: (n, K, 2), what each arm loses at each context. kernels: (n K, S), the shares of lattice points that an
    outcome leads to, by the shift. step: of the lattice. values: (G,), at weights (exp(l/2), exp(-l/2)) for each of its
    log-ratios l. n_chances: of outcomes, that it was made from.
    """

    gaps: FloatArray
    kernels: FloatArray
    step: float
    n_chances: int
    values: FloatArray = field(init=False)
    depth: int = 0

    def __post_init__(self) -> None:
        """Nothing is lost in no rounds."""
        self.values = np.zeros(len(self.ratios))

    @property
    def ratios(self) -> FloatArray:
        """The log-ratios of the lattice (G,)."""
        return _places(REACH, self.step)

    def play(self) -> float:
        """One more round; by how much the bound grows."""
        before = self.value
        weights = np.exp(np.outer([0.5, -0.5], self.ratios))  # (2, G)
        beyond = np.exp(-0.5 * self.step * np.arange(1, self.kernels.shape[1] // 2 + 1))
        there = np.concatenate([(self.values[0] * beyond)[::-1], self.values, self.values[-1] * beyond])
        n, K, _ = self.gaps.shape
        lost = self.gaps @ weights  # (n, K, G)
        lost += (self.kernels @ sliding_window_view(there, len(self.values))).reshape(n, K, -1)
        self.values = np.maximum(self.values, lost.min(axis=1).mean(axis=0) * (1 - ROUNDING))
        self.depth += 1
        return self.value - before

    def settle(self, rounds: int, effort: float) -> float:
        """Play rounds, at least one, until little is gained, none is left, or the effort is made; the work of them."""
        each, work = self.kernels.size * len(self.values) / PRODUCTS, 0.0
        while self.depth < rounds:
            gained, work = self.play(), work + each
            if work >= effort or gained < SETTLED * self.value:
                break
        return work

    @property
    def by_prior(self) -> FloatArray:
        """The bound (G,) under each distribution over the two."""
        return np.asarray(self.values / (2 * np.cosh(self.ratios / 2)))

    @property
    def value(self) -> float:
        """The bound under the least favourable distribution."""
        return float(self.by_prior.max())

    @property
    def prior(self) -> float:
        """The chance of the first task under it."""
        return float(1 / (1 + np.exp(-self.ratios[self.by_prior.argmax()])))


def _places(reach: float, step: float) -> FloatArray:
    return np.asarray(step * np.arange(-round(reach / step), round(reach / step) + 1), dtype=float)


def pair_table(collection: Collection, first: int, second: int, rows: FloatArray, step: float = STEP) -> PairTable:
    """The table of two tasks, over some contexts (n, d)."""
    assert collection.theta is not None
    K, pair = collection.n_arms, [first, second]
    means = np.stack([predict(collection.theta[task], rows, collection.rewards) for task in pair])  # (2, n, K)
    arms = np.broadcast_to(np.arange(K), means.shape[1:])
    parameters = means if collection.noise is None else np.stack([means, collection.noise[pair][:, arms]], axis=-1)
    chances = collection.rewards.outcomes_from_below(parameters.reshape(2, -1, *parameters.shape[3:]))
    gaps = means.max(axis=2, keepdims=True) - means
    return PairTable(np.moveaxis(gaps, 0, 2), _kernels(chances[:, 0], chances[:, 1], step), step, chances.size)


def _kernels(first: FloatArray, second: FloatArray, step: float) -> FloatArray:
    """The shares (C, S) of shifts -s, ..., s of the log-ratio, from the chances (G, C) of outcomes under both tasks.

    An outcome between two shifts is a mixture of them; beyond the last ones, of that one and of knowing the task, when
    nothing more is lost.
    """
    most = round(REACH / step)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.nan_to_num(np.log(first / second) / step, nan=0.0, posinf=most, neginf=-most)
    shift = np.clip(np.floor(place), -most, most - 1)
    low, high = np.exp(step * shift), np.exp(step * (shift + 1))  # the ratios at both ends
    up = np.sqrt(high) * (first - low * second) / (high - low)
    down = np.sqrt(low) * (high * second - first) / (high - low)
    above, below = place >= most, place <= -most
    up = np.where(above, second * np.sqrt(high), np.where(below, 0.0, up))
    down = np.where(above, 0.0, np.where(below, first / np.sqrt(low), down))
    C, S = first.shape[1], 2 * most + 1
    place_of_down = np.arange(C) * S + shift.astype(int) + most
    shares = [(place_of_down, down), (place_of_down + 1, up)]
    both = [np.bincount(at.ravel(), np.maximum(share, 0.0).ravel(), C * S) for at, share in shares]
    kernels = np.reshape(both[0] + both[1], (C, S))
    used = np.flatnonzero(kernels.any(axis=0))
    widest = int(np.abs(used - most).max(initial=0))
    return np.ascontiguousarray(kernels[:, most - widest : most + widest + 1])


class PairLimit(NamedTuple):
    """The hardest pair that was found. contexts: how many the bound is an average over; the others as in `Limit`."""

    value: float
    tasks: tuple[int, ...]
    prior: tuple[float, ...]
    depth: int
    work: int
    contexts: int


def limit_by_context(
    collection: Collection, horizon: int, effort: int, on_progress: OnProgress | None = None
) -> PairLimit:
    """What no algorithm can avoid in the worst task, from the pair of tasks that are hardest to tell apart.

    >>> from banditree.tasks.instances import linear
    >>> found = limit_by_context(linear(3, 3, 2, 0.2, seed=0), 100, effort=10**7)
    >>> 0 < found.value < 30, len(found.tasks)
    (True, 2)
    """
    if collection.contexts is None or collection.contexts.per_case.any():
        raise InvalidInput("A limit is not worked out where features stay the same for a whole case.")
    if collection.worth is not None or not collection.rewards.has_likelihood:
        raise InvalidInput("A limit with contexts is worked out for 0/1, graded and normal rewards, without a worth.")
    every = averaging_rows(collection.contexts)
    few, rows = (every[:: max(1, len(every) // n)] for n in (ROUGH_CONTEXTS, CONTEXTS))
    work, rough = 0.0, dict[tuple[int, int], float]()
    for pair in itertools.combinations(range(collection.n_tasks), 2):
        table = pair_table(collection, *pair, few, ROUGH_STEP)
        work += MAKING * table.n_chances + table.settle(min(horizon, ROUGH_ROUNDS), effort)
        rough[pair] = table.value
    ranked = sorted(rough, key=lambda pair: -rough[pair])
    best, found = pair_table(collection, *ranked[0], rows), ranked[0]
    work += MAKING * best.n_chances + best.settle(horizon, max(effort - work, effort / 2))
    for pair in ranked[1:]:
        percent = min(100, round(100 * work / effort))
        if work >= effort or rough[pair] < NEAR * rough[ranked[0]]:
            break
        if not goes_on(on_progress, percent, 100, best.value):
            break
        table = pair_table(collection, *pair, rows)
        work += MAKING * table.n_chances + table.settle(horizon, effort - work)
        best, found = (table, pair) if table.value > best.value else (best, found)
    return PairLimit(best.value, found, (best.prior, 1 - best.prior), best.depth, int(work), len(rows))
