"""Theorem 4.4 exists once: the certificate and the analysis of a collection say the same."""

import pytest
from boxes import arrays_of

from banditree.reports.analyze import analyze
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear
from banditree.trees.guarantee import dt_ece_guarantee, guaranteed_regret
from banditree.trees.tree import build_tree, lazy_tree

MEANS = [[0.7, 0.2], [0.3, 0.6]]


@pytest.mark.parametrize(
    ("radius", "horizon", "expected"),
    [(0.0, 1000, 48.25), (0.01, 10_000, 72.02), (0.0, 50, None), (0.01, 50, None)],
)
def test_by_hand(radius, horizon, expected):
    """(N_cls + 1/2) times the largest gap: 96.5 x 0.5, and 138.5 x 0.52 (see tests/theory/test_bounds.py)."""
    collection = Collection.bernoulli(MEANS, radius=radius)
    wanted = None if expected is None else pytest.approx(expected)
    assert dt_ece_guarantee(collection, horizon) == wanted
    assert analyze(collection, horizon=horizon).facts["dt_ece_regret_bound"] == wanted


def test_an_arm_that_only_looks_best_costs_in_every_round():
    collection = Collection.bernoulli([[0.7, 0.2], [0.3, 0.31]], radius=0.02)
    bound = guaranteed_regret(lazy_tree(collection, 10_000), 1)
    assert bound.parts["mistaken_arm"] == pytest.approx(10_000 * (0.32 - 0.29))


def test_there_is_none_for_estimated_contexts():
    known = linear(3, 3, 2, 0.2)
    assert guaranteed_regret(lazy_tree(known, 10**6), 2).holds


def test_the_separation_is_stored_as_it_was_given():
    estimated = Collection.bernoulli(MEANS, radius=0.02)
    plan = build_tree(estimated, 10_000, 0.4)
    assert (plan.origin.separation, plan.origin.radius) == (0.4, 0.02)
    assert "separation 0.4)" in str(plan)
    tree = lazy_tree(estimated, 10_000, 0.4)
    assert (tree.separation, tree.asked) == (pytest.approx(0.36), 0.4)
    assert arrays_of(plan).pulls[0] == tree.pulls_at_depth(1)
