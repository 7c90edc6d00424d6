"""The design of a log is found from it: a log at random is taken for another one in 1 of 4,000 logs."""

from dataclasses import replace

import numpy as np
import pytest
from null_worlds import null_world

from banditree.cases.design import Design, find_design
from banditree.cases.table import cases_of, shuffled
from banditree.errors import InvalidInput
from banditree.evaluation.propensities import understood
from banditree.tasks.contexts import INTERCEPT, Feature


@pytest.mark.parametrize(
    ("world", "design"),
    [
        ("random", Design.PER_ROUND),
        ("drift", Design.PER_ROUND),
        ("sticky 2", Design.STICKY),
        ("sticky 20", Design.STICKY),
        ("parallel", Design.PER_CASE),
        ("few", Design.PER_CASE),
        ("severity by kind", Design.SEEN),
        ("severity by kind, propensities", Design.PER_ROUND),
    ],
)
def test_designs_are_found(world, design):
    assert {find_design(null_world(world, seed)).design for seed in range(5)} == {design}


def test_kinds_do_not_make_a_random_log_look_chosen():
    assert {find_design(null_world("random", seed, kinds=True)).design for seed in range(5)} == {Design.PER_ROUND}


def test_options_that_are_left_after_failures_were_chosen_by_what_was_seen():
    rng, rows, case = np.random.default_rng(0), [], []
    for u in range(60):
        arm = int(rng.integers(2))
        for _ in range(12):
            reward = float(rng.random() < 0.5)
            rows.append([reward, np.nan] if arm == 0 else [np.nan, reward])
            case.append(u)
            arm = arm if reward or rng.random() < 0.3 else 1 - arm
    found = find_design(cases_of(case, ["A", "B"], rows))
    assert found.design is Design.SEEN
    assert "outcome before" in str(found)
    assert not found.shows_plans


@pytest.mark.parametrize("what", ["context", "time"])
def test_what_was_known_before_is_seen_to_decide_and_chances_follow_from_it(what):
    rng, n, rounds = np.random.default_rng(0), 100, 10
    known = rng.random(n * rounds)
    about = {"at": known} if what == "time" else {"contexts": np.column_stack([np.ones(n * rounds), known])}
    about |= {} if what == "time" else {"features": (Feature(INTERCEPT), Feature("price"))}

    def log(chance):
        given = np.eye(2)[(rng.random(n * rounds) < chance).astype(int)] > 0
        outcomes = np.where(given, rng.random((n * rounds, 2)) < 0.5, np.nan)
        return replace(cases_of(np.repeat(np.arange(n), rounds), ["A", "B"], outcomes), **about)

    assert {find_design(log(0.5)).design for _ in range(20)} == {Design.PER_ROUND}
    chance = 0.2 + 0.6 * known
    found, made = understood(log(chance), None, 0)
    assert made.design is Design.SEEN
    assert ("they depend on 'price'" if what == "context" else "they depend on the time") in str(made)
    given = np.where(found.arm == 1, chance, 1 - chance)
    assert np.abs(found.chances - given).mean() < 0.05


def test_a_sticky_log_in_another_order_sticks_no_more():
    log = null_world("sticky 20", 0)
    assert find_design(shuffled(log, 0)).design is Design.SEEN  # cases still differ in what they are given


def test_a_design_can_be_stated():
    found = find_design(null_world("sticky 2", 0), "per-round")
    assert found.is_stated
    assert found.shows_plans
    assert "as stated" in str(found)
    with pytest.raises(InvalidInput, match="design must be one of full, per-round"):
        find_design(null_world("random", 0), "random")


def test_too_few_cases_tell_nothing():
    assert find_design(null_world("random", 0, n_cases=6)).design is Design.UNKNOWN
