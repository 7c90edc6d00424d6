"""The harm of a plan: against every sequence of outcomes and harms, played by the session that cases follow."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from banditree import (
    ByOutcome,
    Collection,
    Fallback,
    Give,
    HandOver,
    Line,
    Rounds,
    SafetyRule,
    Score,
    Watch,
    certify,
    make_plan,
    start_session,
)
from banditree.certificates.harm import certify_harm
from banditree.plans.plan import Decider, OnHarm, Page
from banditree.policies.base import Outcome
from banditree.tasks.harm import with_harm

THREE = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
HARMED = with_harm(THREE, {"A": [0.3, 0.1], "B": [0.05, 0.4], "C": [0.2, 0.0]})
POINTS = ByOutcome((-1, 2))
A, B, C = Give("A"), Give("B"), Give("C")
WITHOUT_A = Page(("A",), (Line(C, Score(POINTS, 2, 2), below=Line(B), above=Line(C)),))
WITHOUT_B = Page(("B",), (Line(A, Rounds(1, 0.0), below=2, above=3), Line(C), Line(A)))
PAGES = (WITHOUT_A, WITHOUT_B, Page(("A", "B"), (Line(C),)))


def score_plan(**more):
    lines = [
        Line(A, Score(POINTS, 2, 3), below=2, above=Line(A)),
        Line(B, Watch(POINTS, 2), below=1),
    ]
    return make_plan(lines, THREE, 6, **more)


def tree_plan(**more):
    lines = [Line(A, Rounds(2, 1.0), below=2, above=3), Line(B, Rounds(1, 0.0), below=3, above=4), Line(A), Line(B)]
    return make_plan(lines, THREE, 6, **more)


def handing_over(**more):
    lines = [Line(A, Score(POINTS, 1, 3), below=Line(HandOver()), above=Line(A))]
    return make_plan(lines, THREE, 6, fallback=Fallback(Decider.OPTION, "B"), **more)


PLANS = [
    score_plan(),
    score_plan(pages=PAGES, rule=SafetyRule((-2, 1), 3)),
    score_plan(pages=PAGES[:1], rule=SafetyRule((-2, 1), 3, cap=2)),
    tree_plan(pages=PAGES[1:]),
    handing_over(),
]


def enumerated(plan, collection, task, horizon=6):
    """(expected harms, chance of more than one, that nothing is left, regret) over every course of a case."""
    found = np.zeros(4)

    def go(told, chance, harms, lost):
        case = start_session(plan)
        for reward, harm in told:
            case.ask()
            case.tell(reward, harm=harm)
        step = case.ask()
        if step.outcome is not None:
            gone = step.outcome is Outcome.PERSON_NEEDED
            found[:] += chance * np.array([harms, harms > 1, gone, lost])
            return
        p, h = collection.means[task, step.arm], collection.harm.rates[task, step.arm]
        for reward, harm in product((0, 1), (False, True)):
            part = chance * (p if reward else 1 - p) * (h if harm else 1 - h)
            if part > 0:
                go([*told, (reward, harm)], part, harms + harm, lost + collection.gaps[task, step.arm])

    go([], 1.0, 0, 0.0)
    return found


@pytest.mark.parametrize("horizon", [4, pytest.param(5, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rule", [None, OnHarm.NOT_AGAIN])
@pytest.mark.parametrize("plan", PLANS)
def test_harm_is_the_enumeration_of_sessions(plan, rule, horizon):
    plan = replace(plan, on_harm=rule, horizon=horizon)
    found, certificate = certify_harm(plan, HARMED), certify(plan, HARMED)
    for task in range(2):
        harms, more, gone, lost = enumerated(plan, HARMED, task)
        assert found.expected[task] == pytest.approx(harms, abs=1e-12)
        assert certificate.harm[task] == pytest.approx(harms, abs=1e-9)
        assert found.more_than_one[task] == pytest.approx(more, abs=1e-12)
        assert found.nothing_left[task] == pytest.approx(gone, abs=1e-12)
        assert certificate.regret[task] == pytest.approx(lost, abs=1e-9)
