"""What cases lose against the slow programme over every (row, score, loss), and against cases that were simulated."""

import numpy as np
import pytest
from boxes import arrays_of
from hypothesis import given, settings
from hypothesis import strategies as st
from random_plans import certified, protocol_cases, slow_step
from scipy.stats import binom

from banditree.certificates import losses
from banditree.certificates.certify import certify
from banditree.certificates.outcomes import box_outcomes
from banditree.certificates.unlucky import SHARES
from banditree.plans.counts import Rounds, Score, Watch
from banditree.plans.gives import HAND_OVER, Give
from banditree.plans.line import Line
from banditree.plans.machine import machine_of
from banditree.plans.plan import SafetyRule, make_plan
from banditree.plans.points import ByOutcome
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection

TENTH = 0.1


def in_tenths(collection):
    """The same with rates that are whole tenths, so that losses are."""
    return Collection.bernoulli(np.clip(collection.means.round(1), 0.1, 0.9), arms=collection.arms)


def slow_losses(plan, tenths, horizon):
    """The chance (9H + 1,) of every loss in tenths, over every (row, score, loss). tenths: (K,), the rates."""
    gaps, arms = max(tenths) - tenths, arrays_of(plan).arm
    gives = np.where(arms == HAND_OVER, machine_of(plan).fallback, arms)
    at = {(0, 0, 0): 1.0}
    for _ in range(horizon):
        after = {}
        for (box, score, lost), p in at.items():
            rate = tenths[arms[box]] / 10
            cost = 0 if gives[box] < 0 else gaps[gives[box]]
            for reward, chance in ((0, 1 - rate), (1, rate)):
                place, _ = slow_step(plan, box, score, reward)
                key = (*place, lost + cost)
                after[key] = after.get(key, 0.0) + p * chance
        at = after
    chances = np.zeros(9 * horizon + 1)
    for (_, _, lost), p in at.items():
        chances[int(lost)] += p
    return chances


@pytest.mark.slow
@settings(max_examples=25)
@given(protocol_cases(), st.integers(1, 40))
def test_on_a_grid_of_their_unit_losses_are_those_of_the_slow_programme(case, horizon):
    plan, collection = case[0], in_tenths(case[1])
    certificate = certified(plan, collection, horizon)
    if certificate is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TINY": 0.0, "STAYS": 1e-13, "SINGLE": 100}.items():
            patch.setattr(losses, name, value)
        moments, outcomes = losses.moments_to(machine_of(plan), horizon, 1.0), box_outcomes(plan, collection)
        for task in range(collection.n_tasks):
            exits = losses.exits_under(machine_of(plan), outcomes, task, horizon, certificate.entered[task])
            found = losses.distribution(exits, moments, TENTH, 9 * horizon + 2)
            slow = slow_losses(plan, (collection.means[task] * 10).round(), horizon)
            np.testing.assert_allclose(found.chance[:-1], slow, atol=1e-9)
            few = losses.distribution(exits, moments, TENTH, 4)  # most of them lie beyond it
            np.testing.assert_allclose(few.chance[:3], slow[:3] if horizon > 0 else slow, atol=1e-9)
            assert few.mean == pytest.approx(certificate.regret[task], abs=1e-8)


def test_quantiles_and_the_worst_are_those_of_a_distribution_by_hand():
    """Of task 0, 1 in 200 cases lose 0.5 in each of the 999 rounds that follow the first."""
    two = Collection.bernoulli([[0.995, 0.495], [0.2, 0.7]], arms=["A", "B"])
    switch = Line(Give("A"), Score(ByOutcome((-1, 1)), 1, 1), below=Line(Give("B")), above=Line(Give("A")))
    found = certify(make_plan([switch], two, 1000), two).unlucky
    assert found.runs == 0
    assert found.at_most[0] == pytest.approx([0.0, 0.0, 499.5], rel=0.002)
    assert found.worst[0] == pytest.approx(499.5 / 2, rel=0.002)
    assert ((found.least <= found.at_most) & (found.at_most <= found.most)).all()


def test_the_losses_of_a_tree_lie_where_its_tests_end():
    """A tree that ends wrongly after 700 rounds loses 0.4 in each of the other 2,300."""
    two = Collection.bernoulli([[0.52, 0.12], [0.5, 0.9]], arms=["A", "B"])
    test = Line(Give("A"), Rounds(700, 364.0), below=Line(Give("B")), above=Line(Give("A")))
    found = certify(make_plan([test], two, 3000), two).unlucky
    assert found.at_most[0] == pytest.approx([920.0] * 3, rel=6e-3)
    assert (found.most - found.least <= 0.03 * found.at_most + 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cap", [0, 9])
def test_losses_of_uneven_rates_are_those_of_simulated_cases(seed, cap):
    """48 intervals of 99.99% in all, of plans with a score, a watched score, a rule, and lines back."""
    collection = Collection.bernoulli(np.random.default_rng(seed).uniform(0.1, 0.9, (4, 3)), arms=["A", "B", "C"])
    last = Line(Give("C"), Watch(ByOutcome((-2, 1)), 5, cap), below=1)
    first = Line(Give("A"), Score(ByOutcome((-2, 1)), 4, 3), below=2, above=Line(Give("B")))
    plan = make_plan([first, last], collection, 600, rule=SafetyRule((-3, 1), 8, cap=cap))
    found, runs = certify(plan, collection, must_rest=False).unlucky, 4_000
    results = simulate(collection, {"plan": plan}, horizon=600, runs=runs, rounds=[600], seed=seed)
    lost = np.sort(results.regret[0, ..., -1], axis=1)
    for which, share in enumerate(SHARES[:2]):
        low, high = (int(binom.ppf(q, runs, share)) for q in (0.00005, 0.99995))
        assert (lost[:, low - 1] <= found.most[:, which] + 1e-9).all()
        assert (found.least[:, which] <= lost[:, min(high, runs - 1)] + 1e-9).all()


def test_a_kind_that_loses_nothing_has_no_unlucky():
    same = Collection.bernoulli([[0.6, 0.2], [0.7, 0.1]], arms=["A", "B"])
    found = certify(make_plan([Line(Give("A"))], same, 100), same).unlucky
    assert not found.at_most.any()
    assert not found.worst.any()
