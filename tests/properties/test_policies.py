"""Policies under any rewards whatever."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from banditree.policies.registry import policy_named
from banditree.tasks.collection import Collection
from banditree.tasks.separation import Sense, least_separation

CHANCES = st.sampled_from([0.0, 1e-12, 0.1, 0.3, 0.5, 0.8, 1.0])


@st.composite
def collections(draw):
    n_tasks, n_arms = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    rows = st.lists(CHANCES, min_size=n_arms, max_size=n_arms)
    return Collection.bernoulli(draw(st.lists(rows, min_size=n_tasks, max_size=n_tasks)))


PULLS = st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=60)


@given(collections(), PULLS)
def test_a_posterior_stays_a_posterior(collection, pulls):
    mts, mids = policy_named("mts"), policy_named("mids")
    params = mts.make(collection, 100, {})
    state, available = mts.init(params), np.ones(collection.n_arms, bool)
    for t, (arm, reward) in enumerate(pulls):
        mts.update(params, state, np.zeros(0), arm, float(reward))
        assert (state.weights > 0).all()
        assert np.isfinite(state.total[0])
        assert abs(state.weights.sum() / state.total[0] - 1) < 1e-12
        for policy in (mts, mids):
            assert 0 <= policy.choose(params, state, np.zeros(0), available, (0, 0, t)) < collection.n_arms


@given(collections(), st.lists(st.booleans(), min_size=20, max_size=20), st.integers(0, 100))
def test_ece_ends_within_m_minus_1_tests(collection, rewards, case):
    if least_separation(collection, Sense.HELLINGER).value < 0.05:
        return
    ece = policy_named("ece")
    params = ece.make(collection, 2, {"failure_probability": 1.0, "slack": "tight"})
    state, available = ece.init(params), np.ones(collection.n_arms, bool)
    for t in range(params.pulls * (collection.n_tasks - 1)):
        arm = ece.choose(params, state, np.zeros(0), available, (0, case, t))
        ece.update(params, state, np.zeros(0), arm, float(rewards[t % 20]))
    assert ece.commitment(params, state) >= 0


@given(collections(), PULLS)
def test_mucb_always_has_a_task_to_believe_in(collection, pulls):
    for name in ("mucb", "mucb-belief"):
        policy = policy_named(name)
        params = policy.make(collection, 100, {})
        state, available = policy.init(params), np.ones(collection.n_arms, bool)
        for t, (arm, reward) in enumerate(pulls):
            policy.update(params, state, np.zeros(0), arm, float(reward))
            assert 0 <= policy.choose(params, state, np.zeros(0), available, (0, 0, t)) < collection.n_arms
