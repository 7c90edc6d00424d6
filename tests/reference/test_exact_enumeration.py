"""Certificates against the enumeration of every sequence of rewards, played by the policy that cases follow."""

import numpy as np
import pytest
from hypothesis import given, settings
from random_plans import cases, enumerate_rewards, leaf_tasks

from banditree.certificates.certify import certify, course


@settings(max_examples=15)
@given(cases())
def test_certificate_is_the_enumeration(case):
    plan, collection = case
    horizon = 8
    certificate = certify(plan, collection, horizon)
    whole = course(plan, collection, horizon)
    for task in range(collection.n_tasks):
        regret, leaves, tests, undecided = enumerate_rewards(plan, collection, task, horizon)
        wrong_arm = (collection.gaps[task][plan.arm] > 1e-12) @ leaves
        wrong_task = (leaf_tasks(plan) != task) @ leaves
        assert certificate.regret[task] == pytest.approx(regret, rel=1e-10, abs=1e-14)
        assert certificate.pulls[task] == pytest.approx(tests, rel=1e-10)
        assert certificate.undecided[task] == pytest.approx(undecided, rel=1e-10, abs=1e-14)
        assert certificate.wrong_arm[task] == pytest.approx(wrong_arm, rel=1e-10, abs=1e-14)
        assert certificate.wrong_task[task] == pytest.approx(wrong_task, rel=1e-10, abs=1e-14)
        np.testing.assert_allclose(certificate.leaves[task], leaves, rtol=1e-10, atol=1e-14)
        assert whole.regret[task, -1] == certificate.regret[task]


@settings(max_examples=5)
@given(cases())
def test_the_course_is_right_at_every_round(case):
    plan, collection = case
    whole = course(plan, collection, 8)
    for t in (1, 3, 6):
        for task in range(collection.n_tasks):
            regret, _leaves, _tests, undecided = enumerate_rewards(plan, collection, task, t)
            assert whole.regret[task, t] == pytest.approx(regret, rel=1e-10, abs=1e-14)
            assert 1 - whole.decided[task, : t + 1].sum() == pytest.approx(undecided, rel=1e-10, abs=1e-12)
