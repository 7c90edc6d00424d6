"""What no plan can beat: the Graves-Lai constant of each task, and the Bayes-optimal regret of small collections."""

import math
from dataclasses import dataclass

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, IntArray, frozen_numbers
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import require_likelihood

GRID = 2_001  # beliefs at which two tasks are solved
MAX_STATES = 300_000  # beliefs that are listed for more tasks
SAME = 1e-12  # a divergence below this tells nothing


@dataclass(frozen=True)
class GravesLai:
    """What task `task` costs any uniformly good algorithm: regret of `constant` log H to first order.

    `pulls`: per arm, the pulls (times log H) that the cheapest plan makes. `confusing`: the tasks that playing the best
    arm of `task` for ever never tells from it although they want another arm; without any, the constant is 0.
    """

    task: int
    constant: float
    pulls: tuple[float, ...]
    confusing: tuple[int, ...]
    reason: str


def graves_lai(collection: Collection, task: int) -> GravesLai:
    """The Graves-Lai constant of one task: the least cost of telling it from every task that its best arm does not.

    min over eta >= 0 of sum_k eta_k Delta_k subject to sum_k eta_k KL_k(task, j) >= 1 for every confusing j, a linear
    programme. Often 0 here: if the best arm itself tells the tasks apart, finding out is free in the long run.

    >>> graves_lai(Collection.bernoulli([[0.7, 0.6], [0.6, 0.7]]), 0).constant
    0.0
    >>> round(graves_lai(Collection.bernoulli([[0.7, 0.6], [0.7, 0.8]]), 0).constant, 4)
    0.9556
    """
    if collection.theta is not None:
        raise InvalidInput("The Graves-Lai constant is worked out here for tasks without contexts.")
    require_likelihood(collection.rewards, "The Graves-Lai constant")
    if not 0 <= task < collection.n_tasks:
        raise invalid("task", f"between 0 and {collection.n_tasks - 1}", task)
    best = _best(collection)
    told = collection.rewards.kl(collection.parameters[task][None], collection.parameters)  # (M, K)
    wants_another = ~(best & best[task]).any(axis=1)
    confusing = np.flatnonzero(wants_another & (told[:, best[task]].max(axis=1) <= SAME))
    none = (0.0,) * collection.n_arms
    if confusing.size == 0:
        reason = "its best arm, pulled for ever, tells it from every task that wants another arm"
        return GravesLai(task, 0.0, none, (), reason)
    # An arm that excludes j outright (infinite divergence) settles j with next to no pulls.
    hard = confusing[np.isfinite(told[confusing]).all(axis=1)]
    if hard.size == 0:
        reason = "one outcome of some arm is impossible in every confusing task, so o(log H) pulls are enough"
        return GravesLai(task, 0.0, none, tuple(confusing.tolist()), reason)
    if (told[hard].max(axis=1) <= SAME).any():
        reason = "some confusing task has the same rewards for every arm: no algorithm can be good on both"
        return GravesLai(task, math.inf, none, tuple(confusing.tolist()), reason)
    return _cheapest(collection, task, told[hard], confusing)


def _cheapest(collection: Collection, task: int, told: FloatArray, confusing: IntArray) -> GravesLai:
    from scipy.optimize import linprog

    answer = linprog(collection.gaps[task], A_ub=-told, b_ub=-np.ones(len(told)), method="highs")
    if answer.x is None or answer.fun is None:  # cannot be: some arm tells each confusing task
        raise ArithmeticError(f"The linear programme was not solved: {answer.message}")
    arms = ", ".join(repr(collection.arms[k]) for k in np.flatnonzero(answer.x > 1e-9))
    reason = f"its best arm looks the same in {len(confusing)} other tasks, which only {arms} can rule out"
    return GravesLai(task, float(answer.fun), tuple(answer.x.tolist()), tuple(confusing.tolist()), reason)


def _best(collection: Collection) -> np.ndarray:
    """Which arms are best in which task, (M, K)."""
    return np.asarray(collection.means == collection.means.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class BayesRegret:
    """The least expected regret under the prior, between `lower` and `upper` (a plan that has it exists)."""

    lower: float
    upper: float


def bayes_regret(collection: Collection, horizon: int, prior: object = None, *, grid: int = GRID) -> BayesRegret:
    """The Bayes-optimal regret over `horizon` rounds, by dynamic programming over beliefs: no plan does better.

    Two tasks: on a grid of log-odds, from below with the value interpolated (it is concave), from above with a plan.
    More tasks: every belief that can arise, which is exact but for short horizons only. Rewards of a few possible
    values, no contexts.

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
