"""Cases that were followed elsewhere come to the service once: nothing is lost, nothing doubled."""

import json

import pytest
from running_service import SHORT_PLAN, client_of

from banditree.files.plans import fingerprint
from banditree.policies.starting import start_session


@pytest.fixture
def http(service):
    return service[1]


@pytest.fixture
def api(http):
    client = client_of(http, retries=0)
    client.add_plan(SHORT_PLAN, "short", sign="tested")
    return client


def played(*outcomes):
    case = start_session(SHORT_PLAN)
    for outcome in outcomes:
        case.tell(outcome, case.ask().round)
    return case


def file_of(case, id="p", **more):
    session = json.loads(json.dumps(case.snapshot()))
    return {"schema": "banditree/case/1", "plan": fingerprint(SHORT_PLAN), "session": session, "id": id, **more}


def asked(round, arm="Alpha", **more):
    return {"kind": "asked", "round": round, "arm": arm, **more}


def told(round, reward, **more):
    return {"kind": "told", "round": round, "reward": reward, **more}


def taken(http, *files):
    return http.post("/api/v1/cases/files", json={"files": list(files)}).json()["data"]


def test_a_case_of_run_is_taken_up_once_and_goes_on(http, api):
    assert taken(http, file_of(played(1, 0), label="bed 3"))[0]["data"] == {"id": "p", "recorded": 4}
    assert taken(http, file_of(played(1, 0)))[0]["data"]["recorded"] == 0
    assert taken(http, file_of(played(1, 0, 1)))[0]["data"]["recorded"] == 2
    assert taken(http, file_of(played(1, 0)))[0]["data"]["recorded"] == 0  # an old file changes nothing
    standing = api.case("p")
    assert (standing.rounds, standing.label, standing.total) == (3, "bed 3", 2.0)
    assert taken(http, file_of(played(0, 0, 1)))[0]["error"]["code"] == "conflict"
    assert api.ask("p")[0].round == 4


def test_the_history_of_the_app_comes_whole_with_its_times(http, api):
    at = "2026-01-05T08:00:00.000Z"
    events = [asked(1, at=at), told(1, 1, at=at), {"kind": "noted", "text": "phoned", "at": at}, asked(2)]
    events += [{"kind": "undone", "round": 1, "withdrawn": [{"round": 2, "arm": "Alpha"}]}, told(1, 0), asked(2)]
    events += [
        told(2, 1),
        {"kind": "corrected", "round": 2, "reward": 0, "text": "typo"},
        {"kind": "closed", "text": ""},
    ]
    case = played(0, 0)
    first = start_session(SHORT_PLAN)
    first.tell(1, first.ask().round)
    first.ask()
    assert taken(http, file_of(first, "h", events=events[:4]))[0]["data"]["recorded"] == 4
    assert taken(http, file_of(case, "h", events=events))[0]["data"]["recorded"] == 6
    assert taken(http, file_of(first, "h", events=events[:4]))[0]["data"]["recorded"] == 0
    history = http.get("/api/v1/cases/h/events").json()["data"]
    kinds = [event["kind"] for event in history]
    assert kinds == ["asked", "told", "noted", "asked", "undone", "retold", "asked", "told", "corrected", "closed"]
    assert history[0]["at"].startswith("2026-01-05T08:00:00")
    standing = api.case("h")
    assert (standing.state, standing.total, standing.open_rounds) == ("closed", 0.0, [])
    went_on = [*events[:4], told(2, 1)]
    first.tell(1, 2)
    assert "went on here and in the file" in taken(http, file_of(first, "h", events=went_on))[0]["error"]["message"]


@pytest.mark.parametrize(
    "events", [[asked(2)], [asked(1, "Gamma")], [told(1, 1)], [asked(1), told(1, 0.5)], [asked(1), asked(3)]]
)
def test_a_file_that_cannot_be_is_refused_and_nothing_is_there(http, api, events):
    answer = taken(http, file_of(start_session(SHORT_PLAN), "bad", events=events))[0]
    assert "error" in answer
    assert http.get("/api/v1/cases/bad").status_code == 404


def test_files_of_other_plans_and_other_kinds_are_refused(http, api):
    other = {**file_of(played(1)), "plan": "0" * 16}
    assert taken(http, other)[0]["error"]["code"] == "not_found"
    assert http.post("/api/v1/cases/files", json={"files": [{"schema": "x"}]}).status_code == 422


def test_what_was_erased_or_closed_does_not_come_back_by_a_file(http, api):
    for id, what in (("gone", "erase"), ("ended", "close")):
        taken(http, file_of(played(1), id))
        assert http.post(f"/api/v1/cases/{id}/{what}", json={}).status_code == 200
        before = api.case(id).events
        (answer,) = taken(http, file_of(played(1, 0), id))
        assert answer["error"]["code"] == "conflict", answer
        assert ("was erased" if what == "erase" else "is closed") in answer["error"]["message"]
        assert api.case(id).events == before


FALSE_WITHDRAWAL = {
    "kind": "corrected",
    "round": 1,
    "reward": 0,
    "text": "x",
    "withdrawn": [{"round": 1, "arm": "Alpha"}],
}


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([asked(1), told(1, 1), FALSE_WITHDRAWAL], "not open"),
        ([asked(1), told(1, 1), told(1, 1)], "has its outcome already"),
    ],
)
def test_no_outcome_is_told_twice_or_taken_back_with_its_round(http, api, events, why):
    case = start_session(SHORT_PLAN) if events[-1] is FALSE_WITHDRAWAL else played(1)
    assert why in taken(http, file_of(case, "false", events=events))[0]["error"]["message"]


@pytest.mark.parametrize("more", [{"label": "x\x00"}, {"label": "\ud800"}, {"label": "x" * 101}, {"id": None}])
def test_text_that_cannot_be_kept_is_refused(http, api, more):
    before = api.cases()
    body = json.dumps({"files": [file_of(played(1), "text") | more]})
    answer = http.post("/api/v1/cases/files", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert api.cases() == before


def test_times_before_years_had_four_digits_are_kept_in_order_or_not_at_all(http, api):
    for id, at in (("early", "0050-01-01T00:00:00Z"), ("none", "0001-01-01T00:00:00+14:00")):
        session = start_session(SHORT_PLAN)
        session.ask()
        assert taken(http, file_of(session, id, events=[asked(1, at=at)]))[0]["data"]["recorded"] == 1
    assert http.get("/api/v1/cases/early/events").json()["data"][0]["at"].startswith("0050-01-01")


def test_a_file_that_would_hold_up_everybody_is_refused(http, api):
    again = {"kind": "corrected", "round": 1, "reward": 1, "text": "x"}
    events = [asked(1), told(1, 1), *[again] * 100_001]
    assert "more corrections" in taken(http, file_of(played(1), "slow", events=events))[0]["error"]["message"]
