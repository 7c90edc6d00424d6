import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from banditree.tasks.contexts import Feature
from banditree.training.regression import Fit, Outcome, fit_cell, make_design
from banditree.training.statistics import collect


def cell(x, r, shift=None):
    found = collect(["a"] * len(r), ["k"] * len(r), r, x, shift=shift)
    return found.count[0], found.sums[0], found.products[0], found.shift


def design(d, intercept):
    return make_design([Feature(f"x{n}") for n in range(d)], np.zeros(d), intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_theta_is_that_of_scikit_learn(intercept, ridge):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)) * [1, 100, 0.01] + [0, 30, -2]
    r = 1 + x @ [1, 0.02, 5] + rng.normal(size=300)
    model = Ridge(ridge, fit_intercept=intercept, solver="svd") if ridge else LinearRegression(fit_intercept=intercept)
    model.fit(x, r)
    expected = np.append(model.intercept_, model.coef_) if intercept else model.coef_
    fit = fit_cell(*cell(x, r, [0, 30, -2, 1]), design(3, intercept), x[7], ridge)
    np.testing.assert_allclose(fit.theta, expected, rtol=1e-9)
    assert fit.prediction == pytest.approx(model.predict(x[7:8])[0], rel=1e-9)
    assert fit.rss == pytest.approx(((r - model.predict(x)) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_and_leverage_are_those_of_the_normal_equations(intercept):
    rng = np.random.default_rng(1)
    x, at = rng.normal(1, 1, (50, 2)), np.array([0.5, -1.0])
    fit = fit_cell(*cell(x, rng.normal(size=50)), design(2, intercept), at)
    rows = np.column_stack([np.ones(50), x]) if intercept else x
    inverse = np.linalg.inv(rows.T @ rows)
    full = np.append(1.0, at) if intercept else at
    np.testing.assert_allclose(fit.error, np.sqrt(inverse.diagonal()), rtol=1e-9)
    assert fit.leverage == pytest.approx(full @ inverse @ full, rel=1e-9)


def test_a_column_around_two_million_loses_nothing():
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.normal(2e6, 1, 500), rng.normal(size=500)])
    r = 3 + 0.5 * (x[:, 0] - 2e6) - x[:, 1] + rng.normal(0, 0.1, 500)
    expected = LinearRegression().fit(x, r)
    fit = fit_cell(*cell(x, r, [2e6, 0, 3]), design(2, True), x.mean(axis=0))
    np.testing.assert_allclose(fit.theta, np.append(expected.intercept_, expected.coef_), rtol=1e-9)
    # Without a shift the same sums know next to nothing of the slope: the shift is what keeps the digits.
    lost = fit_cell(*cell(x, r), design(2, True), x.mean(axis=0))
    assert isinstance(lost, Outcome) or abs(lost.theta[1] - expected.coef_[0]) > 1e-6


def test_cells_that_do_not_identify_theta_have_a_name():
    x = np.column_stack([np.arange(9.0), 2 * np.arange(9.0)])
    assert fit_cell(*cell(x, np.arange(9.0)), design(2, True), x[0]) is Outcome.SINGULAR_DESIGN
    constant = np.column_stack([np.arange(9.0), np.ones(9)])
    assert fit_cell(*cell(constant, np.arange(9.0)), design(2, True), x[0]) is Outcome.SINGULAR_DESIGN
    assert isinstance(fit_cell(*cell(constant, np.arange(9.0)), design(2, False), x[0]), Fit)
    assert isinstance(fit_cell(*cell(x, np.arange(9.0)), design(2, True), x[0], ridge=0.1), Fit)
    assert fit_cell(*cell(x[:3], np.arange(3.0)), design(2, True), x[0]) is Outcome.TOO_FEW_ROWS


def test_one_level_of_each_category_is_told_by_the_others():
    features = [Feature("age"), *(Feature("sex", s) for s in "fm"), *(Feature("city", c) for c in "PRS")]
    often = np.array([0, 9, 5, 1, 7, 2.0])
    names = [str(feature) for feature in make_design(features, often, True).features]
    assert names == ["(intercept)", "age", "sex=m", "city=P", "city=S"]
    without = [str(feature) for feature in make_design(features, often, False).features]
    assert without == ["age", "sex=f", "sex=m", "city=P", "city=S"]
    assert make_design(features, often, True).features[3].levels == ("P", "R", "S")
