import numpy as np
import pytest

from banditree.tasks.rewards import Family
from banditree.training.classes import find_classes
from banditree.training.dirichlet import fit_tastes, taste_likelihoods, taste_spread
from banditree.training.mixture import one_each_time, sums_of
from banditree.training.overdispersion import fit_kinds, kind_chances
from banditree.training.statistics import Statistics


def purchases(totals, n=None):
    """The statistics of individuals who took each option `totals` (U, K) times, on n (U,) occasions that show all."""
    U, K = totals.shape
    who, arm = np.divmod(np.arange(U * K), K)
    count = np.repeat(totals.sum(axis=1) if n is None else n, K)
    taken = totals.astype(float).ravel()[:, None]
    names = tuple(map(str, range(U))), tuple("ABCDEF"[:K])
    return Statistics(*names, (), who, arm, count, taken, taken[:, :, None], np.zeros(1))


def tastes(rng, alpha, kind, n):
    return np.array([rng.multinomial(size, rng.dirichlet(alpha[k])) for k, size in zip(kind, n, strict=True)])


def urn(totals, alpha):
    """The chance of one order of purchases from Polya's urn: each purchase adds a ball of its colour."""
    balls, chance = alpha.astype(float).copy(), 1.0
    for option, times in enumerate(totals):
        for _ in range(times):
            chance *= balls[option] / balls.sum()
            balls[option] += 1
    return chance


def test_likelihoods_are_those_of_an_urn():
    totals, alpha = np.array([[3, 0, 1], [0, 0, 0], [1, 4, 2]]), np.array([[0.5, 1.0, 2.0], [6.0, 3.0, 0.2]])
    expected = [[np.log(urn(own, a)) for a in alpha] for own in totals]
    np.testing.assert_allclose(taste_likelihoods(totals, alpha), expected, rtol=1e-10, atol=1e-12)


def test_whether_one_option_is_taken_each_time_is_seen_from_the_sums():
    totals = np.array([[2, 1, 0], [0, 0, 4]])
    assert one_each_time(purchases(totals))
    assert not one_each_time(purchases(totals, n=np.array([3, 5])))  # one occasion without a purchase
    assert sums_of(purchases(totals), Family.BERNOULLI).is_choice


def test_rates_and_strengths_of_two_kinds_are_found():
    """1,000 individuals of about 12 purchases: rates within 0.05, spreads within 0.03; seeded."""
    rng, alpha = np.random.default_rng(0), np.array([[6.0, 1.0, 1.0], [0.5, 1.5, 2.0]])
    kind = (rng.random(1000) < 0.4).astype(int)
    sums = sums_of(purchases(tastes(rng, alpha, kind, 2 + rng.poisson(10, 1000))), Family.BERNOULLI)
    found = fit_kinds(sums, 2, 3, rng)
    found = found.sorted(np.argsort(-found.rates[:, 0]))
    truth = alpha / alpha.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.rates, truth, atol=0.05)
    np.testing.assert_allclose(found.rates.sum(axis=1), 1.0)
    spread = taste_spread(truth, alpha.sum(axis=1))
    np.testing.assert_allclose(taste_spread(found.rates, found.strength), spread, atol=0.03)
    assert found.shares[1] == pytest.approx(0.4, abs=0.06)
    assert (kind_chances(sums, found).argmax(axis=1) == kind).mean() > 0.85


def test_each_step_raises_the_likelihood():
    rng = np.random.default_rng(1)
    sums = sums_of(
        purchases(tastes(rng, np.array([[2.0, 1.0, 1.0]]), np.zeros(200, int), np.full(200, 6))), "bernoulli"
    )
    once = fit_kinds(sums, 2, 1, rng)
    again = fit_tastes(sums, once)
    assert again.log_likelihood >= once.log_likelihood - 1e-6 * abs(once.log_likelihood)


def test_tastes_that_vary_are_not_taken_for_kinds():
    """One kind whose individuals differ much; as independent rows these would be three kinds or more. Seeded."""
    rng = np.random.default_rng(2)
    totals = tastes(rng, np.array([[2.0, 1.5, 1.0], [2.0, 1.5, 1.0]]), np.zeros(300, int), np.full(300, 15))
    trials = find_classes(purchases(totals), n_classes=2, n_starts=2).trials
    one = fit_kinds(sums_of(purchases(totals), Family.BERNOULLI), 1, 1, rng)
    assert trials[0].log_likelihood - one.log_likelihood < 8  # 3 more rates and a strength cost 12 of BIC
