"""People and sites do not use up each other's room: limits for each of them, and fair turns."""

import asyncio
import time

import pytest
from running_service import local

from banditree.service.jobs.worker import Worker
from banditree.service.plans.uploads import Reader
from banditree.service.problems import Conflict
from banditree.service.settings import Settings
from banditree.service.store import files, jobs, studies
from banditree.service.store.database import Database
from banditree.service.store.extracts import extract
from banditree.service.store.jobs import Lane, State
from banditree.service.store.schema import metadata
from banditree.service.store.sites import limited
from banditree.service.studio.content import Content

LIMITS = {"seconds": 60, "megabytes": 1000}


@pytest.fixture
def database(tmp_path):
    opened = Database(local(tmp_path / "cases.db"))
    yield opened
    opened.close()


def test_a_short_job_waits_for_one_long_one_at_most(database):
    with database.write() as connection:
        for number in range(20):
            jobs.add_job(connection, "ada", "search", {"n": number}, **LIMITS)
        first = jobs.claim(connection, "w", Lane.ASKED)
        short = jobs.add_job(connection, "bob", "search", {"n": 99}, **LIMITS)
        jobs.finish(connection, first.number, "w", State.DONE, result="1", problem=None)
        assert jobs.claim(connection, "w", Lane.ASKED).id == short
        time.sleep(0.001)
        assert jobs.claim(connection, "w", Lane.ASKED).settings == {"n": 1}


def test_the_pages_of_one_person_leave_room_for_anothers(database):
    with database.write() as connection:
        for number in range(jobs.MOST_PAGES):
            jobs.add_job(connection, "ada", "certificate", {"n": number}, once=True, **LIMITS)
        with pytest.raises(Conflict, match="50 of your jobs"):
            jobs.add_job(connection, "ada", "certificate", {"n": -1}, once=True, **LIMITS)
        jobs.add_job(connection, jobs.WATCH, "monitor", {"n": -2}, once=True, **LIMITS)
        theirs = jobs.add_job(connection, "bob", "certificate", {"n": -3}, once=True, **LIMITS)
        jobs.claim(connection, "w", Lane.PAGES)
        jobs.claim(connection, "w", Lane.PAGES)
        assert jobs.claim(connection, "w", Lane.PAGES).id == theirs


def test_the_files_and_drafts_of_a_site_leave_room_for_anothers(database, monkeypatch):
    monkeypatch.setattr(files, "MOST_FILES", 3)
    monkeypatch.setattr(studies, "MOST_STUDIES", 3)
    with database.write() as connection:
        limited(connection, "north")
        for _ in range(3):
            files.add_file(connection, "nell", "a.csv", b"a\n1\n")
            studies.add_study(connection, "nell", "draft", Content(), None)
        with pytest.raises(Conflict, match="3 files"):
            files.add_file(connection, "nell", "a.csv", b"a\n1\n")
        with pytest.raises(Conflict, match="3 drafts"):
            studies.add_study(connection, "nell", "draft", Content(), None)
        for site in ("south", None):
            limited(connection, site)
            files.add_file(connection, "sam", "a.csv", b"a\n1\n")
            studies.add_study(connection, "sam", "draft", Content(), None)


def test_eight_large_files_of_one_do_not_fail_anothers_small_one(monkeypatch):
    monkeypatch.setattr("banditree.service.plans.uploads.SECONDS", 1.0)
    ended = []

    async def slow(function, *arguments):
        await asyncio.wait_for(asyncio.sleep(0.5), 1.0)
        return arguments[0]

    async def send(reader, who, number):
        ended.append((who, await reader.apart(who, len, number)))

    async def everybody():
        reader = Reader()
        reader._apart = slow
        large = [asyncio.create_task(send(reader, "ada", number)) for number in range(4)]
        await asyncio.sleep(0.1)
        await send(reader, "bob", 0)
        for task in large:
            task.cancel()

    asyncio.run(everybody())
    assert ended == [("ada", 0), ("bob", 0)]


def test_a_job_over_an_upload_gets_its_own_rows_and_no_secrets(tmp_path):
    settings = Settings(
        database=str(tmp_path / "cases.db"), webhook_url="https://x.example", webhook_secret="a secret of the service"
    )
    Database(settings).close()
    worker = Worker(settings)
    with worker.database.write() as connection:
        for _ in range(2):
            file = files.add_file(connection, "ada", "a.csv", b"task,arm,reward\n" + b"x,A,1\nx,B,0\n" * 20)
    folder = tmp_path / "scratch"
    folder.mkdir()
    own = extract(worker.database, {"file": file}, folder)
    assert own.webhook_secret == ""
    found = Database(own)
    with found.read() as connection:
        counts = {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar() for name in metadata.tables}
    assert {name for name, n in counts.items() if n} == {"files"}
    assert counts["files"] == 1
    found.close()
    worker.database.close()
