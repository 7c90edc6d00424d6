"""Whatever happens to a case, its events say all of it."""

import numpy as np
import pytest
from example_plans import score_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from running_service import CLINIC, clinic_plan

from banditree.errors import InvalidInput
from banditree.policies.rounds import MISSING
from banditree.policies.starting import start_session
from banditree.service.cases.case import Case, Followed
from banditree.service.cases.following import policy_of
from banditree.service.problems import Refused

rewards = st.sampled_from([0, 1, MISSING])
rounds = st.integers(1, 12)
actions = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 6)),
    st.tuples(st.just("tell"), rounds, rewards),
    st.tuples(st.just("step"), rewards),
    st.tuples(st.just("step"), rewards),
    st.tuples(st.just("override"), st.sampled_from(["A", "B"]), st.none() | rounds),
    st.tuples(st.just("correct"), rounds, rewards, st.booleans()),
    st.tuples(st.just("undo"), st.none() | rounds),
    st.tuples(st.just("close")),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("note"), st.text(max_size=5)),
)
PLANS = [
    Followed("tree", clinic_plan(60), policy_of(clinic_plan(60), None)),
    Followed("score", score_plan(), policy_of(score_plan(), None)),
    Followed("alarm", clinic_plan(60), policy_of(clinic_plan(60), CLINIC), CLINIC),
]


def play(case, action):
    kind, *given = action
    if kind == "ask":
        case.ask("ada", *given, None, None)
    elif kind == "tell":
        case.tell("ada", *given)
    elif kind == "step" and (step := case.ask("ada", 1, None, None)[0]).arm is not None:
        case.tell("ada", step.round, *given)
    elif kind == "override":
        arm = case.session.arms[0 if given[0] == "A" else 1]
        case.override("ada", arm, "why not", given[1], None)
    elif kind == "correct":
        case.correct("ada", *given[:2], "typed wrongly", given=given[2])
    elif kind == "undo":
        last = case.last_report.round if given[0] is None and case.last_report is not None else given[0]
        case.undo("ada", last)
    elif kind == "close":
        case.close("ada", None)
    elif kind == "reopen":
        case.reopen("ada", "by mistake")
    elif kind == "note":
        case.note("ada", *given)


def rebuilt(case):
    again = Case(case.number, case.id, case.followed, case.label, case.at, case.site)
    again.fold(case.new)
    return again


@pytest.mark.slow
@settings(max_examples=200)
@given(st.sampled_from(PLANS), st.lists(actions, min_size=10, max_size=60), st.booleans())
def test_a_case_is_the_fold_of_its_events_and_refusals_leave_no_trace(followed, script, closes):
    case = Case(1, "c", followed, None, "now", None)
    for action in script:
        before = case.session.snapshot(), len(case.new), case.state
        try:
            play(case, action)
        except (InvalidInput, Refused):
            assert (case.session.snapshot(), len(case.new), case.state) == before
    if closes:
        case.close("ada", None)
    assert [event.seq for event in case.new] == list(range(1, len(case.new) + 1))
    again = rebuilt(case)
    assert (again.session.snapshot(), again.seq, again.state) == (case.session.snapshot(), case.seq, case.state)
    assert (again.last_report, again.undone) == (case.last_report, case.undone)
    told = [event.round for event in case.new if event.kind in ("told", "missing")]
    assert len(told) == len(set(told))


def played(followed, outcomes):
    """A case with these outcomes, and the next round asked after each."""
    case = Case(1, "c", followed, None, "now", None)
    case.ask("ada", 1, None, None)
    for number, outcome in enumerate(outcomes, 1):
        case.tell("ada", number, outcome)
        case.ask("ada", 1, None, None)
    return case


@given(st.sampled_from(PLANS), st.lists(rewards, min_size=1, max_size=40), rewards)
def test_an_undone_report_leaves_no_trace_but_in_the_history(followed, outcomes, wrong):
    case = played(followed, outcomes)
    before = case.session.snapshot()
    case.tell("ada", len(outcomes) + 1, wrong)
    case.ask("ada", 1, None, None)
    case.undo("ada", len(outcomes) + 1)
    assert case.session.snapshot() == before
    case.tell("ada", len(outcomes) + 1, 1)
    assert case.new[-1].kind == "retold"
    assert case.session.snapshot()["state"] == played(followed, [*outcomes, 1]).session.snapshot()["state"]


@given(st.sampled_from(PLANS[:2]), st.lists(rewards, min_size=1, max_size=40), st.data())
def test_after_a_correction_the_open_round_is_the_plans(followed, outcomes, data):
    case = played(followed, outcomes)
    number, right = data.draw(st.integers(1, len(outcomes))), data.draw(rewards)
    case.correct("ada", number, right, "typed wrongly")
    case.ask("ada", 1, None, None)
    (open_round,) = case.session.open_rounds
    assert case.session.rounds[open_round - 1].arm == case.session.explain().arm


@given(st.sampled_from(PLANS), st.lists(st.sampled_from([0, 1, MISSING, "override"]), max_size=60))
def test_overrides_leave_the_plan_where_it_would_be_without_them(followed, script):
    """The same outcomes with and without overridden rounds in between: the same box, pulls and total."""
    case, plain = Case(1, "c", followed, None, "now", None), start_session(followed.plan)
    if followed.has_alarm:
        plain = Case(2, "d", followed, None, "now", None).session
    for item in script:
        if len(case.session.rounds) >= case.session.horizon:
            break
        if item == "override":
            arms = case.session.arms
            step = case.override("ada", arms[0], "why not", None, None)
            case.tell("ada", step.round, 1)
        else:
            case.tell("ada", case.ask("ada", 1, None, None)[0].round, item)
            plain.tell(item, plain.ask().round)
    for mine, theirs in zip(_flat(case.session.state), _flat(plain.state), strict=True):
        assert np.array_equal(mine, theirs)


def _flat(state):
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        else:
            yield from _flat(value)
