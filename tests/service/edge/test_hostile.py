"""Careless and hostile senders: refused early, within limits, and without an effect on others."""

import asyncio
import os
import resource
import socket
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import pytest
import sqlalchemy as sa
import uvicorn
from fastapi import Request
from running_service import client_of, clinic_plan, do, free_port, in_thread, local, new_database, start_process

from banditree.errors import InvalidInput
from banditree.service.app import create_app, refuse
from banditree.service.cases.desk import Desk
from banditree.service.edge import connection_limits as connections
from banditree.service.edge.admission import BURST, Rates
from banditree.service.problems import Conflict, NotLoggedIn, Refused, TooMany, TooSlow, Unavailable
from banditree.service.server import configuration
from banditree.service.settings import Settings
from banditree.service.store import people
from banditree.service.store.database import Database
from banditree.service.store.people import Role
from banditree.service.store.schema import attempts, users

PASSWORD = "correct horse battery"


def with_users(path, **options):
    settings = local(path, authentication=True, secure_cookies=False, **options)
    database = Database(settings)
    with database.write() as connection:
        for name, role in (("root", Role.ADMIN), ("vera", Role.VIEWER), ("olga", Role.OPERATOR)):
            people.add_user(connection, "test", name, role, people.hashed(PASSWORD))
    database.close()
    return settings


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with in_thread(with_users(tmp_path_factory.mktemp("guarded") / "cases.db", login_attempts=1000)) as running:
        yield running


def log_in(http, name="root", password=PASSWORD):
    answer = http.post("/api/v1/login", json={"name": name, "password": password})
    if answer.status_code == 200:
        http.headers["x-csrf-token"] = answer.json()["data"]["csrf_token"]
    return answer


@pytest.fixture
def person(guarded):
    """Logs in as somebody, with a client of its own."""
    opened = []

    def enter(name, **options):
        http = httpx.Client(base_url=guarded[1].base_url, timeout=600)
        opened.append(http)
        assert log_in(http, name, **options).status_code == 200
        return http

    yield enter
    for http in opened:
        http.close()


@pytest.mark.parametrize("path", ["/api/v1/plans", "/api/v1/collections", "/plans", "/api/v1/cases"])
def test_the_body_of_a_stranger_is_not_read(guarded, path, monkeypatch):
    parsed = []
    monkeypatch.setattr("starlette.requests.Request.json", lambda *_: parsed.append(1))
    body = b'{"name": "x", "plan": {"a": [' + b"[]," * 200_000 + b"[]]}}"
    answer = guarded[1].post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 401
    assert parsed == []


def test_an_upload_of_a_viewer_is_not_read(person):
    vera = person("vera")
    answer = vera.post("/api/v1/plans", content=b"[" * 900_000, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://evil.example"])
def test_origins_that_are_no_address_are_refused(service, origin):
    assert service[1].post("/api/v1/cases", json={}, headers={"origin": origin}).status_code == 403


def test_digits_that_are_no_numbers_are_refused(service):
    client = client_of(service[1])
    case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
    assert service[1].post(f"/cases/{case}/tell", data={"round": "²", "reward": "1"}).status_code == 422


@pytest.mark.slow
def test_deep_and_long_bodies_are_refused(service):
    headers = {"content-type": "application/json"}
    for body in (b"[" * 100_000, b'{"plan": ' * 50_000, b'{"name": "x", "plan": {"n": ' + b"9" * 5000 + b"}}"):
        for path in ("/api/v1/plans", "/api/v1/collections", "/api/v1/cases"):
            assert service[1].post(path, content=body, headers=headers).status_code in (400, 422)


HEADS = {"one": b"x: " + b"y" * 100_000, "many": b"\r\n".join(b"x%d: %b" % (n, b"y" * 100) for n in range(1000))}


@pytest.mark.parametrize("before", [b"", b"GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n"])
@pytest.mark.parametrize("head", HEADS)
def test_headers_have_a_limit_and_are_not_read_on(listening, head, before):
    with socket.create_connection(("127.0.0.1", listening), timeout=30) as one:
        one.sendall(before + b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + HEADS[head])
        while b"HTTP/1.1 431" not in (answer := one.recv(65_536)):
            assert answer
        with suppress(ConnectionError):  # nobody reads what comes now, and the connection ends
            while True:
                one.sendall(b"y" * 65_536)
    about = b"POST /api/v1/cases HTTP/1.1\r\nhost: localhost\r\ncontent-length: 300000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", listening), timeout=30) as other:
        other.sendall(about + b" " * 300_000)
        assert b"HTTP/1.1 422" in other.recv(65_536), "a body is no header"


ENDLESS = {"many trailers": b"0\r\n" + b"x: y\r\n" * 200_000, "one trailer": b"0\r\nx: " + b"y" * 2_000_000}
ENDLESS["marks of a chunk"] = b"1;" + b"x" * 2_000_000


@pytest.mark.parametrize("more", ENDLESS)
def test_what_comes_beside_a_body_has_the_same_limit(listening, more):
    head = b"POST /api/v1/login HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", listening), timeout=30) as one:
        with suppress(ConnectionError):
            one.sendall(head + ENDLESS[more])
        assert one.recv(65_536).startswith(b"HTTP/1.1 431")
    with httpx.Client(base_url=f"http://127.0.0.1:{listening}") as http:
        small_chunks = http.post("/api/v1/cases", content=(b" " * 100 for _ in range(9_000)))
    assert small_chunks.status_code == 422, "the body is told from what divides it"


@pytest.mark.parametrize(("size", "status"), [(65_000, 200), (66_000, 431)])
def test_the_limit_of_headers_is_what_is_said(listening, size, status):
    assert httpx.get(f"http://127.0.0.1:{listening}/health", headers={"x": "y" * size}).status_code == status


def test_connections_that_ask_for_a_web_socket_are_counted_no_longer_than_they_last(listening):
    ask = b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: %b\r\n\r\n"
    for _ in range(101):
        with socket.create_connection(("127.0.0.1", listening), timeout=30) as one:
            one.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + ask % b"dGhlIHNhbXBsZSBub25jZQ==")
            assert one.recv(100).startswith(b"HTTP/1.1 ")
    assert httpx.get(f"http://127.0.0.1:{listening}/health").status_code == 200


def test_requests_per_second_are_limited_per_person(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("banditree.service.edge.admission.time.monotonic", lambda: now[0])
    rates = Rates(per_second=10)
    for _ in range(int(10 * BURST)):
        rates.check("ada")
    with pytest.raises(TooMany) as refusal:
        rates.check("ada")
    assert refusal.value.retry_after == pytest.approx(0.1)
    rates.check("bob")
    now[0] += 0.1
    rates.check("ada")


def test_too_many_requests_say_when_to_come_again(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "banditree.service.edge.admission.time", SimpleNamespace(monotonic=lambda: 0.0)
    )  # all come at once
    with in_thread(with_users(tmp_path / "cases.db", rate_limit=2)) as (_app, http):
        answers = [http.get("/api/v1/me") for _ in range(12)]
    assert [answer.status_code for answer in answers] == [401] * int(2 * BURST) + [429] * 2
    assert answers[-1].headers["retry-after"] == "1"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_false_tokens_are_limited_and_true_ones_from_the_same_address_are_not(tmp_path, method, monkeypatch):
    monkeypatch.setattr("banditree.service.edge.admission.time", SimpleNamespace(monotonic=lambda: 0.0))
    with in_thread(with_users(tmp_path / "cases.db", rate_limit=20)) as (app, http):
        assert log_in(http).status_code == 200
        assert http.get("/api/v1/me").status_code == 200
        with httpx.Client(base_url=http.base_url) as stranger:
            looked_up = []
            monkeypatch.setattr(app.state.door, "_read", lambda *given: looked_up.append(1) or refuse_all())
            false = {"authorization": "Bearer bt_false"}
            statuses = [stranger.request(method, "/api/v1/cases", headers=false).status_code for _ in range(30)]
            monkeypatch.undo()
        assert statuses == 10 * [401] + 20 * [429]
        assert len(looked_up) == 10
        assert http.get("/api/v1/me").status_code == 200


def refuse_all():
    raise NotLoggedIn("Log in.")


def test_strangers_elsewhere_cannot_lock_a_person_out(tmp_path):
    settings = local(tmp_path / "cases.db", login_attempts=5)
    database = Database(settings)
    with database.write() as connection:
        for number in range(40):
            people.begin_attempt(connection, settings, "root", f"10.0.0.{number // 5}")
        assert people.begin_attempt(connection, settings, "root", "192.168.0.7") > 0
        for _ in range(2):  # the address that guessed has to wait, whatever the name; for a while
            with pytest.raises(TooMany, match="Too many wrong passwords"):
                people.begin_attempt(connection, settings, "root", "10.0.0.7")
        for number in range(15):
            people.begin_attempt(connection, settings, f"name-{number}", "10.0.0.7")
        with pytest.raises(TooMany, match="Too many wrong passwords"):
            people.begin_attempt(connection, settings, "another", "10.0.0.7")
    database.close()


def test_the_addresses_of_one_network_count_as_one(tmp_path):
    """Whoever has a network of IPv6 has 2^64 addresses to guess and to connect from."""
    app = create_app(with_users(tmp_path / "cases.db", login_attempts=3))
    ours = [f"2001:db8:0:1::{n:x}" for n in range(1, 6)]

    async def tried():
        async with app.router.lifespan_context(app):
            for address in (*ours, "2001:db8:0:2::1"):
                transport = httpx.ASGITransport(app, client=(address, 1))
                async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                    given = {"name": "vera", "password": "wrong " * 3}
                    yield (await http.post("/api/v1/login", json=given)).status_code

    async def all_of_them():
        return [status async for status in tried()]

    assert asyncio.run(all_of_them()) == [401, 401, 401, 429, 429, 401]
    open_now = connections.Connections(most=10, per_address=2)
    assert [open_now.admit(address) for address in (*ours[:3], "2001:db8:0:2::1")] == [True, True, False, True]
    for address in (*ours[:3], "2001:db8:0:2::1"):
        open_now.leave(address)
    assert not open_now.open


def test_what_is_refused_is_decided_once(tmp_path):
    desk, ran = Desk(Database(local(tmp_path / "cases.db"))), []

    def act(transaction):
        ran.append(1)
        raise TooMany("Wait.")

    with pytest.raises(TooMany):
        do(desk, act, alone=True)
    assert ran == [1]


@pytest.mark.slow
def test_guesses_in_parallel_are_counted_before_they_are_checked(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(people, "verified", lambda *given: checked.append(given) or time.sleep(0.3))
    with in_thread(with_users(tmp_path / "cases.db", login_attempts=5)) as (_app, http):
        statuses = []

        def guess(number):
            with httpx.Client(base_url=http.base_url, timeout=600) as mine:
                statuses.append(log_in(mine, "root", f"guess {number}").status_code)

        threads = [threading.Thread(target=guess, args=(number,)) for number in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        answer = log_in(http, "root")
    assert len(checked) == 5
    assert (statuses.count(401), statuses.count(429), answer.status_code) == (5, 25, 429)
    assert 1 <= int(answer.headers["retry-after"]) <= 300


def test_few_passwords_are_looked_at_together(monkeypatch):
    together, most = [], []

    class Slow:
        def verify(self, *_):
            together.append(1)
            most.append(len(together))
            time.sleep(0.02)
            together.pop()
            return True

    monkeypatch.setattr(people, "hasher", Slow())
    threads = [threading.Thread(target=people.verified, args=("x", "y")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) <= 2


def test_a_clock_set_back_does_not_lengthen_a_wait(tmp_path):
    settings = local(tmp_path / "cases.db", login_attempts=2)
    database = Database(settings)
    later = (datetime.now(UTC) + timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with database.write() as connection:
        row = {"at": later, "name": "ada", "address": "10.0.0.1"}
        connection.execute(sa.insert(attempts), [row] * 10)
        assert people.begin_attempt(connection, settings, "ada", "10.0.0.1") > 0
    database.close()


def test_a_stranger_is_told_nothing_of_the_database(tmp_path, monkeypatch):
    with in_thread(with_users(tmp_path / "cases.db")) as (app, http):
        assert http.get("/ready").status_code == 200
        log_in(http)
        monkeypatch.setattr(app.state.desk.database, "_checked", 0.0)

        def read_only(connection, _record, _proxy):
            connection.execute("PRAGMA query_only=ON")

        sa.event.listen(app.state.desk.database.engine, "checkout", read_only)
        answer = httpx.get(f"{http.base_url}/ready")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
        assert "readonly" not in answer.text
        known = http.post("/api/v1/tokens", json={"name": "x"})
        assert known.status_code == 503
        assert "attempt to write a readonly database" in known.text
        sa.event.remove(app.state.desk.database.engine, "checkout", read_only)
        app.state.desk.database.engine.dispose()


@pytest.mark.slow
def test_a_full_disk_is_not_ready(tmp_path):
    port, path = free_port(), tmp_path / "cases.db"
    process = start_process(path, port)
    try:
        wal = os.stat(f"{path}-wal").st_size
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (wal, resource.RLIM_INFINITY))  # no file may grow
        time.sleep(1.1)
        assert httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 503
        assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("name", ["", "../x", "..", ".hidden", "a b", "a/b", "x" * 65])
def test_names_that_are_no_names_are_refused(tmp_path, name):
    database = Database(local(tmp_path / "cases.db"))
    with pytest.raises(Refused, match="name must be 1 to 64 letters"), database.write() as connection:
        people.add_user(connection, "root", name, Role.VIEWER, "x")
    database.close()


def test_a_token_ends_with_the_token_that_made_it(person, guarded):
    root = person("root")
    first = root.post("/api/v1/tokens", json={"name": "first", "days": 2}).json()["data"]
    bearer = {"authorization": f"Bearer {first['token']}"}
    with httpx.Client(base_url=guarded[1].base_url, headers=bearer) as http:
        second = http.post("/api/v1/tokens", json={"name": "second", "days": 300}).json()["data"]
    lines = {line["id"]: line for line in root.get("/api/v1/tokens").json()["data"]}
    assert lines[second["id"]]["expires"] == lines[first["id"]]["expires"] != None  # noqa: E711
    root.delete(f"/api/v1/tokens/{first['id']}")
    for token in (first["token"], second["token"]):
        answer = httpx.get(f"{guarded[1].base_url}/api/v1/me", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 401


def test_people_change_their_own_password(person, guarded):
    olga = person("olga")
    change = {"old": "not mine at all", "new": "another long one"}
    assert olga.post("/api/v1/me/password", json=change).status_code == 401
    change["old"] = PASSWORD
    assert olga.post("/api/v1/me/password", json=change).json() == {"data": {"done": True}}
    assert olga.get("/api/v1/me").status_code == 401
    again = person("olga", password="another long one")
    page = again.get("/tokens", headers={"accept": "text/html"}).text
    assert 'action="/password"' in page
    change = {"old": "another long one", "new": PASSWORD, "csrf_token": again.headers["x-csrf-token"]}
    assert again.post("/password", data=change).headers["location"] == "/login"


def test_two_admins_cannot_demote_each_other_on_two_servers(postgres):
    url = new_database(postgres, "admins")
    databases = [Database(local(url)) for _ in range(2)]
    with databases[0].write() as connection:
        for name in ("ada", "bob"):
            people.add_user(connection, "root", name, Role.ADMIN, "x")
    for _ in range(15):
        errors, barrier = [], threading.Barrier(2)

        def demote(database, other, errors=errors, barrier=barrier):
            barrier.wait()
            try:
                with database.write() as connection:
                    people.change_user(connection, "x", other, Role.VIEWER, None, None)
            except Conflict as refusal:
                errors.append(refusal)

        threads = [threading.Thread(target=demote, args=pair) for pair in zip(databases, ("ada", "bob"), strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(errors) == 1
        with databases[0].write() as connection:
            assert people.has_admin(connection)
            connection.execute(sa.update(users).values(role=Role.ADMIN.word))
    for database in databases:
        database.close()


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """A server with its own protocol: room for 120 connections, 100 from one address, two seconds for a head."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 2.0)
    settings = local(tmp_path / "cases.db", port=free_port(), connections_per_address=100)
    server = uvicorn.Server(configuration(create_app(settings), settings, most=120))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def half_sent(port, source="127.0.0.1"):
    sent = socket.create_connection(("127.0.0.1", port), source_address=(source, 0), timeout=600)
    sent.sendall(b"POST /api/v1/cases HTTP/1.1\r\nHost: localhost\r\n")
    return sent


@pytest.mark.slow
def test_half_sent_requests_do_not_keep_others_out(listening):
    held = [half_sent(listening) for _ in range(150)]
    transport = httpx.HTTPTransport(local_address="127.0.0.2")
    with httpx.Client(base_url=f"http://127.0.0.1:{listening}", transport=transport) as http:
        assert http.get("/health").status_code == 200
    for one in held:
        with suppress(ConnectionResetError):
            assert one.recv(10) == b""
        one.close()
    assert httpx.get(f"http://127.0.0.1:{listening}/health").status_code == 200


@pytest.mark.slow
def test_a_second_head_on_the_same_connection_is_not_waited_for_either(listening):
    sent = socket.create_connection(("127.0.0.1", listening), timeout=600)
    sent.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert sent.recv(4000).startswith(b"HTTP/1.1 200")
    sent.sendall(b"GET /health HT")
    with suppress(ConnectionResetError):
        while sent.recv(4000):  # a connection that is left open ends in a timeout here
            pass
    sent.close()


def test_a_body_that_does_not_come_is_not_waited_for(listening, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600.0)  # the head comes whole, however slow the machine
    monkeypatch.setattr("banditree.service.edge.requests.BODY_SECONDS", 0.5)
    sent = half_sent(listening)
    sent.sendall(b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    assert b" 408 " in sent.recv(4000)
    sent.close()


def test_the_wait_is_said_only_where_it_is_known(tmp_path):
    desk = Desk(Database(local(tmp_path / "cases.db")), waiting=3)
    desk._pace = 0.9

    async def fill():
        for _ in range(3):
            desk.enqueue(lambda transaction: None)
        with pytest.raises(Unavailable) as refusal:
            desk.enqueue(lambda transaction: None)
        return refusal.value

    request = Request({"type": "http", "path": "/api/v1/cases", "headers": [], "method": "GET"})
    assert refuse(request, asyncio.run(fill())).headers["retry-after"] == "3"
    assert "retry-after" not in refuse(request, TooSlow("It would be too slow again.")).headers
    assert "retry-after" not in refuse(request, Unavailable("The database is gone, nobody knows how long.")).headers


def test_proxies_are_named_by_address_or_network():
    counted = connections.Connections(100, 1, ("10.0.0.0/8", "192.168.0.7"))
    assert all(counted.admit(proxy) for proxy in ("10.1.2.3", "192.168.0.7") for _ in range(3))
    assert [counted.admit("11.0.0.1") for _ in range(2)] == [True, False]
    with pytest.raises(InvalidInput, match="trusted_proxies must be an address such as"):
        Settings(trusted_proxies=("proxy.example",))
