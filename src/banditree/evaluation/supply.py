"""How likely the log's design was to put enough outcomes of each option into the queues of a case."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from banditree.cases.design import Design
from banditree.cases.table import Cases
from banditree.tasks.arrays import FloatArray, IntArray

DRAWS = 4_000  # Counts of options are drawn this many times; small chances are not used anyway.
SLACK = 1e-6  # Chances that differ by less are the same.
TRIMMED = 0.05  # Up to this part of the rounds in which an option was less likely than its least chance are ignored.
GRAIN = 50  # Chances of the cases are rounded to this many steps, so that few different ones are drawn for.


@dataclass(frozen=True, eq=False)
class Supply:
    """What decides how often each case was given each option.

    n_rounds: (U,), rounds with an outcome. chances: (U, K), of each option in a round of the case that counts.
    chain: how likely (K + 1, K) each option comes after each, and at first, where options stick; else of size 0.
    """

    n_rounds: IntArray
    chances: FloatArray
    chain: FloatArray

    @cached_property
    def groups(self) -> tuple[IntArray, IntArray]:
        """The cases that stand for all cases that had the same, and which (U,) of these each case is like."""
        key = np.column_stack([self.n_rounds, np.round(self.chances * GRAIN).astype(np.int64)])
        _, first, like = np.unique(key, axis=0, return_index=True, return_inverse=True)
        return first, like.ravel()

    @cached_property
    def drawn(self) -> list[IntArray]:
        """How often (DRAWS, K) each option was given, for each of these cases."""
        rng, first = np.random.default_rng(0), self.groups[0]
        if self.chain.size:
            return _chained(self.chain, self.n_rounds[first], rng)
        rest = np.maximum(1 - self.chances[first].sum(axis=1, keepdims=True), 0.0)
        full = np.column_stack([self.chances[first], rest])
        full /= full.sum(axis=1, keepdims=True)
        return [rng.multinomial(int(n), p, DRAWS)[:, :-1] for n, p in zip(self.n_rounds[first], full, strict=True)]

    @cached_property
    def _known(self) -> dict[tuple[int, ...], float]:
        return {}

    def chance(self, needs: IntArray) -> FloatArray:
        """The chance (U, T) that a case was given every option at least as often as is needed (U, T, K)."""
        U, T, K = needs.shape
        asked = np.column_stack([np.repeat(self.groups[1], T), needs.reshape(-1, K)])
        sorts, place = np.unique(asked, axis=0, return_inverse=True)
        each = np.array([self._chance(*sort) for sort in sorts.tolist()])
        return np.asarray(each[place.ravel()].reshape(U, T))

    def _chance(self, group: int, *needs: int) -> float:
        key = (group, *needs)
        if key not in self._known:
            counts = self.drawn[group]
            enough = np.ones(len(counts), bool)
            for k in np.flatnonzero(needs):
                enough &= counts[:, k] >= needs[k]
            self._known[key] = float(enough.mean())
        return self._known[key]


def _chained(chain: FloatArray, n_rounds: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Counts (DRAWS, K) of a Markov chain after each of these numbers of rounds."""
    K = chain.shape[1]
    steps = np.cumsum(chain, axis=1)[:, :-1]
    arm, counts, at = np.full(DRAWS, K), np.zeros((DRAWS, K), np.int64), {0: np.zeros((DRAWS, K), np.int64)}
    for n in range(1, int(n_rounds.max(initial=0)) + 1):
        arm = (rng.random(DRAWS)[:, None] > steps[arm]).sum(axis=1)
        counts[np.arange(DRAWS), arm] += 1
        at[n] = counts.copy()
    return [at[n] for n in n_rounds.tolist()]


def supply_of(cases: Cases, design: Design) -> Supply:
    """The supply of a log of this design, whose rounds are thinned as `thinning` says."""
    K, n = len(cases.arms), np.bincount(cases.owner[cases.told], minlength=cases.n_cases)
    if cases.chances is not None:
        return Supply(n, least_chances(cases), np.zeros((0, 0)))
    share = shares(cases)
    return Supply(n, np.tile(share, (len(n), 1)), chain_of(cases) if design is Design.STICKY else np.zeros((0, K)))


def thinning(cases: Cases) -> FloatArray:
    """The chance (R,) with which each round is put into its queue, so that a case's queues are a fair sample of it.

    Where chances differ between cases only, that needs nothing; where they differ within a case, a round is kept with a
    chance in proportion to one over that of its option (rejection sampling).
    """
    if cases.chances is None:
        return cases.told.astype(float)
    least = least_chances(cases)[cases.owner, cases.arm]
    return np.asarray(np.where(cases.told, np.minimum(least / cases.chances, 1.0), 0.0))


def fair(cases: Cases, seed: int) -> Cases:
    """The log in which every case is as likely to show one round as another."""
    if cases.chances is None or not vary_within(cases):
        return cases
    kept = np.random.default_rng([seed, 1]).random(len(cases.arm)) < thinning(cases)
    least = least_chances(cases)[cases.owner, cases.arm]
    return replace(
        cases, outcomes=np.where(kept[:, None], cases.outcomes, np.nan), arm=cases.arm, chances=least, every_chance=None
    )


def contradict(cases: Cases) -> bool:
    """Whether the chances cannot be what they were in every round of a case, since those of its options exceed 1."""
    if cases.chances is None:
        return False
    chances = _least_given(cases)[None] if vary_within(cases) else _case_chances(cases)
    return bool((chances.sum(axis=1) > 1 + SLACK).any())


def least_chances(cases: Cases) -> FloatArray:
    """The least chance (U, K) that each option had in the rounds of a case, whether it was given there or not.

    Where only the chances of what was given are known, and they vary within cases: the least in all cases, but for
    a few rounds, which then count for less than they should.
    """
    every = _every_chance(cases)
    if every is not None:
        least = np.full((cases.n_cases, len(cases.arms)), np.inf)
        np.minimum.at(least, cases.owner, every)
        return np.where(np.isfinite(least), least, 0.0)
    return np.tile(_least_given(cases, TRIMMED), (cases.n_cases, 1)) if vary_within(cases) else _case_chances(cases)


def _every_chance(cases: Cases) -> FloatArray | None:
    """The chance (R, K) of every option in every round; of two options, the other has the rest."""
    if cases.every_chance is not None or len(cases.arms) != 2 or contradict(cases):
        return cases.every_chance
    assert cases.chances is not None
    return np.where(cases.arm[:, None] == [0, 1], cases.chances[:, None], 1 - cases.chances[:, None])


def _least_given(cases: Cases, trimmed: float = 0.0) -> FloatArray:
    """The least chance (K,) with which each option was given, but for a part of all rounds (where it was given or not).

    A round that was given with chance p stands for 1/p rounds.
    """
    assert cases.chances is not None
    least = np.zeros(len(cases.arms))
    for k in range(len(least)):
        chance = np.sort(cases.chances[cases.arm == k])
        if chance.size:
            part = np.cumsum(1 / chance)
            least[k] = chance[np.searchsorted(part, trimmed * part[-1])]
    return least


def contexts_vary(cases: Cases) -> bool:
    """Whether the contexts of some case are not the same in all of its rounds."""
    return cases.contexts is not None and bool((cases.contexts != cases.contexts[cases.first[:-1]][cases.owner]).any())


def vary_within(cases: Cases) -> bool:
    """Whether some option's chance is not the same in all rounds of a case."""
    assert cases.chances is not None
    order = np.lexsort((cases.arm, cases.owner))
    same = (np.diff(cases.owner[order]) == 0) & (np.diff(cases.arm[order]) == 0)
    return bool((np.abs(np.diff(cases.chances[order]))[same] > SLACK).any())


def _case_chances(cases: Cases) -> FloatArray:
    """The chance (U, K) of each option in every round of a case; of those it was never given, a share of the rest."""
    assert cases.chances is not None
    found = np.full((cases.n_cases, len(cases.arms)), np.nan)
    found[cases.owner, cases.arm] = cases.chances
    unknown = np.isnan(found)
    rest = np.maximum(1 - np.nansum(found, axis=1), 0.0) / np.maximum(unknown.sum(axis=1), 1)
    return np.asarray(np.where(unknown, rest[:, None], found))


def shares(cases: Cases) -> FloatArray:
    """The share (K,) of each option in the rounds whose outcome is known."""
    return np.asarray(np.bincount(cases.arm[cases.told], minlength=len(cases.arms)) / max(int(cases.told.sum()), 1))


def chain_of(cases: Cases) -> FloatArray:
    """How likely (K + 1, K) each option comes after each, and at first."""
    share, K, follows = shares(cases), len(cases.arms), np.flatnonzero(cases.place > 0)
    pairs = np.zeros((K + 1, K))
    np.add.at(pairs, (cases.arm[follows - 1], cases.arm[follows]), 1.0)
    np.add.at(pairs, (K, cases.arm[cases.place == 0]), 1.0)
    return np.asarray((pairs + share) / (pairs.sum(axis=1, keepdims=True) + 1))
