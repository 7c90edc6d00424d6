import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.separation import least_separation


def test_rand_is_the_documented_draw():
    assert np.array_equal(rand(10, 20, 0.4, seed=0).means, np.random.default_rng(0).random((10, 20)))


def test_rand_draws_whole_collections_again():
    rng = np.random.default_rng(2)
    means = rng.random((6, 4))
    while np.min([np.abs(means[i] - means[j]).max() for i in range(6) for j in range(i)]) <= 0.4:
        means = rng.random((6, 4))
    assert np.array_equal(rand(6, 4, 0.4, seed=2).means, means)


def test_hard_is_the_documented_draw():
    collection = hard(5, 10, 0.4, 0.01, seed=0)
    rng = np.random.default_rng(0)
    signs = rng.integers(0, 2, (5, 5)) * 2 - 1
    while len(np.unique(signs, axis=0)) < 5:
        signs = rng.integers(0, 2, (5, 5)) * 2 - 1
    assert np.array_equal(collection.means[:, 5:], 0.5 + signs * 0.2)
    assert np.array_equal(collection.means[:, :5], 0.75 + 0.1 * np.eye(5))
    assert collection.best_arms.tolist() == [0, 1, 2, 3, 4]


def test_linear_has_the_separation_and_rewards_in_range():
    collection = linear(5, 6, 4, separation=0.25, seed=1)
    assert least_separation(collection).value > 0.25
    assert collection.theta.shape == (5, 6, 4)
    assert collection.means.min() >= 0.2
    assert collection.means.max() <= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rand(50, 2, 0.4), "10,000 draws did not give a random collection of 50 tasks and 2 arms"),
        (lambda: rand(1, 2, 0.4), "n_tasks must be at least 2"),
        (lambda: rand(2, 1, 0.4), "n_arms must be at least 2"),
        (lambda: rand(2, 2, 1.4), "separation must be between 0 and 1"),
        (lambda: hard(5, 7, 0.4, 0.01), "n_arms must be large enough that 5 tasks differ"),
        (lambda: hard(5, 10, 0.4, 0.1), "epsilon must be"),
        (lambda: hard(5, 10, 0.8, 0.01), "separation must be below 1/2"),
        (lambda: linear(3, 3, 1, 0.1), "n_features must be at least 2"),
    ],
)
def test_what_cannot_be_had_is_said(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
