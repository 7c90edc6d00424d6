"""What the unlucky lose, against a distribution that is known by hand."""

import numpy as np
import pytest
from scipy.stats import binom

from banditree.certificates.certify import certify
from banditree.plans.counts import Score
from banditree.plans.gives import BestOf, Give
from banditree.plans.line import Line
from banditree.plans.plan import Decider, Fallback, make_plan
from banditree.plans.points import ByOutcome
from banditree.reports.certify import certificate_document, certificate_report, certificate_text
from banditree.reports.unlucky import simulated
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.8, 0.3], [0.2, 0.7]], arms=["A", "B"])
# One round of A decides: after a failure B for good.
SWITCH = Line(Give("A"), Score(ByOutcome((-1, 1)), 1, 1), below=Line(Give("B")), above=Line(Give("A")))


def test_quantiles_lie_in_their_intervals_and_these_cover_the_truth():
    """Task 1 loses 0 with chance 0.8, else 0.5 in each of the other rounds; intervals miss in about 1 of 20 seeds."""
    plan = make_plan([SWITCH], TWO, 21)
    covered = 0
    for seed in range(20):
        found = simulated(plan, TWO, 21, 300, seed)
        assert (found.least <= found.at_most).all()
        assert (found.at_most <= found.most).all()
        covered += bool(found.least[0, 0] <= 10.0 <= found.most[0, 0])
    assert covered >= binom.ppf(1e-4, 20, 0.95)
    assert found.at_most[0].tolist() == pytest.approx([10.0, 10.0, 10.0])
    assert found.worst[0] == pytest.approx(10.0)
    assert np.isinf(found.most[0, 2])  # 300 cases say nothing from above about 1 in 1,000


def test_what_is_computed_is_what_is_simulated():
    plan = make_plan([SWITCH], TWO, 21)
    computed, counted = certify(plan, TWO).unlucky, simulated(plan, TWO, 21, 5_000)
    assert computed.at_most == pytest.approx(counted.at_most, abs=0.01)
    assert computed.worst == pytest.approx(counted.worst, abs=0.01)
    np.testing.assert_allclose(np.sort(computed.thousand), computed.thousand)
    differing = np.abs(computed.thousand - counted.thousand) > 0.01
    assert differing.mean(axis=1).max() < 0.03  # one chance of about 0.2, of 5,000 cases


def test_certify_says_it_of_every_task():
    told = certificate_report(make_plan([SWITCH], TWO, 21), TWO)
    text, document = certificate_text(told), certificate_document(told)["unlucky"]
    assert "1 of 100 cases of task 2 loses 10.5 successes or more (1 of 10: 10.5, 1 of 1,000: 10.5)" in text
    assert "1 of 100 loses" in text.splitlines()[0]
    assert "imulated" not in text
    assert document["simulated_cases"] == 0
    assert document["tasks"][0]["at_most"][1] == pytest.approx(
        {"share": 0.99, "loss": 10.0, "least": 9.9, "most": 10.1}, rel=0.06
    )


def test_cases_are_simulated_only_where_nothing_else_is_possible():
    """Thompson sampling chooses at one end."""
    several = Line(Give("A"), Score(ByOutcome((-1, 1)), 1, 1), below=Line(BestOf(("A", "B"))), above=Line(Give("A")))
    plan = make_plan([several], TWO, 21, fallback=Fallback(Decider.OPTION, "A"))
    told = certificate_report(plan, TWO, unlucky=200)
    assert told.certificate.unlucky is None
    assert "Simulated, since it cannot be computed: 200 cases of each task" in certificate_text(told)
    assert certificate_document(told)["unlucky"]["simulated_cases"] == 200
    assert certificate_document(certificate_report(plan, TWO, unlucky=0))["unlucky"] is None
