"""Late outcomes of plans that look at contexts: as sessions count them, and exactly where there are no contexts."""

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.lateness import with_late_outcomes
from banditree.plans.machine import machine_of
from banditree.policies.follow import init_follow
from banditree.policies.starting import start_session
from banditree.protocols.build import build_plan
from banditree.simulation.late import course_of, follow_late, late_by_simulation, room_of
from banditree.simulation.playing import world_of
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear
from banditree.tasks.rewards import BERNOULLI

HORIZON = 40


@pytest.fixture(scope="module")
def known():
    """Kinds that often share an arm at a context, so that outcomes under way count after a move, and their plan."""
    drawn = linear(3, 3, 3, 0.2, seed=1)
    collection = Collection.linear(drawn.theta, drawn.contexts, BERNOULLI)
    return collection, build_plan(collection, HORIZON, steps=100)


@pytest.mark.parametrize(("late", "batch"), [(0, 1), (3, 1), (0, 5)])
def test_a_case_goes_as_in_a_session_that_does_not_wait(known, late, batch):
    collection, plan = known
    for task, run in np.ndindex(3, 4):
        course = course_of(HORIZON, collection)
        machine = machine_of(plan)
        asked = world_of(collection), machine, init_follow(machine), course, late, batch, 0, task, run
        follow_late(*asked, *room_of(collection))
        session, told = start_session(plan), 0
        for t in range(HORIZON):
            until = t - late if batch == 1 else t - t % batch
            while told < until:
                session.tell(float(course.rewards[told]), told + 1)
                told += 1
            assert session.ask(context=course.contexts[t], wait=False).arm == course.arms[t], (task, run, t)


@pytest.mark.slow
def test_without_delay_it_is_the_certificate(known):
    """False alarm: 1 in 10,000."""
    collection, plan = known
    found = late_by_simulation(plan, collection, runs=1_000)
    assert (np.abs(found.regret - certify(plan, collection).regret) < 4.3 / 1.96 * found.within).all()
    assert (late_by_simulation(plan, collection, late=HORIZON, runs=200).regret > found.at_once).any()


@pytest.mark.parametrize("how", [{"late": 4}, {"batch": 6}])
def test_without_contexts_it_is_the_exact_loss(how):
    """False alarm: 1 in 10,000."""
    two = Collection.bernoulli([[0.65, 0.45], [0.35, 0.6]])
    plan = build_plan(two, 60, steps=100)
    found, exact = late_by_simulation(plan, two, **how, runs=2_000), with_late_outcomes(plan, two, **how)
    assert (np.abs(found.regret - exact.regret) <= 4.3 / 1.96 * found.within + 1e-9).all()
