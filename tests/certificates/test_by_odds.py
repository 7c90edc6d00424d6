"""What certificates say about hand-overs by the odds, against simulations of plans drawn at random."""

import numpy as np
import pytest
from boxes import Box, assemble
from scipy.stats import binom, norm

from banditree.certificates.certify import certify, regret_bound
from banditree.certificates.lateness import with_late_outcomes
from banditree.plans.gives import HAND_OVER
from banditree.plans.plan import Decider, Fallback, Form, SafetyRule
from banditree.simulation.engine import simulate
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection

HORIZON, TASKS, ARMS, ODDS = 150, 4, 3, 20
FALSE_ALARM = 1e-4  # of each test, over all of its plans and tasks


def drawn(seed, radius=0.0):
    """A random plan of three lines that may hand over, with ends that only some tasks may rightly come to.

    Every other one has a safety rule, which starts again or hands over.
    """
    rng, ends, everyone = np.random.default_rng(seed), range(3, 3 + ARMS + 1), np.arange(TASKS)
    collection = Collection.bernoulli(rng.uniform(0.05, 0.95, (TASKS, ARMS)).round(2), radius=radius)
    low, high = (1, *rng.choice(ends, 2)), (*rng.choice(ends, 1), 2, rng.choice(ends))
    lines = [
        Box(int(arm), low=int(below), high=int(above), points=(-1, 1), floor=int(floor), ceil=int(ceil))
        for below, above, arm, floor, ceil in zip(
            low, high, *rng.integers((0, 2, 2), (ARMS, 5, 5), (3, 3)).T, strict=True
        )
    ]
    right = [rng.choice(everyone, size=int(rng.integers(1, TASKS)), replace=False) for _ in range(ARMS)]
    plan = assemble(
        [*lines, *map(Box, range(ARMS)), Box(HAND_OVER)],
        collection,
        HORIZON,
        form=Form.LINES,
        rule=SafetyRule((-2, 1), 6, hands_over=seed % 4 == 3) if seed % 2 else None,
        fallback=Fallback(Decider.OPTION, collection.arms[int(rng.integers(ARMS))], odds=ODDS, allow=radius),
        kinds=collection.means,
        possible=[everyone] * 3 + right + [everyone[:0]],
    )
    return collection, plan


def check(plans, runs, radius=0.0):
    """Of cases at the rates that are known, or at the edge of their intervals: hand-overs and losses as certified."""
    alpha = FALSE_ALARM / (2 * plans * TASKS)
    for seed in range(plans):
        collection, plan = drawn(seed, radius)
        certificate = certify(plan, collection, must_rest=False)
        off = radius * np.random.default_rng(seed).choice((-1, 1), collection.means.shape)
        truth = with_parameters(collection, np.clip(collection.means + off, 0.0, 1.0), radius=0.0)
        results = simulate(truth, {"plan": plan}, horizon=HORIZON, runs=runs, rounds=[HORIZON], seed=seed)
        handed, lost = (results.alarmed[0] > 0).sum(axis=1), results.regret[0, ..., -1]
        assert (handed <= binom.ppf(1 - alpha, runs, certificate.handed_over)).all(), seed
        error = np.maximum(lost.std(axis=1), 1.0) / np.sqrt(runs)
        assert (lost.mean(axis=1) <= certificate.regret + norm.isf(alpha) * error).all(), seed


def test_known_cases_are_handed_over_and_lose_as_certified():
    """20 plans of 200, 100 runs of each task."""
    check(20, 100)


@pytest.mark.slow
def test_estimated_rates_bound_hand_overs_and_losses():
    """20 plans, at the edges of intervals of 0.05."""
    check(20, 100, radius=0.05)


@pytest.mark.soak
def test_known_cases_of_200_plans_are_handed_over_and_lose_as_certified():
    """200 plans, 2,000 runs of each task."""
    check(200, 2_000)
    check(200, 2_000, radius=0.05)


def turned(to=Decider.OPTION):
    """Both tasks have the rates of task 1 on arm A; a case of task 2 fails twice in a row in 1 of 4, and settles on B,
    to which the plan says that only task 1 leads."""
    two = Collection.bernoulli([[0.5, 0.9, 0.1], [0.5, 0.3, 0.9]])
    return two, assemble(
        [Box(0, low=1, high=2, points=(-1, 1), floor=2, ceil=2), Box(1), Box(2), Box(HAND_OVER)],
        two,
        400,
        form=Form.LINES,
        fallback=Fallback(to, two.arms[0] if to is Decider.OPTION else None, odds=100),
        kinds=two.means,
        possible=[range(2), range(1), range(2), range(0)],
    )


def test_a_wrong_turn_counts_as_a_hand_over():
    two, plan = turned()
    certificate = certify(plan, two)
    assert certificate.handed_over.round(9).tolist() == [0.01, 0.51]
    assert certificate.by_odds == pytest.approx(400 * 0.4 * certificate.handed_over)
    assert (certificate.regret <= regret_bound(plan, two) + 1e-9).all()
    handed = (simulate(two, {"plan": plan}, horizon=400, runs=500, rounds=[400]).alarmed[0] > 0).mean(axis=1)
    assert handed[1] > 0.4  # the certificate said 0.01
    assert certificate.regret_at.sum(axis=1) == pytest.approx(certificate.regret)
    late = with_late_outcomes(plan, two, late=3)
    assert (late.regret >= late.at_once).all()


def test_what_a_person_loses_is_not_counted():
    two, plan = turned(Decider.PERSON)
    assert certify(plan, two).by_odds.tolist() == [0.0, 0.0]


def test_nothing_is_said_about_tasks_that_the_plan_does_not_know():
    plan = turned()[1]
    strange = Collection.bernoulli([[0.5, 0.9, 0.1], [0.5, 0.6, 0.6]])
    certificate = certify(plan, strange)
    assert certificate.handed_over.round(9).tolist() == [0.01, 0.0]
    assert certificate.by_odds[1] == 0.0
