"""End to end: a log in, a plan out, and the plan classifies the true task at the promised rate."""

import numpy as np
import pytest
from boxes import arrays_of
from scipy.stats import binom

from banditree.policies.starting import start_session
from banditree.tasks.contexts import draw_contexts
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import Family
from banditree.training.classes import find_classes, widen
from banditree.training.collection import to_collection
from banditree.training.estimates import estimate
from banditree.training.statistics import collect
from banditree.trees.tree import build_tree

HORIZON = 2000


def play(plan, draw_reward, n_arms, rng):
    """The task a case ends up as: boxes followed with whole tests drawn at once."""
    box = 0
    while arrays_of(plan).low[box] >= 0:
        total = draw_reward(int(arrays_of(plan).arm[box]), int(arrays_of(plan).pulls[box]), rng).sum()
        box = int(
            arrays_of(plan).low[box] if total <= arrays_of(plan).threshold[box] + 1e-9 else arrays_of(plan).high[box]
        )
    return int(arrays_of(plan).task[box])


def wrong_cases(plan, collection, n_cases, seed):
    """How many of n_cases of every true task are classified as another."""
    rng = np.random.default_rng(seed)
    wrong = 0
    for task in range(collection.n_tasks):

        def draw(arm, n, rng, task=task):
            if collection.theta is None:
                return collection.rewards.sample(np.full(n, collection.means[task, arm]), rng)
            x = draw_contexts(collection.contexts, n, rng)
            return collection.rewards.sample(x @ collection.theta[task, arm], rng)

        wrong += sum(play(plan, draw, collection.n_arms, rng) != task for _ in range(n_cases))
    return wrong


def log_of(collection, n, seed):
    rng = np.random.default_rng(seed)
    task, arm = rng.integers(0, collection.n_tasks, n), rng.integers(0, collection.n_arms, n)
    names = np.array([f"{i:02d}" for i in range(100)])
    if collection.theta is None:
        return collect(names[task], names[arm], collection.rewards.sample(collection.means[task, arm], rng))
    x = draw_contexts(collection.contexts, n, rng)
    rewards = collection.rewards.sample((x * collection.theta[task, arm]).sum(axis=1), rng)
    return collect(names[task], names[arm], rewards, x[:, 1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "family"),
    [(rand(10, 20, 0.4), Family.BERNOULLI), (linear(5, 6, 3, 0.4, seed=0), Family.GAUSSIAN)],
    ids=["rand-10-20", "linear"],
)
def test_plans_from_logs_classify_the_true_task_at_the_promised_rate(truth, family):
    missed, wrong, cases = 0, 0, 20
    for seed in range(10):
        statistics = log_of(truth, 200_000, seed)
        found = to_collection(estimate(statistics, family), statistics)
        if (np.abs(found.means - truth.means) > found.radius).any():
            missed += 1  # allowed for 1 log in 20; the promise is about the others
            continue
        wrong += wrong_cases(build_tree(found, 10**5), truth, cases, seed=100 + seed)
    # Both limits are the 1 - 1e-4 quantiles: a false alarm once in 10,000 if the rates are just as promised.
    assert missed <= binom.ppf(1 - 1e-4, 10, 0.05)
    assert wrong <= binom.ppf(1 - 1e-4, (10 - missed) * cases * truth.n_tasks, 1 / (2 * 10**5))


@pytest.mark.slow
def test_labels_hidden_the_plan_still_finds_the_class():
    truth, rng = rand(10, 20, 0.4), np.random.default_rng(0)
    kind = rng.integers(0, 10, 2000)
    who, arm = np.repeat(np.arange(2000), 200), rng.integers(0, 20, 400_000)
    rewards = truth.rewards.sample(truth.means[kind[who], arm], rng)
    classes = find_classes(collect(np.char.mod("%04d", who), np.char.mod("%02d", arm), rewards))
    assert classes.n_classes == 10
    found = to_collection(widen(estimate(classes.statistics), classes), classes.statistics)
    true_task = np.array([np.bincount(kind[classes.labels == c]).argmax() for c in range(10)])
    ordered = type(truth).bernoulli(truth.means[true_task])
    plan = build_tree(found, 10**5)
    assert wrong_cases(plan, ordered, 100, seed=3) == 0
    assert start_session(plan).ask().arm is not None
