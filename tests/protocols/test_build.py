"""`build_plan`: the default method, options that are never ignored, and plans that have something to find out."""

import warnings

import pytest
from boxes import arrays_of, survivors_at

from banditree.errors import InvalidInput
from banditree.plans.words import Vocabulary
from banditree.protocols import build
from banditree.protocols.build import METHODS, Method, build_plan, choose_method
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear
from banditree.trees.tree import build_tree, lazy_tree

MEANS = [[0.7, 0.2], [0.3, 0.6]]
COINS = Collection.bernoulli(MEANS)
PLAYS = {
    "Bernoulli": (COINS, "protocol"),
    "Gaussian": (Collection.gaussian(MEANS, sigma=1.0), "protocol"),
    "bounded": (Collection.bounded(MEANS), "tree"),
    "contextual": (linear(3, 3, 2, 0.2), "protocol"),
}


@pytest.mark.parametrize(("collection", "method"), PLAYS.values(), ids=PLAYS)
def test_the_default_is_the_first_method_that_can_do_the_tasks(collection, method):
    assert choose_method(collection).name == method
    if method == "tree":
        assert build_plan(collection, 200).origin.method == method


def test_options_choose_among_the_methods_that_use_them():
    assert build_plan(COINS, 200, stop_early=True).origin.method == "tree"
    assert build_plan(COINS, 200, effort=100).origin.method == "optimal"
    assert build_plan(COINS, 200, steps=50, separation=None).origin.method == "protocol"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_no_method_ignores_an_option(method):
    """One value for every option of every method: what a method does not use, it refuses by name."""
    values = {option: 1 for known in METHODS for option in known.options}
    for option, value in values.items():
        if option not in method.options:
            with pytest.raises(InvalidInput, match=f'{option} must be omitted with method="{method.name}"'):
                build_plan(COINS, 200, method.name, **{option: value})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "guess"}, "method must be one of protocol, tree, optimal. Got 'guess'"),
        ({"colour": 1}, "No method has an option 'colour'"),
        ({"objective": "mean", "separation": 0.2}, "No method uses all of these options: objective is an option of"),
    ],
)
def test_what_no_method_can_do_is_said(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        build_plan(COINS, 200, **arguments)


def test_a_method_that_cannot_do_the_tasks_names_those_that_can():
    with pytest.raises(InvalidInput, match='Use method="tree" or method="optimal"'):
        build_plan(PLAYS["bounded"][0], 200, "protocol")


@pytest.mark.parametrize("family", [Collection.bernoulli, Collection.bounded])
def test_ends_that_give_one_option_are_one_box(family):
    """A tree tests 542 times over 100 rounds to tell tasks apart whose best arm is the same."""
    collection = family([[0.9, 0.3, 0.1], [0.8, 0.4, 0.2]])
    assert lazy_tree(collection, 100).freeze().n_boxes == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor a warning about tests that are not done
        plans = [build_plan(collection, 100, method) for method in ("tree", "optimal", None)]
    for plan in plans:
        assert (plan.n_boxes, arrays_of(plan).arm[0], plan.depth) == (1, 0, 0)
        assert survivors_at(plan, 0).tolist() == [0, 1]


def test_a_new_method_is_one_entry(monkeypatch):
    def build_patient(collection, horizon, *, patience=1, vocabulary=None):
        return build_tree(collection, horizon, vocabulary=vocabulary)

    monkeypatch.setattr(build, "METHODS", (Method("patient", build_patient), *METHODS))
    words = Vocabulary(arm="drug")
    assert build_plan(COINS, 200, patience=3, vocabulary=words).vocabulary == words
    with pytest.raises(InvalidInput, match='It is an option of method="patient"'):
        build_plan(COINS, 200, "protocol", patience=3)
