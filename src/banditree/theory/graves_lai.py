"""What no uniformly good algorithm can beat in the long run: the Graves-Lai constant of each task."""

import math
from dataclasses import dataclass

import numpy as np

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import require_likelihood
from banditree.theory.per_context import per_context

CONTEXTS = 200  # The contexts that averages are taken over, where they vary.
SAME = 1e-12  # A smaller divergence tells nothing.


@dataclass(frozen=True)
class GravesLai:
    """What task `task` costs any uniformly good algorithm: regret of `constant` log H to first order.

    `pulls`: per arm, the pulls (times log H) that the cheapest plan makes, over all contexts. `confusing`: the tasks
    that playing the best arms of `task` for ever never tells from it although they want another arm; without any, the
    constant is 0.
    """

    task: int
    constant: float
    pulls: tuple[float, ...]
    confusing: tuple[int, ...]
    reason: str


def graves_lai(collection: Collection, task: int, *, n_contexts: int = CONTEXTS) -> GravesLai:
    """The Graves-Lai constant of one task: the least cost of telling it from every task that its best arms do not.

    min over eta >= 0 of sum_xk eta_xk Delta_xk subject to sum_xk eta_xk KL_xk(task, j) >= 1 for every confusing j, a
    linear programme; x are the contexts, `n_contexts` of them where they vary. A task j is confusing if its rewards are
    the same for the best arm at every context, and at some context none of the best arms of `task` is best in j. Often
    0 here: if the best arm itself tells the tasks apart, finding out is free in the long run.

    >>> graves_lai(Collection.bernoulli([[0.7, 0.6], [0.6, 0.7]]), 0).constant
    0.0
    >>> round(graves_lai(Collection.bernoulli([[0.7, 0.6], [0.7, 0.8]]), 0).constant, 4)
    0.9556
    """
    require_likelihood(collection.rewards, "The Graves-Lai constant")
    if not 0 <= task < collection.n_tasks:
        raise invalid("task", f"between 0 and {collection.n_tasks - 1}", task)
    if n_contexts < 1:
        raise invalid("n_contexts", "at least 1", n_contexts)
    gaps, parameters = per_context(collection, n_contexts)
    best = gaps == 0.0  # (X, M, K)
    told = collection.rewards.kl(parameters[:, task, None], parameters)  # (X, M, K)
    wants_another = ~(best & best[:, task, None]).any(axis=2).all(axis=0)
    seen_anyway = np.where(best[:, task, None], told, 0.0).max(axis=(0, 2))
    confusing = np.flatnonzero(wants_another & (seen_anyway <= SAME))
    none = (0.0,) * collection.n_arms
    if confusing.size == 0:
        reason = "its best arm, pulled for ever, tells it from every task that wants another arm"
        return GravesLai(task, 0.0, none, (), reason)
    # An arm that excludes j outright (infinite divergence) settles j with next to no pulls.
    hard = confusing[np.isfinite(told[:, confusing]).all(axis=(0, 2))]
    if hard.size == 0:
        reason = "one outcome of some arm is impossible in every confusing task, so o(log H) pulls are enough"
        return GravesLai(task, 0.0, none, tuple(confusing.tolist()), reason)
    if (told[:, hard].max(axis=(0, 2)) <= SAME).any():
        reason = "some confusing task has the same rewards for every arm: no algorithm can be good on both"
        return GravesLai(task, math.inf, none, tuple(confusing.tolist()), reason)
    return _cheapest(collection, task, gaps[:, task], told[:, hard], confusing)


def _cheapest(collection: Collection, task: int, gaps: FloatArray, told: FloatArray, confusing: IntArray) -> GravesLai:
    """The programme over contexts and arms; gaps: (X, K), told: (X, J, K)."""
    from scipy.optimize import linprog

    rows = np.moveaxis(told, 1, 0).reshape(told.shape[1], -1)
    answer = linprog(gaps.ravel(), A_ub=-rows, b_ub=-np.ones(len(rows)), method="highs")
    if answer.x is None or answer.fun is None:  # cannot be: some arm tells each confusing task
        raise ArithmeticError(f"The linear programme was not solved: {answer.message}")
    pulls = answer.x.reshape(gaps.shape).sum(axis=0)
    arms = ", ".join(repr(collection.arms[k]) for k in np.flatnonzero(pulls > 1e-9))
    reason = f"its best arm looks the same in {len(confusing)} other tasks, which only {arms} can rule out"
    return GravesLai(task, float(answer.fun), tuple(pulls.tolist()), tuple(confusing.tolist()), reason)
