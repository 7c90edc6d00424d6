"""What no plan can beat over a few rounds: the Bayes-optimal regret of small collections."""

import math
from dataclasses import dataclass

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, frozen_numbers
from banditree.tasks.collection import Collection

GRID = 2_001  # Two tasks are solved at this many beliefs.
MAX_STATES = 300_000  # For more tasks, at most this many beliefs are listed.


@dataclass(frozen=True)
class BayesRegret:
    """The least expected regret under the prior, between `lower` and `upper` (a plan that has it exists)."""

    lower: float
    upper: float


def bayes_regret(collection: Collection, horizon: int, prior: object = None, *, grid: int = GRID) -> BayesRegret:
    """The Bayes-optimal regret over `horizon` rounds, by dynamic programming over beliefs: no plan does better.

    Two tasks: on a grid of log-odds, from below with the value interpolated (it is concave), from above with a plan.
    More tasks: every belief that can arise, which is exact, and feasible for short horizons only. Rewards of a few
    possible values, no contexts.

    prior: (M,), uniform by default.

    >>> two = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
    >>> found = bayes_regret(two, 100, grid=501)
    >>> round(found.lower, 2), round(found.upper, 2)
    (2.44, 2.46)
    """
    if collection.theta is not None or not collection.rewards.support:
        raise InvalidInput(
            "The Bayes-optimal regret is only worked out for rewards of a few possible values, without contexts."
        )
    if horizon < 1:
        raise invalid("horizon", "at least 1", horizon)
    M = collection.n_tasks
    p = np.full(M, 1 / M) if prior is None else frozen_numbers("prior", prior, 1)
    if p.shape != (M,) or p.min() < 0 or not math.isclose(p.sum(), 1.0, abs_tol=1e-9):
        raise invalid("prior", f"{M} probabilities that add up to 1", prior)
    if M == 2:
        return _on_grid(collection, horizon, float(p[1]), grid)
    value = list_beliefs(collection, horizon, p)
    return BayesRegret(value, value)


def outcome_chances(collection: Collection) -> FloatArray:
    """The chance (G, M, K) of every possible reward, the best first."""
    return collection.rewards.outcome_chances(collection.parameters)[::-1]


def list_beliefs(collection: Collection, horizon: int, prior: FloatArray) -> float:
    """The Bayes-optimal regret through every belief that can arise: counts of every possible reward per arm.

    >>> list_beliefs(Collection.bernoulli([[0.7, 0.6], [0.6, 0.7]]), 1, np.array([0.5, 0.5])).__round__(3)
    0.05
    """
    K = collection.n_arms
    chances = outcome_chances(collection)
    G = len(chances)
    if math.comb(horizon - 1 + G * K, G * K) > MAX_STATES:
        raise InvalidInput(
            f"{horizon} rounds of {K} arms give too many beliefs to list for {collection.n_tasks} tasks. "
            "Give a shorter horizon, or two tasks, which can be solved for any horizon."
        )
    known: dict[tuple[int, ...], float] = {}
    gaps = collection.gaps

    def value(weights: FloatArray, counts: tuple[int, ...], left: int) -> float:
        """The least regret to come, weighted: `weights` are prior times likelihood, not normalised."""
        if left == 0:
            return 0.0
        if counts not in known:
            options = []
            for k in range(K):
                cost = float(weights @ gaps[:, k])
                for outcome in range(G):
                    spot = G * k + outcome
                    after = (*counts[:spot], counts[spot] + 1, *counts[spot + 1 :])
                    cost += value(weights * chances[outcome, :, k], after, left - 1)
                options.append(cost)
            known[counts] = min(options)
        return known[counts]

    return value(prior, (0,) * (G * K), horizon)


def _on_grid(collection: Collection, horizon: int, prior: float, grid: int) -> BayesRegret:
    """Both bounds for two tasks; the belief is the chance of the second task."""
    reach = 1.5 * math.log(10 * horizon) + 3  # a wrong choice beyond these log-odds costs next to nothing
    inner = 1 / (1 + np.exp(-np.linspace(-reach, reach, grid)))
    beliefs = np.unique(np.concatenate([[0.0, prior, 1.0], inner]))
    belief = np.stack([1 - beliefs, beliefs])  # (2, G)
    chance = outcome_chances(collection)  # (G outcomes, 2 tasks, K)
    seen = np.einsum("oik,ig->okg", chance, belief)
    after = np.divide(chance[:, 1, :, None] * beliefs, seen, out=np.zeros_like(seen), where=seen > 0)
    right = np.clip(np.searchsorted(beliefs, after), 1, len(beliefs) - 1)
    share = (after - beliefs[right - 1]) / (beliefs[right] - beliefs[right - 1])
    cost = collection.gaps.T @ belief  # (K, G)
    below = np.zeros(len(beliefs))
    above = np.zeros((2, len(beliefs)))  # the regret, in either task, of the plan kept for each belief
    points = np.arange(len(beliefs))
    for _ in range(horizon):
        ahead = below[right - 1] * (1 - share) + below[right] * share
        below = (cost + (seen * ahead).sum(axis=0)).min(axis=0)
        plans = np.stack([above[:, right - 1], above[:, right]])  # (2 neighbours, 2 tasks, G outcomes, K, grid)
        value = plans[:, 0] * (1 - after) + plans[:, 1] * after
        chosen = np.where(value[0] <= value[1], plans[0], plans[1])
        total = collection.gaps[:, :, None] + np.einsum("oik,iokg->ikg", chance, chosen)  # (2 tasks, K, G)
        arm = np.einsum("ig,ikg->kg", belief, total).argmin(axis=0)
        above = total[:, arm, points]
    start = int(np.searchsorted(beliefs, prior))
    return BayesRegret(float(below[start]), float(belief[:, start] @ above[:, start]))
