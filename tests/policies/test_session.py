import json

import numpy as np
import pytest
from boxes import arrays_of, survivors_at
from example_plans import score_plan

from banditree.errors import InvalidInput
from banditree.policies.base import Outcome
from banditree.policies.rounds import MISSING
from banditree.policies.starting import resume_session, start_session
from banditree.protocols.build import build_plan
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear, rand
from banditree.trees.tree import build_tree, lazy_tree

CLINIC = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])


def new_case(horizon=100):
    return start_session(build_tree(CLINIC, horizon))


def state_of(session):
    return json.dumps(session.snapshot(), sort_keys=True)


def test_asking_again_gives_the_same_open_round():
    case = new_case()
    assert case.ask() == case.ask()
    case.tell(1)
    assert case.ask().round == 2


def test_following_to_the_end_of_the_horizon():
    case = new_case(100)
    pulls = case.subject.lines[0].counts.rounds
    for _ in range(pulls):
        assert case.ask().name == "A"
        case.tell(0)
    assert case.explain().exploiting
    for _ in range(100 - pulls):
        assert case.ask().name == "B"
        case.tell(1)
    step = case.ask()
    assert step.outcome is Outcome.HORIZON_REACHED
    assert step.arm is None
    assert str(step) == "All rounds of this case have been used."


def test_batches_stop_at_the_end_of_the_box():
    case = new_case(100)
    pulls = int(case.subject.lines[0].counts.rounds)
    steps = case.ask(n=60)
    assert [step.round for step in steps] == list(range(1, pulls + 1))
    assert case.ask(n=60) == steps
    for step in reversed(steps):
        case.tell(1, step.round)
    assert case.explain().exploiting
    assert len(case.ask(n=10)) == 10


def test_batches_at_a_score_box_stop_at_its_earliest_end():
    case = start_session(score_plan())  # up at +6 by +1, down at -4 by -2
    assert len(case.ask(n=60)) == 2
    case.tell(0, 1)
    assert len(case.ask(n=60)) == 1
    case.tell(1, 2)
    assert len(case.ask(n=60)) == 2


def test_late_reports_are_applied_in_the_order_of_the_rounds():
    one, other = new_case(), new_case()
    rewards = [1, 0, 0, 1, 0, 1, 1, 1]
    for reward in rewards:
        one.tell(reward, one.ask().round)
    other.ask(n=8)
    for number in (5, 1, 8, 2, 7, 3, 6, 4):
        other.tell(rewards[number - 1], number)
    assert state_of(one) == state_of(other)


def test_repeated_reports_change_nothing_and_other_values_are_refused():
    case = new_case()
    case.ask(n=3)
    case.tell(1, 2)
    before = state_of(case)
    case.tell(1, 2)
    assert state_of(case) == before
    with pytest.raises(InvalidInput, match=r"Round 2 was already told as 1. Got 0. Open: 1, 3."):
        case.tell(0, 2)
    assert state_of(case) == before


@pytest.mark.parametrize(
    ("reward", "number", "message"),
    [
        (0.5, 1, "reward must be 0 or 1. Got 0.5"),
        ("x", 1, "reward must be a number"),
        (float("nan"), 1, "reward must be"),
        (1, 9, "round must be one that was asked. Got 9. Open: 1, 2."),
        (1, 0, "round must be one that was asked"),
        (1, 1.5, "round must be one that was asked"),
        (1, True, "round must be one that was asked"),
        (1, None, "round must be given. Got None. Open: 1, 2."),
    ],
)
def test_a_wrong_report_leaves_everything_as_it_was(reward, number, message):
    case = new_case()
    case.ask(n=2)
    before = state_of(case)
    with pytest.raises(InvalidInput, match=message):
        case.tell(reward, number)
    assert state_of(case) == before


def test_telling_before_asking():
    with pytest.raises(InvalidInput, match="No round is open: ask first"):
        new_case().tell(1)


def test_missing_outcomes_use_up_the_round_and_are_not_tallied():
    case = new_case(100)
    case.ask(n=3)
    case.tell(MISSING, 1)
    case.tell(1, 2)
    case.tell(MISSING, 3)
    case.tell(MISSING, 3)
    assert case.explain().pulls == 1
    assert case.ask().round == 4
    with pytest.raises(InvalidInput, match="already told as missing. Got 1"):
        case.tell(1, 3)


def test_an_arm_that_is_not_available_is_never_swapped():
    case = new_case()
    step = case.ask(available=["B"])
    assert step.outcome is Outcome.ARM_NOT_AVAILABLE
    assert step.arm is None
    assert case.ask(available=[]).outcome is Outcome.NO_ARM_AVAILABLE
    assert case.rounds == []
    assert case.ask(available=["A"]).name == "A"
    with pytest.raises(InvalidInput, match="an arm must be one of A, B. Got 'C'"):
        case.ask(available=["C"])


def test_asking_past_the_box_says_that_outcomes_are_needed():
    case = new_case()
    case.ask(n=100)
    assert len(case.ask(n=100)) == case.subject.lines[0].counts.rounds


def test_contexts_enter_in_exploit_only():
    plan = build_tree(linear(4, 5, 3, 0.2), 5000, 0.2)
    case = start_session(plan)
    while not case.explain().exploiting:
        for step in case.ask(n=10**6):
            case.tell(0.0, step.round)
    assert case.ask().outcome is Outcome.CONTEXT_NEEDED
    named = case.ask(context={"x1": 0.5, "x2": -2})
    x = np.array([1.0, 0.5, -2.0])
    task = arrays_of(plan).task[case.explain().box]
    assert named.arm == (plan.theta[task] @ x).argmax()
    assert case.rounds[-1].context == x.tolist()
    case.tell(0.3)
    with pytest.raises(InvalidInput, match=r"context must be 3 finite numbers \(\(intercept\), x1, x2\)"):
        case.ask(context=[1.0, 2.0])
    with pytest.raises(InvalidInput, match="context must be omitted"):
        new_case().ask(context=[1.0])


@pytest.mark.parametrize("make", [lambda: build_tree(CLINIC, 100), score_plan, lambda: lazy_tree(CLINIC, 100)])
def test_a_snapshot_in_the_middle_goes_on_identically(make):
    subject, rng = make(), np.random.default_rng(0)
    case = start_session(subject, seed=4, case=7)
    for number in range(60):
        step = case.ask()
        case.tell(MISSING if number % 7 == 3 else int(rng.random() < 0.4), step.round)
        if number % 5 == 0:
            case.ask(n=3)
            resumed = resume_session(subject, json.loads(json.dumps(case.snapshot())))
            assert state_of(resumed) == state_of(case)
            case = resumed


def test_a_snapshot_of_something_else_is_refused():
    case = new_case()
    with pytest.raises(InvalidInput, match="snapshot must be one of schema banditree/session/1"):
        resume_session(case.subject, {"schema": "x"})
    snapshot = case.snapshot()
    snapshot["state"] = {"place": [0]}
    with pytest.raises(InvalidInput, match="does not fit this plan"):
        resume_session(case.subject, snapshot)


def test_a_lazy_case_classifies():
    collection = rand(30, 20, 0.4, seed=1)
    tree, rng, task = lazy_tree(collection, 10_000, 0.4), np.random.default_rng(3), 17
    case = start_session(tree)
    while not case.explain().exploiting:
        for step in case.ask(n=10**6):
            case.tell(int(rng.random() < collection.means[task, step.arm]), step.round)
    assert case.explain().possible == (task,)
    assert case.ask().arm == collection.best_arms[task]
    assert "The evidence leaves one task: task 18." in case.describe()


def test_a_line_that_rules_nothing_out_says_nothing_of_it():
    protocol = build_plan(CLINIC, 100, lines=1, steps=20)
    assert survivors_at(protocol, 0).tolist() == [0, 1]
    assert "still possible" not in start_session(protocol).describe()


def test_a_case_says_where_it_stands_and_why():
    case = new_case()
    assert "possible" not in case.describe()  # all are
    assert "Nothing is tallied here yet." in case.describe()
    case.tell(1, case.ask().round)
    case.tell(0, case.ask().round)
    case.ask()
    text = case.describe()
    assert text.startswith("3 rounds of 100 asked. Waiting for the outcome of round 3. The case is at box 1: Give A")
    assert "So far: 1 success, 1 failure (2 of" in text
    for step in case.ask(n=100):
        case.tell(1, step.round)
    assert "The evidence leaves one task: mild. A is best for it." in case.describe()
    assert "score +1" in _told(start_session(score_plan()), [1]).describe()
    assert "leads one way, more leads the other" in start_session(lazy_tree(CLINIC, 100)).describe()


def _told(case, rewards):
    for reward in rewards:
        case.tell(reward, case.ask().round)
    return case


@pytest.mark.parametrize("options", [{"seed": -1}, {"seed": 2**32}, {"case": -5}])
def test_keys_are_checked(options):
    with pytest.raises(InvalidInput, match="a whole number in"):
        start_session(build_tree(CLINIC, 100), **options)


def test_an_override_is_recorded_and_not_tallied():
    case = new_case()
    assert case.ask(available=["B"]).outcome is Outcome.ARM_NOT_AVAILABLE
    step = case.override("B")
    assert (step.round, step.name) == (1, "B")
    assert case.ask() == step
    case.tell(1)
    assert (case.explain().pulls, len(case.rounds), case.off_plan_rounds) == (0, 1, [1])
    case.ask(n=3)
    case.override("B", 3)
    for number in (2, 3, 4):
        case.tell(1, number)
    assert (case.explain().pulls, case.explain().total, case.off_plan_rounds) == (2, 2.0, [1, 3])
    assert "Not as planned: 2 rounds with another arm, not tallied." in case.describe()


def test_an_override_that_gives_what_the_plan_would_have_is_still_one():
    case = new_case()
    case.override("A")
    case.tell(1)
    assert (case.explain().pulls, case.off_plan_rounds) == (0, [1])


def test_overrides_count_towards_the_horizon():
    case = new_case(20)
    for _ in range(20):
        case.override("B")
        case.tell(0)
    assert case.ask().outcome is Outcome.HORIZON_REACHED
    assert case.override("B").outcome is Outcome.HORIZON_REACHED


@pytest.mark.parametrize(
    ("arm", "number", "message"),
    [
        ("A", 2, "other than the one of round 2. Got 'A'. That is no override."),
        ("B", 1, "Round 1 already has its outcome. Open: 2, 3."),
        ("B", None, "round must be given. Got None. Open: 2, 3."),
        ("B", 7, "round must be one that was asked. Got 7."),
        ("C", 2, "an arm must be one of A, B. Got 'C'"),
    ],
)
def test_a_wrong_override_leaves_everything_as_it_was(arm, number, message):
    case = new_case()
    case.ask(n=3)
    case.tell(1, 1)
    before = state_of(case)
    with pytest.raises(InvalidInput, match=message):
        case.override(arm, number)
    assert state_of(case) == before


def test_a_correction_plays_the_case_again():
    wrong, right = new_case(), new_case()
    for number in range(1, 9):
        wrong.tell(number % 2, wrong.ask().round)
        right.tell(0 if number == 3 else number % 2, right.ask().round)
    wrong.correct(0, 3)
    assert state_of(wrong) == state_of(right)
    wrong.correct(MISSING, 3)
    assert wrong.explain().pulls == 7
    before = state_of(wrong)
    with pytest.raises(InvalidInput, match="reward must be 0 or 1. Got 0.5"):
        wrong.correct(0.5, 3)
    wrong.ask()
    with pytest.raises(InvalidInput, match="Round 9 has no outcome to correct yet: tell it. Open: 9."):
        wrong.correct(1, 9)
    assert json.loads(state_of(wrong))["state"] == json.loads(before)["state"]


def test_rounds_asked_on_the_strength_of_a_wrong_report_are_not_tallied_after_its_correction():
    case = new_case()
    pulls = int(case.subject.lines[0].counts.rounds)
    for number in range(pulls):
        case.tell(int(number < 9), case.ask().round)  # one more than at most 8: to A
    for _ in range(4):
        case.tell(1, case.ask().round)
    case.ask(n=2)
    assert case.off_plan_rounds == []
    case.correct(0, 1)
    assert case.ask().arm == 0  # what is open stays open, and keeps its arm
    case.tell(1, pulls + 5)
    case.tell(1, pulls + 6)
    assert case.off_plan_rounds == list(range(pulls + 1, pulls + 7))
    assert case.ask().name == "B"
    case.correct(1, 1)
    assert case.off_plan_rounds == []
    case.tell(1, pulls + 7)
    assert case.off_plan_rounds == [pulls + 7]


def test_snapshots_from_before_overrides_are_read():
    case = _told(new_case(), [1, 0, 1])
    old = json.loads(state_of(case))
    for entry in old["rounds"]:
        del entry["overridden"], entry["tallied"]
    assert state_of(resume_session(case.subject, old)) == state_of(case)


def test_one_who_does_not_wait_gets_one_more_round_each_time():
    case = start_session(build_plan(CLINIC, 3, lines=1, steps=20))
    first = case.ask()
    assert case.ask() == first
    assert [case.ask(wait=False).round for _ in range(2)] == [2, 3]
    assert case.ask(wait=False).outcome is Outcome.HORIZON_REACHED
    assert case.open_rounds == [1, 2, 3]
