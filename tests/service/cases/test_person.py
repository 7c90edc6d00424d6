"""A case that its plan hands over: the page says that a person decides and asks what they give, whoever noticed."""

from dataclasses import replace

import pytest
from running_service import client_of

from banditree import Collection
from banditree.plans.counts import Watch
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import Decider, Fallback, make_plan
from banditree.plans.points import ByOutcome

TWO = Collection.bernoulli([[0.95, 0.9], [0.9, 0.95]], tasks=["mild", "severe"], arms=["A", "B"])
LINES = [Line(Give(arm), Watch(ByOutcome((-1, 1)), 1), below=below) for arm, below in (("A", 2), ("B", 1))]
ASKS = make_plan(LINES, TWO, 60, fallback=Fallback(Decider.PERSON, starts=2))
OFTEN = replace(ASKS, fallback=Fallback(Decider.PERSON, starts=50))
GERMAN = {"Accept-Language": "de"}


def failing(client, id):
    """What comes next in a case where everything fails, once that is no arm any more."""
    for number in range(1, 40):
        step = client.ask(id)[0]
        if step.arm is None:
            break
        client.tell(id, number, 0)
    return step.outcome


@pytest.mark.parametrize("by", ["the plan", "the alarm"])
def test_the_page_of_a_case_that_was_handed_over_asks_what_the_person_gives(service, by):
    _app, http = service
    client = client_of(http)
    plan, known = (ASKS, None) if by == "the plan" else (OFTEN, client.add_collection(TWO, "Two"))
    id = client.start(client.add_plan(plan, by, known, sign="tested")).id
    assert "Ask what to do next." in http.get(f"/cases/{id}").text
    assert failing(client, id) == "person_needed"
    page, german = (http.get(f"/cases/{id}", headers=headers).text for headers in ({}, GERMAN))
    assert "The case has been handed over to a person. Record below which arm the person gives." in page
    assert "From now on a person decides." in page
    assert "Ab jetzt entscheidet ein Mensch." in german
    assert 'id="override" open' in page
    assert "Thompson" not in page
    assert "What comes next?" not in page
    client.override(id, "B", "the doctor's choice")
    page = http.get(f"/cases/{id}").text
    assert "Give <strong>B</strong>" in page
    assert 'id="override" open' not in page


def test_the_alarm_hands_over_to_the_arm_that_the_plan_names(service):
    _app, http = service
    client = client_of(http)
    plan = replace(ASKS, fallback=Fallback(Decider.OPTION, "B", starts=50))
    id = client.start(client.add_plan(plan, "B", client.add_collection(TWO, "Two"), sign="tested")).id
    failing(client, id)
    assert client.case(id).alarm.ringing
    assert client.case(id).alarm.message.endswith("Give B from now on.")
    assert {client.ask(id)[0].arm} == {"B"}
