import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.cases import case_collection, draw_cases, reach_of_cases
from banditree.tasks.collection import Collection

VARYING = Collection.bernoulli(
    [[0.7, 0.2, 0.5], [0.3, 0.6, 0.0]], spread=[[0.1, 0.15, 0.0], [0.2, 0.1, 0.0]], shares=[0.25, 0.75]
)


def test_cases_have_the_mean_and_spread_of_their_task():
    """Means of 20,000 draws within 5 standard errors: a false alarm in less than one of 100,000 runs."""
    cases = draw_cases(VARYING, 20_000)
    for task in range(2):
        own = cases.means[cases.task == task]
        assert np.abs(own.mean(axis=0) - VARYING.means[task]).max() < 5 * 0.2 / np.sqrt(20_000)
        np.testing.assert_allclose(own.std(axis=0), VARYING.spread[task], atol=0.005)
    assert cases.weights.sum() == pytest.approx(1.0)
    assert cases.weights[cases.task == 1].sum() == pytest.approx(0.75)
    assert np.array_equal(cases.means, draw_cases(VARYING, 20_000).means)


@pytest.mark.parametrize(
    "collection",
    [
        VARYING,
        Collection.gaussian([[0.0, 5.0], [3.0, 1.0]], 1.0, spread=[[0.5, 1.0], [0.0, 0.1]]),
        Collection.bernoulli([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]], spread=np.full((2, 3), 0.15)),
    ],
    ids=["beta", "normal", "choice"],
)
def test_fresh_cases_lie_evenly_and_are_others_with_every_seed(collection):
    """Means of 20,000 drawn cases are within 5 standard errors of those of 400 even ones: a false alarm in less than
    one of 100,000 runs."""
    drawn, even = draw_cases(collection, 20_000), draw_cases(collection, 400, fresh=True)
    for task in range(2):
        many, few = (cases.means[cases.task == task] for cases in (drawn, even))
        error = 5 * many.std(axis=0) / np.sqrt(20_000) + 0.003
        np.testing.assert_array_less(np.abs(few.mean(axis=0) - many.mean(axis=0)), error)
        np.testing.assert_allclose(few.std(axis=0), many.std(axis=0), rtol=0.08)
    assert not np.array_equal(even.means, draw_cases(collection, 400, seed=1, fresh=True).means)


def test_a_spread_too_small_to_matter_is_none():
    hardly = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=np.full((2, 2), 1e-9))
    for fresh in (False, True):
        np.testing.assert_array_equal(draw_cases(hardly, 3, fresh=fresh).means, np.repeat(hardly.means, 3, axis=0))


def test_rates_of_0_and_1_do_not_vary():
    """One option is taken each time, and its spread cannot be: such rates were no numbers at all."""
    sure = Collection.bernoulli([[1.0, 0.0], [0.4, 0.6]], spread=np.full((2, 2), 0.2))
    for fresh in (False, True):
        cases = draw_cases(sure, 50, fresh=fresh)
        np.testing.assert_allclose(cases.means[cases.task == 0], np.tile([1.0, 0.0], (50, 1)), atol=1e-6)
        assert cases.means[cases.task == 1].std() > 0.05


SKEWED = Collection.bernoulli([[0.1, 0.05, 0.9], [0.4, 0.05, 0.5]], spread=[[0.15, 0.1, 0.2], [0.2, 0.1, 0.15]])
ONE_CHOICE = Collection.bernoulli([[0.8, 0.15, 0.05], [0.1, 0.3, 0.6]], spread=np.full((2, 3), 0.2))
NORMAL = Collection.gaussian([[0.7, 0.2], [0.3, 0.6]], sigma=1.0, spread=[[0.5, 0.1], [0.2, 0.3]])


@pytest.mark.parametrize(
    "collection", [VARYING, SKEWED, ONE_CHOICE, NORMAL], ids=["beta", "skewed", "choice", "normal"]
)
def test_cases_are_farther_than_their_reach_as_rarely_as_asked(collection):
    """20,000 draws, 5 standard errors of a chance of 1% above it: a false alarm in less than one of 100,000 runs."""
    cases = draw_cases(collection, 20_000)
    away = np.abs(cases.means - collection.means[cases.task]) > reach_of_cases(collection, 0.01)[cases.task] + 1e-12
    often = np.array([away[cases.task == task].mean(axis=0) for task in range(2)])
    assert often.max() <= 0.01 + 5 * np.sqrt(0.01 * 0.99 / 20_000)
    assert often.max() >= 0.004  # and no farther than needed: one side of a skewed distribution may be empty


def test_options_of_which_one_is_taken_stay_shares():
    shares = Collection.bernoulli([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]], spread=np.full((2, 3), 0.15))
    cases = draw_cases(shares, 5_000)
    np.testing.assert_allclose(cases.means.sum(axis=1), 1.0)
    np.testing.assert_allclose(cases.means[cases.task == 0].mean(axis=0), [0.7, 0.2, 0.1], atol=0.02)


def test_normal_means_vary_normally_and_kinds_without_spread_are_one_case():
    normal = Collection.gaussian([[0.0, 5.0], [3.0, 1.0]], 1.0, spread=[[0.5, 1.0], [0.0, 0.1]])
    np.testing.assert_allclose(draw_cases(normal, 20_000).means[:20_000].std(axis=0), [0.5, 1.0], atol=0.02)
    alike = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    assert np.array_equal(draw_cases(alike, 100).means, alike.means)
    assert case_collection(VARYING, 3).n_tasks == 6
    with pytest.raises(InvalidInput, match="n must be at least 1"):
        draw_cases(VARYING, 0)
