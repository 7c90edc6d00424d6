"""Predictions on a logistic curve: fitted as a general optimiser fits them, and within their margins."""

import numpy as np
import polars
import pytest
from scipy.optimize import minimize

from banditree.errors import InvalidInput
from banditree.tasks.collection import margin_at
from banditree.tasks.rewards import Bernoulli, Link
from banditree.training.learning import learn
from banditree.training.logistic import LEVEL_PRIOR, SLOPE_PRIOR, fit_curve

THETA = np.array([[[1.0, -1.5, 0.8], [-0.5, 0.9, 0.0]], [[-1.0, 0.5, -0.6], [0.4, -1.0, 1.2]]])
LOGISTIC = dict(rewards=Bernoulli(link=Link.LOGISTIC))


def visits(n, seed, n_individuals=0):
    """A log of two kinds, two options, a price and a sex; chances on a logistic curve, shifted by individual."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, n_individuals, n) if n_individuals else np.arange(n)
    kind, arm = (who % 2), rng.integers(0, 2, n)
    price, sex = rng.normal(2, 0.7, n), rng.integers(0, 2, n)
    x = np.column_stack([np.ones(n), price - 2, sex])
    value = np.einsum("nd,nd->n", x, THETA[kind, arm]) + 0.4 * rng.normal(size=n)[who] * bool(n_individuals)
    reward = (rng.random(n) < 1 / (1 + np.exp(-value))).astype(int)
    columns = {"kind": kind, "arm": arm, "price": price, "sex": np.where(sex, "m", "f"), "reward": reward, "who": who}
    return polars.DataFrame({**columns, "kind": ["early" if k == 0 else "late" for k in kind]})


def learned(log, **columns):
    return learn(log, **LOGISTIC, task="kind", arm="arm", reward="reward", context=["price", "sex"], **columns)


def test_the_curve_is_the_one_that_a_general_optimiser_finds():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(300), rng.normal(2000, 3, 300), rng.integers(0, 2, 300)])
    reward = (rng.random(300) < 1 / (1 + np.exp(-(0.5 + 0.4 * (x[:, 1] - 2000) - x[:, 2])))).astype(float)
    z = x.copy()
    z[:, 1:] = (x[:, 1:] - x[:, 1:].mean(axis=0)) / x[:, 1:].std(axis=0)
    prior = np.array([LEVEL_PRIOR, SLOPE_PRIOR, SLOPE_PRIOR]) ** -2.0

    def lost(theta):
        value = z @ theta
        return np.logaddexp(0, value).sum() - reward @ value + 0.5 * prior @ theta**2

    best = minimize(lost, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    assert np.allclose(x @ fit_curve(x, reward).theta, z @ best, atol=1e-4)


def test_an_option_that_always_fails_has_a_finite_curve_and_wide_margins():
    x = np.column_stack([np.ones(40), np.linspace(-1, 1, 40)])
    curve = fit_curve(x, np.zeros(40), np.arange(40) % 10)
    assert -12 < curve.theta[0] < -2
    assert curve.covariance[0, 0] > 1


@pytest.mark.slow
def test_curves_are_within_their_margins_at_every_context_at_once():
    """Of 15 logs, each with a failure probability of 5%, more than 5 outside: a chance below 1 in 10,000."""
    outside = 0
    for seed in range(15):
        collection = learned(visits(1000, seed)).collection
        rows = collection.contexts.rows
        male = rows[:, 2] if collection.features[2].level == "m" else 1 - rows[:, 2]
        true = np.column_stack([rows[:, 0], rows[:, 1] - 2, male])
        off = [np.abs(rows @ collection.theta[:, k].T - true @ THETA[:, k].T) for k in range(2)]
        outside += any((off[k] > margin_at(collection, rows, k)).any() for k in range(2))
    assert outside <= 5


def test_rows_of_one_individual_count_together():
    log = visits(1500, 0, n_individuals=30)
    alone, together = learned(log).collection, learned(log, individual="who").collection
    assert (np.trace(together.theta_error, axis1=2, axis2=3) > np.trace(alone.theta_error, axis1=2, axis2=3)).all()
    assert together.rewards.link is Link.LOGISTIC


def test_found_kinds_get_curves_too():
    report = learn(
        visits(3000, 1, n_individuals=40),
        rewards=Bernoulli(link=Link.LOGISTIC),
        kinds=2,
        individual="who",
        arm="arm",
        reward="reward",
        context=["price", "sex"],
    )
    found = report.collection
    apart = [np.abs(found.theta[order][:, :, 1] - THETA[:, :, 1]).max() for order in ([0, 1], [1, 0])]
    assert min(apart) < 0.8


@pytest.mark.parametrize(
    ("changes", "columns", "match"),
    [
        ({"ridge": 1.0}, {"context": ["price"]}, "ridge must be omitted with a logistic link"),
        ({"untried": "borrow"}, {"context": ["price"]}, "untried must be another choice"),
        ({}, {}, "link must be omitted without context columns"),
    ],
)
def test_what_a_logistic_curve_cannot_do_is_refused(changes, columns, match):
    settings = dict(rewards=Bernoulli(link=Link.LOGISTIC), **changes)
    with pytest.raises(InvalidInput, match=match):
        learn(visits(200, 0), **settings, task="kind", arm="arm", reward="reward", **columns)
