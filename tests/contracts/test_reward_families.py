"""Every reward family answers every question as a slow reference does: sums, enumeration, sampling."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from banditree.errors import InvalidInput
from banditree.tasks.rewards import FAMILIES, Bernoulli, Bounded, Cells, Family, Gaussian, Graded, make_rewards

STARS = Graded(values=(1.0, 2.0, 5.0), names=("poor", "fair", "good"))
LIKELY = {
    "bernoulli": (Bernoulli(), np.array([0.3, 0.8])),
    "gaussian": (Gaussian(sigma=0.7), np.array([0.3, 0.8])),
    "graded": (STARS, np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])),
}
ALL = {**LIKELY, "bounded": (Bounded(low=-1.0, high=3.0), np.array([0.3, 0.8]))}
MANY = 40_000


def cells(rewards, parameters, radius=0.0):
    means = rewards.means(parameters)
    return Cells(parameters, np.full(means.shape, radius), np.zeros(means.shape), True, rewards.variance_proxy)


def points_and_weights(rewards, parameters):
    """Every reward with its chance (or a fine grid of a density), (n,) and (cells, n)."""
    if rewards.support:
        return np.array(rewards.support), np.moveaxis(rewards.outcome_chances(parameters), 0, -1)
    grid = np.linspace(-8, 9, 100_001)
    density = stats.norm.pdf(grid, parameters[:, None], rewards.sigma)
    return grid, density * (grid[1] - grid[0])


@pytest.mark.parametrize("name", Family)
def test_every_family_is_in_the_table_and_survives_its_file(name):
    rewards = ALL[name][0]
    assert type(rewards) is FAMILIES[Family(name)]
    written = {key: value for key, value in rewards.written().items() if value is not None}
    assert make_rewards(rewards.family, **written) == rewards
    with pytest.raises(InvalidInput, match="must be omitted"):
        make_rewards(rewards.family, nonsense=1)


@pytest.mark.parametrize("name", ALL)
def test_samples_are_possible_and_have_the_mean(name):
    rewards, parameters = ALL[name]
    for cell in range(2):
        drawn = rewards.sample(np.repeat(parameters[cell : cell + 1], MANY, axis=0), np.random.default_rng(cell))
        # False-alarm rate 6e-5 each: four standard errors.
        assert abs(drawn.mean() - rewards.means(parameters)[cell]) < 4 * drawn.std() / np.sqrt(MANY)
        assert all(rewards.check(value) == value for value in drawn[:50])
        assert not np.any([rewards.impossible(value) for value in drawn[:50]])


@pytest.mark.parametrize("name", LIKELY)
def test_density_and_distances_agree_with_sums(name):
    rewards, parameters = LIKELY[name]
    points, weights = points_and_weights(rewards, parameters)
    width = 1.0 if rewards.support else points[1] - points[0]
    for index in range(0, len(points), max(1, len(points) // 7)):
        found = rewards.log_density(points[index], parameters)
        assert found == pytest.approx(np.maximum(np.log(weights[:, index] / width), -745.0), abs=1e-9)
    p, q = parameters
    f, g = weights
    likely = (f > 0) & (g > 0)
    assert rewards.kl(p, q) == pytest.approx((f * np.log(f / g, where=likely, out=np.zeros_like(f)))[likely].sum())
    assert rewards.hellinger_squared(p, q) == pytest.approx(1 - np.sqrt(f * g).sum(), abs=1e-9)


@pytest.mark.parametrize("name", LIKELY)
def test_tiny_distances_keep_their_digits(name):
    """D_H^2 grows as the square of a small step: a thousandth of the step gives a millionth of the distance."""
    rewards, parameters = LIKELY[name]
    direction = np.array([1.0, 0.0, -1.0]) if rewards.by_chances else 1.0
    large, small = (rewards.hellinger_squared(parameters[0], parameters[0] + step * direction) for step in (1e-5, 1e-8))
    assert small == pytest.approx(large * 1e-6, rel=1e-3)


@pytest.mark.parametrize("name", LIKELY)
def test_bins_agree_with_sums(name):
    rewards, parameters = LIKELY[name]
    cuts = np.array([[0.5, 1.5], [0.5, 4.0]])
    least, most = rewards.bins(cells(rewards, parameters), cuts)
    points, weights = points_and_weights(rewards, parameters)
    for box in range(2):
        number = (points[:, None] > cuts[box]).sum(axis=1)
        expected = [weights[box][number == bin].sum() for bin in range(3)]
        assert least[box] == pytest.approx(expected, abs=1e-4 if not rewards.support else 1e-12)
    assert least == pytest.approx(most)


@pytest.mark.parametrize("name", ["bernoulli", "graded"])
def test_totals_agree_with_enumeration(name):
    rewards, parameters = LIKELY[name]
    n, support = 5, np.array(rewards.support)
    chances = np.moveaxis(rewards.outcome_chances(parameters), 0, -1)
    for limit in (-1.0, 2.0, 9.0, 11.0, 25.0, 30.0):
        least, most = rewards.totals(cells(rewards, parameters), np.array([n, n]), np.array([limit, limit]))
        for cell in range(2):
            expected = sum(
                np.prod(chances[cell][list(path)])
                for path in itertools.product(range(len(support)), repeat=n)
                if support[list(path)].sum() <= limit
            )
            assert least[cell] == pytest.approx([expected, 1 - expected], abs=1e-12)
            assert most[cell] == pytest.approx(least[cell])


def test_normal_totals_agree_with_scipy():
    rewards, parameters = LIKELY["gaussian"]
    least, _ = rewards.totals(cells(rewards, parameters), np.array([9, 4]), np.array([3.0, 2.5]))
    expected = stats.norm.cdf([3.0, 2.5], np.array([9, 4]) * parameters, 0.7 * np.array([3.0, 2.0]))
    assert least[:, 0] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["bounded", "gaussian"])
def test_bounds_of_totals_hold_for_samples(name):
    rewards, parameters = ALL[name]
    n, limit = 30, 30 * 0.55
    known = Cells(parameters, np.zeros(2), np.zeros(2), name != "gaussian", rewards.variance_proxy)
    least, most = rewards.totals(known, np.array([n, n]), np.array([limit, limit]))
    for cell in range(2):
        rng = np.random.default_rng(cell)
        share = (rewards.sample(np.full((5000, n), parameters[cell]), rng).sum(axis=1) <= limit).mean()
        assert least[cell, 0] - 0.03 <= share <= most[cell, 0] + 0.03  # four standard errors of a share


@st.composite
def graded_cells(draw):
    G = draw(st.integers(2, 5))
    values = sorted(draw(st.sets(st.integers(-20, 20), min_size=G, max_size=G)))
    raw = [draw(st.lists(st.integers(0, 9), min_size=G, max_size=G).filter(any)) for _ in range(2)]
    return Graded(values=tuple(values)), np.array([np.array(row) / sum(row) for row in raw])


@settings(deadline=None, max_examples=50)
@given(graded_cells(), st.floats(0, 0.4), st.integers(1, 6), st.floats(0, 1))
def test_bounds_of_graded_rewards_hold_for_all_chances_within_the_radius(cell, share, n, place):
    """Chances that differ from the estimate by `share` of some set of values, in either direction, are within."""
    rewards, chances = cell
    limit = n * (rewards.low + place * rewards.width)
    known = cells(rewards, chances[:1], share * rewards.width)
    cuts = np.array([[(rewards.values[0] + rewards.values[1]) / 2]])
    total, bins = rewards.totals(known, np.array([n]), np.array([limit])), rewards.bins(known, cuts)
    other = chances[1:]
    apart = np.abs(other - chances[:1]).sum() / 2
    mixed = chances[:1] + (other - chances[:1]) * (min(1.0, share / apart) if apart > 0 else 0.0)
    there = cells(rewards, mixed)
    for (least, most), exact in (
        (total, rewards.totals(there, np.array([n]), np.array([limit]))[0]),
        (bins, rewards.bins(there, cuts)[0]),
    ):
        assert (least <= exact + 1e-9).all()
        assert (exact <= most + 1e-9).all()


@settings(deadline=None, max_examples=50)
@given(graded_cells())
def test_scorings_have_small_points_of_both_signs(cell):
    rewards, chances = cell
    for points, cuts in rewards.scorings([chances])[0]:
        assert min(points) < 0 < max(points) <= 8
        assert len(points) == len(rewards.values) == len(cuts) + 1
        assert (np.searchsorted(cuts, rewards.values) == np.arange(len(points))).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Graded(values=(1.0,)), "from 2 to 20"),
        (lambda: Graded(values=tuple(range(21))), "from 2 to 20. Got 21. Use Gaussian"),
        (lambda: Graded(values=(2.0, 1.0)), "finite and increasing"),
        (lambda: Graded(values=(0.0, np.nan)), "finite and increasing"),
        (lambda: Graded(values=(0.0, 1.0), names=("a",)), "2 different names"),
        (lambda: STARS.check(3.0), "reward must be one of 1, 2, 5. Got 3.0"),
        (lambda: Gaussian(sigma=1.0).check(1e155), "of size at most 1e\\+100"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()
