"""Sessions of plans with a rule about harm: an arm that harmed the case is never given again."""

import pytest

from banditree import (
    MISSING,
    ByOutcome,
    Collection,
    Give,
    InvalidInput,
    Line,
    Score,
    make_plan,
    resume_session,
    start_session,
)
from banditree.plans.plan import OnHarm, Page
from banditree.plans.words import Vocabulary
from banditree.policies.base import Outcome

TWO = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
LINE = Line(Give("A"), Score(ByOutcome((-1, 1)), 3, 3), below=Line(Give("B")), above=Line(Give("A")))
ANOTHER = Line(Give("C"), Score(ByOutcome((-1, 1)), 3, 3), below=Line(Give("B")), above=Line(Give("C")))
ABOUT = {"on_harm": OnHarm.NOT_AGAIN, "vocabulary": Vocabulary(harm="side effect", arm="treatment")}
PLAN = make_plan([LINE], TWO, 20, pages=(Page(("A",), (ANOTHER,)), Page(("B",), (Line(Give("A")),))), **ABOUT)


def told(*outcomes, plan=PLAN):
    case = start_session(plan)
    for reward, harm in outcomes:
        case.ask()
        case.tell(reward, harm=harm)
    return case


def test_the_rule_is_printed():
    assert (
        "A side effect under a treatment: do not give it again. Begin the page for a case that must not get it, nor "
        "what did harm before; where there is none, a person decides."
    ) in str(PLAN)
    assert str(make_plan([LINE], TWO, 20, **ABOUT)).endswith("do not give it again. A person decides from then on.")


def test_an_arm_that_harmed_is_not_given_again_and_its_page_begins():
    case = told((1, False), (1, True))
    assert case.ask().name == "C"
    facts = case.explain()
    assert (facts.box, facts.pulls, facts.total) == (0, 0, 0.0)
    assert "Not given again after a side effect: A." in case.describe()


def test_where_no_page_is_left_a_person_decides():
    case = told((1, True), (1, True))
    assert case.ask().outcome is Outcome.PERSON_NEEDED
    step = case.override("B")
    case.tell(1, step.round, harm=True)
    assert case.ask().outcome is Outcome.PERSON_NEEDED
    assert resume_session(PLAN, case.snapshot()).ask().outcome is Outcome.PERSON_NEEDED


def test_harm_under_an_arm_that_a_person_gave_turns_the_page_too():
    case = start_session(PLAN)
    case.ask()
    case.override("B", 1)
    case.tell(0, 1, harm=True)
    assert case.ask().name == "A"
    assert not case.explain().details


def test_without_the_rule_harm_is_recorded_and_changes_nothing():
    case = told((1, True), plan=make_plan([LINE], TWO, 20))
    assert case.ask().name == "A"
    assert case.rounds[0].harm is True


def test_harm_may_be_said_later_and_the_case_is_played_again():
    case = told((1, None), (1, None))
    assert case.explain().total == 2
    case.tell(1, 1, harm=True)
    assert case.ask().name == "C"
    assert case.off_plan_rounds == [2]  # it was given A, which it must not have


def test_the_same_report_changes_nothing_and_another_is_refused():
    case = told((1, True))
    before = case.snapshot()
    case.tell(1, 1, harm=True)
    case.tell(1, 1)
    assert case.snapshot() == before
    with pytest.raises(InvalidInput, match="Round 1 was already told as 1 with harm. Got 1 without harm."):
        case.tell(1, 1, harm=False)
    with pytest.raises(InvalidInput, match="harm must be true or false. Got 1."):
        case.tell(1, 1, harm=1)
    assert case.snapshot() == before


def test_a_correction_takes_harm_back():
    case = told((1, True), (1, False))
    case.correct(1, 1, harm=False)
    assert case.barred == set()
    assert case.ask().name == "A"


def test_open_rounds_of_a_barred_arm_are_not_tallied():
    case = start_session(PLAN)
    case.ask(3)
    case.tell(1, 2, harm=True)  # round 1 is still awaited, and A is barred at once
    assert case.ask(wait=False).outcome is Outcome.OUTCOME_NEEDED
    case.tell(1, 1)
    assert case.ask(wait=False).name == "C"
    case.tell(1, 3)
    case.tell(1, 4)
    assert case.off_plan_rounds == [3]
    assert (case.explain().pulls, case.explain().total) == (1, 1.0)


def test_a_missing_outcome_may_come_with_harm():
    case = told((MISSING, True))
    assert case.ask().name == "C"


def test_a_snapshot_keeps_harm():
    case = told((1, False), (1, True), (1, None))
    again = resume_session(PLAN, case.snapshot())
    assert again.snapshot() == case.snapshot()
    assert again.barred == case.barred == {0}
    assert again.ask().name == "C"
