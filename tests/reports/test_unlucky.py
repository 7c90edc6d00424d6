"""What the unlucky lose, against a distribution that is known by hand."""

import numpy as np
import pytest
from scipy.stats import binom

from banditree.plans.counts import Score
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import make_plan
from banditree.plans.points import ByOutcome
from banditree.reports.certify import certificate_document, certificate_report, certificate_text
from banditree.reports.unlucky import unlucky
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.8, 0.3], [0.2, 0.7]], arms=["A", "B"])
# One round of A decides: after a failure B for good.
SWITCH = Line(Give("A"), Score(ByOutcome((-1, 1)), 1, 1), below=Line(Give("B")), above=Line(Give("A")))


def test_quantiles_lie_in_their_intervals_and_these_cover_the_truth():
    """Task 1 loses 0 with chance 0.8, else 0.5 in each of the other rounds; intervals miss in about 1 of 20 seeds."""
    plan = make_plan([SWITCH], TWO, 21)
    covered = 0
    for seed in range(20):
        found = unlucky(plan, TWO, 21, 300, seed)
        assert (found.least <= found.at_most).all()
        assert (found.at_most <= found.most).all()
        covered += bool(found.least[0, 0] <= 10.0 <= found.most[0, 0])
    assert covered >= binom.ppf(1e-4, 20, 0.95)
    assert found.at_most[0].tolist() == pytest.approx([10.0, 10.0, 10.0])
    assert found.worst[0] == pytest.approx(10.0)
    assert np.isinf(found.most[0, 2])  # 300 cases say nothing from above about 1 in 1,000


def test_certify_says_it_where_it_is_asked_and_only_there():
    plan = make_plan([SWITCH], TWO, 21)
    told = certificate_report(plan, TWO, unlucky=200)
    assert "The unlucky: 1 of 100 cases of task" in certificate_text(told)
    assert certificate_document(told)["unlucky"]["tasks"][0]["at_most"][1]["share"] == 0.99
    quiet = certificate_report(plan, TWO)
    assert "unlucky" not in certificate_text(quiet)
    assert certificate_document(quiet)["unlucky"] is None
