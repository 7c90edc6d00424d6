import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import gaussian_contexts
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import Gaussian
from banditree.training.merging import merge, merge_gaps
from banditree.trees.tree import build_tree


def test_nothing_is_merged_where_all_are_apart():
    merged = merge(rand(5, 6, 0.4), 0.4)
    assert merged.groups == ((0,), (1,), (2,), (3,), (4,))
    assert merged.suboptimality == 0
    assert not merged.collection.is_estimated


def test_a_merged_task_spans_its_members():
    means = np.array([[0.9, 0.1, 0.5], [0.8, 0.2, 0.5], [0.1, 0.8, 0.5]])
    merged = merge(Collection.bernoulli(means, radius=0.01, tasks=["a", "b", "c"]), 0.3)
    assert merged.groups == ((0, 1), (2,))
    assert merged.collection.tasks == ("a + b", "c")
    np.testing.assert_allclose(merged.collection.means, [[0.85, 0.15, 0.5], [0.1, 0.8, 0.5]])
    np.testing.assert_allclose(merged.collection.radius, [[0.06, 0.06, 0.01], [0.01] * 3])


def test_the_cost_is_that_of_the_member_it_suits_least():
    means = np.array([[0.9, 0.85, 0.1], [0.7, 0.85, 0.1], [0.5, 0.1, 0.9]])
    merged = merge(Collection.bernoulli(means), 0.3)
    # Together they play arm 2 (0.85 against 0.8): the first loses 0.05, the second nothing.
    assert merged.collection.best_arms[0] == 1
    assert merged.suboptimality == pytest.approx(0.05)


def test_with_contexts_the_cost_is_of_policies():
    contexts = gaussian_contexts([1.0, 0.0], [[0, 0], [0, 1.0]], ["(intercept)", "x"])
    theta = [[[0.5, 0.3], [0.5, -0.3]], [[0.5, 0.1], [0.5, -0.1]], [[2.0, 0.0], [0.0, 0.0]]]
    collection = Collection.linear(theta, contexts, Gaussian(sigma=1.0))
    merged = merge(collection, 0.5)
    assert merged.groups == ((0, 1), (2,))
    assert merged.suboptimality == pytest.approx(0.0, abs=1e-12)  # both play by the sign of x
    np.testing.assert_allclose(merged.collection.theta[0], [[0.5, 0.2], [0.5, -0.2]])


@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 0.7]))
def test_a_plan_on_the_merged_tasks_exists_and_reaches_every_original_task(seed, separation):
    means = np.random.default_rng(seed).random((6, 3))
    try:
        merged = merge(Collection.bernoulli(means), separation)
    except InvalidInput:
        return
    new = merged.collection
    for task, group in enumerate(merged.groups):
        for member in group:
            assert (np.abs(new.means[task] - means[member]) <= new.radius[task] + 1e-12).all()
    for i in range(new.n_tasks):
        for j in range(i):
            gap = np.abs(new.means[i] - new.means[j]) - new.radius[i] - new.radius[j]
            assert gap.max() >= separation - 1e-6
    with np.errstate(all="raise"):
        plan = build_tree(new, 10**6)
    assert plan.depth <= new.n_tasks - 1
    losses = [means[m].max() - means[m, new.best_arms[t]] for t, g in enumerate(merged.groups) for m in g if len(g) > 1]
    assert merged.suboptimality == pytest.approx(max([*losses, 0.0]))


def clusters(seed=0):
    """Six tasks in three pairs, the members of a pair up to 0.1 apart."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(rand(3, 5, 0.5, seed=seed).means, 2, axis=0)
    return np.clip(centres + rng.uniform(-0.05, 0.05, (6, 5)), 0, 1)


def test_groups_change_where_merge_gaps_say():
    collection = Collection.bernoulli(clusters())
    gaps = merge_gaps(collection.means)
    assert merge(collection, 0.2).groups == ((0, 1), (2, 3), (4, 5))
    for separation in np.linspace(0.01, 0.9, 40):
        merges = next((n for n, gap in enumerate(gaps) if gap >= separation), 5)
        if merges < 5:
            assert merge(collection, separation).collection.n_tasks == 6 - merges


def test_linear_collections_keep_their_radii_honest():
    known = linear(2, 3, 2, 0.4, seed=0)
    theta = np.concatenate([known.theta, known.theta + 0.05])
    collection = Collection.linear(theta, known.contexts, known.rewards)
    merged = merge(collection, 0.2)
    assert merged.groups == ((0, 2), (1, 3))
    for task, group in enumerate(merged.groups):
        reach = np.abs(merged.collection.means[task] - collection.means[list(group)]).max(axis=0)
        assert (reach <= merged.collection.radius[task] + 1e-12).all()
    assert merged.suboptimality >= 0


def test_merging_all_into_one_is_refused():
    with pytest.raises(InvalidInput, match="leaves one task"):
        merge(rand(3, 3, 0.1), 0.99)
    with pytest.raises(InvalidInput, match="separation must be"):
        merge(rand(3, 3, 0.1), -1)
