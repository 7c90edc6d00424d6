"""What must hold of every coefficient, whatever the collection."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_collections import collections, separated_collections, separating_tables

from banditree.tasks.collection import Collection
from banditree.theory.bounds import greedy_depth_bound
from banditree.theory.coefficients import deterministic_coefficient, soft_coefficient
from banditree.theory.randomised import randomised_coefficient
from banditree.theory.separating_tests import separating_arms
from banditree.trees.optimal import optimal_depth


@given(separated_collections())
@settings(max_examples=100)
def test_chain_of_soft_splits(collection):
    """NOTES 6: C_soft <= C* + 1, C* <= D_greedy <= 1 + C_soft ln(M/2), C_soft <= 2 C."""
    soft = soft_coefficient(collection, 0.3).lower
    depth = optimal_depth(collection, 0.3)
    assert soft <= depth.lower + 1
    assert depth.lower <= depth.greedy <= 1 + soft * math.log(collection.n_tasks / 2) + 1e-9
    assert depth.greedy <= greedy_depth_bound(n_tasks=collection.n_tasks, soft=soft).value
    assert soft <= 2 * deterministic_coefficient(separating_arms(collection, 0.3)).lower


@pytest.mark.slow
@given(st.sets(st.integers(0, 31), min_size=2, max_size=6))
@settings(max_examples=25)
def test_chain_of_clean_splits(codes):
    """NOTES 6 for arms with two values: C~ <= C <= C* + 1 and C* <= 1 + C ln(M/2)."""
    means = np.array([[0.3 + 0.4 * (code >> bit & 1) for bit in range(5)] for code in sorted(codes)])
    collection = Collection.bernoulli(means)
    table = separating_arms(collection, 0.4)
    fixed, mixed = deterministic_coefficient(table).lower, randomised_coefficient(table)
    depth = optimal_depth(collection, 0.4).lower
    assert mixed.lower <= fixed + 1e-6
    assert fixed <= depth + 1
    assert depth <= 1 + fixed * math.log(len(codes) / 2) + 1e-9


def test_three_tasks_in_between_break_the_printed_chain():
    """NOTES 6: C* = 2, C~ = 4.5, C infinite."""
    three = Collection.bernoulli([[0.1, 0.1, 0.5], [0.9, 0.5, 0.1], [0.5, 0.9, 0.9]])
    table = separating_arms(three, 0.8)
    assert optimal_depth(three, 0.8).lower == 2
    assert randomised_coefficient(table).lower == pytest.approx(4.5)
    assert deterministic_coefficient(table).lower == np.inf


@given(separating_tables(max_tasks=6, max_tests=5), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_names_do_not_matter(table, random):
    tests, tasks = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(tests)
    random.shuffle(tasks)
    other = table[np.ix_(tests, tasks, tasks)]
    assert deterministic_coefficient(other).lower == deterministic_coefficient(table).lower


@given(separating_tables(max_tasks=4, max_tests=3), st.randoms(use_true_random=False))
@settings(max_examples=8)
def test_names_do_not_matter_when_drawing_tests(table, random):
    tasks = list(range(table.shape[1]))
    random.shuffle(tasks)
    other = table[:, tasks][:, :, tasks]
    assert randomised_coefficient(other).lower == pytest.approx(randomised_coefficient(table).lower, rel=1e-5)


@given(separating_tables(max_tasks=6, max_tests=5))
@settings(max_examples=80)
def test_one_more_test_never_raises_a_coefficient(table):
    fewer = table[:-1] if len(table) > 1 else table
    assert deterministic_coefficient(table).lower <= deterministic_coefficient(fewer).lower


@given(separating_tables(max_tasks=4, max_tests=3))
@settings(max_examples=8)
def test_one_more_test_never_raises_the_randomised_coefficient(table):
    fewer = table[:-1] if len(table) > 1 else table
    assert randomised_coefficient(table).lower <= randomised_coefficient(fewer).upper * (1 + 1e-5)


@given(collections(), st.integers(1, 8), st.integers(0, 3))
@settings(max_examples=80)
def test_a_larger_separation_never_lowers_a_coefficient(collection, tenths, more):
    small, large = tenths / 10, (tenths + more) / 10
    for value in (
        lambda lam: deterministic_coefficient(separating_arms(collection, lam)).lower,
        lambda lam: soft_coefficient(collection, lam).lower,
    ):
        assert value(small) <= value(large)
