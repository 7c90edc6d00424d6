"""The decision-estimation coefficient, Eq. (4), bounded from both sides, with and without contexts.

For a given omega it is a game between arms and tasks, one linear programme; over omega it is bilinear (NOTES 15).
From below: uniform omega on sets of tasks, then alternating programmes for omega and its opponent. From above: omega is
confined to a simplex, and the policy may depend on it, as a mixture of one policy per corner in the shares that make up
omega. The cost is then quadratic in the shares, and a quadratic form on a simplex is at most its largest coefficient:
one programme over all pairs of corners, whose error falls with the square of the size. Few simplices have to be halved.
With contexts a policy chooses an arm at each of them, and both the cost and the information are averages over contexts.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.theory.bounds import Bound
from banditree.theory.per_context import per_context, squared_distances

EFFORT = 400  # At most this many simplices are looked at.
CONTEXTS = 40  # Averages are taken over this many contexts, where they vary.
LIST_UP_TO = 7  # Up to this many tasks, all uniform omegas are tried.
ALTERNATIONS = 20  # Omega and its opponent are improved in turn at most this many times.
MEET = 1e-2  # The gamma of the lower bound is found this closely.
CLOSE = 1e-3  # Bounds with a smaller relative gap count as met.


@dataclass(frozen=True)
class Dec:
    """dec_gamma between `lower`, which `omega` attains, and `upper`, which holds for every omega.

    `policy`: how often the best policy against omega pulls each arm, on average over contexts.
    """

    lower: float
    upper: float
    omega: tuple[float, ...]
    policy: tuple[float, ...]

    @property
    def proven(self) -> bool:
        """Whether the bounds meet to a thousandth."""
        return self.upper - self.lower <= CLOSE * max(abs(self.upper), 1e-12)


def dec(
    collection: Collection,
    gamma: float,
    *,
    subsets: Sequence[Sequence[int]] = (),
    effort: int = EFFORT,
    n_contexts: int = CONTEXTS,
) -> Dec:
    """dec_gamma of Eq. (4): max over omega of min over pi of max over i of E[Delta_i(k)] - gamma E[D_H^2(i, m)].

    gamma: what a unit of information is worth. subsets: sets of tasks on which to try a uniform omega, such as the
    worst one of the randomised coefficient. effort: simplices looked at for the upper bound. Where contexts vary, pi is
    a rule from contexts to arms, and the averages are over `n_contexts` of them.

    >>> two = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
    >>> found = dec(two, gamma=0.5)
    >>> round(found.lower, 3), round(found.upper, 3)
    (0.049, 0.049)
    """
    if not (np.isfinite(gamma) and gamma >= 0):
        raise invalid("gamma", "a number of at least 0", gamma)
    if n_contexts < 1:
        raise invalid("n_contexts", "at least 1", n_contexts)
    gaps = per_context(collection, n_contexts).gaps
    search = _Search(gaps / len(gaps), gamma * squared_distances(collection, n_contexts) / len(gaps))
    for start in _starts(collection.n_tasks, subsets, few=len(gaps) > 1):
        search.try_omega(start)
    search.alternate(search.omega)
    upper = search.bound_all(effort)
    policy = search.against(search.omega).policy.sum(axis=0) / len(gaps)
    return Dec(search.best, max(search.best, upper), tuple(search.omega.tolist()), tuple(policy.tolist()))


def dec_regret_bound(collection: Collection, horizon: int) -> Bound:
    """The appendix's lower bound: max over gamma >= sqrt(H) of min((dec_gamma - delta) H, gamma), constants omitted.

    Any algorithm loses this much, up to absolute constants that the paper does not give, with a chance of at least
    delta = 1/H in some task. dec_gamma falls as gamma grows, so the maximum is where the two meet, or at sqrt(H) if
    they meet below. More rounds never lose less, so the best of H, H/2, H/4, ... counts.

    >>> found = dec_regret_bound(Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]]), 10_000)
    >>> round(found.value, 2), found.parts["horizon"]
    (1.43, 156.0)
    """
    if horizon < 1:
        raise invalid("horizon", "at least 1", horizon)
    rounds = [horizon >> halved for halved in range(horizon.bit_length())]
    value, gamma, used = max(_least_lost(collection, one) for one in rounds)
    parts = {"gamma": gamma, "horizon": float(used)}
    return Bound(value, parts, "the lower bound of the appendix for Theorem 3.3, without its absolute constants")


def _least_lost(collection: Collection, horizon: int) -> tuple[float, float, int]:
    """The bound at exactly this horizon, its gamma, and the horizon."""

    def lost(gamma: float) -> float:
        return max(dec(collection, gamma, effort=1).lower * horizon - 1, 0.0)

    low, high = float(np.sqrt(horizon)), float(horizon)
    at_low = lost(low)
    while at_low > low and high - low > MEET * high:
        middle = float(np.sqrt(low * high))
        value = lost(middle)
        if value > middle:
            low, at_low = middle, value
        else:
            high = middle
    return min(at_low, low), low, horizon


def _starts(n_tasks: int, subsets: Sequence[Sequence[int]], few: bool) -> list[FloatArray]:
    """Uniform omegas: on all tasks, on pairs or (few tasks) every set, and on the sets given."""
    sizes = (1, 2, n_tasks) if few or n_tasks > LIST_UP_TO else range(1, n_tasks + 1)
    sets = [list(members) for size in sizes for members in combinations(range(n_tasks), size)]
    sets += [list(members) for members in subsets]
    omegas = np.zeros((len(sets), n_tasks))
    for row, members in enumerate(sets):
        omegas[row, members] = 1 / len(members)
    return list(omegas)


class Answer(NamedTuple):
    """What a policy (B, K), one distribution over arms per block, can keep the worst row at.

    `most`: its cost in the worst row. `least`: what `weights` (R,) over rows prove that no policy is below.
    """

    least: float
    most: float
    policy: FloatArray
    weights: FloatArray


def least_worst(costs: FloatArray) -> Answer:
    """min over policies of max over rows r of sum over b, k of policy[b, k] costs[r, b, k]; costs: (R, B, K).

    >>> round(least_worst(np.array([[[1.0, 0.0]], [[0.0, 1.0]]])).most, 9)
    0.5
    """
    from scipy.optimize import linprog

    R, B, K = costs.shape
    one_each = np.hstack([np.kron(np.eye(B), np.ones(K)), np.zeros((B, 1))])
    answer = linprog(
        np.append(np.zeros(B * K), 1.0),
        A_ub=np.hstack([costs.reshape(R, -1), -np.ones((R, 1))]),
        b_ub=np.zeros(R),
        A_eq=one_each,
        b_eq=np.ones(B),
        bounds=[(0.0, None)] * (B * K) + [(None, None)],
        method="highs",
    )
    if answer.x is None:  # cannot be: the programme has a finite optimum
        raise ArithmeticError(f"The linear programme was not solved: {answer.message}")
    policy = np.maximum(answer.x[:-1], 0.0).reshape(B, K)
    policy /= policy.sum(axis=1, keepdims=True)
    weights = np.maximum(-answer.ineqlin.marginals, 0.0)
    weights /= weights.sum()
    most = np.einsum("rbk,bk->r", costs, policy).max()
    least = np.einsum("r,rbk->bk", weights, costs).min(axis=1).sum()
    return Answer(float(least), float(most), policy, weights)


class _Search:
    """gaps (X, M, K) and weighted distances (X, K, M, M), per context; the best omega so far."""

    def __init__(self, gaps: FloatArray, distances: FloatArray) -> None:
        self.gaps, self.distances = gaps, distances
        self.best, self.omega = -np.inf, np.zeros(gaps.shape[1])

    def costs(self, omega: FloatArray) -> FloatArray:
        """(M, X, K), rows the tasks: gaps - distances @ omega."""
        return np.moveaxis(self.gaps - np.swapaxes(self.distances @ omega, 1, 2), 1, 0)

    def against(self, omega: FloatArray) -> Answer:
        """The least, over policies, of the most over tasks."""
        return least_worst(self.costs(omega))

    def try_omega(self, omega: FloatArray) -> Answer:
        """Its value, kept if it is the largest so far."""
        answer = self.against(omega)
        if answer.least > self.best:
            self.best, self.omega = answer.least, omega
        return answer

    def alternate(self, omega: FloatArray) -> None:
        """Improve omega: the best one against the opponent's weights over tasks, again and again."""
        answer = self.try_omega(omega)
        for _ in range(ALTERNATIONS):
            # max over omega of the sum over x of min over k of a linear function: a game, whose rows are omega's tasks
            fixed = np.einsum("i,xik->xk", answer.weights, self.gaps)
            told = np.einsum("i,xkim->mxk", answer.weights, self.distances)
            found = self.try_omega(least_worst(fixed[None] - told).weights)
            if found.least <= answer.least + 1e-12:
                break
            answer = found

    def bound(self, corners: FloatArray) -> tuple[float, FloatArray]:
        """An upper bound over all omega between the corners (C, M), and how much the dual blames each pair (C, C)."""
        at = np.stack([self.costs(omega) for omega in corners])  # (C, M, X, K)
        C, M, X, K = at.shape
        first, second = np.triu_indices(C)
        rows = np.zeros((len(first), M, C, X, K))
        for row, (c, e) in enumerate(zip(first, second, strict=True)):
            rows[row, :, c] += at[e] / 2  # the policy of one corner at the omega of the other, and the other way round
            rows[row, :, e] += at[c] / 2
        answer = least_worst(rows.reshape(len(first) * M, C * X, K))
        blame = np.zeros((C, C))
        blame[first, second] = answer.weights.reshape(len(first), M).sum(axis=1)
        return answer.most, blame + blame.T

    def bound_all(self, effort: int) -> float:
        """An upper bound over every omega: the most over simplices, halved between the corners that matter most."""
        corners = np.eye(self.gaps.shape[1])
        upper, blame = self.bound(corners)
        heap = [(-upper, 0, corners, blame)]
        for count in range(1, effort, 2):
            upper, _, corners, blame = heapq.heappop(heap)
            self.alternate(blame.sum(axis=1) @ corners / blame.sum())
            if -upper <= self.best + CLOSE * abs(self.best):
                return -upper
            share = blame.sum(axis=1)
            length = np.linalg.norm(corners[:, None] - corners[None], axis=2)
            first, second = np.unravel_index((length * (np.minimum.outer(share, share) + 1e-9)).argmax(), length.shape)
            for moved in (first, second):
                half = corners.copy()
                half[moved] = (corners[first] + corners[second]) / 2
                found, blamed = self.bound(half)
                heapq.heappush(heap, (-min(found, -upper), count + int(moved == second), half, blamed))
        return -heap[0][0]
