import numpy as np
import pytest
from bayes_optimal import bayes_regret, list_beliefs

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear

TWO = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.2, 0.8), (0.97, 0.03)])
def test_the_grid_encloses_every_belief_listed(horizon, prior):
    exact = list_beliefs(TWO, horizon, np.array(prior))
    found = bayes_regret(TWO, horizon, prior, grid=801)
    assert found.lower - 1e-12 <= exact <= found.upper + 1e-12
    assert found.upper - found.lower < 1e-3


def test_a_finer_grid_only_narrows_the_bounds():
    coarse, fine = bayes_regret(TWO, 200, grid=101), bayes_regret(TWO, 200, grid=401)
    assert coarse.lower < fine.lower < fine.upper < coarse.upper
    assert fine.upper - fine.lower < 0.05


@pytest.mark.slow
def test_two_tasks_over_ten_thousand_rounds_to_two_digits():
    found = bayes_regret(TWO, 10_000, grid=2001)
    assert found.upper == pytest.approx(4.24, abs=0.005)
    assert found.lower == pytest.approx(4.24, abs=0.01)


def test_three_tasks_are_listed():
    three = Collection.bernoulli([[0.9, 0.1], [0.1, 0.9], [0.5, 0.6]])
    one, two = bayes_regret(three, 1), bayes_regret(three, 2)
    assert one.lower == one.upper == pytest.approx(three.gaps.mean(axis=0).min())
    assert one.lower < two.lower < 2 * one.lower
    with pytest.raises(InvalidInput, match="too many beliefs to list"):
        bayes_regret(three, 1000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bayes_regret(TWO, 0), "horizon must be at least 1"),
        (lambda: bayes_regret(TWO, 5, [0.5, 0.6]), "prior must be 2 probabilities"),
        (lambda: bayes_regret(linear(3, 4, 2, 0.2), 5), "a few possible values, without contexts"),
    ],
)
def test_impossible_questions_are_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
