"""Late outcomes and batches: exact, against sessions that are asked without waiting."""

import dataclasses
import itertools

import numpy as np
import pytest
from boxes import arrays_of
from example_plans import FIVE, handing_over
from late_plans import PLANS

from banditree.certificates.certify import certify
from banditree.certificates.lateness import with_late_outcomes
from banditree.certificates.outcomes import Claim
from banditree.errors import InvalidInput
from banditree.policies.starting import start_session


def arms_given(plan, values, late, batch):
    """The arms of a case with these outcomes, each told when it comes; a round is asked whenever it is due."""
    session = start_session(plan)
    for number in range(1, len(values) + 1):
        assert session.ask(n=len(session.open_rounds) + 1, wait=False)[-1].round == number
        complete = number if number % batch == 0 else 0
        for known in [number - late] if batch == 1 else range(complete - batch + 1, complete + 1):
            if known >= 1:
                session.tell(values[known - 1], known)
    return [entry.arm for entry in session.rounds]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("late", "batch"), [(2, 1), (5, 1), (0, 3)])
def test_the_loss_is_that_of_sessions_over_every_sequence_of_outcomes(name, late, batch):
    plan, collection = PLANS[name]
    values = collection.rewards.support
    chances = collection.rewards.outcome_chances(collection.parameters)
    gaps = collection.means.max(axis=1, keepdims=True) - collection.means
    horizon, lost = {2: 9, 3: 6}[len(values)], np.zeros(collection.n_tasks)
    for outcomes in itertools.product(range(len(values)), repeat=horizon):
        arms = arms_given(plan, [values[value] for value in outcomes], late, batch)
        lost += chances[list(outcomes), :, arms].prod(axis=0) * gaps[:, arms].sum(axis=1)
    found = with_late_outcomes(plan, collection, late=late, batch=batch, horizon=horizon)
    assert found.claim is Claim.EXACT
    assert np.allclose(found.regret, lost, atol=1e-8)
    assert not np.allclose(found.regret, found.at_once, atol=1e-4)


@pytest.mark.parametrize("name", PLANS)
def test_outcomes_that_come_at_once_cost_what_the_certificate_says(name):
    plan, collection = PLANS[name]
    at_once = certify(plan, collection, must_rest=False).regret
    for found in (with_late_outcomes(plan, collection), with_late_outcomes(plan, collection, batch=1, late=0)):
        assert np.allclose(found.regret, at_once, atol=1e-7)
        assert np.array_equal(found.at_once, at_once)


def test_a_batch_as_long_as_the_horizon_never_learns():
    plan, collection = PLANS["lines and a rule"]
    never = plan.horizon * (FIVE.means.max(axis=1) - FIVE.means[:, arrays_of(plan).arm[0]])
    for found in (
        with_late_outcomes(plan, collection, batch=plan.horizon),
        with_late_outcomes(plan, collection, late=plan.horizon),
        with_late_outcomes(plan, collection, late=10 * plan.horizon),
    ):
        assert np.allclose(found.regret, never)


@pytest.mark.parametrize("name", PLANS)
def test_where_it_takes_too_much_work_a_bound_is_said_to_be_one(name):
    plan, collection = PLANS[name]
    for delay in ({"late": 3}, {"batch": 4}):
        exact = with_late_outcomes(plan, collection, **delay)
        bound = with_late_outcomes(plan, collection, **delay, most_work=0)
        assert bound.claim is Claim.UPPER_BOUND
        assert (bound.regret >= exact.regret - 1e-9).all()


def test_estimated_rates_are_taken_at_their_word_and_that_is_said():
    plan, collection = PLANS["fixed numbers"]
    estimated = dataclasses.replace(collection, radius=np.full(collection.means.shape, 0.05))
    found = with_late_outcomes(plan, estimated, late=2)
    assert found.at_estimates
    assert np.allclose(found.regret, with_late_outcomes(plan, collection, late=2).regret)


def test_what_thompson_sampling_loses_stays_an_estimate():
    plan = handing_over(horizon=100)
    assert with_late_outcomes(plan, FIVE, late=2).claim is Claim.UP_TO_THOMPSON
    assert with_late_outcomes(plan, FIVE, late=2, most_work=0).claim is Claim.BOUND_UP_TO_THOMPSON


@pytest.mark.parametrize("asked", [{"late": -1}, {"batch": 0}, {"late": 2, "batch": 3}])
def test_questions_that_make_no_sense_are_refused(asked):
    with pytest.raises(InvalidInput):
        with_late_outcomes(*PLANS["grades"], **asked)
