"""Simulated cases of a plan, for trying out what monitoring and relearning do before there are real ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from banditree.cases.table import Cases
from banditree.errors import invalid
from banditree.monitoring.following import NO_CONTEXT, place_of
from banditree.plans.plan import Plan
from banditree.policies.follow import BOX
from banditree.policies.following import policy_for
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.cases import draw_cases
from banditree.tasks.collection import Collection

Drift = Callable[[FloatArray], FloatArray]  # days (...) -> what is added to the means of all arms then (..., K)


def simulate_cases(
    plan: Plan,
    truth: Collection,
    n_cases: int,
    *,
    rounds: int | None = None,
    days: float = 365.0,
    days_per_round: float = 1.0,
    drift: Drift | None = None,
    sites: tuple[str, ...] = (),
    seed: int = 0,
) -> Cases:
    """Cases of the kinds of `truth`, by its shares, that begin within `days` and follow the plan for `rounds` each.

    drift: what is added to the means as time goes by. sites: a label that cases have in turn.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"])
    >>> simulate_cases(build_tree(two, horizon=50), two, n_cases=10).first[-1]
    np.int64(500)
    """
    if n_cases < 1:
        raise invalid("n_cases", "at least 1", n_cases)
    T, rng = plan.horizon if rounds is None else rounds, np.random.default_rng([seed, 21])
    began = np.sort(rng.random(n_cases) * days)
    at = began[:, None] + days_per_round * (1 + np.arange(T))
    means = _means(truth, n_cases, rng)
    parameters = np.broadcast_to(means[:, None], (n_cases, T, *means.shape[1:]))
    if drift is not None:
        parameters = truth.rewards.shifted(parameters, drift(at))
    arm, box, reward = follow_many(plan, truth.rewards.sample(parameters, rng), seed)
    first = np.arange(n_cases + 1) * T
    labels = {"site": tuple(sites[u % len(sites)] for u in range(n_cases))} if sites else {}
    names = tuple(f"case {u + 1}" for u in range(n_cases))
    outcomes = np.full((arm.size, len(plan.arms)), np.nan)
    outcomes[np.arange(arm.size), arm] = reward
    about: dict[str, Any] = {"arm": arm, "at": at.ravel(), "box": box, "began": began, "labels": labels}
    return Cases(names, plan.arms, first, outcomes, **about)


def _means(truth: Collection, n_cases: int, rng: np.random.Generator) -> FloatArray:
    """The parameters (U, K, ...) of every case."""
    kind = rng.choice(truth.n_tasks, n_cases, p=truth.weights)
    if not truth.varies:
        return truth.parameters[kind]
    drawn = draw_cases(truth, n_cases, int(rng.integers(2**31)))
    return np.asarray(drawn.means[kind * n_cases + np.arange(n_cases)])


def follow_many(plan: Plan, outcomes: FloatArray, seed: int = 0) -> tuple[IntArray, IntArray, FloatArray]:
    """Arm, box and reward of every round, case by case, from what each arm would give in it (U, T, K)."""
    policy, every = policy_for(plan), np.ones(len(plan.arms), bool)
    params = policy.make(plan, plan.horizon, {})
    arms, boxes, rewards = [], [], []
    for number, case in enumerate(outcomes.tolist()):
        state = policy.init(params)
        place = place_of(state)
        for turn, given in enumerate(case, 1):
            arm = int(policy.choose(params, state, NO_CONTEXT, every, (seed, number, turn)))
            arms.append(arm)
            boxes.append(plan.place_of(int(place[BOX])))
            rewards.append(given[arm])
            policy.update(params, state, NO_CONTEXT, arm, given[arm])
    return np.array(arms, np.int64), np.array(boxes, np.int64), np.array(rewards, float)
