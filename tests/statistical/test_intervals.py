"""Radii hold as often as they say: binomial tests over seeded repetitions.

Each test draws a few hundred logs and counts the means outside their radius. With a failure probability of q per mean,
a count above the 1 - 1e-4 quantile of the binomial is a false alarm once in 10,000 for radii that are exactly right;
exact ones must also not be far below, conservative ones may be.
"""

import numpy as np
import pytest
from scipy.stats import binom

from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Contexts, draw_contexts
from banditree.tasks.instances import linear
from banditree.tasks.rewards import Bernoulli, Bounded, Family
from banditree.training.estimates import estimate
from banditree.training.simulators import TaskSimulator, lemma_samples, train
from banditree.training.statistics import collect

ALARM = 1e-4


def misses(draw, truth, rewards, repetitions, share, **options):
    """How many of all means (repetitions x M x K) are outside a radius of failure probability `share` each."""
    count = 0
    for repetition in range(repetitions):
        found = estimate(
            draw(np.random.default_rng(repetition)), rewards, failure_probability=np.full(truth.shape, share), **options
        )
        count += int((np.abs(found.means - truth) > found.radius).sum())
    return count


def draw_plain(collection, n):
    task, arm = np.divmod(np.arange(collection.means.size * n) // n, collection.n_arms)

    def draw(rng):
        rewards = collection.rewards.sample(collection.means[task, arm], rng)
        return collect(np.char.mod("%d", task), np.char.mod("%d", arm), rewards)

    return draw


MEANS = np.array([[0.1, 0.5], [0.72, 0.3]])


@pytest.mark.parametrize(
    ("collection", "family", "exact"),
    [
        (Collection.gaussian(MEANS, sigma=0.7), Family.GAUSSIAN, True),
        (Collection.bernoulli(MEANS), Family.BERNOULLI, False),
        (Collection.bounded(MEANS), Bounded(), False),
    ],
    ids=["gaussian", "bernoulli", "bounded"],
)
@pytest.mark.parametrize("n", [5, 60])
def test_means_without_contexts(collection, family, exact, n):
    share, repetitions = 0.05, 400
    count = misses(draw_plain(collection, n), MEANS, family, repetitions, share)
    trials = repetitions * MEANS.size
    assert count <= binom.ppf(1 - ALARM, trials, share)
    if exact:
        assert count >= binom.ppf(ALARM, trials, share)


def draw_linear(collection, n_rows):
    def draw(rng):
        x = draw_contexts(collection.contexts, n_rows, rng)
        task = rng.integers(0, collection.n_tasks, n_rows)
        # The logging policy looks at the context.
        arm = (rng.random(n_rows) < 1 / (1 + np.exp(-x[:, 1]))).astype(int)
        means = (x * collection.theta[task, arm]).sum(axis=1)
        rewards = collection.rewards.sample(means, rng)
        return collect(np.char.mod("%d", task), np.char.mod("%d", arm), rewards, x[:, 1:])

    return draw


def test_means_over_contexts_of_a_log_whose_policy_looked_at_them():
    collection = linear(2, 2, 2, 0.3, seed=3)
    share, repetitions = 0.05, 500
    draw = draw_linear(collection, 300)
    count = misses(draw, collection.means, Family.GAUSSIAN, repetitions, share)
    # Means of one log share their mean context, so the count varies more than a binomial: logs are the trials.
    trials = repetitions * collection.means.size
    spread = np.sqrt(collection.means.size)
    deviation = abs(count - share * trials) / np.sqrt(trials * share * (1 - share))
    assert deviation <= 3.9 * spread
    naive = [
        np.abs(estimate(collect_without(draw, seed), Family.GAUSSIAN).means - collection.means).max()
        for seed in range(20)
    ]
    ours = [
        np.abs(estimate(draw(np.random.default_rng(s)), Family.GAUSSIAN).means - collection.means).max()
        for s in range(20)
    ]
    assert np.mean(naive) > 1.5 * np.mean(ours)


def collect_without(draw, seed):
    """The statistics of the same rows without their contexts: the naive means."""
    from dataclasses import replace

    full = draw(np.random.default_rng(seed))
    return replace(
        full, features=(), sums=full.sums[:, -1:], products=full.products[:, -1:, -1:], shift=full.shift[-1:]
    )


def test_zero_one_rewards_over_contexts_are_covered():
    rows = np.column_stack([np.ones(200), np.random.default_rng(0).uniform(-1, 1, 200)])
    theta = np.array([[[0.4, 0.3], [0.6, -0.2]], [[0.5, -0.3], [0.3, 0.25]]])
    known = linear(2, 2, 2, 0.3, seed=0)
    contexts = Contexts("sample", known.contexts.features, rows.mean(axis=0), np.cov(rows.T, ddof=0), rows)
    collection = Collection.linear(theta, contexts, Bernoulli())
    count = misses(draw_linear(collection, 300), collection.means, Family.BERNOULLI, 300, 0.05)
    assert count <= binom.ppf(1 - ALARM, 1200, 0.05)


def test_all_means_at_once_hold_with_the_stated_chance():
    collection = Collection.bernoulli(np.random.default_rng(0).random((4, 5)))
    draw = draw_plain(collection, 40)
    wrong = 0
    for repetition in range(300):
        found = estimate(draw(np.random.default_rng(repetition)), failure_probability=0.1)
        wrong += bool((np.abs(found.means - collection.means) > found.radius).any())
    assert wrong <= binom.ppf(1 - ALARM, 300, 0.1)


@pytest.mark.slow
def test_the_event_of_lemma_4_1_holds_at_its_rate():
    """P(E|x'theta_hat - x'theta| > min(gap/2, separation/4)) <= 1/(2HMK) for every task and arm.

    With H = 2, M = 2, K = 2 this is 1/16; a count above the 1 - 1e-4 quantile over 100 repetitions of 4 cells would be
    a false alarm. The lemma is conservative, so the count is in fact 0.
    """
    collection, horizon = linear(2, 2, 2, 0.4, sigma=0.5, seed=1), 2
    # The gap is chosen, not the collection's (which is 4e-5 and would take 10^11 samples): the lemma holds for any.
    gap, separation = 0.2, 0.4
    n = lemma_samples(horizon=horizon, n_tasks=2, n_arms=2, n_features=2, sigma=0.5, separation=separation, gap=gap)
    limit = min(gap / 2, separation / 4)
    x = draw_contexts(collection.contexts, 20_000, np.random.default_rng(0))
    simulators = [TaskSimulator(collection, task) for task in range(2)]
    count = 0
    for repetition in range(100):
        statistics = train(simulators, n, arms=collection.arms, seed=repetition)
        found = estimate(statistics, Family.GAUSSIAN, intercept=False)
        error = np.abs(np.einsum("nd,ikd->nik", x, found.theta - collection.theta)).mean(axis=0)
        count += int((error > limit).sum())
    assert count <= binom.ppf(1 - ALARM, 400, 1 / (2 * horizon * 4))
