"""Cases of the service whose plan has a rule about harm: they turn to the page without the arm that harmed them."""

from dataclasses import replace

import pytest
from running_service import client_of

from banditree.plans.counts import Score
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import OnHarm, Page, make_plan
from banditree.plans.points import ByOutcome
from banditree.plans.words import Vocabulary
from banditree.policies.rounds import MISSING
from banditree.service.client import ServiceError
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
SCORED = Line(Give("A"), Score(ByOutcome((-1, 1)), 3, 3), below=Line(Give("B")), above=Line(Give("A")))
PLAN = make_plan(
    [SCORED],
    TWO,
    60,
    pages=(Page(("A",), (Line(Give("C")),)),),
    on_harm=OnHarm.NOT_AGAIN,
    vocabulary=Vocabulary(harm="side effect"),
)


@pytest.fixture
def client(service):
    return client_of(service[1])


@pytest.fixture
def signed(client):
    return client.add_plan(PLAN, "with a rule about harm", sign="tested")


def forget(service, case):
    """Let a case be read again from its events."""
    service[0].state.desk._forget(case.id)


def test_harm_turns_the_page(client, signed, service):
    case = client.start(signed, "harmed")
    client.ask(case.id)
    told = client.tell(case.id, 1, 1, harm=True, ask=1)
    assert told.steps[0].arm == "C"
    for _ in range(2):
        again = client.case(case.id)
        assert (again.barred, again.arm, again.box, again.as_planned) == (["A"], "C", 1, True)
        forget(service, case)
    assert [event.kind for event in client.events(case.id)] == ["asked", "told", "harmed", "asked"]
    client.tell(case.id, 2, MISSING, harm=True)
    assert client.ask(case.id)[0].outcome == "person_needed"


def test_the_same_report_changes_nothing_and_harm_may_come_later(client, signed, service):
    case = client.start(signed, "later")
    client.ask(case.id)
    client.tell(case.id, 1, 1, ask=1)  # round 2 is open, with A
    assert client.tell(case.id, 1, 1, harm=True).recorded
    assert not client.tell(case.id, 1, 1, harm=True).recorded
    assert not client.tell(case.id, 1, 1).recorded
    assert client.case(case.id).open_rounds == []  # what must not be given any more is withdrawn
    forget(service, case)
    assert client.ask(case.id)[0].arm == "C"
    with pytest.raises(ServiceError, match="Round 1 was reported with harm. Correct it"):
        client.tell(case.id, 1, 1, harm=False)


def test_harm_that_was_none_is_corrected(client, signed, service):
    case = client.start(signed, "corrected")
    client.ask(case.id)
    client.tell(case.id, 1, 1, harm=True, ask=1)
    http = service[1]
    body = {"round": 1, "reward": 1, "harm": False, "reason": "typed"}
    answer = http.post(f"/api/v1/cases/{case.id}/correct", json=body)
    assert answer.status_code == 200, answer.text
    for _ in range(2):
        assert client.case(case.id).barred == []
        assert client.ask(case.id)[0].arm == "A"
        forget(service, case)


def test_undoing_the_report_undoes_its_harm(client, signed, service):
    case = client.start(signed, "undone")
    client.ask(case.id)
    client.tell(case.id, 1, 1, harm=True, ask=1)
    client.undo(case.id, 1)
    for _ in range(2):
        assert client.case(case.id).barred == []
        forget(service, case)
    client.tell(case.id, 1, 0)
    assert client.ask(case.id)[0].arm == "A"


def test_undoing_harm_takes_back_the_round_that_replaced_the_withdrawn_one(client, signed, service):
    case = client.start(signed, "replaced")
    client.ask(case.id, n=2)
    client.tell(case.id, 1, 1, harm=True, ask=1)
    page = service[1].get(f"/cases/{case.id}").text
    assert "Changed: do not give <strong>A</strong> (round 2)" in page
    forget(service, case)
    client.undo(case.id, 1)
    assert client.case(case.id).open_rounds == [1]


def test_a_case_that_is_moved_does_not_get_what_harmed_it(client, signed):
    case = client.start(signed, "moved")
    client.ask(case.id)
    client.tell(case.id, 1, 1, harm=True)
    other = client.add_plan(replace(PLAN, horizon=50), "another", sign="tested")
    moved = client.move(case.id, plan=other)
    assert moved.without == ["A"]


def test_the_page_asks_and_says_it(client, signed, service):
    http = service[1]
    case = client.start(signed, "seen")
    client.ask(case.id)
    page = http.get(f"/cases/{case.id}").text
    assert "With a side effect" in page
    assert "A side effect under an arm: do not give it again." in page
    client.tell(case.id, 1, 1, harm=True)
    page = http.get(f"/cases/{case.id}").text
    assert "side effect: no more A" in page
    assert "Round 1: side effect." in page


def test_a_plan_without_the_rule_says_nothing_of_harm(client, service):
    plan = client.add_plan(make_plan([SCORED], TWO, 60), "plain", sign="tested")
    case = client.start(plan, "plain")
    client.ask(case.id)
    assert "harm" not in service[1].get(f"/cases/{case.id}").text.lower().replace("charm", "")
