"""One user must not stop the others."""

import asyncio
import gc
import threading
import time
from contextlib import ExitStack

import httpx
import pytest
import sqlalchemy as sa
from running_service import add_signed_plan, client_of, clinic_plan, do, in_thread, local

from banditree.files.plans import fingerprint
from banditree.service.cases.desk import Command, Desk
from banditree.service.edge.reading_turns import Readers
from banditree.service.edge.requests import Edge, Metrics
from banditree.service.problems import Refused, TooSlow
from banditree.service.store import case_lists
from banditree.service.store.database import LONG, Database
from banditree.service.store.schema import cases


@pytest.fixture
def desk(database):
    desk, plan = Desk(database), clinic_plan()
    do(desk, lambda tx: add_signed_plan(tx.connection, "ada", "x", fingerprint(plan), plan, None), alone=True)
    for id in "abc":
        do(desk, lambda tx, id=id: tx.start("ada", id, fingerprint(plan), None), id)
    return desk


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"], ids=["nul", "surrogate"])
def test_what_the_database_cannot_keep_is_refused_and_the_group_goes_on(desk, text):
    commands = [Command(lambda tx, id=id: tx.case(id).note("ada", "fine"), (id,)) for id in "ab"]
    commands.insert(1, Command(lambda tx: tx.case("c").note(text, "x"), ("c",)))
    desk.run(commands)
    assert [command.error for command in commands[::2]] == [None, None]
    if desk.database.engine.dialect.name == "postgresql" or text != "a\x00b":  # SQLite keeps a NUL
        assert type(commands[1].error) is Refused
        assert str(commands[1].error) == "A text or number in this request cannot be stored in the database. Change it."


def test_a_read_that_takes_too_long_is_ended(database):
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)"
    began = time.monotonic()
    with pytest.raises(TooSlow, match="Ask for less at a time"), database.read(seconds=0.2) as connection:
        connection.exec_driver_sql(f"{numbers} SELECT MAX(i) FROM n")
    assert time.monotonic() - began < 300  # it would take many minutes
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1


def test_those_who_write_do_not_wait_for_those_who_read(database, desk):
    with_readers = [database.read() for _ in range(8)]
    for one in with_readers:
        one.__enter__().exec_driver_sql("SELECT 1")
    do(desk, lambda tx: tx.case("a").note("ada", "at once"), "a")  # a pool that is used up refuses after 5 s
    for one in with_readers:
        one.__exit__(None, None, None)


@pytest.mark.parametrize("listed", [case_lists.list_cases, case_lists.list_cases_json])
def test_lists_of_cases_use_an_index(database, desk, listed):
    wanted = {"waiting": "cases_waiting", "open": "cases_by_state", "closed": "cases_by_state"}
    with database.read() as connection:
        if connection.dialect.name != "sqlite":
            pytest.skip("PostgreSQL chooses by the size of the tables")
        statements = []
        sa.event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2:4]))
        for state, index in wanted.items():
            listed(connection, state=state, limit=1000)
            text, parameters = statements[-1]
            steps = connection.connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters).fetchall()
            assert index in str(steps)
            assert "TEMP B-TREE" not in str(steps)


def test_somebody_who_asks_for_many_lists_at_once_waits_for_them_alone():
    async def together():
        readers, done = Readers(2), threading.Event()
        long = [asyncio.create_task(readers.run("ada", done.wait)) for _ in range(20)]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(readers.run("bob", lambda: "at once"), 60) == "at once"
        assert not any(task.done() for task in long)
        done.set()
        assert await asyncio.gather(*long) == [True] * 20
        del long
        gc.collect()
        assert not readers._turns

    asyncio.run(together())


def test_the_state_beside_a_case_is_that_of_its_events(database, desk):
    def state():
        with database.read() as connection:
            row = connection.execute(sa.select(cases.c.state, cases.c.rounds, cases.c.waiting).where(cases.c.id == "a"))
            return tuple(row.one())

    assert state() == ("open", 0, 0)
    do(desk, lambda tx: tx.case("a").ask("ada", 3, None, None), "a")
    do(desk, lambda tx: tx.case("a").tell("ada", 2, 1), "a")
    assert state() == ("open", 3, 2)
    do(desk, lambda tx: tx.case("a").close("ada", None), "a")
    assert state() == ("closed", 3, 0)
    do(desk, lambda tx: tx.erase("ada", "a"), "a")
    assert state()[0] == "erased"


def test_a_batch_is_limited_by_what_it_opens(service):
    _, http = service
    client = client_of(http)
    case = client.start(client.add_plan(clinic_plan(5000), "clinic", sign="tested")).id
    asks = {"asks": [{"case": case, "n": 1000}, {"case": case, "n": 1}]}
    answer = http.post("/api/v1/cases/ask", json=asks)
    assert answer.status_code == 422
    assert "a batch may open at most 1,000 rounds, and this one asks for 1,001" in answer.json()["error"]["message"]
    tells = {"tells": [{"case": case, "round": 1, "reward": 1, "ask": {"n": 600}}] * 2}
    assert http.post("/api/v1/cases/tell", json=tells).status_code == 422
    assert client.case(case).rounds == 0


@pytest.mark.slow
def test_a_reporter_beside_twenty_readers(tmp_path):
    """Readers of long lists: a reporter still gets a good part of its answers (before: 10 of 542)."""
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        client = client_of(http)
        plan = client.add_plan(clinic_plan(), "clinic", sign="tested")
        with app.state.desk.database.write() as connection:
            row = {"plan": plan, "at": "x", "actor": "ada", "rounds": 1, "waiting": 1}
            connection.execute(sa.insert(cases), [{**row, "id": f"many-{n}"} for n in range(20_000)])
        case = client.start(plan).id
        alone = reports(client, case, seconds=1)
        stop, port = threading.Event(), http.base_url.port
        threads = [threading.Thread(target=read_lists, args=(port, stop)) for _ in range(20)]
        for thread in threads:
            thread.start()
        together = reports(client, case, seconds=2) / 2
        stop.set()
        for thread in threads:
            thread.join()
    print(f"reports in 1 s: {alone} alone, {together} beside 20 readers")
    assert together > alone / 40


def reports(client, case, seconds):
    n, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        client.note(case, "x")
        n += 1
    return n


def read_lists(port, stop):
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as http:
        while not stop.is_set():
            http.get("/api/v1/cases?state=waiting&limit=1000")


@pytest.mark.slow
def test_a_large_body_is_read_in_another_process_within_limits(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        long = b'{"name": "x", "plan": {"a": [' + b"[]," * 600_000 + b"[]]}}"
        headers = {"content-type": "application/json"}
        answer = http.post("/api/v1/plans", content=long, headers=headers)
        assert answer.status_code == 422
        assert "at most 500,000 lists and objects. Got 600,004" in answer.json()["error"]["message"]
        assert app.state.reader._pool is not None
        waits = []
        thread = threading.Thread(target=lambda: http.post("/api/v1/plans", content=numbers(), headers=headers))
        thread.start()
        with httpx.Client(base_url=http.base_url) as other:
            while thread.is_alive():
                began = time.monotonic()
                assert other.get("/health").status_code == 200
                waits.append(time.monotonic() - began)
        print(f"the longest wait beside 20 MB of numbers: {1000 * max(waits):.0f} ms")
        plan = clinic_plan()
        client_of(http).add_plan(plan, "still works", sign="tested")


def numbers():
    return b'{"name": "x", "plan": {"a": [' + b"0.123456789," * 1_600_000 + b"1]}}"


def test_long_reads_have_their_own_lane(tmp_path):
    """Exports that take all their connections keep nobody else waiting (before: 12 of 28 requests got 503)."""
    database = Database(local(tmp_path / "cases.db"))
    with ExitStack() as held:
        for _ in range(LONG):
            held.enter_context(database.read(seconds=None)).exec_driver_sql("SELECT 1")
        began = time.monotonic()
        with database.read() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
        assert time.monotonic() - began < 2
    database.close()


def test_a_stream_that_nobody_reads_ends(monkeypatch):
    monkeypatch.setattr("banditree.service.edge.requests.UNREAD_SECONDS", 0.1)

    async def endless(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def stuck(message):
        if message["type"] == "http.response.body":
            await asyncio.sleep(600)

    edge = Edge(endless, local("unused.db"), Metrics(), lambda *seen: None, lambda *refused: None)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    with pytest.raises(TimeoutError):
        asyncio.run(edge(scope, None, stuck))
