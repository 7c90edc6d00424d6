"""A plan that was relearned is judged on cases that it was not made from."""

import numpy as np
import pytest
from boxes import Box, assemble

from banditree.evaluation.succession import judge_succession
from banditree.monitoring.simulated import simulate_cases
from banditree.plans.plan import Plan
from banditree.reports.relearn import Succession, is_better, loss_lines, succeed
from banditree.tasks.collection import Collection
from banditree.training.relearning import case_statistics
from banditree.training.statistics import Statistics

TRUTH = Collection.bernoulli([[0.9, 0.2], [0.2, 0.8]], arms=["A", "B"])
LOG = Collection.bernoulli(TRUTH.means, arms=TRUTH.arms, radius=0.2)


def cases_of(plan: Plan, n: int) -> Statistics:
    return case_statistics([simulate_cases(plan, TRUTH, n, seed=3)], TRUTH.rewards)


def trying(collection: Collection) -> Plan:
    """Try A once, then stay or change."""
    return assemble([Box(0, low=2, high=1, pulls=1), Box(0), Box(1)], collection, horizon=20)


def always(arm: int) -> Plan:
    return assemble([Box(arm)], LOG, horizon=20)


def test_a_plan_that_gains_is_called_better_and_one_that_loses_worse() -> None:
    old = trying(LOG)
    cases = cases_of(old, 60)
    for made, better in ((old, None), (always(0), False)):
        found = judge_succession(old, LOG, cases, lambda _known, made=made: made)  # type: ignore[misc]
        assert found is not None
        assert found.n_cases == 60
        assert found.is_better is bool(better)
        assert (found.gain.high < 0) is (better is False)
    found = judge_succession(always(0), LOG, cases_of(always(0), 60), trying)
    assert found is not None
    assert found.is_better
    assert judge_succession(old, LOG, cases_of(old, 14), trying) is None


def test_every_part_is_judged_by_a_plan_that_has_not_seen_it() -> None:
    """Were a plan made from the cases it is judged on, the same cases would be seen every time."""
    seen, old = list[np.ndarray](), trying(LOG)

    def make(known: Collection) -> Plan:
        assert known.counts is not None
        seen.append(known.counts.sum())
        return trying(known)

    cases = cases_of(old, 30)
    judge_succession(old, LOG, cases, make)
    assert [int(n) for n in seen] == pytest.approx([400, 400, 400], abs=2)  # of 600 rounds, two thirds
    same = [judge_succession(old, LOG, cases, make) for _ in range(2)]
    assert same[0] == same[1]


@pytest.mark.slow
def test_the_verdict_goes_by_the_cases_held_out() -> None:
    old = always(0)
    cases = cases_of(old, 40)
    found = succeed(old, LOG, None, lambda make: judge_succession(old, LOG, cases, make))
    assert found.held_out is not None
    shown = loss_lines(found)
    assert "On cases that they were not made from (40 cases" in shown[-2]
    assert is_better(found) is shown[-1].startswith("So the new plan is better")
    unjudged = Succession(found.old, found.new, found.old_certificate, found.new_certificate, found.at_worst)
    assert len(loss_lines(unjudged)) == len(shown) - 1
