"""What must hold of every certificate."""

import numpy as np
from boxes import Box, arrays_of, assemble
from hypothesis import given, settings
from hypothesis import strategies as st
from random_plans import cases, certified, protocol_cases

from banditree.certificates.certify import certify, course, regret_bound
from banditree.certificates.outcomes import Claim, box_outcomes
from banditree.certificates.worst_cases import worst_cases
from banditree.plans.counts import Counting
from banditree.plans.machine import machine_of
from banditree.tasks.collection import Collection


@settings(max_examples=60)
@given(cases(), st.integers(1, 60))
def test_chances_sum_to_one_and_the_bound_is_one(case, horizon):
    plan, collection = case
    certificate = certified(plan, collection, horizon)
    if certificate is None:
        return
    np.testing.assert_allclose(certificate.at_end.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(certificate.regret_at.sum(axis=1), certificate.regret, rtol=1e-9, atol=1e-12)
    assert (certificate.regret <= regret_bound(plan, collection, horizon) * (1 + 1e-9) + 1e-12).all()


@settings(max_examples=40)
@given(cases())
def test_regret_grows_with_the_horizon_and_ends_at_the_bound(case):
    plan, collection = case
    regret = course(plan, collection, 60).regret
    assert (np.diff(regret, axis=1) >= -1e-12).all()
    at_once = assemble([Box(arm=1)], collection, horizon=60)
    np.testing.assert_allclose(certify(at_once, collection).regret, regret_bound(at_once, collection), rtol=1e-12)


@settings(max_examples=40)
@given(cases(), st.data())
def test_names_and_order_of_tasks_do_not_matter(case, data):
    plan, collection = case
    order = np.array(data.draw(st.permutations(range(collection.n_tasks))))
    shuffled = Collection.bernoulli(collection.means[order], tasks=[collection.tasks[i] for i in order])
    before, after = certified(plan, collection, 30), certified(plan, shuffled, 30)
    if before is None:
        assert after is None
        return
    for name in ("regret", "pulls", "wrong_arm", "wrong_task", "undecided"):
        np.testing.assert_allclose(getattr(before, name)[order], getattr(after, name), rtol=1e-12, atol=1e-15)


@settings(max_examples=40)
@given(cases(), st.integers(1, 40))
def test_the_worst_case_of_known_laws_is_exact(case, horizon):
    plan, collection = case
    outcomes = box_outcomes(plan, collection)
    regret = course(plan, collection, horizon).regret[:, -1]
    nothing = np.zeros(plan.n_boxes)
    worst = worst_cases(machine_of(plan), outcomes, horizon)
    for i in range(collection.n_tasks):
        value = worst(i, outcomes.cost[i], nothing)
        np.testing.assert_allclose(value, regret[i], rtol=1e-10, atol=1e-13)


@settings(max_examples=60)
@given(protocol_cases(), st.integers(1, 200))
def test_the_bound_of_a_protocol_is_one(case, horizon):
    plan, collection = case
    certificate = certified(plan, collection, horizon)
    if certificate is None:
        return
    np.testing.assert_allclose(certificate.at_end.sum(axis=1), 1.0, rtol=1e-11)
    assert (certificate.regret <= regret_bound(plan, collection, horizon) * (1 + 1e-9) + 1e-9).all()


@settings(max_examples=60)
@given(protocol_cases(), st.integers(1, 60))
def test_the_worst_case_of_a_known_protocol_is_hardly_above_it(case, horizon):
    """Above its height a watched score may be set back at will, which costs next to nothing."""
    plan, collection = case
    regret = course(plan, collection, horizon).regret[:, -1]
    outcomes = box_outcomes(plan, collection)
    worst = worst_cases(machine_of(plan), outcomes, horizon)
    value = [worst(i, outcomes.cost[i], np.zeros(plan.n_boxes)) for i in range(collection.n_tasks)]
    assert (np.array(value) >= regret - 1e-9 * horizon).all()
    np.testing.assert_allclose(value, regret, rtol=1e-9, atol=1e-9 * horizon)


@settings(max_examples=60)
@given(protocol_cases(), st.floats(0.01, 0.2), st.integers(0, 10_000))
def test_estimated_protocols_cover_every_truth_in_the_intervals(case, radius, seed):
    plan, collection = case
    bound = certify(plan, Collection.bernoulli(collection.means, radius=radius), 60)
    rng = np.random.default_rng(seed)
    # Half of the time at the ends of the intervals, where an adversary would be.
    shift = rng.uniform(-radius, radius, collection.means.shape)
    shift = np.where(rng.random(shift.shape) < 0.5, radius * np.sign(shift), shift)
    real = certified(plan, Collection.bernoulli(np.clip(collection.means + shift, 0.0, 1.0)), 60)
    if real is None:
        return
    assert (real.regret <= bound.regret + 1e-7).all()
    assert (real.pulls <= bound.pulls + 1e-7).all()
    assert (real.undecided <= bound.undecided + 1e-9).all()
    rest = ((arrays_of(plan).kind == Counting.EXPLOIT) | (arrays_of(plan).kind == Counting.WATCH)) & (
        arrays_of(plan).arm >= 0
    )
    wrong = ((collection.gaps[:, arrays_of(plan).arm] > 1e-12) & rest) * real.at_end
    assert (wrong.sum(axis=1) <= bound.wrong_arm + 1e-9).all()
    if plan.hand_over is not None:
        assert (real.handed_over <= bound.handed_over + 1e-9).all()
        assert (real.until_hand_over <= bound.until_hand_over + 1e-7).all()


@settings(max_examples=40)
@given(cases(), st.floats(0.01, 0.2), st.integers(0, 10_000))
def test_estimated_certificates_cover_every_truth_in_the_intervals(case, radius, seed):
    plan, collection = case
    estimated = Collection.bernoulli(collection.means, radius=radius)
    bound = certify(plan, estimated, 40)
    assert bound.claim is Claim.UPPER_BOUND
    shift = np.random.default_rng(seed).uniform(-radius, radius, collection.means.shape)
    truth = Collection.bernoulli(np.clip(collection.means + shift, 0.0, 1.0))
    real = certified(plan, truth, 40)
    if real is None:
        return
    assert (real.regret <= bound.regret + 1e-9).all()
    assert (real.pulls <= bound.pulls + 1e-9).all()
    assert (real.undecided <= bound.undecided + 1e-9).all()
    assert (real.wrong_task <= bound.wrong_task + 1e-9).all()
    leaf = arrays_of(plan).kind == Counting.EXPLOIT
    wrong = ((collection.gaps[:, arrays_of(plan).arm] > 1e-12) & leaf) * real.at_end
    assert (wrong.sum(axis=1) <= bound.wrong_arm + 1e-9).all()
