import numpy as np
import pytest
from hypothesis import given, settings
from small_collections import collections, soft_tests

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows
from banditree.tasks.instances import hard, linear
from banditree.tasks.separation import Sense
from banditree.theory.separating_tests import (
    check_table,
    even_tests,
    separating_arms,
    separating_policies,
    separating_rules,
)


def test_arms_are_the_policies_that_always_pull_one():
    collection = hard(5, 10, 0.4, 0.01)
    for sense, lam in ((Sense.MEAN, 0.4), (Sense.HELLINGER, 0.28)):
        by_arm = separating_arms(collection, lam, sense)
        assert (separating_policies(collection, np.eye(10), lam, sense) == by_arm).all()
        assert by_arm[5:].any()
        assert not by_arm[:5].any()


def test_a_mix_of_arms_averages_squared_hellinger_distances():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]])  # 0.289 by the first arm, 0 by the second
    half = [[0.5, 0.5]]
    assert separating_policies(two, half, 0.204, Sense.HELLINGER)[0, 0, 1]
    assert not separating_policies(two, half, 0.205, Sense.HELLINGER)[0, 0, 1]


@given(collections())
@settings(max_examples=100)
def test_every_threshold_is_beaten_by_an_even_test(collection):
    found = even_tests(collection, 0.3)
    kept = [
        (arm, set(np.flatnonzero(low)), set(np.flatnonzero(high)))
        for arm, low, high in zip(found.arm, found.low, found.high, strict=True)
    ]
    for arm, _, low, high in soft_tests(collection, 0.3):
        if low and high:
            assert any(arm == a and low <= more_low and high <= more_high for a, more_low, more_high in kept)
    for arm, low, high in kept:
        assert low
        assert high
        gap = collection.means[sorted(high), arm].min() - collection.means[sorted(low), arm].max()
        assert gap >= 0.3 - 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda two: separating_arms(two, 0.0), "separation must be a number above 0"),
        (lambda two: separating_policies(two, [[0.5, 0.4]], 0.1), "policies must be rows of 2 probabilities"),
        (lambda two: check_table(np.zeros((2, 3))), "table must be of shape"),
        (lambda two: check_table([[[False, True], [False, False]]]), "table must be symmetric"),
    ],
)
def test_impossible_tables_are_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]]))


def test_rules_that_look_at_the_context_one_by_one():
    """Against a loop over contexts; a rule that always pulls one arm is that arm."""
    tasks = linear(3, 4, 2, 0.2)
    rows = averaging_rows(tasks.contexts)
    sides = (rows[:, 0] > 0).astype(int)
    sigma = tasks.rewards.sigma
    squared = np.zeros((3, 3))
    for x, arm in zip(rows, sides, strict=True):
        gap = tasks.theta[:, arm] @ x
        squared += 1 - np.exp(-((gap[:, None] - gap[None]) ** 2) / (8 * sigma**2))
    distance = np.sqrt(squared / len(rows))
    for separation in (0.02, 0.1, 0.3):
        expected = distance >= separation
        assert (separating_rules(tasks, [lambda x: x[:, 0] > 0], separation)[0] == expected).all()
    always = separating_rules(tasks, [lambda x: np.full(len(x), 2)], 0.1)
    assert (always[0] == separating_arms(tasks, 0.1, Sense.HELLINGER)[2]).all()
    with pytest.raises(InvalidInput, match="one of the arms 0 to 3"):
        separating_rules(tasks, [lambda x: np.full(len(x), 4)], 0.1)
    with pytest.raises(InvalidInput, match="with contexts"):
        separating_rules(Collection.bernoulli([[0.7, 0.2], [0.3, 0.2]]), [lambda x: x[:, 0] > 0], 0.1)
