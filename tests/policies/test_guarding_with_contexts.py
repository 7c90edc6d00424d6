"""With contexts the alarm guards a session: it bets with what every kind predicts at the context of the round."""

import numpy as np
import pytest
from scipy.stats import binom

from banditree import Collection, build_plan, resume_session, start_session
from banditree.errors import InvalidInput
from banditree.tasks.contexts import INTERCEPT, gaussian_contexts
from banditree.tasks.rewards import BERNOULLI, Bernoulli, Gaussian
from banditree.theory.doubt import normal_log_odds

CONTEXTS = gaussian_contexts([1, 0], [[0, 0], [0, 0.04]], [INTERCEPT, "x"])
THETA = [[[0.8, 0.3], [0.3, 0.0]], [[0.2, 0.0], [0.7, -0.3]]]
REWARDS = {"normal": Gaussian(sigma=0.2), "0/1": BERNOULLI, "logistic": Bernoulli(link="logistic")}


def played(plan, collection, theta, rounds, seed, guard=True):
    """The session after some rounds of a case with these predictions, and the arms that it gave."""
    rng, given = np.random.default_rng(seed), []
    session = start_session(plan, collection=collection if guard else None, seed=seed)
    for _ in range(rounds):
        x = [1.0, rng.normal(0, 0.2)]
        step = session.ask(context=x)
        mean = float(collection.rewards.at(np.dot(theta[step.arm], x)))
        noisy = mean + 0.2 * rng.normal() if not collection.rewards.has_range else float(rng.random() < mean)
        session.tell(noisy, step.round)
        given.append(step.arm)
    return session, given


@pytest.fixture(scope="module")
def clinics():
    """Plans of few steps: the guard is the same for all."""
    return {
        name: (build_plan(known, 200, steps=30), known)
        for name, rewards in REWARDS.items()
        for known in [Collection.linear(THETA, CONTEXTS, rewards)]
    }


@pytest.mark.parametrize("family", REWARDS)
def test_known_kinds_are_handed_over_at_most_once_in_a_hundred(clinics, family):
    plan, known = clinics[family]
    alarms = sum(
        "alarm" in played(plan, known, THETA[task], 50, seed)[0].explain().details
        for task in range(2)
        for seed in range(40)
    )
    assert alarms <= binom.ppf(1 - 1e-6, 80, 0.01)


def test_a_case_of_no_kind_is_handed_over_and_then_finds_what_is_best_at_its_contexts(clinics):
    """Both options do worse than any kind says wherever a line gives them, and B is best below x = 0 alone."""
    plan, known = clinics["normal"]
    strange = [[0.4, 1.0], [0.4, -1.0]]
    session, given = played(plan, known, strange, 200, 3)
    assert session.explain().details["alarm"] == "fits no task"
    assert "fits no" in session.describe()
    assert len(set(given[120:])) == 2  # whoever ignores the context settles on one


def test_what_it_takes_is_the_bet_of_the_residuals(clinics):
    """One round on the wrong side by d: the bets against both kinds, worked out by hand."""
    plan, known = clinics["normal"]
    session = start_session(plan, collection=known)
    step = session.ask(context=[1.0, 0.0])
    session.tell(3.0, step.round)
    wanted = [normal_log_odds(abs(3.0 - THETA[task][step.arm][0]), 1, 0.04) for task in range(2)]
    assert session.explain().details["evidence"] == pytest.approx(wanted)


def test_it_is_kept_and_resumed_with_its_collection_alone(clinics):
    plan, known = clinics["0/1"]
    session, _ = played(plan, known, THETA[0], 10, 1)
    again = resume_session(plan, session.snapshot(), collection=known)
    assert again.snapshot() == session.snapshot()
    with pytest.raises(InvalidInput, match="guarded by a collection"):
        resume_session(plan, session.snapshot())
    free, _ = played(plan, known, THETA[0], 10, 1, guard=False)
    assert resume_session(plan, free.snapshot(), collection=known).snapshot() == free.snapshot()
