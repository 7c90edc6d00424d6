from itertools import combinations

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import fixed_context, sampled_contexts
from banditree.tasks.instances import hard, linear
from banditree.tasks.rewards import Gaussian
from banditree.theory.graves_lai import graves_lai


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


def alike_at_its_best(seed, n_others, rows):
    """Task 0 prefers arm 0 at every context; the others share that arm with it and want another one somewhere."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(1 + n_others, 3, 2)) * 0.3
    theta[:, 0] = [2.0, 0.0]
    theta[1:, 1 + seed % 2] += [2.5, 1.0]
    return Collection.linear(theta, sampled_contexts(rows), Gaussian(sigma=1.0))


def by_corners(gaps, told):
    """min gaps'eta with told eta >= 1: at its best, as many constraints hold with equality as eta has entries above 0.

    gaps: (n,), told: (J, n). Every choice of entries and of constraints is solved and checked.
    """
    best = np.inf
    for size in range(1, len(told) + 1):
        for spots in combinations(range(len(gaps)), size):
            for tight in combinations(range(len(told)), size):
                matrix = told[np.ix_(tight, spots)]
                if abs(np.linalg.det(matrix)) > 1e-9:
                    eta = np.linalg.solve(matrix, np.ones(size))
                    if eta.min() >= 0 and (told[:, spots] @ eta >= 1 - 1e-9).all():
                        best = min(best, gaps[list(spots)] @ eta)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_with_contexts_it_is_the_cheapest_corner_of_the_programme(seed):
    rows = np.array([[1.0, -0.5], [1.0, 0.2], [1.0, 1.0]])
    collection = alike_at_its_best(seed, 2, rows)
    found = graves_lai(collection, 0)
    means = np.einsum("xd,mkd->xmk", rows, collection.theta)
    assert (means[:, 0].argmax(axis=1) == 0).all()
    wants_another = [int(j) for j in (1, 2) if (means[:, j].argmax(axis=1) != 0).any()]
    assert found.confusing == tuple(wants_another)
    assert found.confusing
    told = (means[:, wants_another] - means[:, :1]) ** 2 / 2  # (X, J, K)
    gaps = means[:, 0].max(axis=1, keepdims=True) - means[:, 0]
    wanted = by_corners(gaps.ravel(), np.moveaxis(told, 1, 0).reshape(len(wants_another), -1))
    assert found.constant == pytest.approx(wanted)
    assert found.pulls[0] == pytest.approx(0.0)


def test_one_context_is_none():
    sampled = alike_at_its_best(3, 2, np.array([[1.0, 0.4], [1.0, 0.5]]))
    collection = Collection.linear(sampled.theta, fixed_context([1.0, 0.4]), Gaussian(sigma=1.0))
    means = sampled.theta @ np.array([1.0, 0.4])
    without = graves_lai(Collection.gaussian(means, sigma=1.0), 0)
    assert graves_lai(collection, 0).constant == pytest.approx(without.constant)
    assert without.constant > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: graves_lai(hard(3, 6, 0.4, 0.01), 3), "task must be between 0 and 2"),
        (lambda: graves_lai(linear(3, 4, 2, 0.2), 0, n_contexts=0), "n_contexts must be at least 1"),
        (lambda: graves_lai(Collection.bounded([[0.1, 0.2], [0.3, 0.1]]), 0), "needs the probability of each reward"),
    ],
)
def test_impossible_questions_are_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
