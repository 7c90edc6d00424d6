"""What must not be lost when things break: the server killed, the disk full, the database gone."""

import random
import resource
import signal
import threading
import time

import httpx
import pytest
import sqlalchemy as sa
from running_service import client_of, clinic_plan, free_port, in_thread, local, new_database, start_process

from banditree.service.client import Client, ServiceError
from banditree.service.store.database import Database
from banditree.service.store.schema import cases, events

CLIENTS = 4


class Load(threading.Thread):
    """A client that plays case after case and remembers everything that was acknowledged."""

    def __init__(self, port, plan, number, stop):
        super().__init__()
        self.port, self.plan, self.number, self.stop = port, plan, number, stop
        self.rng, self.acknowledged, self.n_started = random.Random(number), {}, 0

    def run(self):
        with Client(f"http://127.0.0.1:{self.port}", retries=0) as client:
            while not self.stop.is_set():
                try:
                    self.play(client)
                except (httpx.TransportError, ServiceError):
                    time.sleep(0.05)

    def play(self, client):
        self.n_started += 1
        case = client.start(self.plan, f"case-{self.number}-{self.n_started}").id
        self.acknowledged[case] = {}
        steps = client.ask(case, 3)
        for _ in range(10):
            step, reward = steps[0], self.rng.randint(0, 1)
            steps = client.tell(case, step.round, reward, ask=3).steps
            self.acknowledged[case][step.round] = reward


def check_nothing_is_lost(url, clients):
    database = Database(local(url))
    with database.read() as connection:
        query = sa.select(cases.c.id, events).join(events, events.c.case == cases.c.number, isouter=True)
        rows = connection.execute(query.order_by(cases.c.number, events.c.seq)).mappings().all()
    found = {}
    for row in rows:
        found.setdefault(row["id"], []).append(row)
    for client in clients:
        for case, outcomes in list(client.acknowledged.items()):
            told = [(row["round"], row["reward"]) for row in found[case] if row["kind"] == "told"]
            assert len(told) == len({number for number, _reward in told})
            assert dict(outcomes).items() <= dict(told).items()
    for history in found.values():
        if history[0]["seq"] is not None:
            assert [row["seq"] for row in history] == list(range(1, len(history) + 1))
    database.close()
    return n_acknowledged(clients)


def n_acknowledged(clients):
    return sum(len(outcomes) for client in clients for outcomes in list(client.acknowledged.values()))


def wait_for_reports(clients):
    """Until the clients have got on since now: the server works."""
    before, until = n_acknowledged(clients), time.monotonic() + 600
    while n_acknowledged(clients) < before + 5:
        assert time.monotonic() < until, "nothing is acknowledged"
        time.sleep(0.01)


def kill_under_load(url, times, seed):
    """Kill the server at random moments while clients report; after each, everything acknowledged must be there."""
    rng, port = random.Random(seed), free_port()
    process = start_process(url, port)
    plan = Client(f"http://127.0.0.1:{port}").add_plan(clinic_plan(), "clinic", sign="tested")
    stop = threading.Event()
    clients = [Load(port, plan, number, stop) for number in range(CLIENTS)]
    try:
        for client in clients:
            client.start()
        for _ in range(times):
            wait_for_reports(clients)
            time.sleep(rng.uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            check_nothing_is_lost(url, clients)
            process = start_process(url, port)
        wait_for_reports(clients)
    finally:
        stop.set()
        for client in clients:
            client.join()
    with Client(f"http://127.0.0.1:{port}") as client:
        for case, outcomes in clients[0].acknowledged.items():
            where = client.case(case)  # folds without a complaint, and goes on
            assert where.rounds >= len(outcomes)
            assert client.ask(case)[0].arm is not None
    process.terminate()
    assert process.wait(timeout=600) == -signal.SIGTERM or process.returncode == 0
    check_nothing_is_lost(url, clients)


@pytest.mark.slow
def test_kill_minus_nine_loses_nothing(database_url):
    kill_under_load(database_url, 2, seed=1)


@pytest.mark.soak
@pytest.mark.slow
def test_a_hundred_kills_lose_nothing(database_url):
    kill_under_load(database_url, 100, seed=2)


def play_until_refused(client, plan, most=20_000):
    """(acknowledged outcomes, the refusal) of one case."""
    case, acknowledged = client.start(plan).id, {}
    steps = client.ask(case, 50)
    for _ in range(most):
        try:
            client.tell(case, steps[0].round, 1)
            acknowledged[steps[0].round] = 1
            steps = steps[1:] or client.ask(case, 50)
        except ServiceError as refusal:
            return case, acknowledged, refusal
    raise AssertionError("never refused")


def test_a_full_disk_gives_503_and_loses_nothing(tmp_path):
    with in_thread(local(tmp_path / "cases.db")) as (app, http):
        client, database = client_of(http, retries=0), app.state.desk.database
        plan = client.add_plan(clinic_plan(20_000), "clinic", sign="tested")
        with database.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

        def limit(connection, _record, _proxy):
            connection.execute(f"PRAGMA max_page_count={pages + 4}")

        sa.event.listen(database.engine, "checkout", limit)
        case, acknowledged, refusal = play_until_refused(client, plan)
        assert (refusal.status, refusal.code) == (503, "unavailable")
        assert "database or disk is full" in refusal.message
        assert "What was confirmed is safe" in refusal.message
        told = {event.round: event.reward for event in client.events(case) if event.kind == "told"}
        assert told == acknowledged
        assert http.get("/health").status_code == 200
        sa.event.remove(database.engine, "checkout", limit)
        with database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        database.engine.dispose()
        assert client.tell(case, client.ask(case)[0].round, 1).recorded


@pytest.mark.slow
def test_a_file_that_may_not_grow_gives_503_and_loses_nothing(tmp_path):
    port, path = free_port(), tmp_path / "cases.db"

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    process = start_process(path, port, before=small_files)
    try:
        with Client(f"http://127.0.0.1:{port}", retries=0) as client:
            plan = client.add_plan(clinic_plan(20_000), "clinic", sign="tested")
            case, acknowledged, refusal = play_until_refused(client, plan)
            assert (refusal.status, refusal.code) == (503, "unavailable")
    finally:
        process.kill()
        process.wait()
    with in_thread(local(path)) as (_app, http):
        client = client_of(http)
        told = {event.round: event.reward for event in _all_events(client, case) if event.kind == "told"}
        assert acknowledged.items() <= told.items()
        assert client.ask(case)[0].arm is not None


def _all_events(client, case):
    after = 0
    while page := client.events(case, after):
        yield from page
        after = page[-1].seq


def test_a_database_file_that_is_gone_gives_503(tmp_path):
    path = tmp_path / "cases.db"
    with in_thread(local(path)) as (_app, http):
        client = client_of(http, retries=0)
        case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
        client.ask(case)
        path.rename(tmp_path / "moved.db")
        with pytest.raises(ServiceError, match="was moved or replaced") as refusal:
            client.tell(case, 1, 1)
        assert refusal.value.status == 503
        assert http.get("/ready").status_code == 503
        (tmp_path / "moved.db").rename(path)
        assert client.tell(case, 1, 1).recorded


@pytest.mark.slow
def test_a_database_server_that_is_gone_gives_503_and_comes_back(postgres):
    url = new_database(postgres, "gone")
    with in_thread(local(url)) as (_app, http):
        client = client_of(http, retries=0)
        case = client.start(client.add_plan(clinic_plan(), "clinic", sign="tested")).id
        client.ask(case, 3)
        assert client.tell(case, 1, 1).recorded
        postgres.stop()
        try:
            for act in (lambda: client.tell(case, 2, 1), lambda: client.case(case), lambda: client.cases()):
                with pytest.raises(ServiceError, match="The database cannot be used now") as refusal:
                    act()
                assert refusal.value.status == 503
            assert http.get("/ready").status_code == 503
            assert http.get("/health").status_code == 200
        finally:
            postgres.ensure_postgres_running()
        patient = client_of(http, retries=8)
        assert patient.tell(case, 2, 1).recorded
        assert patient.case(case).open_rounds == [3]


def test_shutting_down_finishes_what_was_begun(tmp_path):
    path = tmp_path / "cases.db"
    with in_thread(local(path)) as (_app, http):
        client = client_of(http)
        plan, stop = client.add_plan(clinic_plan(), "clinic", sign="tested"), threading.Event()
        clients = [Load(int(http.base_url.port), plan, number, stop) for number in range(2)]
        for one in clients:
            one.start()
        wait_for_reports(clients)
    stop.set()
    for one in clients:
        one.join()
    assert check_nothing_is_lost(path, clients) > 0
