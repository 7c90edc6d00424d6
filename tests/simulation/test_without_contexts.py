"""The twins that are compiled where there are no contexts give what the functions give, and are what is compiled."""

import inspect

import numpy as np
import pytest

from banditree.policies.model import best_worth, lacks_context, model_of, predicted
from banditree.policies.registry import policy_named
from banditree.simulation.arena import _loop
from banditree.simulation.compiling import compiled_loop, fingerprint, specialised, with_twins
from banditree.simulation.without_contexts import WITHOUT_CONTEXTS
from banditree.tasks.instances import rand

NO_CONTEXT = np.zeros(0)


@pytest.mark.parametrize(("function", "twin"), WITHOUT_CONTEXTS.items(), ids=lambda one: one.__name__)
def test_a_twin_takes_and_returns_what_its_function_does(function, twin):
    assert inspect.signature(twin) == inspect.signature(function)


def test_the_twins_of_means_give_the_means():
    model = model_of(rand(3, 4, 0.4))
    assert not WITHOUT_CONTEXTS[lacks_context](model.theta, NO_CONTEXT)
    assert not lacks_context(model.theta, NO_CONTEXT)
    for task in range(3):
        assert WITHOUT_CONTEXTS[best_worth](model, NO_CONTEXT, task) == best_worth(model, NO_CONTEXT, task)
        for arm in range(4):
            assert WITHOUT_CONTEXTS[predicted](model, NO_CONTEXT, task, arm) == predicted(model, NO_CONTEXT, task, arm)


def test_the_same_loop_is_put_together_once_and_another_where_there_are_contexts():
    mts = policy_named("mts")
    plain = _loop(mts, "lean", False)
    assert plain is _loop(mts, "lean", False)
    assert plain is not _loop(mts, "lean", True)


def test_a_twin_is_found_however_deep_and_counts_in_the_fingerprint():
    def low(x: float) -> float:
        return x + 1.0

    def middle(x: float) -> float:
        return low(x) * 2.0

    def loop(x: float) -> float:
        return middle(x)

    def other(x: float) -> float:
        return x + 5.0

    given = specialised(_calls_middle, {"middle": middle})
    twin = with_twins(given, {low: other})
    assert (given(1.0), twin(1.0), loop(1.0)) == (4.0, 12.0, 4.0)
    assert fingerprint(given) != fingerprint(twin)
    assert compiled_loop(twin)(1.0) == 12.0
    assert with_twins(low, {middle: other}) is low


def _calls_middle(x: float) -> float:
    return middle(x)  # noqa: F821 (put in place by the test)
