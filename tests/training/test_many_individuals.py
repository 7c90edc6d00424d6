"""Kinds among more individuals than are used to find out how many there are: fitted on all, until nothing moves."""

import numpy as np
import pytest

from banditree.tasks.rewards import Family
from banditree.training.mixture import climb, posterior, refine_mixture, sums_of, totals
from banditree.training.overdispersion import within_correlation
from banditree.training.spread import estimate_spread
from banditree.training.statistics import Statistics

RATES = np.array([[0.5, 0.35, 0.4], [0.4, 0.5, 0.35], [0.35, 0.4, 0.5]])  # kinds that are hard to tell apart


def people(n_people, rows, seed=0, rates=RATES):
    """The statistics of people of equally many kinds, each with about so many rows of every arm."""
    rng = np.random.default_rng(seed)
    n = rng.poisson(rows, (n_people, rates.shape[1]))
    total = rng.binomial(n, rates[rng.integers(0, len(rates), n_people)])
    who, arm = np.nonzero(n)
    sums = total[who, arm].astype(float)
    names, arms = tuple(map(str, range(n_people))), tuple("ABCDEFG"[: rates.shape[1]])
    count = n[who, arm]
    return Statistics(names, arms, (), who, arm, count, sums[:, None], sums[:, None, None], np.zeros(1))


def slow_em(sums, chances, steps):
    """EM as in the books, step by step, on the whole table at once."""
    table = sums.rows()
    for _ in range(steps):
        successes, failures = chances.T @ table[:, 1::2], chances.T @ table[:, 0::2]
        pooled = sums.pooled
        rate = (successes + pooled[:, 1]) / (successes + failures + pooled.sum(axis=1))
        joint = table[:, 1::2] @ np.log(rate).T + table[:, 0::2] @ np.log(1 - rate).T
        joint += np.log(chances.mean(axis=0))
        top = joint.max(axis=1, keepdims=True)
        weight = np.exp(joint - top)
        chances = weight / weight.sum(axis=1, keepdims=True)
    return rate, chances.mean(axis=0), float((np.log(weight.sum(axis=1)) + top[:, 0]).sum())


def test_steps_that_are_extrapolated_end_where_those_of_the_books_end():
    sums = sums_of(people(3000, 8), Family.BERNOULLI)
    chances = np.random.default_rng(1).dirichlet(np.ones(3), 3000)
    rate, shares, value = slow_em(sums, chances, 2500)
    found = climb(sums, totals(sums.rows(), chances), hurries=True)
    assert found.log_likelihood >= value - 0.1
    order = [int(np.abs(found.rates - own).sum(axis=1).argmin()) for own in rate]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(found.rates[order], rate, atol=0.01)
    np.testing.assert_allclose(found.shares[order], shares, atol=0.03)


def test_blocks_of_individuals_add_up(monkeypatch):
    sums = sums_of(people(500, 5), Family.BERNOULLI)
    chances = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    whole = refine_mixture(sums, climb(sums, totals(sums.rows(), chances), hurries=False))
    monkeypatch.setattr("banditree.training.mixture.BLOCK", 37)
    parts = refine_mixture(sums, climb(sums, totals(sums.rows(), chances), hurries=False))
    np.testing.assert_allclose(parts.rates, whole.rates, rtol=1e-9)
    np.testing.assert_allclose(posterior(sums, parts)[0], posterior(sums, whole)[0], atol=1e-8)


@pytest.mark.slow
def test_equal_kinds_get_equal_shares_among_many():
    from banditree.training.classes import find_classes

    found = find_classes(people(40_000, 12), n_classes=3, n_starts=3)
    np.testing.assert_allclose(np.sort(found.shares), 1 / 3, atol=0.03)
    nearest = [np.abs(found.rates - own).max(axis=1).min() for own in RATES]
    assert max(nearest) < 0.01


def test_sums_over_pairs_are_sums_over_individuals():
    statistics = people(400, 4)
    sums = sums_of(statistics, Family.BERNOULLI)
    mixture = climb(sums, totals(sums.rows(), np.random.default_rng(0).dirichlet(np.ones(2), 400)), hurries=False)
    n, total = sums.counted()
    chances, _ = posterior(sums, mixture)
    above = below = 0.0
    for kind, rate in enumerate(mixture.rates):
        variance, weight = rate * (1 - rate), chances[:, kind, None]
        above += float((weight * ((total - n * rate) ** 2 - n * variance)).sum())
        below += float((weight * n * (n - 1) * variance).sum())
    assert within_correlation(sums, mixture) == pytest.approx(max(above / below, 0.0), rel=1e-9)
    assert estimate_spread(mixture.rates, _Counts(), statistics, chances) == pytest.approx(
        estimate_spread(mixture.rates, _Counts(counts=False), statistics, chances), abs=0.05
    )


class _Counts:
    """Rewards that are counted, or not known to be."""

    def __init__(self, counts=True):
        self.counts = counts


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian"])
def test_options_side_by_side_add_up_as_cell_by_cell(rewards, monkeypatch):
    import polars

    from banditree.training.logs import read_log

    rng = np.random.default_rng(3)
    reward = rng.integers(0, 2, 900) if rewards == "bernoulli" else rng.normal(50, 3, 900)
    who, arm = np.char.mod("p%d", rng.integers(0, 200, 900)), rng.choice(["A", "B", " C"], 900)
    log = polars.DataFrame({"individual": who, "arm": arm, "reward": reward})
    wide = read_log(log, rewards=rewards)
    monkeypatch.setattr("banditree.training.wide.MOST_ARMS", 0)
    cells = read_log(log, rewards=rewards)
    assert wide.notes == cells.notes != ()
    assert (wide.statistics.tasks, wide.statistics.arms) == (cells.statistics.tasks, cells.statistics.arms)
    for name in ("task", "arm", "count", "sums", "products", "shift"):
        np.testing.assert_allclose(getattr(wide.statistics, name), getattr(cells.statistics, name), rtol=1e-12)
