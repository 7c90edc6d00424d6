"""Protocols carried line by line, against the same round by round and against a slow programme over rounds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from boxes import Box, arrays_of, assemble
from hypothesis import given, settings
from hypothesis import strategies as st
from random_plans import certified, protocol_cases, slow_course, slow_step

from banditree.certificates import to_the_horizon
from banditree.certificates.certify import certify
from banditree.certificates.circle import circle_of
from banditree.certificates.renewal import applies
from banditree.certificates.rounding import LEVEL, UNIT
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
@settings(max_examples=10)
@given(protocol_cases(), st.integers(1, 150))
def test_line_by_line_is_the_slow_programme_over_rounds(case, horizon):
    assert_same_as_the_slow_programme(*case, horizon)


@pytest.mark.soak
@settings(max_examples=100)
@given(protocol_cases(), st.integers(1, 150))
def test_line_by_line_is_the_slow_programme_over_rounds_at_length(case, horizon):
    assert_same_as_the_slow_programme(*case, horizon)


def assert_same_as_the_slow_programme(plan, collection, horizon):
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
    assert off.max() < 1e-8
    assert (np.abs(lines.at_end - rounds.at_end) <= off).all()
    assert np.abs(lines.regret - rounds.regret).max() <= 1e-9 * 3000
    np.testing.assert_allclose(lines.regret_at, rounds.regret_at, rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(lines.pulls, rounds.pulls, rtol=1e-9)
    assert lines.within.tolist() == rounds.within.tolist()


def test_a_restless_protocol_goes_line_by_line_by_itself():
    clinic = Collection.bernoulli([[0.6, 0.2], [0.3, 0.6]])
    plan = assemble([Box(0, 1, points=(-1, 1), floor=9, cap=3), Box(1, 0, points=(-1, 1), floor=9)], clinic, 20_000)
    assert applies(arrays_of(plan).low, arrays_of(plan).high, plan.horizon)
    found = certify(plan, clinic)
    np.testing.assert_allclose(found.regret, by_rounds(plan, clinic, None).regret, atol=1e-9 * plan.horizon)


def test_links_back_to_the_middle_go_round_by_round():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    back = assemble(
        [Box(0, 1, points=(-1, 1), floor=2), Box(1, 1, 2, points=(-1, 1), floor=2, ceil=2), Box(1)], two, 90
    )
    assert not applies(arrays_of(back).low, arrays_of(back).high, 90)
    assert certify(back, two).regret.max() > 0


def exactly(plan, sixteenths, horizon):
    """The regret and the chances (N,) at the end under rates of so many sixteenths, in whole numbers."""
    at, regret = {(0, 0): 1}, 0
    for _ in range(horizon):
        after, regret = {}, 16 * regret
        for (box, score), paths in at.items():
            rate = sixteenths[arrays_of(plan).arm[box]]
            regret += paths * (max(sixteenths) - rate)
            for reward, weight in ((0, 16 - rate), (1, rate)):
                place, _side = slow_step(plan, box, score, reward)
                after[place] = after.get(place, 0) + paths * weight
        at = after
    ends = [sum(paths for (box, _), paths in at.items() if box == n) for n in range(plan.n_boxes)]
    return Fraction(regret, 16**horizon), [Fraction(paths, 16**horizon) for paths in ends]


@pytest.mark.slow
@pytest.mark.parametrize("carried", [by_lines, by_rounds])
@pytest.mark.parametrize("rule", [None, SafetyRule((-2, 1), 3), SafetyRule((-1, 1), 4, cap=2)], ids=str)
def test_what_is_added_covers_every_error(carried, rule):
    sixteenths, horizon = [[11, 3, 5], [6, 13, 4], [2, 9, 14]], 60
    collection = Collection.bernoulli(np.array(sixteenths) / 16)
    lines = [
        Box(0, 1, 3, points=(-2, 1), floor=3, ceil=5),
        Box(1, 2, points=(-3, 1), floor=4, cap=5),
        Box(2, 0, 5, points=(-1, 1), floor=2, ceil=3),
    ]
    plan = assemble([*lines, Box(0), Box(1), Box(2)], collection, horizon, rule=rule)
    found = carried(plan, collection, horizon)
    for task, rates in enumerate(sixteenths):
        regret, at_end = exactly(plan, rates, horizon)
        added = Fraction(float(found.regret[task])) - regret
        assert 0 <= added <= 2e-9 * horizon
        for chance, exact in zip(found.at_end[task], at_end, strict=True):
            assert abs(Fraction(float(chance)) - exact) <= found.error[task]


@pytest.mark.parametrize("seed", range(4))
def test_a_transform_is_as_precise_as_is_said(seed):
    rng, circle = np.random.default_rng(seed), circle_of(600)
    leaves = rng.random(601) ** (1, 30, 1, 8)[seed] * circle.powers
    leaves[:: (1, 1, 2, 3)[seed]] = 0.0 if seed > 1 else 1.0
    found, n = np.fft.rfft(leaves, circle.n), circle.n
    for k in rng.integers(n // 2 + 1, size=20).tolist():
        angles = [2 * math.pi * (k * t % n) / n for t in range(601)]
        real = math.fsum(x * math.cos(a) for x, a in zip(leaves, angles, strict=True))
        imaginary = -math.fsum(x * math.sin(a) for x, a in zip(leaves, angles, strict=True))
        assert abs(found[k] - complex(real, imaginary)) <= LEVEL * math.log2(n) * UNIT * leaves.sum()


def test_line_by_line_leaves_no_more_open_than_promised(monkeypatch):
    clinic = Collection.bernoulli([[0.6, 0.2], [0.3, 0.6]])
    plan = assemble([Box(0, 1, points=(-1, 1), floor=2, cap=1), Box(1, 0, points=(-1, 1), floor=1)], clinic, 400)
    lines = by_lines(plan, clinic, 400)
    monkeypatch.setattr(to_the_horizon, "MOST_ERROR", 0.0)
    again = by_lines(plan, clinic, 400)
    assert (again.error < lines.error).all()
    assert (again.error == by_rounds(plan, clinic, 400).error).all()
