import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.contexts import (
    INTERCEPT,
    Feature,
    draw_contexts,
    encode,
    fixed_context,
    gaussian_contexts,
    moment_contexts,
    sampled_contexts,
)

FEATURES = (Feature(INTERCEPT), Feature("age"), Feature("sex", "f"), Feature("sex", "x"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fixed_context([]), "at least one feature. Got 0"),
        (lambda: sampled_contexts(np.zeros((0, 2))), "at least one row"),
        (lambda: gaussian_contexts([1.0, 2.0], np.eye(3)), r"covariance must be of shape \(2, 2\)"),
        (lambda: gaussian_contexts([1.0, 2.0], np.eye(2), ["x"]), "features must be 2 names"),
        (lambda: gaussian_contexts([1.0, 2.0], np.eye(2), ["x", "x"]), "all different"),
        (lambda: gaussian_contexts([0.0, 0.0, 1.0], np.diag([1.0, 0.0, 1.0])), "combination of x2 never varies"),
        (lambda: moment_contexts([1.0, 1.0], np.zeros((2, 2)), ["a", "b"]), "a combination of a, b never varies"),
        (lambda: sampled_contexts([[1.0, 2.0], [2.0, 4.0]]), "a combination of x1, x2 never varies"),
        (lambda: fixed_context([np.nan]), "finite"),
    ],
)
def test_bad_distributions_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_an_intercept_is_no_singular_direction():
    assert gaussian_contexts([1.0, 50.0], [[0, 0], [0, 9.0]], [INTERCEPT, "age"]).n_features == 2


def test_draws_have_the_moments():
    contexts = gaussian_contexts([1.0, 5.0], [[0.0, 0.0], [0.0, 4.0]])
    rows = draw_contexts(contexts, 50_000, np.random.default_rng(1))
    assert np.all(rows[:, 0] == 1.0)
    # False-alarm rate 6e-5: four standard errors.
    assert abs(rows[:, 1].mean() - 5.0) < 4 * 2 / np.sqrt(50_000)
    assert draw_contexts(fixed_context([3.0]), 2, np.random.default_rng(0)).tolist() == [[3.0], [3.0]]
    sampled = draw_contexts(sampled_contexts([[1.0], [2.0]]), 100, np.random.default_rng(0))
    assert set(sampled.ravel()) == {1.0, 2.0}


def test_a_case_gives_names_and_values():
    assert encode(FEATURES, {"age": "40", "sex": "x"}).tolist() == [1.0, 40.0, 0.0, 1.0]
    assert encode(FEATURES, {"age": 40, "sex": "m"}).tolist() == [1.0, 40.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"age": 40}, r"no value for \['sex'\]"),
        ({"age": 40, "sex": "f", "weight": 3}, r"for age, sex only. Got \['weight'\]"),
        ({"age": "old", "sex": "f"}, "age must be a finite number. Got 'old'"),
    ],
)
def test_a_wrong_case_is_named(values, message):
    with pytest.raises(InvalidInput, match=message):
        encode(FEATURES, values)
