"""Backups of a live service: consistent, verified, and restored into either kind of database."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest
import sqlalchemy as sa
from running_service import (
    CLINIC,
    add_signed_plan,
    client_of,
    clinic_plan,
    free_port,
    in_thread,
    local,
    new_database,
    start_process,
)

from banditree.cli import main
from banditree.files.plans import plan_json
from banditree.service.client import Client
from banditree.service.problems import Refused
from banditree.service.settings import Settings
from banditree.service.store import records
from banditree.service.store.backup import back_up, restore, verify
from banditree.service.store.database import Database
from banditree.service.store.schema import metadata

DRILLS = 6  # restore drills of `make soak`


def play(http, n=3):
    client = client_of(http)
    plan = client.add_plan(clinic_plan(), "clinic", client.add_collection(CLINIC, "clinic"), sign="tested")
    cases = [client.start(plan, f"case-{number}", "zoë ✓").id for number in range(n)]
    for case in cases:
        for _ in range(3):
            client.tell(case, client.ask(case)[0].round, 1)
    for job in client.jobs():  # a signed plan is proven, and nothing is to change once it has been backed up
        client.wait(job.id)
    return plan, cases


def everything(url):
    database = Database(local(url))
    with database.read() as connection:
        found = {table.name: sorted(map(str, connection.execute(sa.select(table)))) for table in metadata.sorted_tables}
    database.close()
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request, tmp_path, postgres):
    return str(tmp_path / "restored.db") if request.param == "sqlite" else new_database(postgres, "restored")


@pytest.mark.slow
def test_a_backup_holds_everything_and_comes_back(database_url, empty, tmp_path):
    file = tmp_path / "clinic.backup"
    with in_thread(local(database_url)) as (_app, http):
        _plan, cases = play(http)
        found = back_up(Settings(database=database_url), file)
        assert {one.name: one.rows for one in found}["events"] == 18
        assert verify(file) == found
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert list(tmp_path.glob("clinic.backup-*")) == []
    assert restore(file, Settings(database=empty)) == found
    assert everything(empty) == everything(database_url)
    with in_thread(local(empty)) as (_app, http):  # and it is served
        client = client_of(http)
        assert client.case(cases[0]).rounds == 3
        assert client.tell(cases[0], client.ask(cases[0])[0].round, 0).recorded
        assert client.start(client.case(cases[0]).plan).id not in cases
    with pytest.raises(Refused, match="must be empty"):
        restore(file, Settings(database=empty))


@pytest.mark.slow
def test_a_backup_is_one_moment_of_a_busy_service(database_url, tmp_path):
    with in_thread(local(database_url)) as (_app, http):
        plan, _cases = play(http, 1)
        stop = threading.Event()

        def go_on():
            client = client_of(http)
            while not stop.is_set():
                case = client.start(plan).id
                for _ in range(5):
                    client.tell(case, client.ask(case)[0].round, 1)

        thread = threading.Thread(target=go_on)
        thread.start()
        for number in range(3):
            file = tmp_path / f"{number}.backup"
            back_up(Settings(database=database_url), file)
            check_complete(file)
        stop.set()
        thread.join()


def check_complete(file):
    """Every case has all its events, and the counts beside it are theirs."""
    with closing(sqlite3.connect(file)) as connection:
        for number, rounds in connection.execute("SELECT number, rounds FROM cases"):
            seqs = [
                seq for (seq,) in connection.execute('SELECT seq FROM events WHERE "case" = ? ORDER BY seq', (number,))
            ]
            assert seqs == list(range(1, len(seqs) + 1))
            asked = connection.execute("SELECT COUNT(*) FROM events WHERE kind = 'asked' AND \"case\" = ?", (number,))
            assert asked.fetchone()[0] == rounds


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A backup of a service that was played with."""
    folder = tmp_path_factory.mktemp("whole")
    with in_thread(local(folder / "cases.db")) as (_app, http):
        play(http, 1)
    back_up(Settings(database=str(folder / "cases.db")), folder / "clinic.backup")
    return folder / "clinic.backup"


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET reward = 0 WHERE seq = 2",
        "DELETE FROM events WHERE seq = 6",
        "UPDATE cases SET label = 'other'",
        "INSERT INTO audit VALUES (99, 'x', 'x', 'x', NULL, NULL, 'x')",
    ],
)
def test_a_damaged_backup_is_refused_and_changes_nothing(whole, tmp_path, damage):
    file, target = shutil.copy(whole, tmp_path / "clinic.backup"), tmp_path / "new.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(damage)
        connection.commit()
    with pytest.raises(Refused, match="is damaged: its table"):
        restore(file, Settings(database=str(target)))
    assert not target.exists()


def test_what_is_no_backup_or_from_another_version_is_refused(tmp_path):
    file = tmp_path / "clinic.backup"
    Database(local(tmp_path / "cases.db")).close()
    with pytest.raises(Refused, match="is not a backup"):
        verify(tmp_path / "cases.db")
    with pytest.raises(Refused, match="no such file"):
        verify(tmp_path / "nothing")
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(Refused):
        verify(file)
    back_up(Settings(database=str(tmp_path / "cases.db")), file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE backup SET hash = '2026 9999 9.9' WHERE name = 'made'")
        connection.commit()
    with pytest.raises(Refused, match=r"by banditree 9.9 with tables of version 9999.*Restore it with banditree 9.9"):
        verify(file)


@pytest.mark.slow
def test_the_commands(tmp_path, capsys):
    database, file = str(tmp_path / "cases.db"), str(tmp_path / "x.backup")
    with in_thread(local(database)) as (_app, http):
        play(http, 1)
    assert run("db", "backup", "--database", database, "-o", file) == 0
    assert "rows in" in capsys.readouterr().out
    assert run("db", "restore", file) == 0
    assert "The file is whole" in capsys.readouterr().out
    assert run("db", "restore", file, "--database", str(tmp_path / "new.db"), "--json") == 0
    tables = json.loads(capsys.readouterr().out)
    assert {one["name"]: one["rows"] for one in tables}["events"] == 6
    assert run("db", "restore", file, "--database", str(tmp_path / "new.db")) == 2
    assert "must be empty" in capsys.readouterr().err
    assert run("db", "backup", "--database", str(tmp_path / "none.db"), "-o", file) == 2
    assert "no such database" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def drill(folder, number, database, target, acknowledged):
    """Back a busy service up, restore it into a new database, and look there for everything confirmed before."""
    before = dict(acknowledged)
    file = folder / f"{number}.backup"
    for command in (
        ["db", "backup", "--database", database, "-o", str(file)],
        ["db", "restore", str(file)],
        ["db", "restore", str(file), "--database", target],
        ["db", "audit", "--database", target],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 0, command
    port = free_port()
    process = start_process(target, port)
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            for case, rounds in before.items():
                told = [event.round for event in client.events(case) if event.kind == "told"]
                assert told[:rounds] == list(range(1, rounds + 1)), case
            client.tell(case, client.ask(case)[0].round, 1)
    finally:
        process.terminate()
        process.wait()
    return len(before)


@pytest.mark.soak
def test_the_restore_drill(tmp_path, postgres):
    """The runbook, again and again, against a service that people report to all the while."""
    database, port, stop, acknowledged = str(tmp_path / "live.db"), free_port(), threading.Event(), {}
    process = start_process(database, port)

    def report():
        with Client(f"http://127.0.0.1:{port}") as client:
            plan = client.add_plan(clinic_plan(), "clinic", sign="tested")
            while not stop.is_set():
                case = client.start(plan).id
                for number in range(1, 6):
                    client.tell(case, client.ask(case)[0].round, 1)
                    acknowledged[case] = number

    thread = threading.Thread(target=report)
    thread.start()
    try:
        found = []
        for number in range(DRILLS):
            time.sleep(1)
            sqlite = number % 2 == 0
            target = str(tmp_path / f"{number}.db") if sqlite else new_database(postgres, f"drill_{number}")
            found.append(drill(tmp_path, number, database, target, acknowledged))
        assert sorted(found) == found
        assert found[-1] > 10
    finally:
        stop.set()
        thread.join()
        process.terminate()
        process.wait()


READ_ONLY = """
import sys
from pathlib import Path
from banditree.service.problems import Unavailable
from banditree.service.settings import Settings
from banditree.service.store import audit, backup
from banditree.service.store.database import Database

def problems(name):
    database = Database(Settings(database=name), migrates=False)
    with database.snapshot() as connection:
        return audit.verify(connection).problems

assert problems("mnt/whole.db") == []
rows = backup.back_up(Settings(database="mnt/whole.db"), Path("again.backup"))
assert backup.verify(Path("again.backup")) == rows == backup.verify(Path("mnt/whole.backup"))
assert "plans" in str(problems("mnt/live.db"))  # what is only in the write-ahead log so far is read too
Path("src/live.db-shm").unlink()
for name, said in (("live", "Copy both to where you may write"), ("nowhere", "no such database")):
    try:
        problems(f"mnt/{name}.db")
    except Unavailable as problem:
        assert said in str(problem), problem
    else:
        raise AssertionError(name)
"""


@pytest.mark.slow
def test_audit_and_backup_read_from_a_disk_that_cannot_be_written(tmp_path):
    if os.getuid() != 0 or shutil.which("unshare") is None:
        assert "CI" not in os.environ, "needs root and unshare"
        pytest.skip("needs root and unshare")
    source = tmp_path / "src"
    source.mkdir()
    (tmp_path / "mnt").mkdir()
    database = Database(local(source / "whole.db"))
    with database.write() as connection:
        add_signed_plan(connection, "ada", "clinic", *records.read_plan(json.loads(plan_json(clinic_plan()))), None)
    database.close()
    back_up(local(source / "whole.db"), source / "whole.backup")
    edited = sqlite3.connect(shutil.copy(source / "whole.db", tmp_path / "live.db"))
    edited.execute("UPDATE plans SET name = 'edited'")
    edited.commit()
    for end in ("", "-wal", "-shm"):
        shutil.copy(tmp_path / f"live.db{end}", source / f"live.db{end}")
    edited.close()
    steps = 'mount --bind src mnt && mount -o remount,ro,bind mnt && exec "$0" -c "$1"'
    found = subprocess.run(
        ["unshare", "-m", "sh", "-ec", steps, sys.executable, READ_ONLY],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
