import math
import warnings

import numpy as np
import pytest
from boxes import arrays_of, survivors_at

from banditree.errors import InvalidInput, PlanWarning
from banditree.plans.counts import Counting
from banditree.plans.gives import NONE
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, gaussian_contexts
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.rewards import Gaussian
from banditree.trees.tree import build_tree, lazy_tree

TWO = [[0.7, 0.2], [0.3, 0.6]]


@pytest.mark.parametrize("seed", range(100))
def test_rand_8_12_always_terminates(seed):
    # The lambda/4 grid of the paper recurses for ever on 19% of these (NOTES 2).
    plan = build_tree(rand(8, 12, 0.4, seed), 10_000, 0.4)
    leaves = arrays_of(plan).kind == Counting.EXPLOIT
    assert plan.depth <= 7
    assert np.all(arrays_of(plan).task[leaves] != NONE)
    assert set(arrays_of(plan).task[leaves]) == set(range(8))


def test_gaps_of_exactly_the_separation_separate():
    assert build_tree(hard(5, 10, 0.4, 0.01), 4000, 0.4).depth == 3


def test_pulls_per_test_are_those_of_the_notes():
    depth = 1
    known = build_tree(Collection.bernoulli(TWO), 1000)
    assert arrays_of(known).pulls[0] == math.ceil(2 * math.log(2 * 1000 * depth) / 0.4**2)
    estimated = build_tree(Collection.bernoulli(TWO, radius=0.03), 1000, 0.4)
    w = 0.4 - 2 * 0.03
    assert (estimated.origin.separation, estimated.origin.radius) == (0.4, 0.03)
    assert arrays_of(estimated).pulls[0] == math.ceil(2 * 0.25 * math.log(2000) / (w / 2 - 0.03) ** 2)
    measured = build_tree(Collection.bernoulli(TWO, radius=0.03), 1000)
    assert arrays_of(measured).pulls[0] == math.ceil(2 * 0.25 * math.log(2000) / (0.2 - 0.03) ** 2)
    eighth = build_tree(Collection.bernoulli(TWO, radius=0.05), 1000, 0.4)
    assert arrays_of(eighth).pulls[0] == math.ceil(8 * math.log(2000) / 0.4**2)
    gaussian = build_tree(Collection.gaussian(TWO, sigma=0.3), 1000)
    assert arrays_of(gaussian).pulls[0] == math.ceil(2 * 0.09 * math.log(2000) / (0.2 - 0.4e-6) ** 2)


def test_uncertain_means_are_refused_with_what_would_do():
    collection = Collection.bernoulli(TWO, radius=0.1)
    with pytest.raises(
        InvalidInput,
        match=r"must be within 0.05, an eighth of the separation. About 4.0 times as many rows of task 'task 1'",
    ):
        build_tree(collection, 1000, 0.4)
    with pytest.raises(
        InvalidInput, match="whose estimated means are within 0.3 and must be within 0.05, an eighth of that"
    ):
        build_tree(Collection.bernoulli(TWO, radius=0.3), 1000)


def test_a_collection_below_the_separation_names_the_pair():
    collection = Collection.bernoulli([[0.1, 0.9], [0.1, 0.6], [0.8, 0.8]], tasks=["a", "b", "c"])
    with pytest.raises(InvalidInput, match="no arm tells 'a' from 'b'"):
        build_tree(collection, 1000, 0.4)
    with pytest.raises(InvalidInput, match="horizon must be at least 1"):
        build_tree(collection, 0)


def test_a_plan_longer_than_its_horizon_warns():
    with pytest.warns(PlanWarning, match="Testing may take 58 rounds, more than the horizon of 50"):
        build_tree(Collection.bernoulli(TWO), 50)


def test_stopping_early_leaves_tasks_with_one_best_arm_together():
    means = [[0.9, 0.1, 0.5], [0.8, 0.1, 0.45], [0.1, 0.9, 0.5]]
    collection = Collection.bernoulli(means)
    plan = build_tree(collection, 1000, 0.5, stop_early=True)
    assert plan.depth == 1
    leaf = next(
        box for box in range(3) if arrays_of(plan).kind[box] == Counting.EXPLOIT and arrays_of(plan).arm[box] == 0
    )
    assert survivors_at(plan, leaf).tolist() == [0, 1]
    assert arrays_of(plan).task[leaf] == NONE
    assert "Give arm 1 from now on." in str(plan)
    with pytest.raises(InvalidInput, match="no arm tells 'task 1' from 'task 2'"):
        build_tree(collection, 1000, 0.5)
    with pytest.raises(InvalidInput, match="stop_early works on tasks without contexts"):
        build_tree(linear(3, 4, 2, 0.2), 1000, stop_early=True)


def test_stopping_early_still_needs_to_tell_different_best_arms_apart():
    collection = Collection.bernoulli([[0.5, 0.45], [0.45, 0.5], [0.9, 0.1]])
    with pytest.raises(InvalidInput, match="No arm separates any two of the tasks 'task 1', 'task 2'"):
        build_tree(collection, 1000, 0.3, stop_early=True)


def test_too_large_a_tree_is_refused():
    with pytest.raises(InvalidInput, match="more than 5 boxes"):
        build_tree(rand(10, 20, 0.4), 1000, 0.4, max_boxes=5)


def test_contextual_tests_use_means_over_contexts_and_leaves_predictions():
    collection = linear(4, 5, 3, 0.2)
    plan = build_tree(collection, 5000, 0.2)
    assert np.all(arrays_of(plan).arm[arrays_of(plan).kind == Counting.EXPLOIT] == NONE)
    assert np.allclose(plan.theta, collection.theta, rtol=1e-5)
    assert "From now on, give the arm with the highest prediction for it." in str(plan)


def test_thresholds_of_other_rewards_are_rounded_within_the_margin():
    contexts = gaussian_contexts([1.0, 0.0], [[0, 0], [0, 1.0]], [INTERCEPT, "x"])
    theta = [[[0.7123456789, 0.0], [0.2, 0.0]], [[0.3, 0.0], [0.6, 0.0]]]
    plan = build_tree(Collection.linear(theta, contexts, Gaussian(sigma=0.3)), 1000)
    exact = arrays_of(plan).pulls[0] * (0.7123456789 + 0.3) / 2
    assert abs(arrays_of(plan).threshold[0] - exact) / arrays_of(plan).pulls[0] <= 1e-6 * plan.origin.separation
    assert len(repr(float(arrays_of(plan).threshold[0]))) < 12


def test_lazy_tests_are_those_of_the_whole_tree():
    collection = rand(12, 15, 0.4)
    tree = lazy_tree(collection, 1000, 0.4)
    plan = tree.freeze()
    for box in np.flatnonzero(arrays_of(plan).kind == Counting.FIXED):
        split = tree.split(survivors_at(plan, box))
        assert split.arm == arrays_of(plan).arm[box]
        assert np.array_equal(split.low, survivors_at(plan, arrays_of(plan).low[box]))
        assert np.array_equal(split.high, survivors_at(plan, arrays_of(plan).high[box]))
    assert tree.pulls == tree.pulls_at_depth(11) >= arrays_of(plan).pulls.max()


@pytest.mark.slow
def test_sizes_beyond_reading_are_built_or_followed_lazily():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        plan = build_tree(rand(500, 100, 0.4), 10_000, 0.4)
    assert set(arrays_of(plan).task[arrays_of(plan).kind == Counting.EXPLOIT]) == set(range(500))
    tree = lazy_tree(rand(10_000, 200, 0.4), 10_000, 0.4)
    members, target, steps = tree.start, 1234, 0
    while (split := tree.split(members)) is not None:
        low = tree.collection.means[target, split.arm] <= split.threshold
        members, steps = (split.low if low else split.high), steps + 1
    assert members.tolist() == [target]
    assert steps < 30


def test_tasks_too_close_for_any_test_are_refused_in_a_sentence():
    close = Collection.bernoulli([[0.5, 0.5], [0.5, 0.5 + 1e-9]])
    with pytest.raises(InvalidInput, match=r"separation must be large enough .* It takes 1.5e\+19. Merge the closest"):
        build_tree(close, 1000)
