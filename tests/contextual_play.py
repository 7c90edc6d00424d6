"""A slow and obvious player of contextual plans, written without looking at the library's: many cases at once."""

import numpy as np
from boxes import arrays_of

from banditree.plans.counts import Counting
from banditree.plans.gives import NONE
from banditree.plans.points import ByOutcome, PromiseTable
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
    line = plan.rows[box]
    points = line.counts.points
    if isinstance(points, ByOutcome):
        return points.points[sum(cut < reward for cut in points.cuts)]
    if isinstance(points, PromiseTable):
        row = sum(promised(plan, plan.task_numbers[line.gives.task], x, arm) >= cut for cut in points.cuts)
        return points.rows[row][int(reward)]
    logs = []
    for task in (points.favoured, points.other):
        mean = linked(plan.rewards, plan.theta[plan.task_numbers[task], arm] @ x)
        if plan.rewards.has_range:
            mean = min(max(mean, 1e-9), 1 - 1e-9)
            logs.append(np.log(mean if reward == 1 else 1 - mean))
        else:
            logs.append(-((reward - mean) ** 2) / (2 * plan.rewards.sigma**2))
    whole = np.floor((logs[0] - logs[1]) / points.unit + 0.5)
    return int(np.clip(whole, -points.most, points.most))


def play(plan, truth, task, n_cases, horizon, seed):
    """(regret (n,), box (n,)) of cases of one task that follow a protocol, one case after the other."""
    rng, rows = np.random.default_rng(seed), arrays_of(plan)
    regrets, boxes = np.zeros(n_cases), np.zeros(n_cases, int)
    for case in range(n_cases):
        box, score = 0, 0
        xs = draw_contexts(truth.contexts, horizon, rng)
        means = reward_means(truth, task, xs)
        rewards = truth.rewards.sample(means, rng)
        for x, mean, reward in zip(xs, means, rewards, strict=True):
            arm = int(rows.arm[box]) if rows.arm[box] != NONE else arm_of(plan, int(rows.task[box]), x)
            regrets[case] += mean.max() - mean[arm]
            end, rule = rows.kind[box] == Counting.EXPLOIT, plan.rule
            if end and rule is None:
                continue
            if end:
                score += rule.points[int((np.array(rule.cuts) < reward[arm]).sum())]
            else:
                score += points_of(plan, box, x, arm, reward[arm])
            cap, floor = (rule.cap, rule.floor) if end else (rows.cap[box], rows.floor[box])
            score = min(score, cap) if cap else score
            if rows.kind[box] == Counting.SCORE and score >= rows.ceil[box]:
                box, score = int(rows.high[box]), 0
            elif score <= -floor:
                box, score = 0 if end else int(rows.low[box]), 0
        boxes[case] = box
    return regrets, boxes


def play_tests(plan, truth, task, n_cases, horizon, seed):
    """(regret (n,), box (n,)) of cases of one task that follow a tree of fixed tests, then an arm for good."""
    rng, rows = np.random.default_rng(seed), arrays_of(plan)
    box, pulls = np.zeros(n_cases, int), np.zeros(n_cases, int)
    total, regret = np.zeros(n_cases), np.zeros(n_cases)
    every = np.arange(n_cases)
    for _ in range(horizon):
        x = draw_contexts(truth.contexts, n_cases, rng)
        means = reward_means(truth, task, x)
        arm = rows.arm[box].copy()
        free = arm == NONE
        if free.any():
            wanted = np.einsum("nd,nkd->nk", x[free], plan.theta[rows.task[box[free]]])
            arm[free] = wanted.argmax(axis=1)
        regret += means.max(axis=1) - means[every, arm]
        total += truth.rewards.sample(means[every, arm], rng)
        pulls += 1
        done = (rows.kind[box] == Counting.FIXED) & (pulls == rows.pulls[box])
        low = total <= rows.threshold[box] + 1e-9
        box = np.where(done, np.where(low, rows.low[box], rows.high[box]), box)
        pulls[done], total[done] = 0, 0.0
    return regret, box
