"""Protocols carried line by line, against the same round by round and against a slow programme over rounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_plans import certified, protocol_cases, slow_course

from banditree.certificates import to_the_horizon
from banditree.certificates.certify import certify
from banditree.certificates.renewal import applies
from banditree.plans.assemble import Box, assemble
from banditree.plans.plan import SafetyRule
from banditree.tasks.collection import Collection


def by_lines(plan, collection, horizon):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_the_horizon, "FIRST_TRY", 0.0)
        return certified(plan, collection, horizon)


def by_rounds(plan, collection, horizon):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_the_horizon, "FIRST_TRY", 1e12)
        return certify(plan, collection, horizon)


def restless(collection, rule):
    """Tests and watch lines in turn, which nearly everybody leaves some day."""
    n = 2 * collection.n_tasks
    arms = [int(arm) for arm in np.repeat(collection.means.argmax(axis=1), 2)]
    lines = [
        Box(arm, (i + 1) % n, points=(-4, 1), floor=6)
        if i % 2
        else Box(arm, (i + 1) % n, n + arm, points=(-2, 1), floor=5, ceil=4)
        for i, arm in enumerate(arms)
    ]
    return assemble([*lines, *(Box(arm) for arm in range(collection.n_arms))], collection, 1000, rule=rule)


@pytest.mark.slow
@settings(max_examples=30)
@given(protocol_cases(), st.integers(1, 150))
def test_line_by_line_is_the_slow_programme_over_rounds(case, horizon):
    plan, collection = case
    certificate = by_lines(plan, collection, horizon)
    if certificate is None:
        return
    for task in range(collection.n_tasks):
        slow = slow_course(plan, collection.means[task], horizon)
        assert certificate.regret[task] == pytest.approx(slow.regret[-1], rel=1e-9, abs=1e-9 * horizon)
        np.testing.assert_allclose(certificate.undecided[task], slow.undecided[-1], atol=1e-9)
        np.testing.assert_allclose(certificate.at_end[task], slow.at_end, atol=1e-9)
        np.testing.assert_allclose(certificate.entered[task], slow.entered, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(certificate.exits[task], slow.exits, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", [None, SafetyRule((-3, 1), 6), SafetyRule((-3, 1), 6, cap=5)], ids=str)
def test_line_by_line_is_round_by_round(rule):
    collection = Collection.bernoulli(np.clip(np.random.default_rng(3).random((4, 6)), 0.1, 0.7) + 0.2 * np.eye(4, 6))
    collection = Collection.bernoulli(np.maximum(collection.means, 0.85 * np.eye(4, 6)))
    plan = restless(collection, rule)
    lines, rounds = by_lines(plan, collection, 3000), by_rounds(plan, collection, 3000)
    assert (lines.error != rounds.error).all()  # two ways
    off = (lines.error + rounds.error)[:, None]
    assert off.max() < 1e-9
    assert (np.abs(lines.at_end - rounds.at_end) <= off).all()
    assert (np.abs(lines.regret - rounds.regret) <= 3000 * off[:, 0]).all()
    np.testing.assert_allclose(lines.regret_at, rounds.regret_at, rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(lines.pulls, rounds.pulls, rtol=1e-9)
    assert lines.within.tolist() == rounds.within.tolist()


def test_a_restless_protocol_goes_line_by_line_by_itself():
    clinic = Collection.bernoulli([[0.6, 0.2], [0.3, 0.6]])
    plan = assemble([Box(0, 1, points=(-1, 1), floor=9, cap=3), Box(1, 0, points=(-1, 1), floor=9)], clinic, 20_000)
    assert applies(plan.low, plan.high, plan.horizon)
    found = certify(plan, clinic)
    np.testing.assert_allclose(found.regret, by_rounds(plan, clinic, None).regret, atol=1e-9 * plan.horizon)


def test_links_back_to_the_middle_go_round_by_round():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    back = assemble(
        [Box(0, 1, points=(-1, 1), floor=2), Box(1, 1, 2, points=(-1, 1), floor=2, ceil=2), Box(1)], two, 90
    )
    assert not applies(back.low, back.high, 90)
    assert certify(back, two).regret.max() > 0
