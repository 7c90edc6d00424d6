import numpy as np
import pytest
from hypothesis import given, settings
from small_collections import collections, soft_tests

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard
from banditree.tasks.separation import Sense
from banditree.theory.separating_tests import check_table, even_tests, separating_arms, separating_policies


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
