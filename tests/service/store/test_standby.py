"""Beyond one machine: a standby takes over under load, and servers behind the proxy come and go."""

import os
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from postgres_pair import postgres_pair
from running_service import client_of, clinic_plan, free_port, in_thread, local, new_database, start_process

from banditree.service.client import Client
from banditree.service.store import audit
from banditree.service.store.database import Database
from banditree.service.store.schema import cases, events

ROOT = Path(__file__).parents[3]
PATIENT = 12  # times that a client tries again, after up to 0.1 * 2**12 seconds


class Nurses:
    """People who follow one case each, as fast as they can, and remember what was confirmed."""

    def __init__(self, client, plan, n=4):
        self.client, self.plan = client, plan
        self.confirmed, self.waits, self.problems = [], [], []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(f"case-{i}",)) for i in range(n)]

    def work(self, case):
        try:
            with self.client() as client:
                client.start(self.plan, case)
                while not self.stopped.is_set():
                    began = time.monotonic()
                    round = client.ask(case)[0].round
                    client.tell(case, round, round % 2)
                    self.confirmed.append((case, round))
                    self.waits.append(time.monotonic() - began)
        except Exception as error:
            self.problems.append(repr(error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.go_on()
        return self

    def go_on(self, more=40):
        """Until some more was confirmed by each of them."""
        until, before = time.monotonic() + 120, Counter(case for case, _ in self.confirmed)
        while any(Counter(c for c, _ in self.confirmed)[f"case-{i}"] < before[f"case-{i}"] + more for i in range(4)):
            assert not self.problems, self.problems
            assert time.monotonic() < until
            time.sleep(0.02)

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def told(database):
    """How often each round of each case is on record as told."""
    with database.read(seconds=None) as connection:
        both = sa.select(cases.c.id, events.c.round).join(cases, cases.c.number == events.c.case)
        return Counter(tuple(row) for row in connection.execute(both.where(events.c.kind == "told")))


def audited(database, head=None):
    with database.snapshot() as connection:
        return audit.verify(connection, head)


def long_plan(http):
    return client_of(http).add_plan(clinic_plan(100_000), "clinic", sign="tested")


@pytest.mark.slow
def test_a_standby_takes_over_and_nothing_that_was_confirmed_is_lost():
    with postgres_pair() as pair, in_thread(local(pair.url)) as (app, http):
        pair.wait_for_standby()
        with Nurses(lambda: Client(str(http.base_url), retries=PATIENT), long_plan(http)) as nurses:
            pair.take_over()
            nurses.go_on()
        database = app.state.desk.database
        on_record = told(database)
        assert set(nurses.confirmed) <= on_record.keys()
        assert set(on_record.values()) == {1}
        assert audited(database).problems == []
        assert max(nurses.waits) < 30


@pytest.mark.slow
def test_what_a_standby_lacks_is_named_by_the_audit_and_every_case_goes_on_from_what_is_on_record():
    with postgres_pair() as pair, in_thread(local(pair.url)) as (app, http):
        database, client = app.state.desk.database, client_of(http, retries=PATIENT)
        plan = long_plan(http)
        client.start(plan, "early")
        client.tell("early", client.ask("early")[0].round, 1)
        while (
            pair.say("primary", "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()") < 1
        ):
            time.sleep(0.01)
        pair.cut()
        for _ in range(5):
            client.tell("early", client.ask("early")[0].round, 0)
        client.start(plan, "late")
        head = audited(database).head
        pair.take_over()
        assert client.case("early").rounds == 1  # what was lost is not told as if it were there
        assert client.tell("early", client.ask("early")[0].round, 1).recorded
        missing = http.get("/api/v1/cases/late")
        assert missing.status_code == 404
        assert audited(database).problems == []
        assert audited(database, head).problems == [f"The trail does not have the line {head}."]


def certificate(folder):
    names = ["-keyout", folder / "plans.key", "-out", folder / "plans.crt", "-subj", "/CN=localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names], check=True, capture_output=True
    )


def start_proxy(folder, ports):
    """nginx as deploy/nginx.conf says, on free ports, before the servers of these ports; (process, its port)."""
    text, port = (ROOT / "deploy" / "nginx.conf").read_text(), free_port()
    servers = " ".join(f"server 127.0.0.1:{one} max_fails=1 fail_timeout=5s;" for one in ports)
    for before, after in (
        ("server service:8000 max_fails=1 fail_timeout=5s;", servers),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("plans.clinic.example", "localhost"),
        ("proxy_set_header Host $host;", "proxy_set_header Host $http_host;"),  # the port is not 443
        ("  http2 on;\n", ""),  # which versions before 1.25 do not know
        ("certificates/", f"{folder}/"),
    ):
        assert before in text, before
        text = text.replace(before, after)
    own = f"pid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n"
    text = re.sub(r"http \{", f"http {{\n  access_log off;\n  client_body_temp_path {folder};", text, count=1)
    (folder / "nginx.conf").write_text(own + text)
    certificate(folder)
    command = ["nginx", "-p", folder, "-c", folder / "nginx.conf", "-g", "daemon off;"]
    process = subprocess.Popen(command, stderr=(folder / "said").open("w"))
    until = time.monotonic() + 60
    while (said := answer_of(port)) != "ready":
        assert process.poll() is None, (folder / "said").read_text()
        assert time.monotonic() < until, said
        time.sleep(0.05)
    return process, port


def answer_of(port):
    try:
        answer = httpx.get(f"https://localhost:{port}/ready", verify=False)
    except httpx.TransportError as error:
        return repr(error)
    return "ready" if answer.status_code == 200 else answer.text


@pytest.mark.slow
def test_servers_behind_the_proxy_are_taken_away_in_turn_and_no_request_fails_for_good(postgres, tmp_path):
    if shutil.which("nginx") is None:
        assert "CI" not in os.environ, "needs nginx"
        pytest.skip("needs nginx")
    url = new_database(postgres, "behind_the_proxy")
    ports = [free_port() for _ in range(3)]
    hosts = ("--workers", "0", "--allowed-hosts", "localhost,127.0.0.1", "--trusted-proxies", "127.0.0.1")
    with ExitStack() as stack:
        servers = [start_process(url, port, *hosts) for port in ports]
        stack.callback(lambda: [server.kill() for server in servers])
        proxy, port = start_proxy(tmp_path, ports)
        stack.callback(lambda: (proxy.terminate(), proxy.wait(30)))

        def client():
            http = httpx.Client(base_url=f"https://localhost:{port}", verify=False, timeout=60)
            return Client(http=http, retries=PATIENT)

        with client() as one:
            plan = one.add_plan(clinic_plan(100_000), "clinic", sign="tested")
        with Nurses(client, plan) as nurses:
            for i, end in enumerate(("kill", "terminate", "kill")):
                getattr(servers[i], end)()
                servers[i].wait(60)
                nurses.go_on(20)
                servers[i] = start_process(url, ports[i], *hosts)
                nurses.go_on(20)
        database = Database(local(url))
        on_record = told(database)
        assert set(nurses.confirmed) <= on_record.keys()
        assert set(on_record.values()) == {1}
        assert audited(database).problems == []
        database.close()
