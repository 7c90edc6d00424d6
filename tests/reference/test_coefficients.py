"""The search behind the coefficients against the definitions, word for word, on hundreds of small collections."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_collections import (
    collections,
    deterministic_by_definition,
    separating_tables,
    soft_by_definition,
    subsets_of,
    tables,
)

from banditree.tasks.instances import rand
from banditree.theory import coefficients, randomised
from banditree.theory.coefficients import deterministic_coefficient, soft_coefficient
from banditree.theory.randomised import randomised_coefficient, randomised_split, solve_game
from banditree.theory.separating_tests import separating_arms
from banditree.theory.uneven_sets import FOUND, NONE_EXISTS, find_uneven_set

searching = mock.patch.object(coefficients, "LIST_UP_TO", 1)


@given(st.one_of(tables(), separating_tables(max_tasks=6, max_tests=5)))
@settings(max_examples=300)
def test_deterministic_search_equals_definition(table):
    wanted = deterministic_by_definition(table)
    with searching:
        found = deterministic_coefficient(table)
    assert found.proven
    assert found.lower == float(wanted)
    assert found.lower == deterministic_coefficient(table).lower  # by listing


@given(separating_tables(max_tasks=6, max_tests=5))
@settings(max_examples=100)
def test_the_worst_subset_and_its_witnesses_attain_the_value(table):
    with searching:
        found = deterministic_coefficient(table)
    seen = [table[k, i, list(found.subset)].sum() for k, i in enumerate(found.witnesses)]
    assert set(found.witnesses) <= set(found.subset)
    assert found.lower == (len(found.subset) / max(seen) if max(seen) else np.inf)


@given(collections())
@settings(max_examples=200)
def test_soft_search_equals_definition(collection):
    wanted = soft_by_definition(collection, 0.3)
    with searching:
        found = soft_coefficient(collection, 0.3)
    assert found.proven
    assert found.lower == float(wanted)
    assert found.lower == soft_coefficient(collection, 0.3).lower


@pytest.mark.parametrize("seed", range(3))
def test_search_equals_listing_of_thirteen_tasks(seed):
    collection = rand(13, 9, 0.2, seed=seed)
    table = separating_arms(collection, 0.3)
    with searching:
        found = deterministic_coefficient(table), soft_coefficient(collection, 0.2)
    with mock.patch.object(coefficients, "LIST_UP_TO", 13):
        listed = deterministic_coefficient(table), soft_coefficient(collection, 0.2)
    assert [value.lower for value in found] == [value.lower for value in listed]


def test_a_pair_that_no_test_separates_is_named():
    table = np.zeros((2, 3, 3), dtype=bool)
    table[0, 0, 1] = table[0, 1, 0] = table[1, 1, 2] = table[1, 2, 1] = True
    found = randomised_coefficient(table)
    assert (found.lower, found.subset, found.proven) == (np.inf, (0, 2), True)
    assert found.reason == "no test separates tasks 0 and 2"


@pytest.mark.slow
@given(separating_tables())
@settings(max_examples=60)
def test_randomised_search_equals_listing(table):
    with mock.patch.object(randomised, "LIST_UP_TO", 0):
        found = randomised_coefficient(table)
    wanted = max(len(S) / randomised_split(table, S).value for S in subsets_of(table.shape[1]))
    assert found.proven
    assert found.lower == pytest.approx(wanted, rel=1e-5)
    assert randomised_coefficient(table).lower == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_randomised_search_equals_listing_of_eight_tasks(seed):
    """The answer at hand is not told to the search: it is asked about ratios just below and just above it."""
    table = separating_arms(rand(8, 8, 0.3, seed=seed), 0.3)
    wanted = max(len(S) / randomised_split(table, S).value for S in subsets_of(8))
    assert find_uneven_set(table, wanted * (1 + 1e-6), 100_000)[0] == NONE_EXISTS
    status, members, _ = find_uneven_set(table, wanted * (1 - 1e-6), 100_000)
    assert status == FOUND
    assert members.sum() / randomised_split(table, np.flatnonzero(members)).value == pytest.approx(wanted, rel=2e-6)


@given(tables())
@settings(max_examples=60)
def test_both_programmes_have_one_value(table):
    """Strong duality: the mix over tests and the mix over tasks certify each other (NOTES 15)."""
    game = randomised_split(table, range(table.shape[1]))
    gains = table.sum(axis=2)  # (K, M)
    assert (game.distribution @ gains).min() == pytest.approx(game.value, abs=1e-9)
    assert (gains @ game.weights).max() == pytest.approx(game.value, abs=1e-9)
    opposite = solve_game(-gains.astype(float))  # the dual as a programme of its own: min over w of max over k
    assert -opposite.value == pytest.approx(game.value, abs=1e-9)


def test_cut_short_the_bounds_enclose_the_value():
    table = separating_arms(rand(18, 12, 0.3), 0.3)
    exact = deterministic_coefficient(table)
    assert exact.proven
    for effort in (0, 20, 200, 2000):
        found = deterministic_coefficient(table, effort=effort)
        assert found.lower <= exact.lower <= found.upper
    stopped = deterministic_coefficient(table, on_progress=lambda progress: False, effort=10)
    assert not stopped.proven
    assert "ended after" in stopped.reason
    assert stopped.upper >= exact.lower


def test_more_tasks_than_bits_are_bounded():
    """70 copies of one clean test each: task i against the rest, so that C = 70/1."""
    table = np.zeros((70, 70, 70), dtype=bool)
    for k in range(70):
        table[k, k, :] = table[k, :, k] = True
        table[k, k, k] = False
    found = deterministic_coefficient(table)
    assert found.lower <= 70 <= found.upper
    assert found.lower >= 64
    assert "more than 64 tasks" in found.reason


@pytest.mark.soak
def test_rand_40_40_is_proven():
    collection = rand(40, 40, 0.4)
    found = deterministic_coefficient(separating_arms(collection, 0.4))
    assert found.proven
    assert (found.lower, len(found.subset)) == (7.5, 15)
    soft = soft_coefficient(collection, 0.4)
    assert soft.proven
    assert soft.lower == 4.0


@pytest.mark.soak
def test_randomised_coefficient_of_rand_40_40_is_proven():
    found = randomised_coefficient(separating_arms(rand(40, 40, 0.4), 0.4))
    assert found.proven
    assert (found.lower, len(found.subset)) == (pytest.approx(4.0), 4)


@pytest.mark.slow
def test_randomised_coefficient_of_twenty_tasks_is_proven_or_enclosed():
    table = separating_arms(rand(20, 20, 0.4), 0.4)
    found = randomised_coefficient(table)
    assert found.proven
    assert (found.lower, len(found.subset)) == (pytest.approx(4.0), 4)
    for effort in (0, 300):
        cut = randomised_coefficient(table, effort=effort)
        assert cut.lower <= found.lower <= cut.upper
    stopped = randomised_coefficient(table, on_progress=lambda progress: progress.done > 1e9)
    assert not stopped.proven
    assert "ended after" in stopped.reason
