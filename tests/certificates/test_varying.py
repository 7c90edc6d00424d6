import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.certificates.varying import certify_cases
from banditree.tasks.cases import draw_cases
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

KNOWN = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=[0.3, 0.7])
VARYING = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], shares=[0.3, 0.7], spread=np.full((2, 2), 0.15))


def test_kinds_without_spread_stay_exact():
    plan = build_tree(KNOWN, horizon=200)
    found, exact = certify_cases(plan, KNOWN), certify(plan, KNOWN)
    np.testing.assert_allclose(found.regret.by_task, exact.regret)
    assert (found.regret.within, found.regret.mean) == (0.0, pytest.approx(exact.mean_regret))


def test_cases_that_vary_are_each_held_against_their_own_best():
    plan = build_tree(KNOWN, horizon=200)
    found, cases = certify_cases(plan, VARYING, draws=50), draw_cases(VARYING, 50, fresh=True)
    one = Collection.bernoulli(cases.means[[3, 60]])
    np.testing.assert_array_less(certify(plan, KNOWN).wrong_arm.max(), found.wrong_arm.mean)
    expected = [certify(plan, Collection.bernoulli(cases.means[[n, 60]])).regret[0] for n in range(50)]
    assert found.regret.by_task[0] == pytest.approx(np.mean(expected))
    assert found.regret.by_task_within[0] == pytest.approx(1.96 * np.std(expected, ddof=1) / np.sqrt(50))
    assert one.n_tasks == 2
