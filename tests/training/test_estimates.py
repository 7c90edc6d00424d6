from dataclasses import replace

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.contexts import encode
from banditree.tasks.rewards import Bounded, Family
from banditree.training.collection import Untried, to_collection
from banditree.training.estimates import estimate
from banditree.training.regression import Outcome
from banditree.training.statistics import collect


def logged_by_a_policy_that_looks(n=20_000, seed=0):
    """Arm "y" is given mostly where x is high; both arms have mean 1/2 over all contexts."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, n)
    chance = np.where(x > 0.5, 0.9, 0.1)
    arm = np.where(rng.random(n) < chance, "y", "x")
    reward = (rng.random(n) < 0.2 + 0.6 * x).astype(float)
    task = rng.choice(["a", "b"], n)
    return task, arm, reward, x, np.where(arm == "y", chance, 1 - chance)


def test_the_naive_mean_is_biased_where_ours_is_not():
    task, arm, reward, x, _ = logged_by_a_policy_that_looks()
    naive = estimate(collect(task, arm, reward))
    ours = estimate(collect(task, arm, reward, x[:, None]))
    assert (np.abs(naive.means - 0.5) > 0.1).all()
    assert (np.abs(naive.means - 0.5) > naive.radius).all()
    assert (np.abs(ours.means - 0.5) < 0.02).all()
    assert (np.abs(ours.means - 0.5) < ours.radius).all()


def test_propensities_make_up_for_contexts_that_were_not_kept():
    task, arm, reward, _, chance = logged_by_a_policy_that_looks()
    plain = collect(task, arm, reward)
    sums = []
    for cell in range(len(plain.count)):
        own = (task == plain.tasks[plain.task[cell]]) & (arm == plain.arms[plain.arm[cell]])
        w, r = 1 / chance[own], reward[own]
        sums.append([w.sum(), (w**2).sum(), (w * r).sum(), (w**2 * r).sum(), (w**2 * r**2).sum()])
    found = estimate(replace(plain, weighted=np.array(sums)))
    assert (np.abs(found.means - 0.5) < 0.05).all()
    assert (np.abs(found.means - 0.5) < found.radius).all()


def test_means_are_over_all_contexts_and_names_reach_the_collection():
    rng = np.random.default_rng(0)
    n = 400
    x, task, arm = rng.normal(50, 5, n), rng.choice(["a", "b"], n), rng.choice(["x", "y"], n)
    reward = 0.1 * x + (task == "a") * (arm == "x") + rng.normal(0, 0.1, n)
    statistics = collect(task, arm, reward, x[:, None], ["age"], shift=[50, 5])
    found = estimate(statistics, Family.GAUSSIAN)
    collection = to_collection(found, statistics)
    np.testing.assert_allclose(collection.means, found.theta @ [1, x.mean()], rtol=1e-12)
    assert collection.rewards.sigma == pytest.approx(0.1, rel=0.15)
    assert encode(collection.contexts.features, {"age": 40}).tolist() == [1, 40]
    assert collection.counts.sum() == n
    assert (found.theta_radius > 0).all()


def test_sigma_bounds_the_noisiest_cell():
    rng = np.random.default_rng(0)
    task, arm = np.repeat(["a", "b"], 400), np.tile(["x", "y"], 400)
    noise = np.where((task == "b") & (arm == "y"), 3.0, 1.0)
    rewards = rng.normal(size=800) * noise
    assert estimate(collect(task, arm, rewards), Family.GAUSSIAN).rewards.sigma == pytest.approx(3.0, rel=0.15)
    assert estimate(collect(task, arm, rewards / noise), Family.GAUSSIAN).rewards.sigma == pytest.approx(1.0, rel=0.1)


def gaps():
    """Arm z never tried for task b, arm y hardly."""
    tasks = ["a"] * 60 + ["b"] * 21
    arms = ["x", "y", "z"] * 20 + ["x"] * 20 + ["y"]
    return collect(tasks, arms, np.arange(81.0) % 5 + 10 * (np.array(arms) == "x"))


def test_missing_estimates_are_named_and_the_user_chooses():
    statistics = gaps()
    found = estimate(statistics, Family.GAUSSIAN)
    assert found.missing == [("b", "y", Outcome.TOO_FEW_ROWS), ("b", "z", Outcome.NEVER_TRIED)]
    with pytest.raises(InvalidInput, match="'y' for task 'b': too few rows; 'z' for task 'b': never tried"):
        to_collection(found, statistics)
    with pytest.raises(InvalidInput, match="number of arms must be at least 2"):
        to_collection(found, statistics, untried=Untried.DROP_ARM)
    with pytest.raises(InvalidInput, match="number of tasks must be at least 2"):
        to_collection(found, statistics, untried=Untried.DROP_TASK)
    borrowed = to_collection(found, statistics, untried=Untried.BORROW)
    assert borrowed.means[1, 2] == borrowed.means[0, 2]
    assert borrowed.radius[1, 2] > borrowed.radius[0, 2]
    assert borrowed.counts[1, 2] == 0


def test_a_borrowed_mean_of_rewards_in_a_range_may_be_anywhere_in_it():
    statistics = collect(["a"] * 8 + ["b"] * 4, ["x", "y"] * 4 + ["x"] * 4, [1, 0] * 6)
    found = estimate(statistics, Bounded())
    borrowed = to_collection(found, statistics, untried=Untried.BORROW)
    assert borrowed.means[1, 1] == 0.0
    assert borrowed.radius[1, 1] == 1.0


def test_estimates_of_rewards_in_a_range_stay_in_it():
    # Arm "x" was tried only where x is high and rises steeply there: its line is below 0 at the mean context.
    x = np.concatenate([np.linspace(0.8, 1.0, 40), np.linspace(0.0, 1.0, 160)])
    reward = np.concatenate([np.arange(40) >= 20, np.arange(160) % 2]).astype(float)
    arm = ["x"] * 40 + ["y"] * 160
    statistics = collect(np.tile(["a", "b"], 100), arm, reward, x[:, None])
    for intercept, outside in ((True, True), (False, False)):
        found = estimate(statistics, intercept=intercept)
        assert (found.means >= 0).all()
        collection = to_collection(found, statistics)
        line = collection.theta @ collection.contexts.mean
        assert (np.abs(line[:, 0]) < 1e-12).all() == outside
        # Where the line leaves the range, the mean of what is left of it is another one; the radius reaches both.
        assert (np.abs(line - collection.means) <= collection.radius + 1e-12).all()


def test_ridge_answers_for_cells_that_are_singular_and_says_how_little_it_knows():
    x = np.column_stack([np.arange(20.0), np.tile([0.0, 1.0], 10)])
    arms = ["x", "y"] * 10  # the second column is constant for each arm
    statistics = collect(["a"] * 10 + ["b"] * 10, arms, np.arange(20.0) % 3, x)
    with pytest.raises(InvalidInput, match="do not vary enough"):
        estimate(statistics, Family.GAUSSIAN)
    found = estimate(statistics, Family.GAUSSIAN, ridge=1.0)
    assert not found.missing
    plain = estimate(collect(["a"] * 10 + ["b"] * 10, arms, np.arange(20.0) % 3, x[:, :1]), Family.GAUSSIAN)
    assert (found.radius > plain.radius).all()


def test_a_task_with_other_contexts_is_noted():
    rng = np.random.default_rng(0)
    task = np.repeat(["young", "old"], 200)
    age = np.where(task == "old", 70, 30) + rng.normal(size=400)
    statistics = collect(task, np.tile(["x", "y"], 200), rng.normal(size=400), age[:, None], ["age"], [50, 0])
    assert "contexts of task" in estimate(statistics, Family.GAUSSIAN).notes[0]
    same = collect(np.tile(["young", "old"], 200), np.repeat(["x", "y"], 200), rng.normal(size=400), age[:, None])
    assert estimate(same, Family.GAUSSIAN).notes == ()


def test_what_cannot_be_estimated_is_refused():
    statistics = collect(["a", "b"], ["x", "y"], [1.0, 0.0])
    with pytest.raises(InvalidInput, match="sigma cannot be estimated"):
        estimate(statistics, Family.GAUSSIAN)
    with pytest.raises(InvalidInput, match="no noise to estimate"):
        estimate(collect(["a"] * 4, ["x", "y"] * 2, [1.0] * 4), Family.GAUSSIAN)
    with pytest.raises(InvalidInput, match="failure_probability must be between 0 and 1"):
        estimate(statistics, failure_probability=0.0)
    with pytest.raises(InvalidInput, match="ridge must be"):
        estimate(statistics, ridge=-1.0)
    with pytest.raises(InvalidInput, match="no rows"):
        estimate(replace(statistics, task=[], arm=[], count=[], sums=np.zeros((0, 1)), products=np.zeros((0, 1, 1))))
