"""A slow and obvious player of contextual plans, written without looking at the library's: many cases at once."""

import numpy as np
from boxes import arrays_of

from banditree.plans.counts import Counting
from banditree.plans.gives import NONE
from banditree.plans.points import PromiseTable
from banditree.tasks.contexts import draw_contexts


def reward_means(truth, task, x):
    """(n, K): what each arm gives on average in one task at contexts x (n, d)."""
    return linked(truth.rewards, x @ truth.theta[task].T)


def linked(rewards, value):
    """The mean reward where x'theta is value: on a logistic curve, or within the range of the rewards."""
    return 1 / (1 + np.exp(-value)) if rewards.link == "logistic" else np.clip(value, rewards.low, rewards.high)


def arm_of(plan, task, x):
    """What treating as a task gives at one context: its rule, question by question, or the highest prediction."""
    rule = plan.kind_rules[task] if plan.kind_rules else None
    if rule is None:
        return int((plan.theta[task] @ x).argmax())
    node = 0
    while rule.feature[node] >= 0:
        node = rule.low[node] if x[rule.feature[node]] <= rule.cut[node] else rule.high[node]
    return int(rule.arm[node])


def promised(plan, task, x, arm):
    """The chance of success that treating as a task promises at one context."""
    rule = plan.kind_rules[task] if plan.kind_rules else None
    if rule is None:
        return linked(plan.rewards, plan.theta[task, arm] @ x)
    node = 0
    while rule.feature[node] >= 0:
        node = rule.low[node] if x[rule.feature[node]] <= rule.cut[node] else rule.high[node]
    return rule.promise[node]


def points_of(plan, box, x, arm, reward):
    """The points of one outcome: of its bin, or the rounded logarithm of a ratio of chances."""
    grading = plan.grading_of(box)
    if grading is None:
        return int(arrays_of(plan).points[box][(arrays_of(plan).cuts[box] < reward).sum()])
    if isinstance(grading, PromiseTable):
        row = sum(promised(plan, int(arrays_of(plan).task[box]), x, arm) >= cut for cut in grading.cuts)
        return grading.rows[row][int(reward)]
    logs = []
    for task in (grading.favoured, grading.other):
        mean = linked(plan.rewards, plan.theta[task, arm] @ x)
        if plan.rewards.has_range:
            mean = min(max(mean, 1e-9), 1 - 1e-9)
            logs.append(np.log(mean if reward == 1 else 1 - mean))
        else:
            logs.append(-((reward - mean) ** 2) / (2 * plan.rewards.sigma**2))
    whole = np.floor((logs[0] - logs[1]) / grading.unit + 0.5)
    return int(np.clip(whole, -grading.most, grading.most))


def play(plan, truth, task, n_cases, horizon, seed):
    """(regret (n,), box (n,)) of cases of one task that follow a protocol, one case after the other."""
    rng = np.random.default_rng(seed)
    regrets, boxes = np.zeros(n_cases), np.zeros(n_cases, int)
    for case in range(n_cases):
        box, score = 0, 0
        xs = draw_contexts(truth.contexts, horizon, rng)
        means = reward_means(truth, task, xs)
        rewards = truth.rewards.sample(means, rng)
        for x, mean, reward in zip(xs, means, rewards, strict=True):
            arm = (
                int(arrays_of(plan).arm[box])
                if arrays_of(plan).arm[box] != NONE
                else arm_of(plan, int(arrays_of(plan).task[box]), x)
            )
            regrets[case] += mean.max() - mean[arm]
            end, rule = arrays_of(plan).kind[box] == Counting.EXPLOIT, plan.rule
            if end and rule is None:
                continue
            if end:
                score += rule.points[int((np.array(rule.cuts) < reward[arm]).sum())]
            else:
                score += points_of(plan, box, x, arm, reward[arm])
            cap, floor = (rule.cap, rule.floor) if end else (arrays_of(plan).cap[box], arrays_of(plan).floor[box])
            score = min(score, cap) if cap else score
            if arrays_of(plan).kind[box] == Counting.SCORE and score >= arrays_of(plan).ceil[box]:
                box, score = int(arrays_of(plan).high[box]), 0
            elif score <= -floor:
                box, score = 0 if end else int(arrays_of(plan).low[box]), 0
        boxes[case] = box
    return regrets, boxes


def play_tests(plan, truth, task, n_cases, horizon, seed):
    """(regret (n,), box (n,)) of cases of one task that follow a tree of fixed tests, then an arm for good."""
    rng = np.random.default_rng(seed)
    box, pulls = np.zeros(n_cases, int), np.zeros(n_cases, int)
    total, regret = np.zeros(n_cases), np.zeros(n_cases)
    every = np.arange(n_cases)
    for _ in range(horizon):
        x = draw_contexts(truth.contexts, n_cases, rng)
        means = reward_means(truth, task, x)
        arm = arrays_of(plan).arm[box].copy()
        free = arm == NONE
        if free.any():
            wanted = np.einsum("nd,nkd->nk", x[free], plan.theta[arrays_of(plan).task[box[free]]])
            arm[free] = wanted.argmax(axis=1)
        regret += means.max(axis=1) - means[every, arm]
        total += truth.rewards.sample(means[every, arm], rng)
        pulls += 1
        done = (arrays_of(plan).kind[box] == Counting.FIXED) & (pulls == arrays_of(plan).pulls[box])
        low = total <= arrays_of(plan).threshold[box] + 1e-9
        box = np.where(done, np.where(low, arrays_of(plan).low[box], arrays_of(plan).high[box]), box)
        pulls[done], total[done] = 0, 0.0
    return regret, box
