"""Graded outcomes from a log to a certificate, against simulation."""

import numpy as np
import polars
import pytest
from bayes_optimal import bayes_regret

from banditree.certificates.certify import certify
from banditree.certificates.outcomes import Claim
from banditree.files.collections import load_collection, save_collection
from banditree.files.plans import load_plan, save_plan
from banditree.policies.starting import start_session
from banditree.protocols.build import build_plan
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family, Graded
from banditree.theory.graves_lai import graves_lai
from banditree.training.estimates import estimate
from banditree.training.learning import learn
from banditree.training.merging import merge

NAMES = ("none", "partial", "full")
RECOVERY = Collection.graded(
    [
        [[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.3, 0.5, 0.2]],
        [[0.1, 0.2, 0.7], [0.5, 0.4, 0.1], [0.4, 0.1, 0.5]],
        [[0.3, 0.4, 0.3], [0.4, 0.3, 0.3], [0.1, 0.1, 0.8]],
    ],
    [0.0, 0.5, 1.0],
    names=NAMES,
    arms=["A", "B", "C"],
    tasks=["mild", "severe", "chronic"],
)
RUNS = 4000


@pytest.mark.parametrize("method", ["protocol", "tree"])
def test_certificates_are_exact(method):
    options = {"steps": 300} if method == "protocol" else {}
    plan = build_plan(RECOVERY, 500, method, **options)
    exact = certify(plan, RECOVERY)
    assert exact.claim is Claim.EXACT
    found = simulate(RECOVERY, [plan], horizon=500, runs=RUNS, rounds=[500], workers=1).regret[0, :, :, -1]
    error = found.std(axis=1) / np.sqrt(RUNS) + 1e-3  # ways that no run took cost at most this
    # Three tasks, 4.5 standard errors: false-alarm rate 2e-5.
    assert (np.abs(found.mean(axis=1) - exact.regret) < 4.5 * error).all()


def test_the_default_is_a_score_plan_with_points_per_grade_that_files_keep(tmp_path):
    plan = build_plan(RECOVERY, 200, steps=200)
    assert plan.origin.method == "protocol"
    assert "partial" in str(plan)
    save_plan(plan, tmp_path / "plan.json")
    save_collection(RECOVERY, tmp_path / "tasks.json")
    loaded = load_collection(tmp_path / "tasks.json")
    assert str(load_plan(tmp_path / "plan.json")) == str(plan)
    assert loaded.rewards == RECOVERY.rewards
    np.testing.assert_array_equal(loaded.chances, RECOVERY.chances)
    case = start_session(plan)
    case.tell(0.5, case.ask().round)
    assert case.rounds[0].reward == 0.5


def log_of(collection, n, seed=0):
    rng = np.random.default_rng(seed)
    task, arm = rng.integers(collection.n_tasks, size=n), rng.integers(collection.n_arms, size=n)
    reward = collection.rewards.sample(collection.chances[task, arm], rng)
    names = {"task": np.array(collection.tasks)[task], "arm": np.array(collection.arms)[arm], "reward": reward}
    return polars.DataFrame({**names, "individual": task * 100 + rng.integers(100, size=n)})


def test_a_log_tells_values_and_chances():
    found = learn(log_of(RECOVERY, 30_000), rewards=Family.GRADED, task="task").collection
    assert found.rewards == Graded(values=(0.0, 0.5, 1.0))
    place = [found.tasks.index(name) for name in RECOVERY.tasks]
    apart = np.abs(found.chances[place] - RECOVERY.chances)
    assert apart.max() < 0.05
    # The radius covers every set of values of every task and arm at once, but for one log in 20.
    assert (apart.sum(axis=2) / 2 <= found.radius[place]).all()


def test_classes_of_individuals_are_found_by_grades():
    columns = {"individual": "individual", "arm": "arm", "reward": "reward"}
    learned = learn(log_of(RECOVERY, 30_000), rewards=RECOVERY.rewards, **columns)
    assert learned.classes.n_classes == 3
    assert learned.collection.rewards.names == NAMES


@pytest.mark.slow
def test_radii_of_chances_hold():
    """Of 100 logs, fewer than 15 have any chance outside (failure probability 0.05: false-alarm rate 1.4e-4)."""
    misses = 0
    for seed in range(100):
        log = log_of(RECOVERY, 600, seed)
        found = learn(log, rewards=RECOVERY.rewards, task="task").collection
        place = [found.tasks.index(name) for name in RECOVERY.tasks]
        misses += bool((np.abs(found.chances[place] - RECOVERY.chances).sum(axis=2) / 2 > found.radius[place]).any())
    assert misses < 15


def test_merging_spans_the_chances_of_its_members():
    near = RECOVERY.chances[0] + 0.05 * np.array([-1.0, 1.0, 0.0])
    three = Collection.graded([RECOVERY.chances[0], near, RECOVERY.chances[1]], RECOVERY.rewards.values)
    merged = merge(three, 0.3).collection
    assert merged.n_tasks == 2
    for member in three.chances[:2]:
        assert (np.abs(member - merged.chances[0]).sum(axis=1) / 2 <= merged.radius[0] + 1e-12).all()


def test_theory_takes_graded_rewards():
    assert graves_lai(RECOVERY, 0).constant == 0.0
    found = bayes_regret(RECOVERY, 3)
    assert 0 < found.lower == found.upper
    two = Collection.graded(RECOVERY.chances[:2], RECOVERY.rewards.values)
    assert bayes_regret(two, 50, grid=201).lower > 0


def test_two_grades_are_bernoulli():
    """The same tasks as 0/1 rewards: the same certificate and the same bounds of the Bayes regret."""
    means = np.array([[0.7, 0.3], [0.2, 0.6]])
    plain = Collection.bernoulli(means)
    graded = Collection.graded(np.stack([1 - means, means], axis=2), [0, 1])
    for method, options in (("tree", {}), ("protocol", {"steps": 200})):
        plan = build_plan(graded, 200, method, **options)
        same = build_plan(plain, 200, method) if method == "tree" else None
        if same is not None:
            np.testing.assert_allclose(certify(plan, graded).regret, certify(same, plain).regret, rtol=1e-9)
    assert bayes_regret(graded, 30, grid=101) == bayes_regret(plain, 30, grid=101)


def test_contexts_and_missing_counts_are_refused():
    from banditree.errors import InvalidInput
    from banditree.training.statistics import collect

    with pytest.raises(InvalidInput, match="need the counts of every value"):
        estimate(collect(["a", "b"], ["x", "x"], [1, 0]), RECOVERY.rewards)
    with pytest.raises(InvalidInput, match="1 in all"):
        Collection.graded([[[0.5, 0.6], [0.5, 0.5]]] * 2, [0, 1])
