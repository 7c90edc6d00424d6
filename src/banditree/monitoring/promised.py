"""What the plan promised for exactly the cases that were seen: by their number of rounds and their likely kinds."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from banditree.certificates.certify import certify, course
from banditree.errors import InvalidInput
from banditree.plans.machine import machine_of
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection

MOST_LENGTHS = 5  # The ends are computed at this many numbers of rounds; others count as the nearest of these.


@dataclass(frozen=True, eq=False)
class Promised:
    """regret, undecided: (M, T + 1), expected after each round up to the longest case; ends: by rounds, (M, K), the
    chance that an option is then in force; empty where the rewards are known by their mean and range only."""

    regret: FloatArray
    undecided: FloatArray
    ends: dict[int, FloatArray]

    def loss(self, belief: FloatArray, rounds: IntArray) -> FloatArray:
        """The loss (U,) expected of cases of these lengths (U,) and likely kinds (U, M)."""
        return np.asarray((belief * self.regret[:, rounds].T).sum(axis=1))

    def settled(self, belief: FloatArray, rounds: IntArray) -> float:
        """The share of the cases that are expected to have settled."""
        return float(1 - (belief * self.undecided[:, rounds].T).sum(axis=1).mean())

    def in_force(self, belief: FloatArray, rounds: IntArray) -> FloatArray:
        """The share (K,) of the cases that each option is expected to be in force for."""
        nearest = self._lengths[np.abs(rounds[:, None] - self._lengths).argmin(axis=1)]
        return np.asarray(np.mean([belief[u] @ self.ends[int(n)] for u, n in enumerate(nearest)], axis=0))

    @cached_property
    def _lengths(self) -> IntArray:
        return np.array(sorted(self.ends))


def promised_for(plan: Plan, collection: Collection, rounds: IntArray) -> Promised | None:
    """The promise for cases of these lengths (U,), at the rates as they are given; None where it cannot be computed."""
    known = replace(trust_estimates(collection), spread=None)
    longest = int(rounds.max())
    try:
        path = course(plan, known, longest)
    except InvalidInput:
        return None
    lengths = np.unique(np.quantile(rounds[rounds > 0], np.linspace(0, 1, MOST_LENGTHS), method="nearest"))
    ends = {int(n): in_force_at(plan, known, int(n)) for n in lengths}
    return Promised(path.regret, path.undecided, ends)


def in_force_at(plan: Plan, known: Collection, rounds: int) -> FloatArray:
    """The chance (M, K) that each option is in force after a number of rounds."""
    certificate, boxes = certify(plan, known, rounds, must_rest=False), machine_of(plan)
    assert certificate.at_end is not None
    chance = np.zeros(known.means.shape)
    one = boxes.arm >= 0  # ends at which several options are given are part of none
    np.add.at(chance.T, boxes.arm[one], certificate.at_end.T[one])
    return chance
