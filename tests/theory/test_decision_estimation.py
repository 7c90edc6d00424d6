from itertools import pairwise, product

import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import sampled_contexts
from banditree.tasks.instances import hard, rand
from banditree.tasks.rewards import Gaussian
from banditree.tasks.separation import Sense, separations
from banditree.theory.bounds import dec_threshold
from banditree.theory.decision_estimation import _Search, dec
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
    found = dec(collection, gamma)
    search = _Search(collection.gaps[None], gamma * separations(collection, Sense.HELLINGER)[None] ** 2)
    rng = np.random.default_rng(0)
    for omega in np.concatenate([rng.dirichlet(np.full(4, 0.5), 150), np.eye(4), [found.omega]]):
        answer = search.against(omega)
        assert answer.least == pytest.approx(answer.most, abs=1e-9)
        assert answer.least <= found.upper + 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [(2, 4), (3, 4), (4, 5), (5, 6)])
def test_the_bounds_meet_on_every_small_collection(size, seed):
    for gamma in (0.1, 0.5, 2.0, 8.0):
        assert dec(rand(*size, 0.3, seed=seed), gamma).proven


def by_listed_rules(collection, gamma, rows):
    """Every rule from contexts to arms as an arm of its own, without contexts: (lower, upper)."""
    means = np.einsum("xd,mkd->xmk", rows, collection.theta)
    gaps = means.max(axis=2, keepdims=True) - means
    squared = collection.rewards.hellinger_squared(means[:, :, None], means[:, None])  # (X, M, M, K)
    rules = list(product(range(collection.n_arms), repeat=len(rows)))
    cost = np.array([[gaps[x, :, k] for x, k in enumerate(rule)] for rule in rules]).mean(axis=1)
    told = np.array([[squared[x, :, :, k] for x, k in enumerate(rule)] for rule in rules]).mean(axis=1)
    search = _Search(cost.T[None], gamma * told[None])
    for omega in np.random.default_rng(0).dirichlet(np.full(collection.n_tasks, 0.7), 20):
        search.alternate(omega)
    return search.best, search.bound_all(200)


@pytest.mark.parametrize("gamma", [0.2, 1.0, 4.0])
def test_with_contexts_a_policy_is_a_mixture_of_rules(gamma):
    rows = np.array([[1.0, -0.7], [1.0, 0.1], [1.0, 0.9]])
    theta = np.random.default_rng(3).normal(size=(3, 3, 2))
    collection = Collection.linear(theta, sampled_contexts(rows), Gaussian(sigma=1.0))
    lower, upper = by_listed_rules(collection, gamma, rows)
    found = dec(collection, gamma)
    assert found.proven
    assert upper - lower <= 1.1e-3 * upper
    assert found.lower == pytest.approx(lower, rel=2e-3)
    assert found.upper > 0.01
    assert sum(found.policy) == pytest.approx(1.0)


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
    with pytest.raises(InvalidInput, match="n_contexts must be at least 1"):
        dec(TWO, 1.0, n_contexts=0)
