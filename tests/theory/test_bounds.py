import math

import pytest

from banditree.errors import InvalidInput
from banditree.theory.bounds import (
    dec_threshold,
    dt_ece_regret,
    dt_ece_samples,
    ece_regret,
    ece_samples,
    estimation_samples,
    greedy_depth_bound,
    regret_lower_bound,
    training_cost,
)


def test_a_known_collection_gives_the_printed_sample_size():
    assert dt_ece_samples(horizon=4000, depth=3, separation=0.4) == math.ceil(2 * math.log(24_000) / 0.16)


def test_an_eighth_of_the_separation_gives_the_number_of_the_notes():
    lam, horizon, depth = 0.4, 1000, 5
    n = dt_ece_samples(horizon=horizon, depth=depth, separation=0.75 * lam, radius=lam / 8)
    assert n == math.ceil(8 * math.log(2 * horizon * depth) / lam**2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"depth": 0}, "depth must be at least 1"),
        ({"radius": 0.2}, "within 0.2; to tell tasks 0.4 apart they must be within less than 0.2"),
    ],
)
def test_impossible_settings_are_named(change, message):
    with pytest.raises(InvalidInput, match=message):
        dt_ece_samples(**({"horizon": 100, "depth": 2, "separation": 0.4} | change))


def test_never_fewer_than_one_sample():
    assert dt_ece_samples(horizon=1, depth=1, separation=100.0) == 1


def test_ece_drops_tasks_at_the_rate_of_the_notes():
    beta = math.log(5 * 4 / 0.001)
    tight = ece_samples(n_tasks=5, separation=0.3, failure_probability=0.001, slack=beta)
    assert tight == math.ceil(1.5 * beta / 0.09)
    assert tight < ece_samples(n_tasks=5, separation=0.3, failure_probability=0.001)


def test_ece_ends_after_all_tasks_but_one_whatever_the_coefficient():
    settings = {"n_tasks": 5, "horizon": 1000, "separation": 0.3}
    endless = ece_regret(coefficient=math.inf, **settings)
    assert endless.parts["rounds"] == 4
    quick = ece_regret(coefficient=2.0, **settings)
    assert quick.parts["rounds"] == 2
    assert quick.value == 2 * quick.parts["samples_per_round"] + 1.0


@pytest.mark.parametrize("coefficient", [2.0, 3.5, 7.5])
@pytest.mark.parametrize("n_tasks", [2, 5, 40])
def test_the_rounds_of_ece_are_enough_for_the_slowest_shrinking(coefficient, n_tasks):
    """Each round removes at least |S|/C tasks: count the rounds until one is left."""
    left, rounds = n_tasks, 0
    while left > 1:
        left -= math.ceil(left / coefficient - 1e-9)
        rounds += 1
    found = ece_regret(n_tasks=n_tasks, horizon=10, coefficient=coefficient, separation=0.3)
    assert rounds <= found.parts["rounds"]


def test_lemma_3_2_names_the_conditions_that_fail():
    fine = dec_threshold(separation=0.24, epsilon=0.002, randomised=4.0)
    assert fine.holds
    assert fine.value == pytest.approx(4.0 / 48 / 0.24**2)
    broken = dec_threshold(separation=0.5, epsilon=0.03, randomised=4.0)
    assert broken.broken == ("lambda^2 > 2.1 epsilon C~", "epsilon <= 1/48")
    assert not regret_lower_bound(horizon=100, separation=0.9, epsilon=0.01, randomised=4.0).holds


def test_the_lower_bound_is_the_smaller_of_two_ways_to_lose():
    early = regret_lower_bound(horizon=10, separation=0.24, epsilon=0.002, randomised=4.0)
    late = regret_lower_bound(horizon=10**6, separation=0.24, epsilon=0.002, randomised=4.0)
    assert early.value == 10 * 0.002
    assert late.value == late.parts["classification"]


def test_sample_sizes_of_training():
    settings = {"n_tasks": 5, "n_arms": 10, "horizon": 4000, "separation": 0.4, "sigma": 0.5}
    logarithm = math.log(4 * 4000 * 50)
    printed = estimation_samples(**settings, n_features=3, smallest_gap=0.2, printed=True)
    assert printed.value == math.ceil(160 * 0.25 * 3 * logarithm / 0.04)
    ours = estimation_samples(**settings, n_features=3, smallest_gap=0.2)
    assert ours.parts["regression"] == pytest.approx(4 * printed.parts["regression"], rel=1e-4)
    one = estimation_samples(**settings, n_features=1)
    assert one.parts["regression"] == math.ceil(4 * 240 * 0.25 * logarithm / 0.16)
    silent = estimation_samples(**(settings | {"sigma": 0.0}), n_features=7, printed=True)
    assert silent.value == 7
    assert training_cost(**settings).value == 50 * one.value


def test_greedy_depth_is_bounded_by_either_coefficient():
    assert greedy_depth_bound(n_tasks=5, soft=4.0).value == 4
    assert greedy_depth_bound(n_tasks=5, soft=math.inf).value == 4
    assert greedy_depth_bound(n_tasks=40, optimal=7).value == math.floor(1 + 8 * math.log(20))
    with pytest.raises(InvalidInput, match="Give the soft coefficient or the optimal depth"):
        greedy_depth_bound(n_tasks=5)


def test_dt_ece_by_hand():
    """2 x 1/4 x log(2 x 10,000 x 1) / (0.2 - 0.01)^2 = 137.2, so 138 pulls; 138.5 times a gap of 0.52 is 72.02."""
    bound = dt_ece_regret(horizon=10_000, depth=1, separation=0.4, radius=0.01, largest_gap=0.52)
    assert bound.parts["samples_per_test"] == 138
    assert bound.value == pytest.approx(72.02)
    assert bound.holds
    mistaken = dt_ece_regret(horizon=10_000, depth=1, separation=0.4, radius=0.01, largest_gap=0.52, arm_loss=0.001)
    assert mistaken.value == pytest.approx(82.02)


def test_dt_ece_says_nothing_over_a_short_horizon():
    """58 pulls do not fit into 50 rounds: 50.5 times the gap of 0.5 is 25.25, and 25 is the most there is to lose."""
    bound = dt_ece_regret(horizon=50, depth=1, separation=0.4, largest_gap=0.5)
    assert (bound.parts["samples_per_test"], bound.value, bound.holds) == (58, 25.25, False)


def test_dt_ece_grows_with_the_gap():
    known = dt_ece_regret(horizon=1000, depth=2, separation=0.4)
    assert known.value == 2 * known.parts["samples_per_test"] + 0.5
    assert dt_ece_regret(horizon=1000, depth=2, separation=0.4, largest_gap=0.3).value == pytest.approx(
        0.3 * known.value
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: ece_samples(n_tasks=3, separation=0.0, failure_probability=0.1),
        lambda: dec_threshold(separation=0.2, epsilon=0.0, randomised=2.0),
        lambda: estimation_samples(n_tasks=3, n_arms=3, horizon=10, separation=-0.1, sigma=1.0),
    ],
)
def test_numbers_that_make_no_sense_are_named(call):
    with pytest.raises(InvalidInput, match="above 0"):
        call()
