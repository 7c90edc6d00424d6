from itertools import pairwise

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, linear, rand
from banditree.tasks.separation import Sense, separations
from banditree.theory.bounds import dec_threshold
from banditree.theory.decision_estimation import _Costs, dec
from banditree.theory.randomised import randomised_coefficient
from banditree.theory.separating_tests import separating_arms

TWO = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])


def by_definition(collection, gamma, omegas, policies):
    """Eq. (4) over given omegas and policies: max, min, max."""
    squared = separations(collection, Sense.HELLINGER) ** 2
    cost = collection.gaps[None] - gamma * np.einsum("wm,kim->wik", omegas, squared)
    return np.einsum("wik,pk->wpi", cost, policies).max(axis=2).min(axis=1).max()


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5, 2.0, 8.0, 40.0])
def test_bounds_enclose_a_fine_grid(gamma):
    share = np.linspace(0, 1, 201)
    omegas = np.stack([share, 1 - share], axis=1)
    policies = np.array([[a, b, 100 - a - b] for a in range(101) for b in range(101 - a)]) / 100
    wanted = by_definition(TWO, gamma, omegas, policies)
    found = dec(TWO, gamma)
    assert found.lower <= found.upper
    # The grid of policies can only miss the minimum from above, by at most its step times the spread of the costs.
    assert found.lower - 1e-9 <= wanted <= found.upper + 0.01 * (1 + gamma)


def test_it_falls_with_gamma_and_is_the_value_of_its_omega():
    values = [dec(TWO, gamma, effort=60) for gamma in (0.0, 0.5, 1.0, 2.0, 5.0)]
    assert all(later.lower <= earlier.upper for earlier, later in pairwise(values))
    for gamma, found in zip((0.5, 2.0), (values[1], values[3]), strict=True):
        attained = by_definition(TWO, gamma, np.array([found.omega]), np.array([found.policy]))
        assert attained == pytest.approx(found.lower, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 5.0])
def test_the_upper_bound_holds_for_every_omega(gamma):
    collection = rand(4, 6, 0.3)
    costs = _Costs(collection.gaps, gamma * separations(collection, Sense.HELLINGER) ** 2)
    upper = costs.bound_all(-np.inf, effort=60)
    rng = np.random.default_rng(0)
    omegas = np.concatenate([rng.dirichlet(np.full(4, 0.5), 150), np.eye(4), [dec(collection, gamma).omega]])
    values = [costs.against(omega).value for omega in omegas]
    assert max(values) <= upper + 1e-9
    assert upper < costs.bound_all(-np.inf, effort=1)  # halving helped


@pytest.mark.slow
def test_lemma_3_2_on_hard():
    """Up to gamma = C~/(48 lambda^2) the coefficient is above 3 epsilon, and it says so from below."""
    lam, epsilon = 0.24, 0.002
    for seed in range(2):
        collection = hard(5, 10, lam, epsilon, seed=seed)
        mixed = randomised_coefficient(separating_arms(collection, lam))
        threshold = dec_threshold(separation=lam, epsilon=epsilon, randomised=mixed.lower)
        assert threshold.holds
        for share in (0.1, 0.5, 1.0):
            found = dec(collection, share * threshold.value, subsets=[mixed.subset], effort=20)
            assert found.lower > threshold.parts["dec_above"]


def test_impossible_questions_are_named():
    with pytest.raises(InvalidInput, match="gamma must be a number of at least 0"):
        dec(TWO, -1.0)
    with pytest.raises(InvalidInput, match="without contexts"):
        dec(linear(3, 4, 2, 0.2), 1.0)
