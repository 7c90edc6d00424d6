"""Cases of the service that must not get an arm: they follow the page of the plan for such a case."""

import pytest
from running_service import client_of

from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import Page, make_plan
from banditree.service.client import ServiceError
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.8, 0.3, 0.5], [0.2, 0.7, 0.4]], arms=["A", "B", "C"])
PLAN = make_plan([Line(Give("A"))], TWO, 60, pages=(Page(("A",), (Line(Give("C")),)),))


@pytest.fixture
def client(service):
    return client_of(service[1])


@pytest.fixture
def signed(client):
    return client.add_plan(PLAN, "with a page", sign="tested")


def test_a_case_without_an_arm_follows_its_page(client, signed, service):
    case = client.start(signed, "without-a", without=["A"])
    assert case.without == ["A"]
    assert client.ask(case.id)[0].arm == "C"
    client.tell(case.id, 1, 1)
    client.correct(case.id, 1, 0, "typed wrongly")
    service[0].state.desk._forget(case.id)  # read again from its events
    again = client.case(case.id)
    assert (again.without, again.arm, again.as_planned) == (["A"], "C", True)
    assert client.events(case.id)[0].kind == "restricted"


def test_the_same_start_again_is_the_same_case_and_another_is_refused(client, signed):
    case = client.start(signed, "twice", without=["A"])
    assert client.start(signed, "twice", without=["A"]).events == case.events
    with pytest.raises(ServiceError, match="was started without A"):
        client.start(signed, "twice", without=["B"])
    with pytest.raises(ServiceError, match="was started without A"):
        client.start(signed, "twice")


def test_a_case_under_way_is_not_begun_anew_by_starting_it_without_an_arm(client, signed, service):
    client.tell("under-way", client.ask(client.start(signed, "under-way").id)[0].round, 1)
    with pytest.raises(ServiceError, match="was started without leaving anything out"):
        client.start(signed, "under-way", without=["A"])
    service[0].state.desk._forget("under-way")
    assert client.case("under-way").rounds == 1


def test_what_has_no_page_starts_nothing(client, signed):
    with pytest.raises(ServiceError, match="no page for a case that must not get A or C"):
        client.start(signed, "nowhere", without=["A", "C"])
    with pytest.raises(ServiceError, match="some of A, B, C"):
        client.start(signed, "nowhere", without=["Z"])
    with pytest.raises(ServiceError, match="There is no case nowhere"):
        client.case("nowhere")


def test_from_now_on_without_is_a_new_case_on_the_page(client, signed):
    case = client.start(signed, "later")
    client.tell(case.id, client.ask(case.id)[0].round, 0)
    moved = client.move(case.id, without=["A"])
    assert (moved.id, moved.plan, moved.without, moved.rounds) == ("later-v2", signed, ["A"], 0)
    assert client.ask(moved.id)[0].arm == "C"
    assert client.case(case.id).state == "closed"
    back = client.move(moved.id, without=[])
    assert (back.id, back.without) == ("later-v3", [])
    with pytest.raises(ServiceError, match="was not replaced"):
        client.move(back.id)


def test_the_pages_say_it(client, signed, service):
    http = service[1]
    case = client.start(signed, "seen", without=["A"])
    page = http.get(f"/cases/{case.id}").text
    assert "never A" in page
    assert "must not get from now on" in page
