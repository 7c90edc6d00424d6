"""How often line 1 may be begun: a case that would begin it once more is handed over."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from example_plans import FIVE, protocol
from printed_plan import agrees, reader_of

from banditree.cases.table import Seen, table_of
from banditree.certificates import to_the_horizon
from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.figures.reach import reach_info
from banditree.figures.spending import spending_info
from banditree.files.documents import parse
from banditree.files.plans import PlanFile, fingerprint, plan_document, plan_from_document, plan_json
from banditree.monitoring.following import observe
from banditree.plans.counts import Score, Watch
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.machine import machine_of
from banditree.plans.plan import Decider, Fallback, SafetyRule, by_place, make_plan
from banditree.plans.points import ByOutcome
from banditree.plans.reading_load import reading_load
from banditree.plans.words import in_language
from banditree.policies.guarding import guarded
from banditree.policies.starting import start_session
from banditree.protocols.asking import asking
from banditree.protocols.build import build_plan
from banditree.reports.certify import lines_passed
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand

TWO = Collection.bernoulli([[0.8, 0.3], [0.4, 0.7]], tasks=["mild", "severe"], arms=["A", "B"])
PERSON = Fallback(Decider.PERSON, starts=2)


def circling(fallback=PERSON, horizon=9):
    """A until one more failure, then B, then again A; the rule leads back too."""
    lines = [
        Line(Give("A"), Watch(ByOutcome((-1, 1)), 1), below=2),
        Line(Give("B"), Score(ByOutcome((-1, 1)), 1, 1), below=1, above=Line(Give("B"))),
    ]
    return make_plan(lines, TWO, horizon, rule=SafetyRule((-1, 1), 1), fallback=fallback)


@pytest.mark.parametrize("code", ["en", "de", "fr", "es"])
def test_a_reader_of_the_text_hands_over_with_the_session(code):
    plan = circling(horizon=30)
    plan = in_language(plan, code)
    handed_over = 0
    for seed in range(20):
        rng, session, reader = np.random.default_rng(seed), start_session(plan), reader_of(plan)
        for _ in range(plan.horizon):
            step = session.ask()
            assert agrees(step, reader.arm())
            if reader.arm() is None:
                handed_over += 1
                break
            reward = float(rng.random() < 0.5)
            session.tell(reward, step.round)
            reader.tell(reward)
    assert handed_over > 10


def test_the_certificate_is_that_of_all_outcomes_as_the_text_is_read():
    plan = circling(Fallback(Decider.OPTION, "B", starts=2))
    found = certify(plan, TWO)
    for task, means in enumerate(TWO.means):
        lost = 0.0
        for rewards in itertools.product((0.0, 1.0), repeat=plan.horizon):
            reader, chance, cost = reader_of(plan), 1.0, 0.0
            for reward in rewards:
                arm = plan.arms.index(reader.arm())
                chance *= means[arm] if reward else 1 - means[arm]
                cost += means.max() - means[arm]
                reader.tell(reward)
            lost += chance * cost
        assert found.regret[task] == pytest.approx(lost, abs=1e-12)


def test_rows_for_further_times_are_of_the_same_lines():
    plan = circling()
    machine = machine_of(plan)
    assert plan.n_places == 4
    assert machine.line.tolist() == [0, 1, -1, -1, 0, 1, -1]  # two lines, an end, the hand-over, and all again
    assert machine.low.tolist() == [1, 4, 4, -1, 5, 3, 3]
    assert [plan.place_of(row) for row in range(plan.n_boxes)] == [0, 1, 2, 3, 0, 1, 2]
    assert by_place(plan, np.arange(7.0)).tolist() == [4, 6, 8, 3]
    assert plan.depth == circling(None).depth
    assert reading_load(plan) == reading_load(circling(None)) + 0.5


def test_all_that_looks_at_lines_adds_up_the_times():
    plan, often = circling(horizon=60), circling(Fallback(Decider.PERSON, starts=50), horizon=60)
    found = certify(plan, TWO)
    whole = certify(circling(None, horizon=60), TWO)
    assert certify(often, TWO).regret == pytest.approx(whole.regret)
    assert lines_passed(often, certify(often, TWO)) == pytest.approx(lines_passed(circling(None, horizon=60), whole))
    assert len(spending_info(plan, found).spent) == plan.n_places
    assert reach_info(plan, TWO).chance.shape == (2, plan.n_places)
    rounds = [Seen("ann", n, "AB".index(arm), 0.0, n) for n, arm in enumerate("ABAB", 1)]
    assert observe(plan, table_of(rounds, ["A", "B"])).box.tolist() == [0, 1, 0, 1]


def test_a_file_has_it_and_others_are_as_before():
    plan = circling()
    again = plan_from_document(parse(PlanFile, json.loads(plan_json(plan)), "it"), "it")
    assert again.fallback == plan.fallback
    assert fingerprint(again) == fingerprint(plan)
    assert "starts" not in plan_json(replace(plan, fallback=None))
    assert "starts" not in plan_json(replace(protocol(), fallback=None))
    assert plan_document(plan).fallback == PERSON


@pytest.mark.parametrize("starts", [0, 1, -3, 101])
def test_numbers_of_starts_are_checked(starts):
    with pytest.raises(InvalidInput, match="the starts of a fallback must be from 2 to 100"):
        Fallback(starts=starts)


def test_a_plan_that_never_starts_again_needs_none():
    line = Line(Give("A"), Watch(ByOutcome((-1, 1)), 2), below=Line(Give("B")))
    assert make_plan([line], TWO, 50, fallback=PERSON).fallback is None
    assert asking(make_plan([line], TWO, 50), TWO).fallback is None


def test_with_a_washout_it_is_refused():
    with pytest.raises(InvalidInput, match="washout must be 0 where line 1"):
        replace(circling(), washout=2)


def test_few_of_the_known_cases_are_handed_over_and_most_of_the_others():
    known = rand(4, 8, 0.4, seed=3)
    plan = build_plan(known, 2000, steps=1500, ask=True)
    without = replace(plan, fallback=None)
    assert str(without) == str(build_plan(known, 2000, steps=1500))
    found, before = certify(plan, known), certify(without, known)
    assert found.handed_over.max() <= 0.01
    assert found.worst_regret <= before.worst_regret * 1.02
    fewer = replace(plan, fallback=replace(plan.fallback, starts=plan.fallback.starts - 1))
    assert plan.fallback.starts == 2 or certify(fewer, known).handed_over.max() > 0.01
    strangers = Collection.bernoulli(np.random.default_rng(0).random((20, 8)))
    loss = certify(plan, strangers, must_rest=False).regret.mean()
    assert loss < 0.5 * certify(without, strangers, must_rest=False).regret.mean()


def test_a_guarded_session_hands_over_by_the_odds_too_and_to_a_person():
    plan = circling()
    assert guarded(plan, TWO).fallback.starts == 2
    assert guarded(plan, TWO).fallback.odds == 100
    assert guarded(plan, TWO).fallback.to is Decider.PERSON


def test_simulated_cases_lose_what_the_certificate_says():
    plan = make_plan(
        protocol().lines, FIVE, 200, rule=protocol().rule, fallback=Fallback(Decider.OPTION, "A", starts=2)
    )
    lost = simulate(FIVE, {"plan": plan}, horizon=200, runs=4000, rounds=[200], seed=1).regret[0, ..., -1]
    error = lost.std(axis=1) / np.sqrt(4000)
    assert (abs(lost.mean(axis=1) - certify(plan, FIVE).regret) < 4.5 * error + 1e-9).all()


@pytest.mark.slow
def test_what_it_cannot_stand_beside_is_said():
    for more in ({"unknown": 0.1}, {"fallback": "person"}, {"washout": 2}, {"pages": True}):
        with pytest.raises(InvalidInput, match="ask must be omitted"):
            build_plan(TWO, 60, steps=100, ask=True, **more)


def test_line_by_line_it_is_what_it_is_round_by_round():
    few = Fallback(Decider.PERSON, starts=3)
    plan = make_plan(protocol().lines, FIVE, 1000, rule=protocol().rule, fallback=few)
    strange = Collection.bernoulli(np.random.default_rng(1).random((6, FIVE.n_arms)), arms=FIVE.arms)
    found = []
    for first_try in (0.0, 1e12):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(to_the_horizon, "FIRST_TRY", first_try)
            found.append(certify(plan, strange, must_rest=False))
    lines, rounds = found
    assert (lines.error != rounds.error).all()  # two ways
    np.testing.assert_allclose(lines.regret, rounds.regret, atol=1e-6)
    np.testing.assert_allclose(lines.entered, rounds.entered, atol=1e-8)
    np.testing.assert_allclose(lines.at_end, rounds.at_end, atol=1e-8)
    np.testing.assert_allclose(lines.exits, rounds.exits, atol=1e-8)
