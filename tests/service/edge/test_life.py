"""What the service lives by is watched: a part that ends takes readiness and the process with it, and nobody hangs."""

import resource
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from running_service import client_of, clinic_plan, free_port, in_thread, local


@contextmanager
def no_file_beyond(size):
    """Files of this process may not grow beyond a size: a disk that is full, for those larger already."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_erasing_on_a_full_disk_is_done_once_and_the_notes_beside_it_too(tmp_path):
    path = tmp_path / "cases.db"
    with in_thread(local(path)) as (app, http):
        client, database = client_of(http, retries=0), app.state.desk.database
        plan = client.add_plan(clinic_plan(), "clinic", sign="tested")
        erased, noted = client.start(plan, "gone", label="Wilhelmine").id, client.start(plan, "stays").id
        assert database.scrub()
        with no_file_beyond(path.stat().st_size), ThreadPoolExecutor(7) as pool:
            notes = [pool.submit(http.post, f"/api/v1/cases/{noted}/note", json={"text": 900 * "x"}) for _ in range(6)]
            erasing = pool.submit(http.post, f"/api/v1/cases/{erased}/erase")
            assert [note.result().status_code for note in notes] == 6 * [200]
            assert erasing.result().status_code == 200
            assert not database_is_scrubbed(database), "the disk was not full"
            assert http.get(f"/api/v1/cases/{noted}").status_code == 200
        assert len(client.events(noted)) == 6
        assert client.case(erased).state == "erased"
        assert http.get("/ready").status_code == 200
        until = time.monotonic() + 10
        while any(b"Wilhelmine" in file.read_bytes() for file in tmp_path.iterdir()):
            assert time.monotonic() < until, "what was erased is still in a file"
            time.sleep(0.1)


def database_is_scrubbed(database):
    from banditree.service.problems import Unavailable

    try:
        return database.scrub()
    except Unavailable:
        return False


def kill_writer(app):
    """End the desk's thread as soon as it does anything."""

    def end(commands):
        raise SystemExit

    app.state.desk.run = end


def killer(name):
    def kill(app):
        task = next(task for task in app.state.life.tasks if task.get_name() == name)
        task.get_loop().call_soon_threadsafe(task.cancel)

    return kill


KILLS = {"writer": kill_writer, **{name: killer(name) for name in ("witness", "watch", "workers")}}


@pytest.mark.parametrize("part", KILLS)
def test_the_service_stops_when_a_part_of_it_has_ended(tmp_path, part):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        assert {"writer", *(task.get_name() for task in app.state.life.tasks)} == set(KILLS)
        client = client_of(http, retries=0)
        case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
        stopped = threading.Event()
        app.state.life.stop = stopped.set
        KILLS[part](app)
        last = http.post(f"/api/v1/cases/{case}/note", json={"text": "x"}, timeout=10)
        assert stopped.wait(10)
        for path in ("/ready", "/health"):
            assert http.get(path).status_code == 503
        if part == "writer":
            assert last.status_code == 503
            for _ in range(3):
                assert http.post(f"/api/v1/cases/{case}/note", json={"text": "x"}, timeout=10).status_code == 503


def test_a_failure_after_a_commit_is_not_called_undone_and_not_tried_again(tmp_path, monkeypatch):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        client = client_of(http, retries=0)
        case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
        monkeypatch.setattr(app.state.desk, "_keep", lambda touched: 1 // 0)
        answer = http.post(f"/api/v1/cases/{case}/note", json={"text": "x"})
        assert answer.status_code == 503
        assert app.state.life.lost == "writer"
    with in_thread(local(tmp_path / "cases.db")) as (_app, http):
        assert len(client_of(http).events(case)) == 1


@pytest.mark.parametrize("put", ["before", "after"])
def test_what_is_put_in_line_while_the_writer_ends_is_answered(tmp_path, put):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        client = client_of(http, retries=0)
        case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
        kill_writer(app)
        if put == "after":
            http.post(f"/api/v1/cases/{case}/note", json={"text": "x"})
            app.state.desk._closed = False  # as a request sees it that looked just before
        assert http.post(f"/api/v1/cases/{case}/note", json={"text": "x"}, timeout=10).status_code == 503


@pytest.mark.slow
def test_the_process_ends_with_its_writer(tmp_path):
    port = free_port()
    script = (
        "from banditree.service import server, settings\nfrom banditree.service.cases import desk\n"
        "desk.Desk._next = lambda self: 1 // 0\n"
        f"server.serve(settings.Settings(database={str(tmp_path / 'cases.db')!r}, port={port}))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "The service has lost its writer and is to be restarted" in ended.stderr
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{port}/health")


@pytest.mark.slow
@pytest.mark.parametrize("size", ["8k", "150k", "270k"])  # full at once, while the tables are made, and after that
def test_serve_on_a_full_disk_says_so_in_a_sentence(tmp_path, size):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", tmp_path], check=False)
    if mounted.returncode != 0:
        pytest.skip("only root can make a small disk")
    try:
        command = [sys.executable, "-m", "banditree", "serve", "--database", str(tmp_path / "a.db"), "--port", "1"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("banditree: The database cannot be used now (")
