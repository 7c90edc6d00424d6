"""Learning, searching, evaluating and reporting as jobs: over the API, with the Python client."""

import csv
import io

import ibis  # noqa: F401  (here once, so that the children that read logs have it)
import numpy as np
import pytest
from boxes import Box, assemble
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.files.collections import CollectionFile, collection_from_document
from banditree.files.documents import parse
from banditree.files.plans import PlanFile, fingerprint, plan_from_document
from banditree.plans.plan import Form, SafetyRule
from banditree.service.client import ServiceError
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.worker import Worker, scratch_folder
from banditree.service.store import jobs
from banditree.service.store.jobs import Lane


def log_of(collection, n=60, rounds=8, seed=0):
    rng = np.random.default_rng(seed)
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["patient_id", "task", "arm", "reward"])
    for individual in range(n):
        kind = individual % collection.n_tasks
        for _ in range(rounds):
            arm = rng.integers(collection.n_arms)
            outcome = int(rng.random() < collection.means[kind, arm])
            rows.writerow([individual, collection.tasks[kind], collection.arms[arm], outcome])
    return text.getvalue().encode()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A service whose jobs are done in this process's children, when the test says so: (client, do the jobs)."""
    with in_thread(local(tmp_path_factory.mktemp("jobs") / "cases.db", workers=0)) as (app, http):
        worker = Worker(app.state.settings)

        def work():
            while worker.step():
                pass

        work.settings = app.state.settings
        yield client_of(http), work
        worker.database.close()


def result(running, kind, **settings):
    client, work = running
    id = client.add_job(kind, **settings).id
    work()
    return client.wait(id)


@pytest.mark.slow
def test_a_collection_is_learned_from_a_file(running):
    client, _ = running
    file = client.add_file("visits [1].csv", log_of(CLINIC))
    job = result(running, "learn", file=file, task="task", individual="patient_id", seed=3)
    assert job.problem is None
    learned = collection_from_document(parse(CollectionFile, job.result["collection"], "x"), "x")
    assert (learned.tasks, learned.arms) == (CLINIC.tasks, CLINIC.arms)
    assert np.abs(learned.means - CLINIC.means).max() < 0.1
    assert job.result["text"].startswith("Read 480 rows of visits__1_.csv")
    assert (job.settings["seed"], job.settings["file"]) == (3, file)
    assert [one.id for one in client.files()] == [file]
    client.delete_file(file)
    with pytest.raises(ServiceError, match="There is no file"):
        client.delete_file(file)
    assert client.job(job.id).result is not None
    job = result(running, "learn", file=client.add_file("a.csv", b"task,arm\n1,2\n"))
    assert job.problem.startswith("No column is called what the reward usually is.")


@pytest.mark.slow
def test_what_is_wrong_with_a_file_is_said_without_the_folder_of_the_job(running):
    client, _ = running
    for content in (b"\xff\xfe\x00", b"PAR1 but not really", b'{"a"'):
        for name in ("x.csv", "x.parquet", "x.jsonl"):
            job = result(running, "learn", file=client.add_file(name, content))
            assert job.state == "failed"
            assert "/tmp" not in job.problem, job.problem


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.exe", b"1", "The name of a file must end in .csv"),
        ("x.csv", b"", "x.csv is empty. Check that it is the right file."),
        ("../x.csv", b"1", "name: "),
    ],
)
def test_other_files_are_refused(running, name, content, message):
    with pytest.raises(ServiceError, match=message):
        running[0].add_file(name, content)


@pytest.mark.slow
def test_a_search_tells_of_each_plan_that_it_finds(running):
    client, work = running
    known = client.add_collection(CLINIC, "clinic")
    settings = {"collection": known, "horizon": 50, "steps": 200, "lines": 2, "words": {"arm": "drug"}, "seed": 5}
    id = client.add_job("search", **settings).id
    assert client.job(id).state == "waiting"
    work()
    events = list(client.follow(id))
    job = client.job(id)
    assert [name for name, _ in events] == ["found"] * len(job.found) + ["end"]
    assert [one["loss"] for _, one in events[:-1]] == [one["loss"] for one in job.found]
    assert "plan" not in events[0][1]
    assert events[-1][1]["state"] == "done"
    best = job.found[job.result["best"]]
    assert best["loss"] == min(one["loss"] for one in job.found)
    assert {one["lines"] for one in job.found} >= {0, 1}
    plan = plan_from_document(parse(PlanFile, best["plan"], "x"), "x")
    assert (plan.vocabulary.arm, plan.origin.seed, fingerprint(plan)) == ("drug", 5, best["id"])
    loads = [(job.found[number]["reading_load"], job.found[number]["loss"]) for number in job.result["unbeaten"]]
    assert loads == sorted(loads)
    assert sorted((loss for _, loss in loads), reverse=True) == [loss for _, loss in loads]
    again = result(running, "search", **settings)  # the same settings and seed, the same plans
    assert [one["id"] for one in again.found] == [one["id"] for one in job.found]


@pytest.mark.slow
def test_a_stream_goes_on_after_what_was_seen(running):
    client, _ = running
    known = client.add_collection(CLINIC, "clinic")
    job = result(running, "search", collection=known, horizon=50, steps=50, lines=1)
    path = f"/api/v1/jobs/{job.id}/events"
    text = client.http.get(path, headers={"last-event-id": str(len(job.found) - 2)}).text
    assert text.count("event: found") == 1
    assert f"id: {len(job.found) - 1}\n" in text
    assert client.http.get(path, headers={"last-event-id": "x"}).status_code == 422
    assert client.http.get("/api/v1/jobs/none/events").status_code == 404


@pytest.mark.slow
def test_a_search_for_a_tree_and_one_that_finds_nothing(running):
    known = running[0].add_collection(CLINIC, "clinic")
    job = result(running, "search", collection=known, horizon=50, method="tree")
    assert [one["plan"]["origin"]["method"] for one in job.found] == ["tree"]
    job = result(running, "search", collection=known, horizon=50, method="tree", pages=True)
    assert [page["missing"] for page in job.found[0]["plan"]["pages"]] == [["A"], ["B"]]
    job = result(running, "search", collection=known, horizon=100, steps=20, lines=1, max_wrong_arm=1e-15)
    assert job.problem.startswith("No plan"), job.problem
    job = result(running, "search", collection=known, horizon=100, steps=20, lines=1, max_loss=0.01)
    assert job.problem.startswith("No plan"), job.problem
    job = result(running, "search", collection=known, horizon=100, steps=60, lines=1, objective="unlucky")
    assert job.found
    assert all(one["loss"] == pytest.approx(one["worst_regret"], rel=0.1) for one in job.found)  # told by the mean
    job = result(running, "search", collection=known, horizon=50, method="tree", lines=2)
    assert job.problem == 'lines must be omitted with method="tree". It is an option of method="protocol".'


@pytest.mark.slow
def test_a_plan_is_evaluated_and_reported(running):
    client, _ = running
    plan = client.add_plan(clinic_plan(), "clinic", client.add_collection(CLINIC, "clinic"))
    file = client.add_file("others.csv", log_of(CLINIC, seed=1))
    job = result(running, "evaluate", plan=plan, file=file, individual="patient_id", horizon=8, runs=2)
    assert job.problem is None
    assert job.result["document"]["cases"] == 60
    assert job.result["text"].startswith("The log cannot show what the plan gives")
    for format, begins in (("html", b"<!DOCTYPE html>"), ("pdf", b"%PDF")):
        job = result(running, "report", plan=plan, format=format)
        assert client.download(job.id).startswith(begins)
    headers = client.http.get(f"/api/v1/jobs/{job.id}/file").headers
    assert headers["content-disposition"] == f'attachment; filename="report-{plan}.pdf"'
    bare = result(running, "report", plan=client.add_plan(clinic_plan(17), "no collection"))
    assert client.http.get(f"/api/v1/jobs/{bare.id}/file").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "nothing", "settings": {}},
        {"kind": "search", "settings": {"collection": "none", "horizon": 5}},
        {"kind": "search", "settings": {"collection": "none", "horizon": 0}},
        {"kind": "learn", "settings": {"file": "none"}},
        {"kind": "report", "settings": {"plan": "none"}},
        {"kind": "report", "settings": {"plan": "none"}, "seconds": 10**6},
        {"kind": "certificate", "settings": {"plan": "none"}},
    ],
)
def test_what_cannot_be_done_is_refused_at_once(running, body):
    answer = running[0].http.post("/api/v1/jobs", json=body)
    assert answer.status_code in (404, 422)
    assert answer.json()["error"]["message"]


def test_a_job_searches_on_one_core(running):
    settings = {"collection": "none", "horizon": 5, "islands": 4}
    answer = running[0].http.post("/api/v1/jobs", json={"kind": "search", "settings": settings})
    assert answer.status_code == 422
    assert "islands" in answer.json()["error"]["message"]


def test_one_person_does_not_fill_the_line(running, monkeypatch):
    client, work = running
    known = client.add_collection(CLINIC, "clinic")
    monkeypatch.setattr(jobs, "MOST_EACH", 2)
    ids = [client.add_job("search", collection=known, horizon=5, steps=1).id for _ in range(2)]
    with pytest.raises(ServiceError, match="2 of your jobs are already waiting or running"):
        client.add_job("search", collection=known, horizon=5, steps=1)
    assert all(client.end_job(id) for id in ids)
    assert [client.job(id).state for id in ids] == ["cancelled", "cancelled"]
    work()


@pytest.mark.slow
def test_what_a_page_waits_for_does_not_wait_for_what_people_ask_for(running):
    client, work = running
    known = client.add_collection(CLINIC, "clinic")
    plan = client.add_plan(clinic_plan(44), "clinic", known)
    search = client.add_job("search", collection=known, horizon=50, method="tree").id
    job_routes.PATIENCE, before = 0.0, job_routes.PATIENCE
    certificate = client.http.get(f"/api/v1/plans/{plan}/certificate").json()["data"]["id"]
    job_routes.PATIENCE = before
    worker = Worker(work.settings, lane=Lane.PAGES)
    while worker.step():
        pass
    worker.database.close()
    assert (client.job(certificate).state, client.job(search).state) == ("done", "waiting")
    work()
    assert client.job(search).state == "done"


@pytest.mark.slow
def test_a_certificate_that_would_take_hours_is_refused_in_a_sentence(running):
    client, work = running
    lines = [Box(0, low=1, high=2, points=(-1, 1), floor=3, ceil=3), Box(1), Box(0)]
    rule = SafetyRule((-4, 1), floor=8, cap=20)
    plan = client.add_plan(
        assemble(lines, CLINIC, 10**9, form=Form.LINES, rule=rule), "far", client.add_collection(CLINIC, "clinic")
    )
    job_routes.PATIENCE, before = 0.0, job_routes.PATIENCE
    assert client.http.get(f"/api/v1/plans/{plan}/certificate").status_code == 202
    work()
    answer = client.http.get(f"/api/v1/plans/{plan}/certificate")
    job_routes.PATIENCE = before
    assert answer.status_code == 422
    assert "takes too long to certify over 1,000,000,000 rounds" in answer.json()["error"]["message"]


def test_folders_of_workers_that_are_gone_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "banditree-job-999999999-x").mkdir()
    (tmp_path / "banditree-job-other").mkdir()
    scratch_folder()
    assert not (tmp_path / "banditree-job-999999999-x").exists()
    assert (tmp_path / "banditree-job-other").exists()
