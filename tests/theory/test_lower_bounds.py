import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear
from banditree.theory.lower_bounds import bayes_regret, graves_lai, list_beliefs

TWO = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])


def test_hard_costs_nothing_in_the_long_run_and_says_why():
    collection = hard(5, 10, 0.4, 0.01)
    for task in range(5):
        found = graves_lai(collection, task)
        assert (found.constant, found.confusing) == (0.0, ())
        assert "its best arm, pulled for ever, tells it" in found.reason


def test_the_cheapest_arm_rules_out_the_confusing_task():
    three = Collection.bernoulli([[0.7, 0.6, 0.3], [0.7, 0.8, 0.5], [0.6, 0.6, 0.9]])
    found = graves_lai(three, 0)
    assert found.confusing == (1,)
    costs = (
        0.1 / (0.6 * np.log(0.6 / 0.8) + 0.4 * np.log(0.4 / 0.2)),
        0.4 / (0.3 * np.log(0.3 / 0.5) + 0.7 * np.log(0.7 / 0.5)),
    )
    assert found.constant == pytest.approx(min(costs))
    assert [pull > 0 for pull in found.pulls] == [False, True, False]


def test_outcomes_that_exclude_a_task_cost_nothing():
    found = graves_lai(Collection.bernoulli([[0.7, 0.0], [0.7, 1.0]]), 0)
    assert (found.constant, found.confusing) == (0.0, (1,))


def test_one_task_out_of_two_equal_ones_can_share_an_arm():
    assert graves_lai(Collection.bernoulli([[0.7, 0.6], [0.7, 0.3]]), 0).confusing == ()


def test_gaussian_rewards_have_a_constant_too():
    found = graves_lai(Collection.gaussian([[1.0, 0.0], [1.0, 2.0]], sigma=1.0), 0)
    assert found.constant == pytest.approx(1.0 / 2.0)  # gap 1, divergence (0 - 2)^2/2


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
        (lambda: graves_lai(TWO, 2), "task must be between 0 and 1"),
        (lambda: graves_lai(linear(3, 4, 2, 0.2), 0), "without contexts"),
        (lambda: graves_lai(Collection.bounded([[0.1, 0.2], [0.3, 0.1]]), 0), "needs the probability of each reward"),
    ],
)
def test_impossible_questions_are_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
