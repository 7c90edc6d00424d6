import numpy as np
import pytest
from scipy.stats import binomtest

from banditree.tasks.rewards import Bounded
from banditree.training.intervals import radius_of_bounded_mean, radius_of_prediction, radius_of_rate


@pytest.mark.parametrize("successes", [0, 1, 7, 33, 39, 40])
def test_rates_have_the_exact_interval(successes):
    interval = binomtest(successes, 40).proportion_ci(0.9, method="exact")
    farther = max(interval.high - successes / 40, successes / 40 - interval.low)
    assert radius_of_rate(np.array(float(successes)), np.array(40.0), 0.1) == pytest.approx(farther)


def test_bounded_means_take_the_better_of_two_bounds():
    n = np.array([1.0, 50.0, 5000.0])
    hoeffding = 2 * np.sqrt(np.log(4 / 0.05) / (2 * n))
    wide = radius_of_bounded_mean(np.full(3, 1.0), n, 2.0, 0.05)
    np.testing.assert_allclose(wide, hoeffding)
    narrow = radius_of_bounded_mean(np.full(3, 1e-4), n, 2.0, 0.05)
    log = np.log(8 / 0.05)
    bernstein = np.sqrt(2e-4 * log / 5000) + 14 * log / (3 * 4999)
    assert narrow[2] == pytest.approx(bernstein)
    assert narrow[0] == pytest.approx(hoeffding[0])


def test_predictions_of_rewards_in_a_range_scale_with_the_range():
    def radius(family):
        one = np.array([0.01])
        return radius_of_prediction(family, one, one, np.array([90.0]), one, 1000, 0.05)[0]

    unit = radius(Bounded())
    assert radius(Bounded(low=-2, high=3)) == pytest.approx(5 * unit)
    log = np.log(4 / 0.05)
    assert unit == pytest.approx(np.sqrt(0.01 * log / 2) + np.sqrt(log / 2000))
