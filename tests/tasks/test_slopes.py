import numpy as np
import pytest

from banditree.tasks.rewards.slopes import MOST_POINTS, own_slopes, slope_between


@pytest.mark.parametrize(("low", "high"), [(0.75, 0.76), (0.03, 0.04), (0.93, 0.95), (0.51, 0.53), (0.004, 0.007)])
def test_means_that_no_usual_slope_parts_get_a_slope_near_the_middle_of_their_gap(low, high):
    """A score at the edge of the gap hardly drifts under one of the two means, and takes long to tell."""
    places = [(y / (x + y) - low) / (high - low) for x, y in own_slopes(np.array([low, high, low]))]
    assert all(0.1 < place < 0.9 for place in places)
    assert any(0.3 < place < 0.7 for place in places)


def test_means_that_a_usual_slope_parts_need_no_other():
    assert own_slopes(np.array([0.3, 0.6])) == []
    assert own_slopes(np.array([0.5])) == []


def test_the_slope_between_two_means_is_the_one_of_smallest_numbers():
    """Against all pairs of points."""
    rng = np.random.default_rng(0)
    x, y = np.meshgrid(np.arange(1, MOST_POINTS + 1), np.arange(1, MOST_POINTS + 1))
    allowed = x * y <= MOST_POINTS
    for _ in range(200):
        low = rng.random()
        high = low + rng.random() * (1 - low) * 0.1
        within = allowed & (y / (x + y) > low) & (y / (x + y) < high)
        found = slope_between(low, high)
        assert (found is None) == (not within.any())
        if found is not None:
            assert sum(found) == (x + y)[within].min()
