"""What going on without outcomes costs: against every sequence of outcomes, played by a session."""

import itertools

import numpy as np
import pytest
from boxes import arrays_of
from example_plans import FIVE, expecting, protocol
from late_plans import GRADED, GRADES, PLANS

from banditree.certificates.waiting import MOST_OUT, Place, UnderWay, WaitingCosts
from banditree.errors import InvalidInput
from banditree.plans.gives import SEVERAL
from banditree.policies.rounds import MISSING
from banditree.policies.starting import resume_session, start_session
from banditree.tasks.instances import linear
from banditree.trees.tree import build_tree


def elsewhere(plan, collection, session):
    """The chance (M,) that what is out leads to another arm, over every sequence of outcomes."""
    snapshot, out = session.snapshot(), session.open_rounds
    arm, values = session.explain().arm, collection.rewards.support
    chances = collection.rewards.outcome_chances(collection.parameters)
    found = np.zeros(collection.n_tasks)
    for outcomes in itertools.product(range(len(values)), repeat=len(out)):
        played, p = resume_session(plan, snapshot, collection=collection), np.ones(collection.n_tasks)
        for number, value in zip(out, outcomes, strict=True):
            p *= chances[value][:, played.rounds[number - 1].arm]
            played.tell(values[value], number)
        found += p * (played.explain().arm != arm)
    return found


@pytest.mark.parametrize("name", PLANS)
def test_the_chance_is_that_of_every_sequence_of_outcomes(name):
    plan, collection = PLANS[name]
    rng = np.random.default_rng(3)
    for trial in range(6):
        session = start_session(plan, collection=collection)
        for _ in range(trial * 2):
            session.ask()
            session.tell(float(rng.choice(collection.rewards.support)))
        session.ask(n=4, wait=False)
        session.tell(MISSING if trial == 1 else float(collection.rewards.support[0]), session.open_rounds[1])
        found = session.going_on()
        chance = elsewhere(plan, collection, session)
        gaps = collection.means.max(axis=1) - collection.means[:, found.arm]
        assert found.n_out == 3
        assert found.chance == pytest.approx(chance.max(), abs=1e-12)
        assert found.loss == pytest.approx((chance * gaps).max(), abs=1e-12)


def test_one_more_round_now_loses_at_most_that_more_than_waiting():
    """Every sequence of outcomes of a short case, exactly: give one round more now, then wait; or wait."""
    plan, horizon = GRADED, 5
    costs = WaitingCosts(plan, GRADES)
    found = costs.of(Place(0, 0, 0.0), (UnderWay(0),))
    values, chances = GRADES.rewards.support, GRADES.rewards.outcome_chances(GRADES.parameters)

    def lost(session, task, rounds):
        """The loss of whoever waits, from here to the horizon."""
        if rounds == 0:
            return 0.0
        snapshot, arm, total = session.snapshot(), session.ask().arm, 0.0
        for value, p in zip(values, chances[:, task, arm], strict=True):
            played = resume_session(plan, snapshot)
            played.tell(value, played.ask().round)
            total += p * lost(played, task, rounds - 1)
        return total + GRADES.means[task].max() - GRADES.means[task, arm]

    for task in range(GRADES.n_tasks):
        waits, goes_on = lost(start_session(plan), task, horizon), 0.0
        gap = GRADES.means[task].max() - GRADES.means[task, 0]
        for first, second in itertools.product(range(len(values)), repeat=2):
            played = start_session(plan)
            played.ask(n=2, wait=False)
            played.tell(values[first], 1)
            played.tell(values[second], 2)
            goes_on += chances[first, task, 0] * chances[second, task, 0] * (2 * gap + lost(played, task, horizon - 2))
        assert goes_on - waits <= found.loss + 1e-12


def test_answers_say_it_in_a_sentence():
    session = start_session(protocol(), collection=FIVE)
    assert session.ask().going_on is None  # nothing was out before
    step = session.ask()
    assert step.going_on.loss == 0.0
    assert "1 outcome is still awaited. One more round of E without it costs nothing" in session.describe()
    session.ask(n=2)
    assert (
        "2 outcomes are still awaited. One more round of E without them loses at most 0.34 successes more"
        in session.describe()
    )


def test_nothing_is_said_where_nothing_is_known():
    session = start_session(protocol())
    session.ask(n=2)
    assert session.going_on() is None
    plan = expecting()
    several = int(np.flatnonzero(arrays_of(plan).arm == SEVERAL)[0])
    assert WaitingCosts(plan, FIVE).of(Place(several, 0, 0.0), (UnderWay(1),)) is None


def test_many_rounds_under_way_count_as_certain_to_lead_elsewhere():
    costs = WaitingCosts(protocol(), FIVE)
    found = costs.of(Place(0, 0, 0.0), (UnderWay(4),) * (MOST_OUT + 1))
    assert found.chance == 1.0


def test_contexts_are_refused_in_a_sentence():
    collection = linear(3, 3, 2, 0.2)
    with pytest.raises(InvalidInput, match="context"):
        WaitingCosts(build_tree(collection, 100), collection)
