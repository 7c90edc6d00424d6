"""What a line gives up: at least what it truly gives up, and nothing at an end that nobody could improve on."""

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.continuations import begun_at, continuations
from banditree.plans.assemble import Box, assemble
from banditree.plans.plan import BoxKind, SafetyRule
from banditree.tasks.collection import Collection
from banditree.theory.limits import continuations_of
from banditree.theory.lower_bounds import list_beliefs

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
    second = int(np.flatnonzero(plan.kind != BoxKind.EXPLOIT)[1])
    later = begun_at(plan, second)
    assert later.arm[0] == 1
    assert sorted(later.arm[1:].tolist()) == [0, 1]
    # What is spent at the second test, over a long horizon, is what is spent there per visit times the visits.
    whole, part = certify(plan, TWO, long), certify(later, TWO, long)
    assert whole.regret_at[:, second] == pytest.approx(whole.entered[:, second] * part.regret_at[:, 0], rel=1e-6)
    assert begun_at(plan, 0) is plan


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
    assert [line.box for line in lines] == np.flatnonzero(with_rule.kind != BoxKind.EXPLOIT).tolist()
    assert all(line.loses >= line.at_least >= 0 for line in lines)


def test_bounds_have_no_lines():
    estimated = Collection.bernoulli(TWO.means, radius=0.02)
    assert continuations(assemble(BOXES, estimated, 60), estimated, effort=100_000) is None
