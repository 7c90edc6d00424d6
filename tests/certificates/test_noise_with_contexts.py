"""Noise that differs by task and arm beside contexts: certificates, simulations and distances agree."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from banditree import Collection, build_plan, certify, simulate
from banditree.errors import InvalidInput
from banditree.files.collections import load_collection, save_collection
from banditree.tasks.contexts import INTERCEPT, gaussian_contexts, sampled_contexts
from banditree.tasks.rewards import Gaussian
from banditree.tasks.separation import _squared_distances
from banditree.trees.tree import build_tree

THETA = [[[0.9, 0.2], [0.3, 0.0]], [[0.2, 0.0], [0.8, -0.3]], [[0.6, -0.4], [0.5, 0.5]]]
NOISE = [[0.2, 0.6], [0.5, 0.3], [0.3, 0.4]]
NORMAL = gaussian_contexts([1, 0], [[0, 0], [0, 1]], [INTERCEPT, "x"])
ROWS = sampled_contexts(np.column_stack([np.ones(40), np.random.default_rng(0).normal(size=40)]))
RUNS = 3000


def uneven(contexts=NORMAL, noise=NOISE):
    return Collection.linear(THETA, contexts, Gaussian(sigma=1.0), noise=noise)


def holds(certificate, collection, plan, horizon):
    """Five standard errors: one false alarm in a million per task."""
    lost = simulate(collection, [plan], horizon=horizon, runs=RUNS, seed=3).regret[0, ..., -1]
    error = lost.std(axis=-1) / np.sqrt(RUNS)
    return (np.abs(lost.mean(axis=-1) - certificate.regret) <= 5 * error + 0.01 * certificate.regret).all()


@pytest.mark.parametrize("points", ["fit", "outcome"])
def test_certified_is_simulated(points):
    collection = uneven(ROWS)
    plan = build_plan(collection, 200, points=points, steps=100)
    certificate = certify(plan, collection)
    assert certificate.claim == "exact"
    assert holds(certificate, collection, plan, 200)


def test_trees_of_uneven_noise_are_bounded():
    collection = uneven(ROWS)
    tree = build_tree(collection, 2000)
    lost = simulate(collection, [tree], horizon=2000, runs=200, seed=1).regret[0, ..., -1]
    assert (lost.mean(axis=-1) <= certify(tree, collection).regret + 5 * lost.std(axis=-1) / np.sqrt(200)).all()


def test_points_of_fit_are_those_of_the_plan_whatever_the_noise_turns_out_to_be():
    """The session computes points with the plan's standard deviation; the certificate once took the collection's."""
    plan = build_plan(Collection.linear(THETA, ROWS, Gaussian(sigma=0.2)), 200, points="fit", steps=100)
    noisier = Collection.linear(THETA, ROWS, Gaussian(sigma=0.6), tasks=plan.tasks, arms=plan.arms)
    assert holds(certify(plan, noisier), noisier, plan, 200)


def test_the_same_noise_everywhere_is_the_plain_family():
    plain, same = Collection.linear(THETA, ROWS, Gaussian(sigma=0.4)), uneven(ROWS, np.full((3, 2), 0.4))
    plan = build_plan(plain, 100, steps=50)
    assert str(build_plan(same, 100, steps=50)) == str(plan)
    assert certify(plan, same).regret == pytest.approx(certify(plan, plain).regret, abs=1e-12)


@pytest.mark.parametrize("arm", [0, 1])
def test_distances_over_contexts_are_integrals(arm):
    found = _squared_distances(uneven(), arm)

    def overlap(x, i, j):
        (a, b), (s, t) = (np.array(THETA[task][arm]) @ [1, x] for task in (i, j)), (NOISE[i][arm], NOISE[j][arm])
        return norm.pdf(x) * np.sqrt(2 * s * t / (s**2 + t**2)) * np.exp(-((a - b) ** 2) / (4 * (s**2 + t**2)))

    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert found[i, j] == pytest.approx(1 - quad(overlap, -12, 12, args=(i, j))[0], abs=1e-8)


def test_noise_is_kept_in_files_and_refused_beside_a_spread(tmp_path):
    save_collection(uneven(), tmp_path / "noise.json")
    assert load_collection(tmp_path / "noise.json").noise.tolist() == NOISE
    with pytest.raises(InvalidInput, match="noise must be of shape"):
        uneven(noise=[[1.0, 2.0]])
