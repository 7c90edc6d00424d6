"""Certificates against the enumeration of every sequence of rewards, played by the policy that cases follow."""

import numpy as np
import pytest
from boxes import arrays_of
from hypothesis import given, settings
from hypothesis import strategies as st
from random_plans import cases, certified, enumerate_rewards, leaf_tasks, protocol_cases, slow_course

from banditree.certificates.certify import certify, course
from banditree.plans.counts import Counting
from banditree.plans.gives import HAND_OVER
from banditree.plans.plan import Decider


@pytest.mark.slow
@settings(max_examples=15)
@given(cases())
def test_certificate_is_the_enumeration(case):
    plan, collection = case
    horizon = 8
    certificate = certify(plan, collection, horizon)
    whole = course(plan, collection, horizon)
    for task in range(collection.n_tasks):
        regret, at_end, tests, undecided = enumerate_rewards(plan, collection, task, horizon)
        leaves = at_end * (arrays_of(plan).kind == Counting.EXPLOIT)
        wrong_arm = (collection.gaps[task][arrays_of(plan).arm] > 1e-12) @ leaves
        wrong_task = (leaf_tasks(plan) != task) @ leaves
        assert certificate.regret[task] == pytest.approx(regret, rel=1e-10, abs=1e-14)
        assert certificate.pulls[task] == pytest.approx(tests, rel=1e-10)
        assert certificate.undecided[task] == pytest.approx(undecided, rel=1e-10, abs=1e-14)
        assert certificate.wrong_arm[task] == pytest.approx(wrong_arm, rel=1e-10, abs=1e-14)
        assert certificate.wrong_task[task] == pytest.approx(wrong_task, rel=1e-10, abs=1e-14)
        np.testing.assert_allclose(certificate.at_end[task], at_end, rtol=1e-10, atol=1e-14)
        assert whole.regret[task, -1] == pytest.approx(certificate.regret[task], rel=1e-12)


@settings(max_examples=25)
@given(protocol_cases())
def test_the_certificate_of_a_protocol_is_the_enumeration(case):
    plan, collection = case
    certificate, horizon = certified(plan, collection, 8), 8
    if certificate is None or (plan.fallback is not None and plan.fallback.to is Decider.PERSON):
        return  # what a person gives is not known
    given = np.where(arrays_of(plan).arm == HAND_OVER, arrays_of(plan).fallback, arrays_of(plan).arm)
    assert certificate.error.max() < 1e-10
    for task in range(collection.n_tasks):
        regret, at_end, tests, undecided = enumerate_rewards(plan, collection, task, horizon)
        rest = (arrays_of(plan).kind == Counting.EXPLOIT) | (arrays_of(plan).kind == Counting.WATCH)
        wrong_arm = ((collection.gaps[task][given] > 1e-12) & rest) @ at_end
        assert certificate.regret[task] == pytest.approx(regret, rel=1e-9, abs=1e-10)
        assert certificate.pulls[task] == pytest.approx(tests, rel=1e-9, abs=1e-10)
        assert certificate.undecided[task] == pytest.approx(undecided, rel=1e-9, abs=1e-11)
        assert certificate.wrong_arm[task] == pytest.approx(wrong_arm, rel=1e-9, abs=1e-11)
        np.testing.assert_allclose(certificate.at_end[task], at_end, rtol=1e-9, atol=1e-11)


@pytest.mark.slow
@settings(max_examples=40)
@given(protocol_cases(), st.integers(1, 150))
def test_the_certificate_of_a_protocol_is_the_slow_programme_over_rounds(case, horizon):
    plan, collection = case
    certificate = certified(plan, collection, horizon)
    if certificate is None:
        return
    whole = course(plan, collection, horizon)
    for task in range(collection.n_tasks):
        slow = slow_course(plan, collection.means[task], horizon)
        assert certificate.regret[task] == pytest.approx(slow.regret[-1], rel=1e-9, abs=1e-9 * horizon)
        np.testing.assert_allclose(whole.regret[task], slow.regret, rtol=1e-9, atol=1e-9 * horizon)
        np.testing.assert_allclose(whole.undecided[task], slow.undecided, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(certificate.at_end[task], slow.at_end, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(certificate.entered[task], slow.entered, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(certificate.exits[task], slow.exits, rtol=1e-9, atol=1e-9)


@settings(max_examples=5)
@given(cases())
def test_the_course_is_right_at_every_round(case):
    plan, collection = case
    whole = course(plan, collection, 8)
    for t in (1, 3, 6):
        for task in range(collection.n_tasks):
            regret, _leaves, _tests, undecided = enumerate_rewards(plan, collection, task, t)
            assert whole.regret[task, t] == pytest.approx(regret, rel=1e-10, abs=1e-14)
            assert whole.undecided[task, t] == pytest.approx(undecided, rel=1e-10, abs=1e-12)
