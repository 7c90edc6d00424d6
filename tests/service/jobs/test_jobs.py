"""Long work: one queue on either database, limits of time and memory, and nothing lost or half-made by a restart."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest
from numba.core import event
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.errors import InvalidInput
from banditree.progress import goes_on
from banditree.service.jobs import clock, work
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.clock import Compiling
from banditree.service.jobs.worker import Worker, Workers
from banditree.service.store import jobs
from banditree.service.store.database import Database
from banditree.service.store.jobs import Lane, State, Wish

LIMITS = {"seconds": 600, "megabytes": 500}  # a busy machine does not run out of them


def quick(_database, settings, on_progress):
    goes_on(on_progress, 1, 2, 3.5, "half")
    return {"twice": 2 * settings["number"], "seed": settings["seed"]}


def patient(_database, settings, on_progress):
    done = 0
    while goes_on(on_progress, done, 10_000, float(done)):
        done += 1
        time.sleep(0.01)
    return done


def deaf(_database, _settings, _on_progress):
    while True:
        time.sleep(0.01)


def greedy(_database, _settings, _on_progress):
    held = []
    while True:
        held.append(b"x" * 50_000_000)
        time.sleep(0.01)


def crashing(_database, _settings, _on_progress):
    os.kill(os.getpid(), signal.SIGKILL)


def compiling(_database, settings, _on_progress):
    for _ in range(3):
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            time.sleep(0.5)
    return "done"


def refusing(_database, _settings, _on_progress):
    raise InvalidInput("horizon must be at least 1. Got 0.")


def broken(_database, _settings, _on_progress):
    return 1 // 0


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    for run in (quick, patient, deaf, compiling, greedy, crashing, refusing, broken):
        monkeypatch.setitem(work.KINDS, run.__name__, run)


@pytest.fixture
def worker(database_url):
    Database(local(database_url)).close()
    made = Worker(local(database_url))
    yield made
    made.database.close()


def add(worker, kind, *, once=False, **changes):
    settings = {"number": 21, "seed": 7}
    with worker.database.write() as connection:
        return jobs.add_job(connection, "ada", kind, settings, once=once, **{**LIMITS, **changes})


def find(worker, id):
    with worker.database.read() as connection:
        return jobs.find_job(connection, id)


def done(worker, kind, **changes):
    id = add(worker, kind, **changes)
    assert worker.step()
    return find(worker, id)


def test_a_job_is_done_and_keeps_its_settings_and_result(worker):
    job = done(worker, "quick")
    assert (job.state, job.result, job.problem) == (State.DONE, {"twice": 42, "seed": 7}, None)
    assert job.settings == {"number": 21, "seed": 7}
    assert job.at <= job.began <= job.ended
    assert not worker.step()


def test_the_same_work_is_done_once(worker):
    assert add(worker, "quick", once=True) == add(worker, "quick", once=True) != add(worker, "quick")
    assert [worker.step(), worker.step(), worker.step()] == [True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("refusing", "horizon must be at least 1. Got 0."),
        ("broken", "Something went wrong in the service; its log says what."),
        ("greedy", "It needs more memory than its limit of 500 MB."),
        ("crashing", "Its process ended (signal 9). It may have needed more memory than its limit of 500 MB."),
    ],
)
def test_what_fails_says_why_and_the_worker_goes_on(worker, kind, problem):
    job = done(worker, kind)
    assert (job.state, job.result, job.problem) == (State.FAILED, None, problem)
    assert done(worker, "quick").state is State.DONE


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_is_compiled_on_the_way_does_not_count(worker, monkeypatch):
    """On a clock that goes on only while something is compiled, 100 s at a time, and so on a machine of any speed."""
    now, heard = [0.0], []

    class Leaping(clock.Clock):
        def hear(self, told):
            super().hear(told)
            heard.append(told.begins)
            now[0] += 100.0 * told.begins

    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("banditree.service.jobs.worker.Clock", Leaping)
    monkeypatch.setattr("banditree.service.jobs.worker.BEAT", 0.1)  # it looks at the clock while something is compiled
    job = done(worker, "compiling", seconds=60)
    assert (job.state, job.problem) == (State.DONE, None)
    assert heard == [True, False] * 3


def test_a_clock_waits_for_compiling_but_not_for_ever(monkeypatch):
    now = 100.0
    monkeypatch.setattr(clock.time, "monotonic", lambda: now)
    ours = clock.Clock(10)
    ours.hear(Compiling(True))
    now = 400.0
    assert not ours.is_over()
    ours.hear(Compiling(False))
    now = 409.0
    assert not ours.is_over()
    ours.hear(Compiling(True))
    now = 709.0
    assert not ours.is_over()
    now = 711.0  # more than 600 s of compiling, and 10 s of work
    assert ours.is_over()
    ours.hear(Compiling(False))
    assert ours.is_over()


@pytest.mark.slow
def test_a_time_limit_gives_the_best_so_far_or_ends_what_does_not_listen(worker, monkeypatch):
    monkeypatch.setattr("banditree.service.jobs.worker.GRACE", 60.0)
    job = done(worker, "patient", seconds=1)
    assert job.state is State.DONE
    assert job.result >= 0
    monkeypatch.setattr("banditree.service.jobs.worker.GRACE", 0.5)
    job = done(worker, "deaf", seconds=1)
    assert (job.state, job.problem) == (State.FAILED, "It took longer than its limit of 1 second.")


@pytest.mark.slow
@pytest.mark.parametrize(("wanted", "state"), [(Wish.STOP, State.DONE), (Wish.CANCEL, State.CANCELLED)])
def test_a_running_job_is_stopped_or_cancelled(worker, wanted, state):
    id = add(worker, "patient")
    seen = []

    def ask():
        while (job := find(worker, id)).progress.done < 5:
            time.sleep(0.05)
        seen.append(job)
        with worker.database.write() as connection:
            assert jobs.wish(connection, "ada", id, wanted)

    thread = threading.Thread(target=ask)
    thread.start()
    worker.step()
    thread.join()
    job = find(worker, id)
    assert job.state is state
    assert (job.result is not None) == (wanted is Wish.STOP)
    assert seen[0].progress.total == 10_000
    assert seen[0].progress.best == seen[0].progress.done


def test_a_waiting_job_is_cancelled_and_tried_again(worker):
    id = add(worker, "quick")
    with worker.database.write() as connection:
        assert jobs.wish(connection, "ada", id, Wish.CANCEL)
        assert not jobs.wish(connection, "ada", id, Wish.CANCEL)
    assert not worker.step()
    with worker.database.write() as connection:
        assert jobs.try_again(connection, "ada", id)
    assert worker.step()
    assert find(worker, id).state is State.DONE


def test_a_job_is_taken_by_one_worker(worker, database_url):
    other = Worker(local(database_url))
    other.name += "b"
    ids = [add(worker, "quick") for _ in range(2)]
    with worker.database.write() as connection:
        first = jobs.claim(connection, worker.name)
    with other.database.write() as connection:
        second = jobs.claim(connection, other.name)
    assert [first.id, second.id] == ids
    with other.database.write() as connection:
        assert not jobs.finish(connection, first.number, other.name, State.DONE, result="1", problem=None)
    assert find(worker, first.id).state is State.RUNNING
    other.database.close()


def test_the_jobs_of_a_worker_that_is_gone_are_taken_up_again_and_not_for_ever(worker):
    id = add(worker, "quick")
    for tried, told in ((1, True), (1, False), (2, False)):  # a worker that was told to end did not try
        with worker.database.write() as connection:
            assert jobs.claim(connection, "gone").tries == tried
            jobs.hand_back(connection, ["gone"], told=told)
    job = find(worker, id)
    assert job.state is State.INTERRUPTED
    assert job.problem.startswith("It was begun 2 times, and each time its worker ended before it did.")


def until(condition, seconds=600):
    """Wait for something to be so; the seconds that took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.mark.slow
def test_the_job_of_a_killed_worker_is_taken_up_again_once_and_then_ended_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("banditree.service.jobs.worker.LOOK", 0.2)
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        settings = {
            "collection": client_of(http).add_collection(CLINIC, "clinic"),
            "horizon": 1000,
            "steps": 10_000_000,
        }
        id = http.post("/api/v1/jobs", json={"kind": "search", "settings": settings}).json()["data"]["id"]

        def job():
            with app.state.desk.database.read() as connection:
                return jobs.find_job(connection, id)

        for tries in (1, 2):
            until(lambda tries=tries: job().state is State.RUNNING and job().tries == tries)
            app.state.workers.processes[Lane.ASKED][0].kill()
        took = until(lambda: job().state is State.INTERRUPTED)
        assert took < 30
        assert "each time its worker ended before it did" in job().problem


def test_a_silent_worker_elsewhere_is_taken_to_be_gone(worker, monkeypatch):
    with worker.database.write() as connection:
        jobs.add_job(connection, "ada", "quick", {"number": 1, "seed": 1}, **LIMITS)
        jobs.claim(connection, "elsewhere:1:1")
        assert jobs.holders(connection) == [("elsewhere:1:1", False)]
    assert not worker.step()
    monkeypatch.setattr(jobs, "SILENCE", -1)
    assert worker.step()


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_the_job_done(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        client = client_of(http)
        plan = client.add_plan(clinic_plan(), "clinic", client.add_collection(CLINIC, "clinic"), sign="tested")
        workers = app.state.workers
        workers.wake(Lane.PAGES)
        workers.processes[Lane.PAGES][0].kill()
        workers.processes[Lane.PAGES][0].wait()
        with app.state.desk.database.write() as connection:
            settings = {"plan": plan}
            id = jobs.add_job(connection, "ada", "certificate", settings, subject=plan, once=True, **LIMITS)
            dead = f"{os.uname().nodename}:{workers.processes[Lane.PAGES][0].pid}:1"
            jobs.claim(connection, dead)
        answer = http.get(f"/api/v1/plans/{plan}/certificate")
        while answer.status_code == 202:
            answer = http.get(f"/api/v1/plans/{plan}/certificate")
        assert answer.json()["data"]["claim"] == "exact"
        assert http.get(f"/api/v1/jobs/{id}").json()["data"]["state"] == "done"
        pids = [process.pid for process in workers.processes[Lane.PAGES]]
    for pid in pids:  # nothing is left when the service has ended
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_a_worker_ends_with_its_server_and_hands_its_job_back(tmp_path):
    settings = local(tmp_path / "cases.db")
    database = Database(settings)
    workers = Workers(settings)
    workers.wake(Lane.ASKED)
    with database.write() as connection:  # the kinds of this module are not known there
        jobs.add_job(connection, "ada", "certificate", {"plan": "none"}, **LIMITS)
    workers.wake(Lane.ASKED)
    until = time.monotonic() + 600
    while time.monotonic() < until:
        with database.read() as connection:
            (job,) = jobs.list_jobs(connection)
        if job.state.is_final:
            break
        time.sleep(0.1)
    assert (job.state, job.problem) == (State.FAILED, "There is no plan none.")
    process = workers.processes[Lane.ASKED][0]
    workers.close()
    assert process.returncode == 0
    database.close()


def test_a_page_does_not_wait_for_what_takes_long(tmp_path, monkeypatch):
    with in_thread(local(tmp_path / "cases.db", workers=0)) as (app, http):
        monkeypatch.setattr(job_routes, "PATIENCE", 0.1)
        client = client_of(http)
        plan = client.add_plan(clinic_plan(), "clinic", client.add_collection(CLINIC, "clinic"), sign="tested")
        answer = http.get(f"/api/v1/plans/{plan}/certificate")
        assert (answer.status_code, answer.json()["data"]["state"]) == (202, "waiting")
        page = http.get(f"/plans/{plan}", headers={"accept": "text/html"}).text
        assert "It is being computed; this page reloads by itself." in page
        assert '<noscript><meta http-equiv="refresh"' in page
        worker = Worker(app.state.settings)
        while worker.step():
            pass
        page = http.get(f"/plans/{plan}", headers={"accept": "text/html"}).text
        assert "Exactly this much reward is lost" in page
        assert "refresh" not in page
        assert http.post(f"/api/v1/jobs/{answer.json()['data']['id']}/end", json={}).json()["data"]["done"] is False
        assert len(http.get("/api/v1/jobs?state=done").json()["data"]) == 2
        worker.database.close()
