import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import draw_contexts, gaussian_contexts, sampled_contexts
from banditree.tasks.instances import hard, rand
from banditree.tasks.rewards import BERNOULLI, Gaussian
from banditree.tasks.separation import (
    Sense,
    closest_rows,
    least_separation,
    require_separation,
    separations,
)


@pytest.mark.parametrize("seed", range(5))
def test_closest_rows_equals_trying_every_pair(seed):
    means = np.random.default_rng(seed).random((30, 25))
    table = np.abs(means[:, None] - means[None]).max(axis=2)
    np.fill_diagonal(table, np.inf)
    value, i, j = closest_rows(means)
    assert value == table.min() == table[i, j]
    assert closest_rows(means, value) is None
    assert closest_rows(means, np.nextafter(value, 1)) == (value, i, j)


def test_least_separation_is_the_minimum_over_pairs_of_the_maximum_over_arms():
    collection = rand(8, 6, 0.2, seed=3)
    for sense in Sense:
        table = separations(collection, sense).max(axis=0) + 2 * np.eye(8)
        found = least_separation(collection, sense)
        assert found.value == pytest.approx(table.min())
        assert table[found.indices] == pytest.approx(found.value)
        assert found.tasks == tuple(collection.tasks[i] for i in found.indices)


def test_hellinger_sense_of_hard():
    # NOTES 1: at mean separation .4 the Hellinger one is .289.
    assert least_separation(hard(5, 10, 0.4, 0.01), Sense.HELLINGER).value == pytest.approx(0.2889, abs=1e-4)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_contextual_hellinger_agrees_with_averaging_over_contexts(family):
    rewards = Gaussian(sigma=0.3) if family == "gaussian" else BERNOULLI
    theta = np.random.default_rng(0).random((3, 2, 2)) * 0.3 + 0.1
    contexts = gaussian_contexts([1.0, 0.5], [[0.0, 0.0], [0.0, 0.04]])
    rows = draw_contexts(contexts, 20_000, np.random.default_rng(5))
    table = separations(Collection.linear(theta, contexts, rewards), Sense.HELLINGER)
    for k in range(2):
        mu = rows @ theta[:, k].T
        expected = np.sqrt(rewards.hellinger_squared(mu[:, 0], mu[:, 1]).mean())
        assert table[k, 0, 1] == pytest.approx(expected, rel=0.02)


def test_sampled_contexts_are_averaged_exactly():
    rows = np.array([[1.0, 0.1], [1.0, 0.6]])
    theta = np.random.default_rng(0).random((2, 2, 2)) / 2
    collection = Collection.linear(theta, sampled_contexts(rows), Gaussian(sigma=0.5))
    z = rows @ (theta[0, 0] - theta[1, 0])
    expected = np.sqrt(1 - np.exp(-(z**2) / (8 * 0.25)).mean())
    assert separations(collection, Sense.HELLINGER)[0, 0, 1] == pytest.approx(expected)


def test_bounded_rewards_have_no_hellinger_sense():
    with pytest.raises(InvalidInput, match="of bounded rewards only the mean is known"):
        separations(Collection.bounded([[0.1, 0.2], [0.3, 0.4]]), Sense.HELLINGER)


def test_too_large_a_separation_names_the_pair_and_what_would_do():
    collection = Collection.bernoulli([[0.1, 0.9], [0.1, 0.6], [0.8, 0.8]], tasks=["a", "b", "c"])
    require_separation(collection, 0.3)
    with pytest.raises(InvalidInput, match="at most 0.3 for this collection. Got 0.5: no arm tells 'a' from 'b'"):
        require_separation(collection, 0.5)
    with pytest.raises(InvalidInput, match="separation must be a number above 0"):
        require_separation(collection, 0.0)


def test_equal_tasks_are_said_to_be_equal():
    collection = Collection.bernoulli([[0.1, 0.9], [0.1, 0.9]], tasks=["a", "b"])
    with pytest.raises(InvalidInput, match="'a' and 'b' have the same mean for every arm"):
        require_separation(collection, 0.1)
