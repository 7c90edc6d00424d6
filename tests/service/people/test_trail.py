"""The audit trail: reads, refusals and writes are in it, and whoever changes or deletes something is noticed."""

import asyncio
import json
import sqlite3
import time
from contextlib import closing

import httpx
import pytest
from running_service import add_signed_plan, clinic_plan, do, in_thread, local

from banditree.cli import main
from banditree.service.cases.desk import Desk
from banditree.service.people.noted_reads import Witness
from banditree.service.store import audit, records, trail
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed

PASSWORD = "correct horse battery"


def play(path, cases=2):
    """A database with a few cases, one of them erased."""
    database = Database(local(path))
    desk = Desk(database)
    plan = records.read_plan(json.loads(records.plan_json(clinic_plan())))
    do(desk, lambda tx: add_signed_plan(tx.connection, "ada", "clinic", *plan, None), alone=True)
    for case in (f"c{i}" for i in range(cases)):
        do(desk, lambda tx, case=case: tx.start("ada", case, plan[0], "bed 12").ask("ada", 2, None, None), case)
        do(desk, lambda tx, case=case: tx.case(case).tell("ada", 1, 1.0), case)
        do(desk, lambda tx, case=case: tx.case(case).note("ada", "felt better"), case)
    do(desk, lambda tx: tx.erase("root", "c0"), "c0")
    return database


def problems(database, expected=None):
    with database.snapshot() as connection:
        return audit.verify(connection, expected).problems


def test_a_trail_is_whole_also_after_erasing(tmp_path):
    database = play(tmp_path / "cases.db")
    with database.snapshot() as connection:
        found = audit.verify(connection)
    assert found.problems == []
    assert found.events == 9
    assert found.rows == 3
    assert found.lines == 3 + 2 * 4 + 3  # a plan, cases with their seals, an erasure
    assert problems(database, found.head) == []
    assert problems(database, f"3:{'0' * 64}") == [f"The trail does not have the line 3:{'0' * 64}."]


def test_nothing_is_left_to_guess_an_erased_outcome_from(tmp_path):
    database = play(tmp_path / "cases.db")
    with database.read() as connection:
        query = 'SELECT arm, reward, details, proof FROM events WHERE "case" = 1'
        rows = connection.exec_driver_sql(query).all()
    assert len(rows) == 5
    for arm, reward, details, proof in rows:
        assert (arm, reward, details, len(proof)) == (None, None, None, trail.ERASED_PROOF)
        for guess in (0.0, 1.0):  # without the salt there is nothing to try guesses with
            tried = trail.content_digest({"proof": None, "arm": None, "reward": guess, "details": None})
            assert tried != proof


@pytest.mark.parametrize(
    ("tampering", "noticed"),
    [
        ("UPDATE audit SET actor = 'eve' WHERE number = 3", "Line 3 was changed"),
        ("UPDATE audit SET subject = NULL WHERE number = 1", "Line 1 was changed"),
        ("UPDATE audit SET chain = 'x' WHERE number = 4", "Line 4 was changed"),
        ("DELETE FROM audit WHERE number = 2", "Lines 2 to 2 are missing"),
        ("DELETE FROM audit WHERE number > 7", "should end with line 14, and ends with line 7"),
        ("DELETE FROM audit", "should end with line 14, and ends with line 0"),
        ("DELETE FROM trail", "should end with line 0, and ends with line 14"),
        ("INSERT INTO audit VALUES (15, 'x', 'eve', 'read', NULL, NULL, 'x')", "Line 15 was changed"),
        ("UPDATE events SET reward = 0 WHERE kind = 'told'", "were changed, added or deleted"),
        ("UPDATE events SET details = NULL WHERE kind = 'noted' AND \"case\" = 2", "were changed, added or deleted"),
        ("UPDATE events SET actor = 'eve' WHERE seq = 1", "were changed, added or deleted"),
        ('DELETE FROM events WHERE "case" = 2 AND seq = 4', "were changed, added or deleted"),
        ("DELETE FROM events", "were changed, added or deleted"),
        ("UPDATE events SET line = 0 WHERE seq = 3", "were changed, added or deleted"),
        ("UPDATE events SET line = 1 WHERE seq = 3", "There are events of line 1, which covers none"),
        ("UPDATE events SET arm = 'B' WHERE \"case\" = 1", "have content again"),
        ("UPDATE cases SET id = 'other' WHERE number = 2", "were changed, added or deleted"),
        (
            "INSERT INTO events VALUES (2, 5, 'told', 2, NULL, 1, NULL, 'x', 'ada', 'x', 0)",
            "There are events of line 0, which is not there",
        ),
    ],
)
def test_whatever_is_changed_or_deleted_is_noticed(tmp_path, tampering, noticed):
    path = tmp_path / "cases.db"
    database = play(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(tampering)
        connection.commit()
    found = problems(database)
    assert any(noticed in problem for problem in found), found


def test_a_case_that_was_blanked_and_not_erased_is_noticed(tmp_path):
    database = play(tmp_path / "cases.db")
    with database.write() as connection:
        events = connection.exec_driver_sql('SELECT * FROM events WHERE "case" = 2').mappings().all()
        for event in events:
            blank = "arm = NULL, reward = NULL, details = NULL, proof = ?"
            values = (trail.content_digest(event), event["seq"])
            connection.exec_driver_sql(f'UPDATE events SET {blank} WHERE "case" = 2 AND seq = ?', values)
    assert "Events of case number 2 were blanked, and it was never erased." in problems(database)


def test_the_command_says_so_and_exits_1(tmp_path, capsys):
    path = str(tmp_path / "cases.db")
    play(path).close()
    with pytest.raises(SystemExit) as ended:
        main(["db", "audit", "--database", path])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert "Everything is as the service wrote it: 14 lines, 9 events and 3 sealed rows." in out
    head = out.split()[-1]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE audit SET actor = 'eve' WHERE number = 14")
        connection.commit()
    with pytest.raises(SystemExit) as ended:
        main(["db", "audit", "--database", path, "--expect", head, "--json"])
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["problems"] == ["Line 14 was changed."]


def lines_of(http):
    return [(line["actor"], line["action"], line["subject"]) for line in http.get("/api/v1/audit").json()["data"]]


def test_reads_and_refusals_are_in_the_trail(tmp_path, monkeypatch):
    monkeypatch.setattr("banditree.service.people.noted_reads.PAUSE", 0.05)
    path = tmp_path / "cases.db"
    database = play(path)
    with database.write() as connection:
        add_user(connection, "test", "ada", Role.ADMIN, hashed(PASSWORD))
        add_user(connection, "test", "vic", Role.VIEWER, hashed(PASSWORD))
    database.close()
    with in_thread(local(path, authentication=True, secure_cookies=False)) as (_app, stranger):
        with httpx.Client(base_url=stranger.base_url) as vic:
            token = vic.post("/api/v1/login", json={"name": "vic", "password": PASSWORD}).json()["data"]["csrf_token"]
            assert vic.get("/api/v1/cases/c1").status_code == 200
            assert vic.get("/cases/c1").status_code == 200
            assert vic.get("/api/v1/cases/mary-miller").status_code == 404
            assert vic.post("/api/v1/login", json={"name": "mary", "password": PASSWORD}).status_code == 401
            assert vic.get("/api/v1/users").status_code == 403
            note = {"json": {"text": "x"}, "headers": {"x-csrf-token": token}}
            assert vic.post("/api/v1/cases/c1/note", **note).status_code == 403
        assert stranger.get("/api/v1/cases/c1").status_code == 401
        with httpx.Client(base_url=stranger.base_url) as ada:
            ada.post("/api/v1/login", json={"name": "ada", "password": PASSWORD})
            expected = {
                ("vic", "read", "GET /api/v1/cases/c1"),
                ("vic", "read", "GET /cases/c1"),
                ("vic", "refused", "404 GET /api/v1/cases/{id}"),
                ("vic", "refused", "403 GET /api/v1/users"),
                ("vic", "refused", "403 POST /api/v1/cases/c1/note"),
                ("nobody", "refused", "401 GET /api/v1/cases/{id}"),
                ("ada", "read", "GET /api/v1/audit"),
            }
            for _ in range(10_000):
                if expected <= set(lines_of(ada)):
                    break
                time.sleep(0.05)
            assert expected <= set(lines_of(ada))
            assert "write events" not in ada.get("/audit").text
            assert "mary" not in str(list(lines_of(ada)))
    assert problems(Database(local(path))) == []


def test_the_same_many_times_is_one_line(tmp_path):
    database = Database(local(tmp_path / "cases.db"))
    witness = Witness(Desk(database).open())
    scope = {"method": "GET", "path": "/x\x00\udc80", "state": {}, "client": ("10.0.0.7", 1)}
    for _ in range(1000):
        witness.see(scope, "/api/v1/cases/{id}", 401)
    asyncio.run(witness.write())
    witness.desk.close()
    with database.read() as connection:
        rows = connection.exec_driver_sql("SELECT actor, action, subject, address FROM audit").all()
    assert rows == [("nobody", "refused", "401 GET /api/v1/cases/{id} (1000 times)", "10.0.0.7")]
