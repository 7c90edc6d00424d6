"""`fit` with the conventions of scikit-learn: in pipelines, in cross-validation, cloned, and by its own checks."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from banditree import PlanClassifier
from banditree.errors import InvalidInput

QUICK = {"kinds": (2,), "lines": (1,), "folds": 2}
LOYAL = {"case": "household", "previous": "last"}


def purchases(n_cases=120, rounds=8, seed=0):
    """Households that mostly stay with one of three brands: what was bought before says what is next."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 2, n_cases)
    rows = []
    for household in range(n_cases):
        last = "none"
        for _ in range(rounds):
            bought = "abc"[taste[household]] if rng.random() < 0.85 else "abc"[rng.integers(3)]
            rows.append((household, last, bought))
            last = bought
    frame = pandas.DataFrame(rows, columns=["household", "last", "bought"])
    return frame.drop(columns="bought"), frame["bought"]


@pytest.fixture(autouse=True, scope="module")
def short_searches():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditree.evaluation.promise.DRAWS", 100)
        patch.setattr("banditree.evaluation.promise.LEAST_DRAWS", 20)
        patch.setattr("banditree.evaluation.fit.LAST_STEPS", 200)
        yield


def test_the_next_option_follows_from_what_was_right_before():
    X, y = purchases()
    found = PlanClassifier(**LOYAL, **QUICK).fit(X, y)
    assert found.plan_.n_tests >= 1
    assert found.score(X, y) > y.value_counts(normalize=True).max() + 0.1
    first = X["last"] == "none"
    assert len(set(found.predict(X[first]))) == 1, "nothing is known of a new case"
    # The same score as the evaluation of the plan says, round by round.
    held = X["household"].isin(np.flatnonzero(found.fit_.is_held_out))
    assert found.score(X[held], y[held]) == pytest.approx(found.fit_.evaluation.rows[0].value.value)


def test_rows_of_cases_may_be_mixed_as_long_as_each_case_is_in_order():
    X, y = purchases(40)
    found = PlanClassifier(**LOYAL, **QUICK).fit(X, y)
    mixed = X.assign(place=X.groupby("household").cumcount()).sort_values(["place", "household"]).index
    assert (found.predict(X.loc[mixed]) == found.predict(X)[mixed]).all()


def test_it_stands_in_a_pipeline_and_in_cross_validation_by_case():
    rng = np.random.default_rng(0)
    price = rng.uniform(0, 10, (300, 2))
    y = np.where(price[:, 0] > 5, "high", "low")
    flow = make_pipeline(StandardScaler(), PlanClassifier(**QUICK))
    assert cross_val_score(flow, price, y, cv=3).mean() > 0.9
    X, y = purchases(60)
    keep = ColumnTransformer([("as they are", "passthrough", ["household", "last"])])
    panel = make_pipeline(keep, PlanClassifier(case=0, previous=1, **QUICK))
    scores = cross_val_score(panel, X, y, groups=X["household"], cv=GroupKFold(2))
    assert scores.mean() > 0.5


def test_parameters_are_kept_as_given_and_cloned():
    one = PlanClassifier(case="household", seed=3)
    assert one.get_params()["case"] == "household"
    assert clone(one).get_params() == one.get_params()
    assert clone(one).set_params(seed=5).seed == 5


def test_columns_that_are_not_there_are_named():
    X, y = purchases(30)
    with pytest.raises(InvalidInput, match="'home' is not in X"):
        PlanClassifier(case="home").fit(X, y)
    with pytest.raises(InvalidInput, match="by their place"):
        PlanClassifier(case="household").fit(X.to_numpy(), y)


@pytest.mark.parametrize(
    "name",
    [
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimators_dtypes",
        "check_fit_score_takes_y",
        "check_estimators_nan_inf",
        "check_estimators_unfitted",
        "check_n_features_in",
        "check_fit2d_predict1d",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_classifiers_one_label",
        "check_classifiers_classes",
        "check_classifiers_regression_target",
        "check_supervised_y_2d",
    ],
)
def test_scikit_learn_checks_it(name):
    getattr(estimator_checks, name)("PlanClassifier", PlanClassifier(**QUICK))
