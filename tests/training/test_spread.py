import numpy as np
import pytest

from banditree.tasks.rewards import Family
from banditree.training.estimates import estimate
from banditree.training.individuals import Individuals
from banditree.training.spread import estimate_spread
from banditree.training.statistics import Statistics


def people(rng, spread, n_people=400, noise=None):
    """(statistics, labels) of individuals of two kinds around 0.3 and 0.6, 0/1 or normal rewards."""
    labels = np.arange(n_people) % 2
    mean = np.where(labels == 0, 0.3, 0.6)[:, None] * np.ones(2)
    if noise is None:
        strength = mean * (1 - mean) / max(spread, 1e-3) ** 2 - 1
        own = rng.beta(mean * strength, (1 - mean) * strength)
    else:
        own = rng.normal(mean, spread)
    count = 2 + rng.poisson(8, own.shape)
    rewards = [
        [
            (rng.random(n) < m).astype(float) if noise is None else rng.normal(m, noise, n)
            for n, m in zip(*row, strict=True)
        ]
        for row in zip(count, own, strict=True)
    ]
    who, arm = np.divmod(np.arange(own.size), 2)
    sums = np.array([cell.sum() for row in rewards for cell in row])[:, None]
    products = np.array([(cell**2).sum() for row in rewards for cell in row])[:, None, None]
    names = tuple(map(str, range(n_people)))
    return Statistics(names, ("x", "y"), (), who, arm, count.ravel(), sums, products, np.zeros(1)), labels


@pytest.mark.parametrize("noise", [None, 0.5])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.2])
def test_the_spread_is_found(spread, noise):
    """Its square within about three standard errors for 200 individuals of each kind; seeded."""
    statistics, labels = people(np.random.default_rng(3), spread, noise=noise)
    known = Individuals(statistics, labels, ("a", "b"))
    found = estimate(known.by_kind(), Family.GAUSSIAN if noise else Family.BERNOULLI)
    got = estimate_spread(found.means, found.rewards, statistics, np.eye(2)[labels])
    np.testing.assert_allclose(got**2, spread**2, atol=0.006 + 0.4 * spread**2)
