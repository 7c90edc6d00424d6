"""The first page says what waits for whom; drafts are signed, cases moved, jobs looked at, all without scripts."""

import re

import pytest
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.service.cases.moving import next_id
from banditree.service.client import ServiceError
from banditree.service.demo import fill
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.worker import Worker


@pytest.fixture
def running(tmp_path, monkeypatch):
    """A service with the demo in it whose jobs are done when the test says so: (client, pages, worker)."""
    fill(local(tmp_path / "cases.db"))
    with in_thread(local(tmp_path / "cases.db", workers=0)) as (app, http):
        monkeypatch.setattr(job_routes, "PATIENCE", 0.0)
        worker = Worker(app.state.settings)
        yield client_of(http), http, worker
        worker.database.close()


def text(http, path):
    answer = http.get(path, headers={"accept": "text/html"}, follow_redirects=True)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", answer.text))


def draft_of(client):
    return next(line for line in client.plans() if line.state == "draft")


def test_the_first_page_shows_what_waits(running):
    client, http, _ = running
    page = text(http, "/")
    assert "Alarms, of cases that fit none of the kinds: 1 case bed 6, fits no group" in page
    assert "Under way: 8 cases" in page
    assert "To be signed: 1 plan For you, or anybody else with the role signer. Clinic, more patient" in page
    assert "Searching for plans" not in page
    known = http.get("/api/v1/collections").json()["data"][0]["id"]
    client.add_job("search", collection=known, horizon=50)
    assert "Searching for plans waiting local" in text(http, "/")
    assert [case.id for case in client.cases(state="alarm")] == ["demo-6"]
    client.end("demo-6")
    assert client.cases(state="alarm") == []
    assert "Alarms" not in text(http, "/")


def test_an_empty_service_says_where_to_begin(service):
    said = "Nothing needs attention now. Begin with a new plan · Put a plan that you have on record"
    assert said in text(service[1], "/")


def test_a_draft_is_signed_on_its_page_and_cases_are_moved_one_by_one(running):
    client, http, _ = running
    draft = draft_of(client)
    page = text(http, f"/plans/{draft.id}/sign")
    assert "no longer: 2. Give D for as long as the score (+1/-3) stays above -5. Then: next line." in page
    assert "new: 2. Give D for as long as the score (+1/-3) stays above -6. Then: next line." in page
    assert "7 cases on Clinic, protocol go on as before; each can be moved on its page." in page
    assert "was replaced" not in text(http, "/cases/demo-2")
    assert http.post(f"/plans/{draft.id}/sign", data={}).status_code == 422
    http.post(f"/plans/{draft.id}/sign", data={"comment": "agreed", "replaces": draft.replaces})
    assert "Signed by local" in text(http, f"/plans/{draft.id}")
    assert "New cases start on Clinic, more patient" in text(http, f"/plans/{draft.replaces}")
    assert "The case stays on its plan unless it is moved: Clinic, more patient" in text(http, "/cases/demo-2")
    moved = http.post("/cases/demo-2/move", data={})
    assert moved.headers["location"] == "/cases/demo-2-v2#next"
    new, old = client.case("demo-2-v2"), client.case("demo-2")
    assert (new.plan, new.rounds, new.label, old.state) == (draft.id, 0, old.label, "closed")
    assert f"Moved to case demo-2-v2 on plan {draft.id}." in text(http, "/cases/demo-2")
    assert "Moved from case demo-2, which followed plan" in text(http, "/cases/demo-2-v2")
    assert client.move("demo-2").id == "demo-2-v2"  # the same again changes nothing
    assert [event.kind for event in client.events("demo-2-v2")] == ["noted", "handed", "scheduled"]
    assert client.case("demo-3").plan == draft.replaces


def test_what_cannot_be_moved_is_refused(running):
    client, _, _ = running
    for case, message in {
        "demo-2": "was not replaced. Say which plan to move case demo-2 to",
        "none": "There is no case none",
    }.items():
        with pytest.raises(ServiceError, match=message):
            client.move(case)
    other = client.add_plan(clinic_plan(), "other", sign="tested")
    with pytest.raises(ServiceError, match="is closed. Only an open case can be moved"):
        client.move("demo-7", other)
    with pytest.raises(ServiceError, match="already follows plan"):
        client.move("demo-2", client.case("demo-2").plan)
    with pytest.raises(ServiceError, match="is a draft"):
        client.move("demo-2", draft_of(client).id)
    assert client.case("demo-2").state == "open"
    assert client.move("demo-2", other, id="new").plan == other


def test_ids_of_moved_cases_stay_short():
    assert next_id(next_id("x" * 64)).endswith("x-v3")
    assert len(next_id("x" * 63 + "-v9999"[:1])) == 64


@pytest.mark.slow
def test_the_page_of_a_job_works_without_scripts(running):
    client, http, worker = running
    known = client.add_collection(CLINIC, "two")
    id = client.add_job("search", collection=known, horizon=50, method="tree").id
    page = http.get(f"/jobs/{id}").text
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page
    assert "Stop with the best so far" in page
    worker.step()
    page = text(http, f"/jobs/{id}")
    assert "The one that loses least, in words:" in page
    assert "Searching for plans done" in text(http, "/jobs")
    id = client.add_job("report", plan=client.plans()[0].id).id
    assert "Cancel" in text(http, f"/jobs/{id}")
    http.post(f"/jobs/{id}/end", data={})
    assert "It was cancelled." in text(http, f"/jobs/{id}")
    http.post(f"/jobs/{id}/again", data={})
    worker.step()
    assert f"Download report-{client.plans()[0].id}.html" in text(http, f"/jobs/{id}")
    failing = client.add_job("report", plan=client.add_plan(clinic_plan(), "bare")).id
    worker.step()
    assert "was put on record without its collection. Name the collection. Try again" in text(http, f"/jobs/{failing}")


@pytest.mark.slow
def test_every_plan_has_a_card(running):
    client, http, worker = running
    for plan in (client.plans()[0].id, client.add_plan(clinic_plan(), "without a collection")):
        assert f'href="/plans/{plan}/card"' in http.get(f"/plans/{plan}").text
        waiting = http.get(f"/plans/{plan}/card?format=html")
        assert waiting.headers["location"].startswith("/jobs/")
        while worker.step():
            pass
        answer = http.get(f"/plans/{plan}/card?format=html")
        assert answer.headers["content-disposition"] == f'attachment; filename="card-{plan}.html"'
        assert b"orksheet" in answer.content
        assert client.card(plan, "html") == answer.content
    assert http.get(f"/plans/{plan}/card?format=exe").status_code == 422
