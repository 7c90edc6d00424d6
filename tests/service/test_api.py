"""The API as a client sees it."""

import csv
import io
import json
import re
import threading
import time

import pyarrow.parquet as pq
import pytest
from running_service import CLINIC, client_of, clinic_plan

from banditree.policies.rounds import MISSING
from banditree.service.cases.case import Case
from banditree.service.client import ServiceError
from banditree.tasks.instances import linear
from banditree.trees.tree import build_tree


@pytest.fixture
def http(service):
    return service[1]


@pytest.fixture
def client(http):
    return client_of(http, retries=0)


@pytest.fixture
def case(client):
    return client.start(client.add_plan(clinic_plan(), "clinic", sign="tested"), label="bed 1").id


def error_of(answer):
    body = answer.json()
    assert list(body) == ["error"]
    assert list(body["error"]) == ["code", "message"]
    return answer.status_code, body["error"]["code"], body["error"]["message"]


def test_a_whole_case(client, case):
    step = client.ask(case)[0]
    while step.arm is not None:
        told = client.tell(case, step.round, 0 if step.arm == "A" else 1, ask=1)
        assert told.recorded
        step = told.steps[0]
    assert (step.outcome, step.message) == ("horizon_reached", "All rounds of this case have been used.")
    where = client.case(case)
    assert (where.rounds, where.exploiting, where.arm, where.possible) == (100, True, "B", ["severe"])
    assert (where.certificate, where.open_rounds, where.events) == ("as planned", [], 200)
    client.end(case, "done")
    assert client.case(case).state == "closed"
    assert [event.kind for event in client.events(case, after=198)] == ["asked", "told", "closed"]


def test_late_repeated_and_out_of_order_reports(client, case):
    assert [step.round for step in client.ask(case, 4)] == [1, 2, 3, 4]
    assert client.tell(case, 3, 1).recorded is True
    assert client.tell(case, 3, 1).recorded is False
    assert client.tell(case, 1, MISSING).recorded is True
    with pytest.raises(ServiceError, match="Round 3 was already told as 1. Got 0. Open: 2, 4.") as refused:
        client.tell(case, 3, 0)
    assert (refused.value.status, refused.value.code) == (409, "conflict")
    with pytest.raises(ServiceError, match="round must be one that was asked. Got 9. Open: 2, 4.") as refused:
        client.tell(case, 9, 0)
    assert refused.value.status == 422
    assert client.case(case).events == 6


def test_two_clients_on_one_round_one_wins_and_the_other_is_told_so(service, client, case):
    client.ask(case, 10)
    http, answers = service[1], {}

    def report(number, reward):
        answer = http.post(f"/api/v1/cases/{case}/tell", json={"round": number, "reward": reward})
        answers[number, reward] = answer.status_code

    threads = [threading.Thread(target=report, args=(n, r)) for n in range(1, 11) for r in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(1, 11):
        assert sorted((answers[number, 0], answers[number, 1])) == [200, 409]
    told = [event for event in client.events(case) if event.kind == "told"]
    assert {(event.round, int(event.reward)) for event in told} == {
        key for key, status in answers.items() if status == 200
    }


def test_overrides_and_corrections(client, case):
    client.ask(case, available=["B"])
    assert client.ask(case, available=["B"])[0].outcome == "arm_not_available"
    step = client.override(case, "B", "A is out of stock")
    assert (step.round, step.arm) == (1, "B")
    client.tell(case, 1, 1)
    where = client.case(case)
    assert (where.pulls, where.rounds, where.certificate, where.off_plan_rounds) == (0, 1, "not as planned", [1])
    assert "Not as planned: 1 round with another arm, not tallied." in where.description
    client.tell(case, client.ask(case)[0].round, 1)
    where = client.correct(case, 2, 0, "typed wrongly")
    assert (where.pulls, where.total) == (1, 0.0)
    kinds = [(event.kind, event.reward, event.details) for event in client.events(case)]
    assert kinds[-2:] == [("told", 1.0, None), ("corrected", 0.0, {"reason": "typed wrongly"})]


def test_a_correction_that_leads_elsewhere(client, case):
    for number in range(1, 18):  # box 1: give A 17 times, at most 8 successes lead to B
        client.tell(case, client.ask(case)[0].round, int(number <= 9))
    assert client.case(case).arm == "A"
    for _ in range(3):
        client.tell(case, client.ask(case)[0].round, 1)
    where = client.correct(case, 1, 0, "typed wrongly")
    assert (where.arm, where.possible, where.off_plan_rounds) == ("B", ["severe"], [18, 19, 20])
    assert client.ask(case)[0].arm == "B"
    where = client.correct(case, 1, 1, "it was right")
    assert (where.arm, where.certificate) == ("A", "as planned")


def test_the_alarm_is_seen(client):
    plan = client.add_plan(clinic_plan(102), "clinic", client.add_collection(CLINIC, "clinic"), sign="tested")
    case = client.start(plan).id
    assert client.case(case).alarm.ringing is False
    for number in range(16):  # half successes on A fit neither .9 nor .1
        client.tell(case, client.ask(case)[0].round, number % 2)
    where = client.case(case)
    assert where.alarm.ringing
    assert where.alarm.message.startswith("The evidence fits none of the 2 tasks of the collection")
    assert client.ask(case)[0].arm in ("A", "B")  # as Thompson sampling draws
    assert client.case(client.start(client.add_plan(clinic_plan(101), "no collection", sign="tested")).id).alarm is None


def test_contexts_by_name(client):
    plan = build_tree(linear(2, 3, 2, 0.3), 2000)
    case = client.start(client.add_plan(plan, "linear", sign="tested")).id
    while client.case(case).exploiting is False:
        for step in client.ask(case, 1000):
            client.tell(case, step.round, 0.0)
    assert client.ask(case)[0].outcome == "context_needed"
    step = client.ask(case, context={"x1": 0.5})[0]
    client.tell(case, step.round, 0.25)
    assert client.events(case, after=client.case(case).events - 2)[0].details == {
        "context": [1.0, 0.5],
        "given": {"x1": 0.5},
    }
    last = list(csv.DictReader(io.StringIO(client.export().decode())))[-1]
    assert (last["x1"], last["reward"]) == ("0.5", "0.25")


def test_batches(http, client, case):
    plan = client.case(case).plan
    body = {"cases": [{"plan": plan, "id": f"b{n}"} for n in range(3)] + [{"plan": "none"}]}
    started = http.post("/api/v1/cases/start", json=body).json()["data"]
    assert [one["data"]["id"] for one in started[:3]] == ["b0", "b1", "b2"]
    assert started[3]["error"]["code"] == "not_found"
    asked = http.post("/api/v1/cases/ask", json={"asks": [{"case": f"b{n}", "n": 2} for n in range(3)]}).json()["data"]
    assert [[step["round"] for step in one["data"]] for one in asked] == [[1, 2]] * 3
    tells = [{"case": "b0", "round": 1, "reward": 1}, {"case": "b1", "round": 5, "reward": 1}]
    tells += [{"case": "b0", "round": 2, "reward": 0, "ask": {"n": 2}}]
    told = http.post("/api/v1/cases/tell", json={"tells": tells}).json()["data"]
    assert told[0] == {"data": {"recorded": True, "steps": None}}
    assert told[1]["error"]["message"] == "round must be one that was asked. Got 5. Open: 1, 2."
    assert [step["round"] for step in told[2]["data"]["steps"]] == [3, 4]


def test_exports(client, case):
    for step in client.ask(case, 4):
        client.tell(case, step.round, MISSING if step.round == 2 else 1)
    client.correct(case, 3, 0, "typed wrongly")
    client.override(case, "B", "no A")
    client.tell(case, 5, 1)
    rows = [row for row in csv.DictReader(io.StringIO(client.export().decode())) if row["case"] == case]
    assert [(row["round"], row["arm"], row["reward"], row["overridden"]) for row in rows] == [
        ("1", "A", "1.0", "False"),
        ("3", "A", "0.0", "False"),
        ("4", "A", "1.0", "False"),
        ("5", "B", "1.0", "True"),
    ]
    for what in ("decisions", "events"):
        table = pq.read_table(io.BytesIO(client.export(what, "parquet"))).to_pylist()
        text = list(csv.DictReader(io.StringIO(client.export(what).decode())))
        assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in table] == text
    assert len([row for row in text if row["case"] == case]) == client.case(case).events == 11


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("cases/C/tell", {"round": 1, "reward": 0.5}, 422, "reward must be 0 or 1. Got 0.5."),
        ("cases/C/tell", {"round": 1, "reward": "1"}, 422, "reward"),
        ("cases/C/tell", {"round": 1, "reward": True}, 422, "reward"),
        (
            "cases/C/tell",
            {"round": 2**40, "reward": 1},
            422,
            "round: Input should be less than or equal to 2147483647.",
        ),
        ("cases/C/tell", {"reward": 1}, 422, "round: Field required."),
        ("cases/C/tell", {"round": 1, "reward": 1, "rewrad": 1}, 422, "rewrad: Extra inputs are not permitted."),
        (
            "cases/C/tell",
            {"round": 1, "reward": 1, "ask": {"available": ["Z"]}},
            422,
            "an arm must be one of A, B. Got 'Z'.",
        ),
        ("cases/C/ask", {"context": {"age": 3}}, 422, "context must be omitted"),
        ("cases/C/ask", {"available": ["Z"]}, 422, "an arm must be one of A, B. Got 'Z'."),
        ("cases/C/override", {"arm": "A", "reason": "x"}, 422, "That is no override."),
        ("cases/C/override", {"arm": "B"}, 422, "reason: Field required."),
        ("cases/C/correct", {"round": 1, "reward": 1, "reason": "x"}, 422, "Round 1 has no outcome to correct yet"),
        ("cases/C/note", {"text": "a\x00b"}, 422, "text: String should match pattern"),
        ("cases/nobody/ask", {}, 404, "There is no case nobody."),
        ("cases/C/nonsense", {}, 404, "Not Found."),
        ("cases", {"plan": "none"}, 404, "There is no plan none."),
        ("cases", [], 422, "the body: Input should be a valid dictionary"),
        ("plans", {"name": "x", "plan": {}}, 422, "The plan is not a plan file of banditree"),
        ("collections", {"name": "x", "collection": {"schema": "banditree/plan/1"}}, 422, "is a plan file, and a coll"),
    ],
)
def test_bad_input_gets_one_shape_and_changes_nothing(http, client, case, path, body, status, message):
    client.ask(case)
    before = client.case(case), client.events(case), client.cases()
    found = error_of(http.post(f"/api/v1/{path.replace('C', case)}", json=body))
    assert found[0] == status
    assert message in found[2]
    assert before == (client.case(case), client.events(case), client.cases())


def test_bodies_that_are_not_json_or_too_large(service, http):
    assert error_of(http.post("/api/v1/cases", content=b"{", headers={"content-type": "application/json"}))[:2] == (
        422,
        "invalid",
    )
    assert error_of(http.post("/api/v1/cases", content=b"x" * 1_000_001))[:2] == (413, "too_large")
    chunks = (b"x" * 100_000 for _ in range(11))  # without a length
    assert error_of(http.post("/api/v1/cases", content=chunks, headers={"content-type": "application/json"}))[0] == 413
    assert error_of(http.put("/api/v1/cases"))[:2] == (405, "method_not_allowed")


def test_headers_and_hosts(http):
    answer = http.get("/health")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert error_of(http.get("/health", headers={"host": "evil.example"}))[:2] == (403, "forbidden")
    origin = {"origin": "http://evil.example"}
    assert error_of(http.post("/api/v1/cases", json={}, headers=origin))[2] == "Another web site sent this request."


def test_health_readiness_and_metrics(http, client, case):
    assert http.get("/health").json() == http.get("/ready").json() == {"data": {"done": True}}
    text = http.get("/metrics").text
    started = re.search(r'banditree_requests_total{method="POST",route="/api/v1/cases",status="200"} (\d+)', text)[1]
    took = re.search(r'banditree_request_seconds_bucket{route="/api/v1/cases",le="\+Inf"} (\d+)', text)[1]
    assert int(took) >= int(started) >= 1
    assert int(re.search(r"banditree_cached_cases (\d+)", text)[1]) >= 1


def test_no_outcome_gets_into_the_log(http, client, case, caplog):
    caplog.set_level("INFO", "banditree.service")
    client.ask(case)
    client.note(case, "a secret")
    http.post(f"/api/v1/cases/{case}/tell", json={"round": 1, "reward": 0.123456})
    deadline = time.monotonic() + 600
    while len(caplog.records) < 3 and time.monotonic() < deadline:  # the line is written after the answer went out
        time.sleep(0.01)
    lines = [json.dumps(record.fields) for record in caplog.records]
    assert len(lines) == 3
    assert json.loads(lines[2])["route"] == "/api/v1/cases/{id}/tell"
    assert not any("secret" in line or "0.123" in line or case in line for line in lines)


def test_a_long_case_is_not_folded_from_its_beginning(service, client, monkeypatch):
    """A round at the end of a long case costs what it costs at its start; one not in memory begins at its snapshot."""
    folded = []
    monkeypatch.setattr(Case, "fold", lambda self, events, fold=Case.fold: (folded.extend(events), fold(self, events)))
    case = client.start(client.add_plan(clinic_plan(3000), "long", sign="tested")).id
    while (steps := client.ask(case, 1000))[0].arm:
        tells = [{"case": case, "round": step.round, "reward": 1} for step in steps]
        service[1].post("/api/v1/cases/tell", json={"tells": tells})
    assert (client.case(case).rounds, len(folded)) == (3000, 0)
    service[0].state.desk._forget(case)
    assert (client.case(case).rounds, client.case(case).events) == (3000, 6000)
    assert 0 < len(folded) < 600


def test_an_erased_case(http, client, case):
    client.tell(case, client.ask(case)[0].round, 1)
    assert case in client.export().decode()
    assert http.post(f"/api/v1/cases/{case}/erase").json() == {"data": {"done": True}}
    assert client.case(case).state == "erased"
    assert client.events(case)[0].arm is None
    assert case not in client.export().decode()


def test_an_error_of_ours_is_a_500_in_the_same_shape_and_in_the_log(http, client, case, monkeypatch, caplog):
    monkeypatch.setattr(Case, "note", lambda *_: 1 // 0)
    answer = http.post(f"/api/v1/cases/{case}/note", json={"text": "x"})
    assert error_of(answer) == (
        500,
        "internal",
        "Something went wrong in the service; its log says what. Check what is on record before you send it again.",
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ZeroDivisionError" in caplog.text
    assert client.case(case).events == 0


def test_a_table_for_excel_says_that_it_is_in_utf_8(client):
    plain, excel = (client.http.get(f"/api/v1/export/decisions?format={kind}").content for kind in ("csv", "excel"))
    assert excel == b"\xef\xbb\xbf" + plain


def test_the_chances_take_in_outcomes_after_a_round_that_is_still_open(client):
    known = client.add_collection(CLINIC, "clinic")
    client.start(client.add_plan(clinic_plan(90), "gap", known, sign="tested"), id="gap")
    client.ask("gap", 2)
    before = client.outlook("gap").chances
    client.tell("gap", 2, 0)
    assert client.outlook("gap").chances != before
