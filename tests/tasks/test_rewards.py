import numpy as np
import pytest
from scipy import stats

from banditree.errors import InvalidInput
from banditree.tasks.rewards import BERNOULLI, LOG_FLOOR, Bounded, Gaussian, make_rewards

GAUSSIAN = Gaussian(sigma=0.7)
BOUNDED = Bounded(low=-1.0, high=3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_rewards("poisson"), "one of bernoulli, gaussian, bounded, graded. Got 'poisson'"),
        (lambda: make_rewards("gaussian"), "sigma must be a number above 0"),
        (lambda: make_rewards("bounded", low=1.0, high=1.0), "low < high"),
        (lambda: make_rewards("bounded", sigma=1.0), "sigma must be omitted"),
        (lambda: make_rewards("bernoulli", low=-1.0), "low must be omitted for bernoulli rewards"),
    ],
)
def test_bad_families_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    "method", [lambda r: r.log_density(0.0, np.zeros(1)), lambda r: r.kl(0, 0), lambda r: r.hellinger_squared(0, 0)]
)
def test_bounded_rewards_refuse_whatever_needs_a_likelihood(method):
    with pytest.raises(InvalidInput, match="of bounded rewards only the mean is known"):
        method(BOUNDED)


@pytest.mark.parametrize(
    ("rewards", "bad"),
    [
        (BERNOULLI, 0.5),
        (BERNOULLI, 2),
        (BERNOULLI, "x"),
        (BOUNDED, 3.1),
        (GAUSSIAN, np.nan),
        (GAUSSIAN, np.inf),
        (BERNOULLI, None),
    ],
)
def test_impossible_rewards_are_refused(rewards, bad):
    with pytest.raises(InvalidInput, match="reward must be"):
        rewards.check(bad)


def test_log_density_agrees_with_scipy():
    means = np.array([0.0, 0.3, 1.0])
    for reward in (0.0, 1.0):
        expected = np.maximum(stats.bernoulli.logpmf(reward, means), LOG_FLOOR)
        assert BERNOULLI.log_density(reward, means) == pytest.approx(expected)
    assert GAUSSIAN.log_density(0.2, means) == pytest.approx(stats.norm.logpdf(0.2, means, 0.7))


def test_divergences_agree_with_integration():
    p, q = 0.3, 0.8
    grid = np.linspace(-8, 9, 200_001)
    f, g = stats.norm.pdf(grid, p, 0.7), stats.norm.pdf(grid, q, 0.7)
    step = grid[1] - grid[0]
    assert GAUSSIAN.hellinger_squared(np.array(p), np.array(q)) == pytest.approx(1 - np.sqrt(f * g).sum() * step)
    assert GAUSSIAN.kl(np.array(p), np.array(q)) == pytest.approx((f * np.log(f / g)).sum() * step)
    assert BERNOULLI.kl(np.array(p), np.array(q)) == pytest.approx(stats.entropy([p, 1 - p], [q, 1 - q]))
    overlap = np.sqrt(p * q) + np.sqrt((1 - p) * (1 - q))
    assert BERNOULLI.hellinger_squared(np.array(p), np.array(q)) == pytest.approx(1 - overlap)


def test_divergences_at_the_ends():
    assert BERNOULLI.kl(np.array(0.0), np.array(1.0)) == np.inf
    assert BERNOULLI.kl(np.array(1.0), np.array(1.0)) == 0.0
    assert BERNOULLI.hellinger_squared(np.array(0.0), np.array(1.0)) == 1.0


@pytest.mark.parametrize("rewards", [BERNOULLI, GAUSSIAN, BOUNDED])
def test_samples_have_the_mean(rewards):
    drawn = rewards.sample(np.full(40_000, 0.4), np.random.default_rng(0))
    # False-alarm rate 6e-5: four standard errors.
    assert abs(drawn.mean() - 0.4) < 4 * drawn.std() / 200
    assert np.all([rewards.check(value) is not None for value in drawn[:100]])
