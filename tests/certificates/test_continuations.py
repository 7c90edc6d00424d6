"""What a line gives up: at least what it truly gives up, and nothing at an end that nobody could improve on."""

import numpy as np
import pytest
from bayes_optimal import list_beliefs
from boxes import Box, arrays_of, assemble

from banditree.certificates.certify import certify
from banditree.certificates.continuations import _begun_at, continuations
from banditree.certificates.outcomes import box_outcomes
from banditree.certificates.to_the_horizon import carry
from banditree.plans.counts import Counting
from banditree.plans.machine import machine_of
from banditree.plans.plan import SafetyRule
from banditree.tasks.collection import Collection
from banditree.theory.limits import continuations_of

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
BOXES = [
    Box(0, 2, 1, points=(-2, 1), floor=4, ceil=3),
    Box(0),
    Box(1, 3, 4, points=(-1, 1), floor=2, ceil=2),
    Box(0),
    Box(1),
]


def test_a_plan_begun_at_a_box_is_what_follows_it():
    plan, long = assemble(BOXES, TWO, 60), 10**6
    second = int(np.flatnonzero(arrays_of(plan).kind != Counting.EXPLOIT)[1])
    later, outcomes = _begun_at(machine_of(plan), box_outcomes(plan, TWO), second)
    assert later.n_rows == 3
    # What is spent at the second test, over a long horizon, is what is spent there per visit times the visits.
    whole, part = certify(plan, TWO, long), carry(later, outcomes, long)
    at_first = np.array([one.spent[0] for one in part]) * outcomes.cost[:, 0]
    assert whole.regret_at[:, second] == pytest.approx(whole.entered[:, second] * at_first, rel=1e-6)


def test_what_a_line_gives_up_is_at_least_what_the_best_saves():
    """At a horizon so short that the best continuation is listed in full."""
    plan, horizon = assemble(BOXES, TWO, 8), 8
    best = continuations_of(TWO, horizon, effort=3_000_000)
    lines = continuations(plan, TWO, horizon, effort=3_000_000)
    early, shares = certify(plan, TWO, horizon - best.depth).entered, np.array(best.prior)
    for line in lines:
        weights = shares * early[:, line.box]
        exact = list_beliefs(TWO, best.depth, weights)  # the least that those who come early lose in the rounds left
        assert line.at_least <= exact + 1e-12
        assert line.at_least >= 0.9 * exact
        assert line.at_most_more >= line.loses - exact - 1e-12
    assert lines[0].loses == pytest.approx(shares @ certify(plan, TWO, horizon).regret)


def test_a_safety_rule_is_part_of_what_follows():
    with_rule = assemble(BOXES, TWO, 400, rule=SafetyRule((-1, 1), 9))
    lines = continuations(with_rule, TWO, effort=3_000_000)
    assert [line.box for line in lines] == np.flatnonzero(arrays_of(with_rule).kind != Counting.EXPLOIT).tolist()
    assert all(line.loses >= line.at_least >= 0 for line in lines)


def test_bounds_have_no_lines():
    estimated = Collection.bernoulli(TWO.means, radius=0.02)
    assert continuations(assemble(BOXES, estimated, 60), estimated, effort=100_000) is None
