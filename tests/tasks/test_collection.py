import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.changes import with_shares
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import (
    INTERCEPT,
    fixed_context,
    gaussian_contexts,
    moment_contexts,
    sampled_contexts,
)
from banditree.tasks.reward_cells import reward_variance
from banditree.tasks.rewards import BERNOULLI, Gaussian

GAUSSIAN = Gaussian(sigma=0.5)


def test_arrays_are_private_and_read_only():
    given = np.array([[0.2, 0.7], [0.6, 0.1]])
    collection = Collection.bernoulli(given)
    given[0, 0] = 0.9
    assert collection.means[0, 0] == 0.2
    with pytest.raises(ValueError, match="read-only"):
        collection.means[0, 0] = 0.5


@pytest.mark.parametrize(
    ("means", "message"),
    [
        ([[0.2, np.nan], [0.1, 0.3]], "finite everywhere. Got nan at row 1, column 2"),
        ([[0.2, np.inf], [0.1, 0.3]], "Got inf at row 1, column 2"),
        ([[0.2, 1.2], [0.1, 0.3]], r"in \[0, 1\]. Got 1.2 for task 'task 1', arm 'arm 2'"),
        ([[0.2, -0.1], [0.1, 0.3]], "Got -0.1"),
        ([[0.2, 0.3]], "number of tasks must be at least 2. Got 1"),
        ([[0.2], [0.3]], "number of arms must be at least 2. Got 1"),
        ([0.2, 0.3], "array with 2 dimensions"),
        ([[0.2, 0.3], [0.1]], "rectangular array of numbers"),
        ([["x", 0.3], [0.1, 0.2]], "rectangular array of numbers"),
    ],
)
def test_bad_means_are_named(means, message):
    with pytest.raises(InvalidInput, match=message):
        Collection.bernoulli(means)


def test_names_must_fit_and_differ():
    means = [[0.2, 0.7], [0.6, 0.1]]
    with pytest.raises(InvalidInput, match=r"arms must be all different. Got \['A'\]"):
        Collection.bernoulli(means, arms=["A", "A"])
    with pytest.raises(InvalidInput, match="tasks must be 2 names, one per task. Got 3"):
        Collection.bernoulli(means, tasks=["x", "y", "z"])
    with pytest.raises(InvalidInput, match="non-empty"):
        Collection.bernoulli(means, tasks=["x", " "])


def test_radius_is_checked_and_broadcast():
    means = [[0.2, 0.7], [0.6, 0.1]]
    assert Collection.bernoulli(means, radius=0.1).radius.tolist() == [[0.1, 0.1], [0.1, 0.1]]
    assert not Collection.bernoulli(means).is_estimated
    with pytest.raises(InvalidInput, match="radius must be finite and at least 0"):
        Collection.bernoulli(means, radius=-1)
    with pytest.raises(InvalidInput, match="radius must be a number or an array"):
        Collection.bernoulli(means, radius=[1.0, 2.0, 3.0])


def test_best_arms_values_and_gaps_without_contexts():
    collection = Collection.bounded([[1.0, 4.0, 4.0], [3.0, 2.0, 0.0]], low=0, high=5)
    assert collection.best_arms.tolist() == [1, 0]
    assert collection.values.tolist() == [4.0, 3.0]
    assert collection.gaps.tolist() == [[3.0, 0.0, 0.0], [0.0, 1.0, 3.0]]


def test_value_of_a_contextual_task_is_the_mean_of_the_best_arm_at_each_context():
    rows = [[1.0, -1.0], [1.0, 1.0], [1.0, 3.0]]
    theta = [[[0.5, 0.1], [0.5, -0.1]], [[0.1, 0.0], [0.9, 0.0]]]
    collection = Collection.linear(theta, sampled_contexts(rows), GAUSSIAN)
    assert collection.values == pytest.approx([(0.6 + 0.6 + 0.8) / 3, 0.9])
    assert collection.means[0] == pytest.approx([0.6, 0.4])


def test_theta_must_fit_the_contexts():
    contexts = fixed_context([1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"theta must be of shape \(tasks, arms, 2\)"):
        Collection.linear(np.zeros((2, 2, 3)), contexts, GAUSSIAN)
    with pytest.raises(InvalidInput, match="theta and contexts must be given together"):
        Collection(np.array([[0.1, 0.2], [0.2, 0.1]]), ("a", "b"), ("c", "d"), contexts=contexts)


def test_variance_of_one_reward():
    covariance = [[0.0, 0.0], [0.0, 4.0]]
    theta = [[[0.0, 0.1], [0.0, 0.3]], [[0.0, 0.2], [0.0, 0.0]]]
    names = [INTERCEPT, "x"]
    linear = Collection.linear(theta, gaussian_contexts([1.0, 0.0], covariance, names), GAUSSIAN)
    assert reward_variance(linear) == pytest.approx(0.25 + 0.09 * 4)
    moments = Collection.linear(theta, moment_contexts([1.0, 0.0], covariance, names), GAUSSIAN)
    assert reward_variance(moments) == pytest.approx(0.25 + 0.09 * 4)
    rare = np.column_stack([np.ones(100), np.zeros(100)])
    rare[0, 1] = 30.0
    sampled = Collection.linear(theta, sampled_contexts(rare, names), GAUSSIAN)
    # More than the variance of x'theta, at most Hoeffding's quarter of its squared range.
    assert 0.25 + 0.09 * rare[:, 1].var() * 5 < reward_variance(sampled) <= 0.25 + 0.09 * 30**2 / 4
    assert reward_variance(Collection.linear(theta, fixed_context([1.0, 0.5]), BERNOULLI)) == 0.25
    assert reward_variance(Collection.bounded([[1, 2], [2, 1]], 0, 4)) == 4.0


def test_shares_weigh_the_tasks_and_are_checked():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=[0.2, 0.8])
    assert two.weights.tolist() == [0.2, 0.8]
    assert two.best_single_arm == 1
    assert Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]]).weights.tolist() == [0.5, 0.5]
    assert Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=[0.333, 0.663]).weights.sum() == 1.0
    for shares in ([0.5, 0.2], [1.2, -0.2], [1.0], [[0.5, 0.5]]):
        with pytest.raises(InvalidInput, match="shares must be"):
            Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=shares)
    with pytest.raises(InvalidInput, match="shares must be given for task 1, task 2"):
        with_shares(two, {"task 1": 1.0})


def test_spread_is_checked():
    assert Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=[[0.1, 0.1], [0.0, 0.0]]).varies
    assert not Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]]).varies
    for spread in ([[0.1, 0.1]], [[0.1, 0.1], [0.0, -0.1]], [[0.1, 0.1], [0.0, 0.6]]):
        with pytest.raises(InvalidInput, match="spread must be"):
            Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=spread)
