"""Certificates against 100,000 simulated cases per task, on everything that a simulation can see."""

from dataclasses import replace

import numpy as np
import pytest
from boxes import Box, arrays_of, assemble
from example_plans import FIVE, protocol
from numba import njit

from banditree.certificates.certify import certify
from banditree.plans.counts import Counting, Rounds
from banditree.plans.plan import SafetyRule
from banditree.policies.follow import follow, update_follow
from banditree.simulation.compiling import compiled
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, rand
from banditree.tasks.rewards import BERNOULLI, Family
from banditree.trees.tree import build_tree

RUNS = 100_000
EXPLOIT = int(Counting.EXPLOIT)


@njit
def play(update, state, params, means, gaps, sigma, horizon, n_runs, seed):
    """(n_runs, 3): regret, tests, and the leaf reached or -1."""
    np.random.seed(seed)  # noqa: NPY002 (numba's own generator, seeded here)
    out = np.zeros((n_runs, 3))
    for run in range(n_runs):
        state.place[:] = 0
        state.total[:] = 0.0
        regret, t = 0.0, 0
        while t < horizon and params.kind[state.place[0]] != EXPLOIT:
            arm = params.arm[state.place[0]]
            if sigma > 0:
                reward = means[arm] + sigma * np.random.standard_normal()  # noqa: NPY002
            else:
                reward = 1.0 if np.random.random() < means[arm] else 0.0  # noqa: NPY002
            update(params, state, means, arm, reward)
            regret += gaps[arm]
            t += 1
        box = state.place[0]
        out[run, 1] = t
        out[run, 2] = -1
        if params.kind[box] == EXPLOIT:
            out[run, 2] = box
            regret += (horizon - t) * gaps[params.arm[box]]
        out[run, 0] = regret
    return out


def random_score_plan(collection, seed, horizon):
    """Six score boxes in a row with a link back at the end, and one leaf per arm."""
    rng = np.random.default_rng(seed)
    n_tests, n_arms = 6, collection.n_arms
    tests = []
    for place in range(n_tests):
        low, high = rng.integers(place + 1, n_tests + n_arms, 2)
        points = (-int(rng.integers(1, 4)), int(rng.integers(1, 4)))
        floor, ceil = (int(level) for level in rng.integers(1, 9, 2))
        back = 0 if place == n_tests - 1 else int(low)
        tests.append(Box(int(rng.integers(n_arms)), back, int(high), points=points, floor=floor, ceil=ceil))
    return assemble([*tests, *(Box(k) for k in range(n_arms))], collection, horizon)


def hasty(plan, share):
    """The plan with a fraction of the pulls, so that errors are frequent enough to be seen."""

    def fewer(line):
        if not isinstance(line.counts, Rounds):
            return line
        rounds = max(line.counts.rounds // share, 1)
        limit = line.counts.at_most / line.counts.rounds * rounds
        return replace(line, counts=Rounds(rounds, np.floor(limit) if plan.rewards == BERNOULLI else limit))

    return replace(plan, lines=tuple(map(fewer, plan.lines)))


def plans():
    for seed in range(3):
        collection = rand(4, 5, 0.3, seed=seed)
        yield hasty(build_tree(collection, 600), 12), collection
    collection = hard(4, 8, 0.4, 0.01)
    yield hasty(build_tree(collection, 2000, stop_early=True), 8), collection
    for seed in range(6):
        collection = rand(5, 4, 0.2, seed=seed)
        yield random_score_plan(collection, seed, 120), collection
    normal = Collection.gaussian(rand(3, 4, 0.3).means, sigma=0.7)
    yield hasty(build_tree(normal, 2000), 10), normal
    score = Box(0, 1, 2, points=(-2, 0, 1, 3), cuts=(0.2, 0.5, 0.9), floor=6, ceil=7)
    yield assemble([score, Box(1), Box(2)], normal, 100), normal


@pytest.mark.slow
def test_simulation_and_certificate_agree():
    """About 240 comparisons: at most 4 beyond 3 standard errors and none beyond 5 (false alarms: about 1 in 500)."""
    z = []
    for number, (plan, collection) in enumerate(plans()):
        exact = certify(plan, collection)
        sigma = collection.rewards.sigma if collection.rewards.family is Family.GAUSSIAN else 0.0
        params = follow.make(plan, plan.horizon, {})
        for task in range(collection.n_tasks):
            means, gaps = collection.means[task], collection.gaps[task]
            seed = 100 * number + task
            seen = play(
                compiled(update_follow), follow.init(params), params, means, gaps, sigma, plan.horizon, RUNS, seed
            )
            wrong = np.isin(
                seen[:, 2], np.flatnonzero((gaps[arrays_of(plan).arm] > 1e-12) & (arrays_of(plan).kind == EXPLOIT))
            )
            z += standardised(seen[:, 0], exact.regret[task])
            z += standardised(seen[:, 1], exact.pulls[task])
            z += standardised(wrong, exact.wrong_arm[task])
            z += standardised(seen[:, 2] == -1, exact.undecided[task])
            for leaf in np.flatnonzero(arrays_of(plan).kind == EXPLOIT):
                z += standardised(seen[:, 2] == leaf, exact.at_end[task, leaf])
    assert len(z) > 150
    assert (np.abs(z) > 3).sum() <= 4
    assert np.abs(z).max() < 5


def standardised(sample, expected):
    """How many standard errors the mean of `sample` is from `expected`; nothing if too rare to be normal."""
    values = np.round(np.asarray(sample, dtype=float), 9)
    if (values != np.median(values)).sum() < 25:
        return []
    return [(values.mean() - expected) / (values.std() / np.sqrt(len(values)))]


@pytest.mark.slow
@pytest.mark.parametrize("rule", [None, SafetyRule((-4, 1), 8), SafetyRule((-4, 1), 8, cap=10)])
def test_the_simulator_and_the_certificate_of_a_protocol_agree(rule):
    """Regret, the arm in force and undecided cases, 15 comparisons each time: all within 4.5 standard errors, which
    fails by chance once in 10,000 times. The simulator sees the arm of the last round, so the certificate of one round
    less is the one to compare it with."""
    plan = protocol(rule=rule, cap=15, horizon=301)
    runs = simulate(FIVE, {"plan": plan}, horizon=301, runs=20_000, seed=1, rounds=[301])
    exact, before = certify(plan, FIVE), certify(plan, FIVE, 300)
    z = []
    for task in range(FIVE.n_tasks):
        z += standardised(runs.regret[0, task, :, 0], exact.regret[task])
        z += standardised(runs.arm_right[0, task] == 0, before.wrong_arm[task])
        z += standardised(runs.committed[0, task] == 0, before.undecided[task])
    assert len(z) > 8
    assert np.abs(z).max() < 4.5
