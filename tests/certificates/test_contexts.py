"""Certificates of contextual plans are true: clipped predictions, estimated slopes, contexts that are not normal."""

from dataclasses import replace

import numpy as np
import pytest
from boxes import arrays_of

from banditree.certificates.certify import certify
from banditree.certificates.outcomes import Claim
from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import (
    INTERCEPT,
    draw_contexts,
    fixed_context,
    gaussian_contexts,
    moment_contexts,
    sampled_contexts,
)
from banditree.tasks.predictions import mean_rewards, sub_gaussian_variance
from banditree.tasks.rewards import BERNOULLI, Gaussian
from banditree.trees.tree import build_tree
from tests.contextual_play import play_tests

CASES = 400


def agrees(found, expected, sd, n, factor=5.0):
    """Five standard errors: one false alarm in a million."""
    return abs(found - expected) <= factor * sd / np.sqrt(n) + 0.02 * expected + 1e-9


def test_means_of_clipped_predictions_are_those_that_are_simulated():
    contexts = gaussian_contexts([1, 0], [[0, 0], [0, 1]], [INTERCEPT, "x"])
    theta = [[[0.95, 0.6], [0.7, 0]], [[0.55, 0], [0.8, 0]]]
    two = Collection.linear(theta, contexts, BERNOULLI)
    x = draw_contexts(contexts, 400_000, np.random.default_rng(1))
    assert two.means[0, 0] == pytest.approx(np.clip(x @ theta[0][0], 0, 1).mean(), abs=2e-3)
    assert two.means[0, 0] < 0.8
    assert "outside [0, 1] at up to" in str(two)
    plan = build_tree(two, 2000)
    certificate = certify(plan, two)
    for task in range(2):
        regret, box = play_tests(plan, two, task, 200, 2000, seed=task)
        assert agrees(regret.mean(), certificate.regret[task], regret.std(), 200)
        assert (arrays_of(plan).task[box] != task).mean() <= certificate.wrong_task[task] + 5 * np.sqrt(0.01 / 200)


@pytest.mark.filterwarnings("ignore::banditree.trees.tree.PlanWarning")
@pytest.mark.parametrize("kind", ["gaussian", "sample", "moments", "fixed"])
@pytest.mark.parametrize("rewards", [BERNOULLI, Gaussian(sigma=0.3)], ids=["0/1", "normal"])
def test_trees_of_random_contextual_collections_cost_what_is_certified(kind, rewards):
    rng = np.random.default_rng(["gaussian", "sample", "moments", "fixed"].index(kind))
    covariance = np.diag([0.0, 1.0, 2.0])
    make = {"gaussian": gaussian_contexts, "moments": moment_contexts}
    rows = np.column_stack([np.ones(50), rng.normal(size=50), rng.exponential(size=50) * 1.4 - 1.4])
    contexts = {
        "sample": lambda: sampled_contexts(rows),
        "fixed": lambda: fixed_context([1.0, 0.5, -0.5]),
    }.get(kind, lambda: make[kind]([1.0, 0.0, 0.0], covariance))()
    theta = np.concatenate([rng.uniform(0.2, 0.8, (3, 3, 1)), rng.normal(0, 0.15, (3, 3, 2))], axis=2)
    collection = Collection.linear(theta, contexts, rewards)
    plan = build_tree(collection, 400)
    certificate = certify(plan, collection)
    assert certificate.claim is {"moments": Claim.AS_IF_GAUSSIAN}.get(kind, certificate.claim)
    for task in range(3):
        regret, _box = play_tests(plan, collection, task, CASES, 400, seed=task)
        if not certificate.claim.is_bound:
            assert agrees(regret.mean(), certificate.regret[task], regret.std(), CASES)
        else:
            assert regret.mean() <= certificate.regret[task] + 5 * regret.std() / np.sqrt(CASES) + 1e-9


def random_truth(estimated, rng):
    """A truth on the edge of the ellipsoids of an estimated collection, in a random direction, with means in reach."""
    theta = estimated.theta.copy()
    for i in range(estimated.n_tasks):
        for k in range(estimated.n_arms):
            values, vectors = np.linalg.eigh(estimated.theta_error[i, k])
            z = rng.normal(size=len(values))
            step = vectors @ (np.sqrt(np.maximum(values, 0)) * z / np.linalg.norm(z))
            theta[i, k] += step
    return Collection.linear(theta, estimated.contexts, estimated.rewards)


@pytest.mark.parametrize("rewards", [BERNOULLI, Gaussian(sigma=0.3)], ids=["0/1", "normal"])
def test_at_most_holds_for_slopes_anywhere_within_their_margins(rewards):
    rng = np.random.default_rng(5)
    contexts = gaussian_contexts([1.0, 0.0], np.diag([0.0, 1.0]), [INTERCEPT, "x"])
    theta = np.array([[[0.65, 0.0], [0.35, 0.0]], [[0.35, 0.0], [0.65, 0.0]]])
    error = np.zeros((2, 2, 2, 2))
    error[..., 0, 0], error[..., 1, 1] = 0.01**2, 0.17**2
    estimated = Collection.linear(theta, contexts, rewards, radius=0.02, theta_error=error)
    plan = build_tree(estimated, 500)
    bound = certify(plan, estimated)
    assert bound.claim is Claim.UPPER_BOUND
    over = []
    for _ in range(20):
        truth = random_truth(estimated, rng)
        if (np.abs(truth.means - estimated.means) > estimated.radius).any():
            continue
        over.append((certify(plan, truth).regret / bound.regret).max())
    assert len(over) >= 5
    assert max(over) <= 1.0
    # The bound that only moved the means was broken by many times.
    blind = certify(plan, replace(estimated, theta_error=None))
    assert any("slopes" in remark for remark in blind.remarks)
    assert blind.regret.max() < bound.regret.max()


def test_totals_over_a_sample_with_rare_large_contexts_are_bounded():
    rows = np.column_stack([np.ones(100), np.zeros(100)])
    rows[0, 1] = 30.0
    theta = [[[0.0, 0.1], [0.5, 0.0]], [[0.6, -0.1], [0.0, 0.0]]]
    rare = Collection.linear(theta, sampled_contexts(rows, [INTERCEPT, "x"]), Gaussian(sigma=0.2))
    plan = build_tree(rare, 1000)
    certificate = certify(plan, rare)
    for task in range(2):
        _, box = play_tests(plan, rare, task, 4000, int(arrays_of(plan).pulls.max()), seed=task)
        wrong = (arrays_of(plan).task[box] != task).mean()
        assert wrong <= certificate.wrong_task[task] + 5 * np.sqrt(certificate.wrong_task[task] / 4000) + 1e-3


def test_the_sub_gaussian_variance_bounds_the_cumulants_of_any_sample():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=500), rng.exponential(size=300), np.array([0.0, 1.0]), np.r_[np.zeros(99), 30.0]):
        variance = sub_gaussian_variance(values)
        assert values.var() <= variance <= np.ptp(values) ** 2 / 4 * (1 + 1e-12)
        away = values - values.mean()
        for t in np.concatenate([-np.geomspace(1e-3, 50, 60), np.geomspace(1e-3, 50, 60)]) / np.ptp(values):
            top = (t * away).max()
            assert top + np.log(np.exp(t * away - top).mean()) <= variance * t**2 / 2 * (1 + 1e-9)


def test_tasks_that_differ_in_slopes_only_are_not_told_to_merge():
    contexts = gaussian_contexts([1.0, 0.0], np.diag([0.0, 1.0]), [INTERCEPT, "x"])
    theta = [[[0.5, 0.1], [0.5, -0.1]], [[0.5, -0.1], [0.5, 0.1]]]
    slopes = Collection.linear(theta, contexts, Gaussian(sigma=0.1))
    with pytest.raises(InvalidInput, match="differ in how rewards depend on the context") as caught:
        build_tree(slopes, 1000)
    assert "erge" not in str(caught.value)
    error = np.zeros((2, 2, 2, 2))
    error[..., 0, 0] = error[..., 1, 1] = 1e-4
    counted = Collection.linear(theta, contexts, Gaussian(sigma=0.1), radius=0.01, theta_error=error)
    nearly = np.array(theta)
    nearly[0, 0, 0] += 0.001
    counted = replace(counted, counts=np.full((2, 2), 100), theta=nearly)
    counted = replace(counted, means=mean_rewards(counted.theta, contexts, counted.rewards))
    with pytest.raises(InvalidInput, match="differ in how rewards depend on the context") as caught:
        build_tree(counted, 1000)
    assert "more rows" not in str(caught.value)
