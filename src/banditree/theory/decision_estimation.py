"""The decision-estimation coefficient, Eq. (4), bounded from both sides.

For a given omega it is a game between arms and tasks, one linear programme; over omega it is bilinear (NOTES 15).
From below: uniform omega on sets of tasks, then alternating programmes for omega and its opponent. From above: omega
is confined to a simplex; against a fixed pi its worst omega is a corner, so one programme over all corners bounds the
simplex, and halving the simplices that matter brings the bound down.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.separation import Sense, separations
from banditree.theory.randomised import Game, solve_game

EFFORT = 600  # simplices
LIST_UP_TO = 7  # tasks: all uniform omegas are tried
ALTERNATIONS = 20


@dataclass(frozen=True)
class Dec:
    """dec_gamma between `lower`, which `omega` attains, and `upper`, which holds for every omega."""

    lower: float
    upper: float
    omega: tuple[float, ...]
    policy: tuple[float, ...]

    @property
    def proven(self) -> bool:
        """Whether the bounds meet to a thousandth."""
        return self.upper - self.lower <= 1e-3 * max(abs(self.upper), 1e-12)


def dec(collection: Collection, gamma: float, *, subsets: Sequence[Sequence[int]] = (), effort: int = EFFORT) -> Dec:
    """dec_gamma of Eq. (4): max over omega of min over pi of max over i of E[Delta_i(k)] - gamma E[D_H^2(i, m)].

    gamma: what a unit of information is worth. subsets: sets of tasks on which to try a uniform omega, such as the
    worst one of the randomised coefficient. effort: simplices looked at for the upper bound. No contexts.

    >>> two = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
    >>> found = dec(two, gamma=0.5)
    >>> round(found.lower, 3), round(found.upper, 3)
    (0.049, 0.049)
    """
    if not (np.isfinite(gamma) and gamma >= 0):
        raise invalid("gamma", "a number of at least 0", gamma)
    if collection.theta is not None:
        raise InvalidInput("The decision-estimation coefficient is defined here for tasks without contexts.")
    squared = separations(collection, Sense.HELLINGER) ** 2  # (K, M, M)
    costs = _Costs(collection.gaps, gamma * squared)
    best, omega = max(
        ((costs.against(start).value, start) for start in _starts(collection, subsets)), key=lambda s: s[0]
    )
    best, omega = costs.alternate(omega, best)
    upper = costs.bound_all(best, effort)
    game = costs.against(omega)
    return Dec(best, max(best, upper), tuple(omega.tolist()), tuple(game.distribution.tolist()))


def _starts(collection: Collection, subsets: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Uniform omegas: on all tasks, on pairs or (few tasks) every set, and on the sets given."""
    M = collection.n_tasks
    sizes = range(1, M + 1) if M <= LIST_UP_TO else (2, M)
    sets = [list(members) for size in sizes for members in combinations(range(M), size)] + [list(s) for s in subsets]
    omegas = np.zeros((len(sets), M))
    for row, members in enumerate(sets):
        omegas[row, members] = 1 / len(members)
    return list(omegas)


@dataclass(frozen=True, eq=False)
class _Costs:
    """gaps (M, K) and weighted distances (K, M, M): the cost of arm k to task i is gaps - distances @ omega."""

    gaps: FloatArray
    distances: FloatArray

    def matrix(self, omega: FloatArray) -> FloatArray:
        """(M, K), rows the tasks."""
        return np.asarray(self.gaps - (self.distances @ omega).T)

    def against(self, *omegas: FloatArray) -> Game:
        """The least, over pi, of the most over tasks and over the omegas given."""
        game = solve_game(-np.concatenate([self.matrix(omega) for omega in omegas]))
        return game._replace(value=0.0 - game.value)

    def alternate(self, omega: FloatArray, value: float) -> tuple[float, FloatArray]:
        """Improve omega: the best one against the opponent's weights over tasks, again and again."""
        for _ in range(ALTERNATIONS):
            weights = self.against(omega).weights
            # max over omega of min over k of weights'gaps_k - (weights'distances_k) omega: a game, tests as its rows
            rows = (weights @ self.gaps)[:, None] - np.einsum("i,kim->km", weights, self.distances)
            other = solve_game(rows).distribution
            found = self.against(other).value
            if found <= value + 1e-12:
                break
            value, omega = found, other
        return value, omega

    def bound_all(self, lower: float, effort: int) -> float:
        """An upper bound over every omega: the most over simplices, halved along their longest edge."""
        M = self.gaps.shape[0]
        corners = np.eye(M)
        heap = [(-self.against(*corners).value, 0, corners)]
        for count in range(1, effort, 2):
            if -heap[0][0] <= lower + 1e-3 * abs(lower):
                break
            bound, _, corners = heapq.heappop(heap)
            length = np.linalg.norm(corners[:, None] - corners[None], axis=2)
            first, second = np.unravel_index(length.argmax(), length.shape)
            for moved in (first, second):
                half = corners.copy()
                half[moved] = (corners[first] + corners[second]) / 2
                heapq.heappush(heap, (-min(self.against(*half).value, -bound), count + int(moved == second), half))
        return -heap[0][0]
