"""Plans with states: exact certificates, printed text, sessions and simulations say the same."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from state_plans import Reader, enumerated, hand_made, table, treat_as

from banditree import (
    MISSING,
    InvalidInput,
    Line,
    SafetyRule,
    Watch,
    build_plan,
    certify,
    load_plan,
    make_plan,
    resume_session,
    save_plan,
    start_session,
)
from banditree.figures.card import card_html, card_info, card_pages
from banditree.plans.gives import Give, TreatByState
from banditree.plans.points import StateTable
from banditree.policies.base import Outcome
from banditree.policies.by_state import STATE_POLICIES
from banditree.policies.session import Session
from banditree.protocols.state_exits import DELTAS, gains_of_points, held_and_worth
from banditree.protocols.state_polish import BEYOND, polished
from banditree.protocols.state_search import Budget, StateDraft, chain
from banditree.protocols.state_tables import Way, build_lines, table_against_others, ways_of, world_of
from banditree.protocols.state_values import FIRST_END, RESTART
from banditree.reports.certify import certificate_report, certificate_text
from banditree.simulation.with_states import simulate_states
from banditree.tasks.optimal_states import optimal
from banditree.tasks.state_instances import clinic_states, rand_states


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4])
def test_certificates_are_those_of_enumeration(seed):
    known, plan = hand_made(7, seed)
    found, best = certify(plan, known), optimal(known, 7)
    for task in range(3):
        earned, at_end = enumerated(plan, known, task, 7)
        assert found.regret[task] == pytest.approx(best.total[task] - earned, abs=1e-10)
        assert found.at_end[task] == pytest.approx(at_end, abs=1e-12)
    assert found.regret_at.sum(axis=1) == pytest.approx(found.regret)


def test_a_score_without_a_cap_goes_on_above_every_level():
    known, plan = hand_made(200, capped=False)
    assert certify(plan, known).error.max() < 1e-12
    assert certify(plan, known).at_end.sum(axis=1) == pytest.approx(1, abs=1e-9)


def test_simulated_cases_lose_what_is_certified():
    known, plan = hand_made(60, n_states=3)
    seen, found = simulate_states(known, {"plan": plan}, 60, runs=3000, seed=2), certify(plan, known)
    assert (np.abs(seen.means[0] - found.regret) < 4 * seen.errors[0]).all()


def test_who_reads_the_text_decides_as_the_session_does():
    known, plan = hand_made(120, n_states=3)
    plan = make_plan(plan.lines, known, 120)
    rng = np.random.default_rng(0)
    for case in range(6):
        session, reader, state = start_session(plan), Reader(str(plan)), 0
        for _ in range(120):
            step = session.ask(state=state)
            assert step.name == reader.ask(known.states[state])
            reward = int(rng.random() < known.rates[case % 3, state, step.arm])
            session.tell(reward)
            to = int(rng.choice(3, p=known.moves[case % 3, state, step.arm]))
            reader.tell(known.states[state], reward, known.states[to])
            state = to


def test_a_session_needs_the_state_and_goes_on_from_a_snapshot():
    _known, plan = hand_made(50)
    session = start_session(plan)
    assert session.ask().outcome is Outcome.STATE_NEEDED
    for n in range(20):
        session.ask(state=n % 2)
        session.tell(n % 3 > 0)
        if n == 0:
            assert "The points of the last round follow with the next state." in session.describe()
        if n == 11:
            snapshot = json.loads(json.dumps(session.snapshot()))
            again = resume_session(plan, snapshot)
        if n >= 12:
            again.ask(state=n % 2)
            again.tell(n % 3 > 0)
    assert again.snapshot() == session.snapshot()


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda s: s.ask(state="dead"), "state must be one of state 1, state 2. Got 'dead'."),
        (lambda s: s.ask(3, state=0), "n must be 1 with states"),
        (lambda s: s.ask(context=[1.0, 2.0]), "context must be omitted with states"),
        (lambda s: s.ask(state=True), "state must be one of"),
        (lambda s: s.ask(state=5), "state must be one of"),
    ],
)
def test_bad_states_are_refused_and_change_nothing(do, said):
    _known, plan = hand_made(50)
    session = start_session(plan)
    session.ask(state=0)
    session.tell(1)
    before = session.snapshot()
    with pytest.raises(InvalidInput, match=said):
        do(session)
    assert session.snapshot() == before


def test_a_missing_outcome_is_not_tallied_and_what_comes_before_is():
    """The round before a missing one has its next state, and the round after it begins anew."""
    _known, plan = hand_made(50)
    machine = plan.lines[0].counts.points
    session = start_session(plan)
    for state, told in ((0, 1), (1, MISSING), (0, None)):
        session.ask(state=state)
        if told is not None:
            session.tell(told)
    facts = session.explain()
    assert facts.total == machine.outcomes[0][1] + machine.moves[0][1]
    assert facts.pulls == 1
    assert not facts.details["waits_for_state"]


def test_a_correction_plays_the_case_again():
    _known, plan = hand_made(50)
    one, other = start_session(plan), start_session(plan)
    for n in range(4):
        for session, first in ((one, 0), (other, 1)):
            session.ask(state=n % 2)
            session.tell(first if n == 0 else 1)
    one.correct(1, 1)
    if one.off_plan_rounds == other.off_plan_rounds == []:
        assert one.explain() == other.explain()


def test_policies_that_know_the_kinds_choose_alike_live_and_compiled():
    known = rand_states(3, 3, 2, 3)
    for name, policy in STATE_POLICIES.items():
        session = Session(policy, known, horizon=40, seed=7)
        state = 0
        for n in range(40):
            arm = session.ask(state=state).arm
            session.tell(n % 2)
            state = (state + arm + n) % 3
        posterior = np.array(session.explain().details["posterior"])
        weights = np.zeros(3)
        rounds = session.rounds
        for now, after in pairwise(rounds):
            s, to = int(now.context[0]), int(after.context[0])
            rate = known.rates[:, s, now.arm]
            weights += np.log(np.where(now.reward > 0.5, rate, 1 - rate)) + np.log(known.moves[:, s, now.arm, to])
        expected = np.exp(weights - weights.max())
        assert posterior == pytest.approx(expected / expected.sum()), name
    found = simulate_states(known, {name: name for name in STATE_POLICIES}, 300, runs=200)
    assert all(0 < lost < 40 for lost in found.worst.values())
    again = simulate_states(known, {"mts": "mts"}, 300, runs=50)
    assert (again.loss[0] == found.loss[0, :, :50]).all()


def test_plans_with_states_go_through_files(tmp_path):
    """Also those whose lines only test, and name no task."""
    known, plan = hand_made()
    test = replace(plan.lines[0], gives=replace(plan.lines[0].gives, task=None))
    for one in (plan, make_plan([test, *plan.lines[1:]], known, 8)):
        save_plan(one, tmp_path / "plan.json")
        assert str(load_plan(tmp_path / "plan.json")) == str(one)


def test_a_card_of_five_kinds_and_three_states_is_one_sheet():
    """With 7 lines, a table each, as many as a search may find; every number of the tables stands on it."""
    known = clinic_states(5, 3, 4, 2)
    rules = [treat_as(known, 1000, n % 5) for n in range(7)]
    lines = [Line(rules[n], Watch(table(n, 3), 6, 20), n + 2 if n < 6 else 1) for n in range(7)]
    plan = make_plan(lines, known, 1000)
    info = card_info(plan, promise=("It loses 1.234 on average over all tasks, 2.345 in the worst (task 1).",) * 3)
    sheets = card_pages(info)
    assert len(sheets) == 1
    shown = [shape.text for shape in sheets[0].shapes if hasattr(shape, "text")]
    assert [text for text in shown if text.startswith("Table ")] == [f"Table {n}" for n in range(1, 8)]
    last = next(n for n, text in enumerate(shown) if text == "Table 7")
    head, *rows = [shown[last + 6 * n : last + 6 * n + 6] for n in range(4)]
    assert head == ["Table 7", "success", "failure", "next well", "moderate", "ill"]
    points = table(6, 3)
    for row, state, (bad, good), moves in zip(rows, known.states, points.outcomes, points.moves, strict=True):
        assert row == [state, *(f"{p:+d}" if p else "0" for p in (good, bad, *moves))]
    assert card_html(info).count("<table") == 8


def test_what_does_not_fit_a_plan_with_states_is_refused():
    known, plan = hand_made()
    first = plan.lines[0]
    rule = TreatByState(known.tasks[0], ("x", "y"), known.arms[:2])
    mixed = (replace(plan.lines[1], below=1), Line(Give(known.arms[0])))
    for lines, more, said in (
        ([Line(first.gives)], {"rule": SafetyRule((-2, 1), 5)}, "cannot have a safety rule"),
        ([Line(first.gives)], {"washout": 2}, "cannot have a washout"),
        ([Line(first.gives, Watch(StateTable(((1, -1),) * 3, ((0,) * 3,) * 3), 3), below=1)], {}, "number of states"),
        ([replace(first, below=Line(rule), above=Line(first.gives))], {}, "has other states"),
        ([replace(first, below=Line(Give(known.arms[0])), above=Line(first.gives))], {}, "all lines and ends must"),
    ):
        with pytest.raises(InvalidInput, match=said):
            make_plan(lines, known, 8, **more)
    assert mixed


def a_line(horizon=50, floor=3, ceil=5, cap=0):
    """(world, draft of one line with two ends, its place among lines)."""
    known = rand_states(3, 2, 3, 2)
    options = optimal(known, horizon).options
    world = world_of(known, options, horizon)
    way = Way(options[0], table_against_others(known, 0, options[0], 0.5), 0)
    lines = build_lines(world, [(way, floor, ceil, cap)])
    ends = np.array([FIRST_END - 1]), np.array([FIRST_END - 2 if ceil else RESTART])
    return world, way, StateDraft(world, lines, np.zeros(1, np.int64), *ends)


@pytest.mark.slow
def test_exits_of_lines_are_those_of_many_rounds_carried_on():
    """The linear systems of the search against carrying the chances on, round by round."""
    world, way, draft = a_line()
    chance, points, costs = world.chance(way.options), way.table.by_round, world.cost(way.options)
    task = 1
    here, left, spent = {(0, 0): 1.0}, {}, 0.0
    for _ in range(3000):
        after = {}
        for (s, score), p in here.items():
            spent += p * costs[task, s]
            for to in range(2):
                for o in range(2):
                    new, q = score + points[s, to, o], p * chance[task, s, to, o]
                    place = left if new <= -3 or new >= 5 else after
                    key = (to, new <= -3) if place is left else (to, new)
                    place[key] = place.get(key, 0.0) + q
        here = after
    known = draft.lines
    assert known.down[0, task, 0] == pytest.approx([left.get((to, True), 0) for to in range(2)], abs=1e-9)
    assert known.up[0, task, 0] == pytest.approx([left.get((to, False), 0) for to in range(2)], abs=1e-9)
    assert known.cost[0, task, 0] == pytest.approx(spent, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("ceil", "cap"), [(5, 0), (0, 6)])
def test_what_a_change_of_points_gains_is_exact_for_the_cases_of_the_changed_line(ceil, cap):
    """The loss after a change less that before is what each round gains, over the rounds that come with the change."""
    world, way, draft = a_line(ceil=ceil, cap=cap)
    chance, costs, levels = world.chance(way.options), world.cost(way.options), (3, ceil, cap)
    entering = np.tile(world.start, (3, 1))
    behind = world.ends[1], world.ends[2]
    for d, s, column in ((0, 1, 0), (4, 0, 1), (3, 1, 3), (1, 0, 2)):
        entries = np.hstack([way.table.outcomes, way.table.moves])
        entries[s, column] += DELTAS[d]
        table = StateTable(tuple(map(tuple, entries[:, :2].tolist())), tuple(map(tuple, entries[:, 2:].tolist())))
        changed = replace(draft, lines=build_lines(world, [(way._replace(table=table), *levels)]))
        _held, worth = held_and_worth(chance, way.table.by_round, costs, levels, entering, *behind, BEYOND)
        held, _worth = held_and_worth(chance, table.by_round, costs, levels, entering, *behind, BEYOND)
        gains = gains_of_points(chance, way.table.by_round, held, worth, BEYOND)
        assert gains[d, s, column] == pytest.approx(changed.loss.sum() - draft.loss.sum(), abs=1e-9)


def test_polishing_never_makes_a_draft_worse_and_mostly_better():
    gained = 0
    for seed in range(4):
        known = rand_states(3, 2, 3, seed)
        options = optimal(known, 300).options
        world = world_of(known, options, 300)
        ways = [way for way in ways_of(known, options, 300, 0.5) if way.task >= 0]
        draft = chain(world, build_lines(world, [(way, 6, 0, 12) for way in ways]), range(len(ways)))
        better = polished(draft, 12.0, Budget(150))
        assert better.objective(12.0) <= draft.objective(12.0)
        gained += better.objective(12.0) < 0.9 * draft.objective(12.0)
    assert gained >= 2


def test_the_search_values_drafts_as_certificates_do():
    """A case of random length loses about what one of H rounds does, and changes keep drafts whole."""
    known, horizon = rand_states(3, 3, 3, 0), 2000
    options = optimal(known, horizon).options
    world = world_of(known, options, horizon)
    ways = [way for way in ways_of(known, options, horizon, 0.5) if way.task >= 0]
    lines, order = build_lines(world, [(way, 6, 0, 20) for way in ways]), [2, 0, 1]
    draft = chain(world, lines, order)
    rules = [treat_as(known, horizon, j) for j in order]
    written = [Line(rules[n], Watch(ways[j].table, 6, 20), (n + 1) % 3 + 1) for n, j in enumerate(order)]
    assert draft.loss == pytest.approx(certify(make_plan(written, known, horizon), known).regret, rel=0.1, abs=0.1)
    assert isinstance(draft.without(1), StateDraft)
    assert len(draft.without(1).chosen) == len(draft.without(0).chosen) == 2
    longer = draft.with_new(0, 0, int(draft.chosen[2]), 1, -1)
    assert longer.low.tolist() == [1, 2, 3, -1]
    assert longer.without(1).loss == pytest.approx(draft.loss)


@pytest.mark.slow
def test_the_search_finds_short_plans_that_lose_little():
    known = rand_states(3, 3, 3, 0)
    plan = build_plan(known, 1000, steps=600, seed=3)
    assert plan.n_tests <= 4
    assert certify(plan, known).worst_regret < 2.5
    assert str(build_plan(known, 1000, steps=600, seed=3)) == str(plan)
    assert build_plan(known, 1000, steps=60, lines=2, forward_only=True).n_tests <= 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "tree"}, "method must be"),
        ({"max_harm": 0.5}, "max_harm must be omitted with states"),
        ({"unknown": 0.1}, "unknown must be omitted with states"),
        ({"allow": 0.1}, "allow must be omitted with states"),
        ({"pages": True}, "pages must be omitted with states"),
        ({"not_again": True}, "not_again must be omitted with states"),
        ({"objective": "unlucky"}, "objective must be worst or mean"),
        ({"links_back": True}, "links_back must be omitted with states"),
    ],
)
def test_options_that_do_not_know_of_states_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        build_plan(rand_states(2, 2, 2), 100, **options)


def test_what_the_unlucky_lose_is_simulated_and_said_to_be():
    known, plan = hand_made(60, n_states=3)
    report = certificate_report(plan, known, unlucky=400)
    lost = simulate_states(known, {"plan": plan}, 60, runs=400).loss[0]
    assert report.unlucky.worst == pytest.approx(np.sort(lost, axis=1)[:, -4:].mean(axis=1))
    assert "Simulated, since it cannot be computed: 400 cases of each task" in certificate_text(report)
    assert certificate_report(plan, known, unlucky=0).unlucky is None
