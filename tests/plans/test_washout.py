"""Rounds after a change of option that are given and not counted."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from example_plans import protocol
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_plan import agrees, reader_of
from random_plans import cases, certified, priced, protocol_cases, protocols

from banditree.certificates.certify import certify
from banditree.certificates.lateness import with_late_outcomes
from banditree.errors import InvalidInput
from banditree.files.documents import parse
from banditree.files.plans import PlanFile, plan_document, plan_from_document, plan_json
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.machine import machine_of
from banditree.plans.plan import Decider, SafetyRule, make_plan
from banditree.plans.points import ByOutcome
from banditree.plans.reading_load import reading_load
from banditree.plans.wording import outcome_names, plan_text
from banditree.policies.starting import start_session
from banditree.policies.wording import describe
from banditree.protocols.build import build_plan
from banditree.protocols.judging import lost
from banditree.simulation.engine import simulate
from banditree.tasks.changes import with_worth
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear, rand
from banditree.trees.tree import build_tree

TWO = Collection.bernoulli([[0.8, 0.3], [0.4, 0.7]], tasks=["mild", "severe"], arms=["A", "B"])


def switching(washout, **more):
    """A until two more failures than successes, then B; the rule leads back."""
    lines = [
        Line(Give("A"), Watch(ByOutcome((-1, 1)), 2), below=2),
        Line(Give("B"), Score(ByOutcome((-1, 1)), 2, 3), below=1, above=Line(Give("B"))),
    ]
    return make_plan(lines, TWO, 60, rule=SafetyRule((-2, 1), 4), washout=washout, **more)


def test_a_pause_stands_before_each_line_that_a_change_leads_to():
    plan = switching(3)
    text = plan_text(plan)
    assert text.splitlines()[-1] == "Whenever you change to another arm, its first 3 rounds are given but not counted."
    assert reading_load(plan) == reading_load(switching(0)) + 0.5
    assert plan.n_tests == 2
    machine = machine_of(plan)
    assert machine.line.tolist() == [0, 1, -1, 0, 1]  # two lines, an end, and the pauses before both lines
    assert machine.low.tolist() == [4, 3, 3, 0, 1]  # staying with B has none, the rule leads back through one
    assert "first round is given" in plan_text(switching(1))


def test_the_rule_leads_back_through_a_pause_too():
    line = Line(Give("A"), Score(ByOutcome((-1, 1)), 2, 3), below=Line(Give("B")), above=Line(Give("A")))
    plan = make_plan([line], TWO, 60, rule=SafetyRule((-2, 1), 4), washout=2)
    reader, session, given = reader_of(plan), start_session(plan), []
    for reward in [0.0] * 12 + [1.0] * 8:
        step = session.ask()
        assert agrees(step, reader.arm())
        given.append(step.name)
        session.tell(reward, step.round)
        reader.tell(reward)
    # A twice; B for two rounds that do not count, and two that do; A again for two and two; B, which does well.
    assert "".join(given) == "AABBBBAAAABBBBBBBBBB"


def test_a_session_says_that_nothing_is_counted_and_then_begins():
    plan, said = switching(2), []
    session = start_session(plan)
    for reward in (0.0, 0.0, 1.0, 1.0, 1.0):
        step = session.ask()
        said.append((step.name, session.explain().box))
        session.tell(reward, step.round)
        if len(said) == 3:
            assert "a pause before line 2: Give B 2 times, without counting. Then: line 2." in describe(session)
            assert "So far: 1 of 2 rounds that the plan does not count." in describe(session)
    assert said == [("A", 0), ("A", 0), ("B", 4), ("B", 4), ("B", 1)]


@settings(max_examples=80, deadline=None)
@given(protocols(horizon=40), st.integers(1, 4), st.data())
def test_a_reader_of_the_text_decides_as_the_session_does(plan, washout, data):
    if plan.outcomes_choose or (plan.fallback is not None and plan.fallback.starts):
        return
    plan = replace(plan, washout=washout)
    session, reader = start_session(plan), reader_of(plan)
    outcomes = [value for value, _ in outcome_names(plan)] or [-1.0, -0.5, 0.0, 0.25, 0.3, 2.0]
    for reward in data.draw(st.lists(st.sampled_from(outcomes), min_size=40, max_size=40)):
        step = session.ask()
        assert agrees(step, reader.arm())
        if step.outcome is not None:
            return
        session.tell(reward, step.round)
        reader.tell(reward)


def read_losses(plan, collection, task, horizon):
    """The expected loss by reading the plan aloud, over every sequence of outcomes."""
    means, gaps, total = collection.means[task], collection.gaps[task], 0.0
    for rewards in product((0.0, 1.0), repeat=horizon):
        reader, chance, cost, before = reader_of(plan), 1.0, 0.0, None
        for reward in rewards:
            arm = plan.arm_numbers[reader.arm()]
            chance *= means[arm] if reward else 1 - means[arm]
            cost += gaps[arm] + collection.change_cost * (before not in (None, arm))
            before = arm
            reader.tell(reward)
        total += chance * cost
    return total


@settings(max_examples=12, deadline=None)
@given(st.one_of(protocol_cases(), cases()), st.integers(1, 3))
def test_certificates_are_the_enumeration_by_a_reader(case, washout):
    plan, collection = case[0], priced(case[1])
    if plan.fallback is not None and (plan.fallback.to is Decider.PERSON or plan.fallback.starts):
        return
    plan = replace(plan, washout=washout)
    certificate = certified(plan, collection, 6)
    if certificate is None:
        return
    for task in range(collection.n_tasks):
        assert certificate.regret[task] == pytest.approx(read_losses(plan, collection, task, 6), rel=1e-12, abs=1e-9)


def test_simulated_cases_lose_what_the_certificate_says():
    """8,000 cases of each of 2 kinds: within 4 standard errors, a false alarm in 8,000 runs; so is the 99% quantile."""
    plan, known = switching(4), with_worth(TWO, price=[5, 0], value=100, change=20)
    lost = simulate(known, [plan], horizon=60, runs=8000, seed=2).regret[0, :, :, -1]
    certificate = certify(plan, known)
    off = np.abs(lost.mean(axis=1) - certificate.regret)
    assert (off <= 4 * lost.std(axis=1) / np.sqrt(8000)).all()
    above = (lost > certificate.unlucky.most[:, [1]] + 1e-9).mean(axis=1)
    assert (above <= 0.01 + 4 * np.sqrt(0.01 * 0.99 / 8000)).all()


def test_estimated_rates_graded_ones_and_late_outcomes_have_numbers_too():
    plan = switching(3)
    exact = certify(plan, TWO).regret
    bound = certify(plan, replace(TWO, radius=np.full((2, 2), 1e-9))).regret
    np.testing.assert_allclose(bound, exact, rtol=1e-5)
    assert (with_late_outcomes(plan, TWO, late=2).regret >= exact - 1e-9).all()
    grades = Collection.graded([[[0.1, 0.3, 0.6], [0.5, 0.3, 0.2]], [[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]], [0, 0.5, 1])
    line = Line(Give("arm 1"), Watch(ByOutcome((-1, 0, 1), (0.2, 0.7)), 3), below=2)
    other = Line(Give("arm 2"), Watch(ByOutcome((-1, 0, 1), (0.2, 0.7)), 3), below=1)
    assert (certify(make_plan([line, other], grades, 50, washout=2), grades).regret > 0).all()
    normal = Collection.gaussian([[1.0, 0.0], [0.0, 1.0]], 1.0)
    assert (certify(make_plan([line, other], normal, 50, washout=2), normal).regret > 0).all()


def test_a_tree_pauses_too():
    plan = replace(build_tree(TWO, 400), washout=5)
    assert certify(plan, TWO).regret.min() >= certify(build_tree(TWO, 400), TWO).regret.min()
    assert plan_text(plan).count("Box") == plan_text(build_tree(TWO, 400)).count("Box")


def test_the_search_allows_for_it_and_loses_no_more_than_one_that_did_not():
    known = rand(4, 6, 0.4, seed=9700)
    heedless = build_plan(known, 2000, steps=500)
    heeding = build_plan(known, 2000, steps=500, washout=10)
    assert heeding.washout == 10
    loses = lost(certify(heeding, known), "unlucky")
    assert loses <= lost(certify(replace(heedless, washout=10), known), "unlucky") + 1e-9
    assert loses >= lost(certify(heedless, known), "unlucky")


def test_files_bring_it_back_and_plans_without_it_say_nothing():
    plan = switching(3)
    again = plan_from_document(parse(PlanFile, plan_document(plan).model_dump(by_alias=True), "here"), "here")
    assert again.washout == 3
    assert plan_json(again) == plan_json(plan)
    assert "washout" not in plan_json(switching(0))


@pytest.mark.parametrize("washout", [-1, 2_000_000])
def test_what_cannot_be_is_refused(washout):
    with pytest.raises(InvalidInput, match=f"washout must be from 0 to 1,000,000 rounds. Got {washout}"):
        switching(washout)


def test_a_pause_as_long_as_the_horizon_is_refused_before_the_search():
    with pytest.raises(InvalidInput, match="washout must be below the horizon of 100 rounds.* Got 100"):
        build_plan(TWO, 100, washout=100, steps=200)


def test_it_is_for_plans_without_contexts_and_choosers():
    with pytest.raises(InvalidInput, match="washout must be omitted with contexts"):
        replace(build_tree(linear(3, 3, 2, 0.2), 2000, 0.2), washout=3)
    with pytest.raises(InvalidInput, match="must be omitted with washout"):
        build_plan(TWO, 100, washout=3, fallback="person")
    assert protocol().washout == 0
