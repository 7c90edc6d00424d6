"""A slow and obvious player of contextual plans, written without looking at the library's: many cases at once."""

import numpy as np

from banditree.plans.plan import NONE, BoxKind
from banditree.tasks.contexts import draw_contexts


def reward_means(truth, task, x):
    """(n, K): what each arm gives on average in one task at contexts x (n, d), within the range of the rewards."""
    return np.clip(x @ truth.theta[task].T, truth.rewards.low, truth.rewards.high)


def play_tests(plan, truth, task, n_cases, horizon, seed):
    """(regret (n,), box (n,)) of cases of one task that follow a tree of fixed tests, then an arm for good."""
    rng = np.random.default_rng(seed)
    box, pulls = np.zeros(n_cases, int), np.zeros(n_cases, int)
    total, regret = np.zeros(n_cases), np.zeros(n_cases)
    every = np.arange(n_cases)
    for _ in range(horizon):
        x = draw_contexts(truth.contexts, n_cases, rng)
        means = reward_means(truth, task, x)
        arm = plan.arm[box].copy()
        free = arm == NONE
        if free.any():
            wanted = np.einsum("nd,nkd->nk", x[free], plan.theta[plan.task[box[free]]])
            arm[free] = wanted.argmax(axis=1)
        regret += means.max(axis=1) - means[every, arm]
        total += truth.rewards.sample(means[every, arm], rng)
        pulls += 1
        done = (plan.kind[box] == BoxKind.FIXED) & (pulls == plan.pulls[box])
        low = total <= plan.threshold[box] + 1e-9
        box = np.where(done, np.where(low, plan.low[box], plan.high[box]), box)
        pulls[done], total[done] = 0, 0.0
    return regret, box
