"""A request that is sent again is carried out once, and answered as before."""

import re
from collections import Counter

import httpx
import pytest
import sqlalchemy as sa
from running_service import client_of, clinic_plan, in_thread, local

from banditree.service.client import Client
from banditree.service.store import people
from banditree.service.store.database import Database
from banditree.service.store.people import Role
from banditree.service.store.schema import answers

PASSWORD = "correct horse battery"


@pytest.fixture
def case(service):
    client = client_of(service[1])
    return client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id


def notes(http, case):
    events = http.get(f"/api/v1/cases/{case}/events").json()["data"]
    return [event["details"]["text"] for event in events if event["kind"] == "noted"]


def note(http, case, key, text="felt better"):
    return http.post(f"/api/v1/cases/{case}/note", json={"text": text}, headers={"Idempotency-Key": key})


def test_a_change_that_is_sent_again_is_made_once_and_answered_as_before(service, case):
    http = service[1]
    first, again = note(http, case, "n-1"), note(http, case, "n-1")
    assert (first.status_code, first.json()) == (again.status_code, again.json()) == (200, {"data": {"done": True}})
    assert notes(http, case) == ["felt better"]
    assert note(http, case, "n-2").status_code == 200
    assert notes(http, case) == ["felt better"] * 2


def test_a_new_case_that_is_sent_again_is_the_same_one(service, case):
    http = service[1]
    plan = http.get(f"/api/v1/cases/{case}").json()["data"]["plan"]
    started = [
        http.post("/api/v1/cases", json={"plan": plan}, headers={"Idempotency-Key": "start-17"}) for _ in range(2)
    ]
    assert started[0].json() == started[1].json()
    jobs = [http.post("/api/v1/jobs", json={"kind": "learn"}, headers={"Idempotency-Key": "j"}) for _ in range(2)]
    assert jobs[0].status_code == jobs[1].status_code == 422  # a refusal is not kept: nothing was done


def test_many_commands_in_one_request_have_one_key(service, case):
    http = service[1]
    body = [{"case": case, "n": 1}]
    path, headers = "/api/v1/ask", {"Idempotency-Key": "many"}
    found = [http.post(path, json=body, headers=headers) for _ in range(2)]
    assert found[0].json() == found[1].json()


def test_another_request_with_the_same_key_is_refused(service, case):
    http = service[1]
    note(http, case, "mine")
    refused = note(http, case, "mine", "felt worse")
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == "key_used"
    assert notes(http, case) == ["felt better"]


@pytest.mark.parametrize("key", ["two words", "x" * 256, ""])
def test_what_cannot_be_a_key_is_refused(service, case, key):
    refused = note(service[1], case, key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert "1 to 255 visible characters" in refused.json()["error"]["message"]
    assert notes(service[1], case) == []


def test_erasing_a_case_forgets_what_was_answered_about_it(service, case):
    app, http = service
    note(http, case, "erased")
    http.post("/api/v1/cases", json={"plan": "x", "id": f"{case}-2"}, headers={"Idempotency-Key": "other"})
    assert http.post(f"/api/v1/cases/{case}/erase").status_code == 200
    with app.state.desk.database.read() as connection:
        assert not connection.execute(sa.select(answers).where(answers.c.cases.contains(f" {case} "))).all()


def test_a_form_that_is_sent_twice_counts_once_and_one_filled_in_anew_counts(service, case):
    http = service[1]
    page = http.get(f"/cases/{case}", headers={"accept": "text/html"}).text
    form = re.search(rf'action="/cases/{case}/note".*?name="once" value="([0-9a-f]+)"', page, re.DOTALL)
    sent = {"once": form.group(1), "text": "slept well"}
    for text in ("slept well", "slept well", "slept badly"):
        assert http.post(f"/cases/{case}/note", data={**sent, "text": text}).status_code == 303
    assert notes(http, case) == ["slept well", "slept badly"]


class LosesAnswers(httpx.HTTPTransport):
    """The first answer to each change is lost after the service has made it."""

    def __init__(self):
        super().__init__()
        self.lost = set()

    def handle_request(self, request):
        answer = super().handle_request(request)
        sent = request.headers.get("idempotency-key") or f"{request.url} {request.content}"
        if request.method != "GET" and sent not in self.lost:
            self.lost.add(sent)
            answer.read()
            raise httpx.ReadError("lost")
        return answer


def test_the_client_sends_again_what_was_lost_and_nothing_is_done_twice(service, case):
    with httpx.Client(transport=LosesAnswers(), base_url=service[1].base_url) as http:
        client = Client(http=http)
        client.note(case, "felt better")
        client.tell(case, client.ask(case)[0].round, 1)
        client.correct(case, 1, 0, "misread")
        client.override(case, "B", "asked for it")
        client.tell(case, 2, 1)
        assert client.undo(case, 2).state == "open"
        assert client.arrange(case, label="bed 12")
        client.end(case)
        assert client.reopen(case, "came back")
        file = client.add_file("visits.csv", b"case,arm,reward\n1,A,1\n")
        assert [one.id for one in client.files()].count(file) == 1
        assert len(client.files()) == 1
        client.delete_file(file)
    assert notes(service[1], case) == ["felt better"]
    kinds = [event["kind"] for event in service[1].get(f"/api/v1/cases/{case}/events").json()["data"]]
    assert max(Counter(kinds).values()) == 2, kinds  # rounds were told twice, everything else was done once


def test_keys_belong_to_a_person_and_a_token_is_shown_again_in_its_log_in_but_never_kept(tmp_path):
    database = tmp_path / "cases.db"
    with Database(local(database)).write() as connection:
        for name in ("ada", "bea"):
            people.add_user(connection, "local", name, Role.ADMIN, people.hashed(PASSWORD))
    with in_thread(local(database, authentication=True, secure_cookies=False, sign_alone=True)) as (app, http):
        tokens = {}
        for name in ("ada", "bea"):
            with httpx.Client(base_url=http.base_url) as own:
                me = own.post("/api/v1/login", json={"name": name, "password": PASSWORD}).json()["data"]
                headers = {"x-csrf-token": me["csrf_token"], "Idempotency-Key": "t"}
                body = {"name": "ward", "role": "admin"}
                made = [own.post("/api/v1/tokens", json=body, headers=headers).json()["data"] for _ in range(2)]
                assert made[0] == made[1]
                own.post("/api/v1/login", json={"name": name, "password": PASSWORD})
                me = own.get("/api/v1/me").json()["data"]
                other = own.post("/api/v1/tokens", json=body, headers={**headers, "x-csrf-token": me["csrf_token"]})
                assert other.status_code == 409
                assert f"made token {made[0]['id']} in another log-in" in other.json()["error"]["message"]
                assert len(own.get("/api/v1/tokens").json()["data"]) == len(tokens) + 1
            tokens[name] = made[0]["token"]
        assert tokens["ada"] != tokens["bea"]
        ada, bea = (Client(str(http.base_url), token=tokens[name]) for name in tokens)
        with ada, bea:
            case = ada.start(ada.add_plan(clinic_plan(), "clinic", sign="tested")).id
            for client in (ada, bea, ada):
                assert note(client.http, case, "same").status_code == 200
            assert len(notes(ada.http, case)) == 2
        with app.state.desk.database.read() as connection:
            kept = str(connection.execute(sa.select(answers)).all())
        assert not any(token in kept for token in tokens.values())
