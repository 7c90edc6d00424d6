"""Every policy on every kind of collection it takes, and a loop so plain that it can be read as a definition."""

import math

import numpy as np

from banditree.policies import random
from banditree.policies.registry import POLICIES, policy_named
from banditree.policies.session import Session
from banditree.simulation.playing import draw_context, world_of
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.rewards import Family

HORIZON = 400
COLLECTIONS = {
    "rand": lambda: rand(4, 5, 0.5),
    "hard": lambda: hard(3, 6, 0.45, 0.01),
    "certain": lambda: Collection.bernoulli([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5, 0.5, 1.0]]),
    "gaussian": lambda: Collection.gaussian([[0.0, 1.0, 0.4], [1.0, 0.0, 0.5], [0.2, 0.3, 2.0]], sigma=0.5),
    "linear": lambda: linear(4, 5, 3, 0.3),
    "bounded": lambda: Collection.bounded([[1.0, 4.0], [4.0, 1.0], [2.5, 3.0]], low=0.0, high=5.0),
    "graded": lambda: Collection.graded(
        [
            [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]],
            [[0.1, 0.1, 0.8], [0.5, 0.0, 0.5], [0.4, 0.2, 0.4]],
            [[0.3, 0.3, 0.4], [0.6, 0.4, 0.0], [0.0, 0.1, 0.9]],
        ],
        [0.0, 1.0, 5.0],
    ),
}
NEEDS_LIKELIHOOD = {"mts", "mmts", "mmts-index", "mids", "ece", "random-ece"}
NAMES = [*POLICIES, "dt-ece+alarm", "mts+alarm", "mucb+alarm"]


def takes(name, kind):
    base = name.removesuffix("+alarm")
    if kind == "bounded":
        return base not in NEEDS_LIKELIHOOD
    if kind == "linear" and base in ("mmts", "mmts-index"):
        return False
    return not (base == "bernoulli-ts" and kind in ("gaussian", "linear"))


CASES = [(name, kind) for name in NAMES for kind in COLLECTIONS if takes(name, kind)]


def context_of(truth, world, seed, task, run, t):
    if truth.contexts is None:
        return np.zeros(0)
    context = np.zeros(truth.contexts.n_features)
    draw_context(world, seed, task, run, t, context)
    return context


def reward_of(truth, context, seed, task, run, arm, pull):
    """The reward of a pull, straight from the definition of the keys and of the families."""
    first, second = random.reward_uniforms(seed, task, run, arm, truth.n_arms, pull)
    mean = truth.means[task, arm] if truth.contexts is None else float(context @ truth.theta[task, arm])
    rewards = truth.rewards
    if rewards.family is Family.GAUSSIAN:
        return mean + rewards.sigma * math.sqrt(-2 * math.log(1 - first)) * math.cos(2 * math.pi * second)
    if rewards.family is Family.GRADED:
        return rewards.values[int((first >= np.cumsum(truth.chances[task, arm])[:-1]).sum())]
    return rewards.high if first < (mean - rewards.low) / (rewards.high - rewards.low) else rewards.low


def play_plainly(name, truth, horizon, seed=0, task=0, run=0, policy=None):
    """(arms, regret after each round) of one run, by asking the policy's functions round after round."""
    policy = policy or policy_named(name)
    params = policy.make(truth, horizon, {})
    state, world = policy.init(params), world_of(truth)
    pulls, total = [0] * truth.n_arms, 0.0
    arms, regret = [], []
    for t in range(1, horizon + 1):
        context = context_of(truth, world, seed, task, run, t)
        key = (seed, run * truth.n_tasks + task, t)
        arm = policy.choose(params, state, context, np.ones(truth.n_arms, bool), key)
        means = truth.means[task] if truth.contexts is None else truth.theta[task] @ context
        total += means.max() - means[arm]
        policy.update(params, state, context, arm, reward_of(truth, context, seed, task, run, arm, pulls[arm]))
        if policy.replan is not None:
            policy.replan(params, state)
        pulls[arm] += 1
        arms.append(arm)
        regret.append(total)
    return arms, regret


def start(name, kind, seed=3, case=5, horizon=HORIZON):
    """A collection, and a live session of a policy that knows it."""
    truth = COLLECTIONS[kind]()
    return truth, Session(policy_named(name), truth, horizon=horizon, seed=seed, case=case)


def go_on(session, truth, n, task=1, run=0, seed=3):
    """Play n more rounds with keyed rewards; the arms."""
    world, pulls, arms = world_of(truth), [0] * truth.n_arms, []
    for entry in session.rounds:
        pulls[entry.arm] += 1
    for _ in range(n):
        t = len(session.rounds) + 1
        context = context_of(truth, world, seed, task, run, t)
        step = session.ask(context=context if context.size else None)
        session.tell(reward_of(truth, context, seed, task, run, step.arm, pulls[step.arm]), step.round)
        pulls[step.arm] += 1
        arms.append(step.arm)
    return arms
