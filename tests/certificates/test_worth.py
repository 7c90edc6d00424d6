"""What outcomes are worth and what changes cost, in certificates, against enumeration and simulation."""

from dataclasses import replace

import numpy as np
import pytest
from boxes import arrays_of
from hypothesis import given, settings
from random_plans import cases, certified, enumerate_rewards, priced, protocol_cases

from banditree.certificates import to_the_horizon
from banditree.certificates.certify import certify, course, regret_bound
from banditree.certificates.missing import missing_losses
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import HAND_OVER, Give
from banditree.plans.line import Line
from banditree.plans.plan import Decider, Page, SafetyRule, make_plan
from banditree.plans.points import ByOutcome
from banditree.simulation.engine import simulate
from banditree.tasks.changes import with_worth
from banditree.tasks.collection import Collection


def two(**more):
    return Collection.bernoulli([[0.8, 0.3], [0.4, 0.7]], tasks=["mild", "severe"], arms=["A", "B"], **more)


def restless(collection, horizon=60, floor=1):
    """A plan that goes back and forth between its two arms."""
    lines = [
        Line(Give("A"), Watch(ByOutcome((-2, 1)), floor), below=2),
        Line(Give("B"), Score(ByOutcome((-1, 1)), floor, 3), below=1, above=Line(Give("B"))),
    ]
    return make_plan(lines, collection, horizon, rule=SafetyRule((-2, 1), 6))


@settings(max_examples=15)
@given(protocol_cases())
def test_the_certificate_of_a_protocol_is_the_enumeration(case):
    plan, collection = case[0], priced(case[1])
    certificate = certified(plan, collection, 7)
    if certificate is None or (plan.fallback is not None and plan.fallback.to is Decider.PERSON):
        return
    machine = arrays_of(plan)
    given = machine.arm if plan.fallback is None else np.where(machine.arm == HAND_OVER, machine.fallback, machine.arm)
    whole = course(plan, collection, 7)
    for task in range(collection.n_tasks):
        regret, at_end, *_ = enumerate_rewards(plan, collection, task, 7)
        assert certificate.regret[task] == pytest.approx(regret, rel=1e-12, abs=1e-9)
        assert whole.regret[task, -1] == pytest.approx(regret, rel=1e-12, abs=1e-9)
        wrong = ((collection.gaps[task][given] > 1e-12) & (machine.kind >= 2)) @ at_end
        assert certificate.wrong_arm[task] == pytest.approx(wrong, rel=1e-9, abs=1e-11)
        early, *_ = enumerate_rewards(plan, collection, task, 4)
        assert whole.regret[task, 4] == pytest.approx(early, rel=1e-12, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=15)
@given(cases())
def test_the_certificate_of_a_tree_is_the_enumeration(case):
    plan, collection = case[0], priced(case[1])
    certificate = certify(plan, collection, 7)
    for task in range(collection.n_tasks):
        regret, *_ = enumerate_rewards(plan, collection, task, 7)
        assert certificate.regret[task] == pytest.approx(regret, rel=1e-12, abs=1e-12)
        free = replace(collection, worth=replace(collection.worth, change=0.0))
        without = enumerate_rewards(plan, free, task, 7)[0]
        assert certificate.changes[task] == pytest.approx((regret - without) / 7.5, abs=1e-11)
    assert (regret_bound(plan, collection, 7) >= certificate.regret - 1e-9).all()


def test_line_by_line_counts_the_same_changes_as_round_by_round(monkeypatch):
    known = priced(two(), change=5.0)
    plan = restless(known, horizon=2000, floor=4)
    slow = certify(plan, known)
    monkeypatch.setattr(to_the_horizon, "FIRST_TRY", 0.0)
    fast = certify(plan, known)
    np.testing.assert_allclose(fast.changes, slow.changes, rtol=1e-10)
    np.testing.assert_allclose(fast.regret, slow.regret, rtol=1e-8)
    assert slow.changes.min() > 0.3
    assert certify(plan, two()).changes is None


def test_a_change_costs_nothing_before_the_first_round_nor_after_the_last():
    known = with_worth(two(), change=100)
    switch = make_plan([Line(Give("A"), Score(ByOutcome((-1, 1)), 1, 1), Line(Give("B")), Line(Give("B")))], known, 2)
    assert certify(switch, known, 1).changes.tolist() == [0.0, 0.0]
    assert certify(switch, known, 2).changes.tolist() == [1.0, 1.0]


def test_estimated_rates_have_a_bound_that_is_exact_where_they_are_known():
    known = priced(two())
    plan, unsure = restless(known), replace(known, radius=np.full((2, 2), 1e-9))
    exact, bound = certify(plan, known), certify(plan, unsure)
    assert bound.claim.is_bound
    np.testing.assert_allclose(bound.regret, exact.regret, rtol=1e-5)
    wider = certify(plan, replace(known, radius=np.full((2, 2), 0.05)))
    for low in (-0.05, 0.05):
        moved = replace(known, means=known.means + low)
        assert (wider.regret >= certify(plan, moved, must_rest=False).regret).all()


def test_simulated_losses_are_those_of_the_certificate():
    """8,000 runs of each of 2 kinds: both within 4 standard errors, a false alarm in 8,000 runs of this test."""
    known = with_worth(two(), price=[12, 30], value=100, change=7)
    plan = restless(known)
    runs = simulate(known, [plan, "mts"], horizon=60, runs=8000, seed=4)
    regret = runs.regret[0, :, :, -1]
    off = regret.mean(axis=1) - certify(plan, known).regret
    assert (np.abs(off) <= 4 * regret.std(axis=1) / np.sqrt(8000)).all()
    assert runs.regret[1].mean() > 0


def test_without_an_option_the_best_of_the_others_counts():
    known = with_worth(Collection.bernoulli([[0.7, 0.2, 0.5], [0.3, 0.6, 0.5]], arms=["A", "B", "C"]), price={"C": 1})
    plan = make_plan([Line(Give("A"))], known, 50, pages=(Page(("A",), (Line(Give("C")),)),))
    assert missing_losses(plan, known)["A",].round(9).tolist() == [35.0, 55.0]  # C gives 50 - 100 successes less
