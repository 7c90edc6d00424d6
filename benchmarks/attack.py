"""Attacks a service of its own on this computer, for a bounded time, and prints what came of it as a table.

`make attack` runs it for ten minutes after the tests of hostile senders. It starts `banditree serve` on loopback with a
database in a temporary folder; nothing else is touched. The exit status is 1 if anything did not hold.
"""

# ruff: noqa: E402
import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parents[1] / "tests/service/store")]

import httpx
from running_service import CLINIC, clinic_plan, free_port, local, start_process

from banditree.service.client import Client, ServiceError
from banditree.service.store import audit, people
from banditree.service.store.database import Database
from banditree.service.store.people import Role

EACH = 50  # Mutated tables of each format that one process reads.
PASSWORD = "correct horse battery"
ODD = [
    None,
    -1,
    1e308,
    "9" * 500,
    "\ud800",
    "\x00",
    [],
    {},
    True,
    [[[]]],
    "x" * 5000,
    "=1+1",
    "../../etc/passwd",
    "' OR 1=1 --",
]


class Target:
    """A service as a process, with one admin and one signed plan."""

    def __init__(self, folder: Path) -> None:
        self.path, self.port = folder / "cases.db", free_port()
        database = Database(local(self.path))
        with database.write() as connection:
            people.add_user(connection, "attack", "root", Role.ADMIN, people.hashed(PASSWORD))
            _, self.token = people.give_secret(connection, people.TOKEN, "root", Role.ADMIN, "attack", None)
        database.close()
        self.start()
        with self.client() as client:
            self.plan = client.add_plan(clinic_plan(1000), "clinic", client.add_collection(CLINIC, "clinic"), sign="ok")

    def start(self) -> None:
        options = ("--authentication", "--no-secure-cookies", "--rate-limit", "100000")
        self.process = start_process(self.path, self.port, *options)

    def client(self, **options: object) -> Client:
        return Client(f"http://127.0.0.1:{self.port}", self.token, **options)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def kills(target: Target, seconds: float, rng: random.Random) -> tuple[str, bool]:
    """Kill the server while four clients report; every acknowledged outcome must be on record, once."""
    acknowledged: dict[str, set[int]] = {}
    n_kills, until = 0, time.monotonic() + seconds

    def report(stop: threading.Event) -> None:
        with suppress(httpx.HTTPError, ServiceError), target.client(retries=0) as client:
            case = client.start(target.plan).id
            mine = acknowledged.setdefault(case, set())
            while not stop.is_set():
                number = client.ask(case)[0].round
                client.tell(case, number, rng.randrange(2))
                mine.add(number)

    while time.monotonic() < until:
        stop = threading.Event()
        threads = [threading.Thread(target=report, args=(stop,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        before, patience = n_of(acknowledged), time.monotonic() + 20
        while n_of(acknowledged) < before + 30 and time.monotonic() < patience:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 1.0))
        target.kill()
        stop.set()
        for thread in threads:
            thread.join()
        n_kills += 1
        target.start()
    lost = doubled = 0
    with target.client() as client:
        for case, rounds in acknowledged.items():
            told = Counter(event.round for event in client.events(case) if event.kind == "told")
            lost += len(rounds - told.keys())
            doubled += sum(n > 1 for n in told.values())
    n = n_of(acknowledged)
    return f"{n_kills} kills, {n:,} acknowledged outcomes: {lost} lost, {doubled} doubled", not lost and not doubled


def n_of(acknowledged: dict[str, set[int]]) -> int:
    return sum(map(len, list(acknowledged.values())))


def strangers(target: Target, seconds: float, rng: random.Random) -> tuple[str, bool]:
    """False tokens, wrong passwords, endless headers and half-sent requests, while health is asked for."""
    seen: Counter[str] = Counter()
    waits, until, address = [], time.monotonic() + seconds, ("127.0.0.1", target.port)

    def attack() -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{target.port}", timeout=60) as http:
            while time.monotonic() < until:
                headers = {"authorization": f"Bearer bt_{rng.random()}"}
                seen[f"false token {http.post('/api/v1/cases', json={}, headers=headers).status_code}"] += 1
                given = {"name": "root", "password": str(rng.random())}
                seen[f"password {http.post('/api/v1/login', json=given).status_code}"] += 1
                with suppress(OSError), socket.create_connection(address, timeout=5) as one:
                    one.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 200_000)
                    seen[f"header {one.recv(100)[9:12].decode()}"] += 1

    threads = [threading.Thread(target=attack) for _ in range(6)]
    for thread in threads:
        thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{target.port}", timeout=60) as http:
        while time.monotonic() < until:
            began = time.perf_counter()
            seen[f"health {http.get('/health').status_code}"] += 1
            waits.append(time.perf_counter() - began)
            time.sleep(0.02)
    for thread in threads:
        thread.join()
    longest = 1000 * sorted(waits)[int(0.99 * len(waits))]
    told = ", ".join(f"{name}: {n:,}" for name, n in sorted(seen.items()))
    return f"{told}; p99 of health {longest:.0f} ms", not any(
        name[-3:] >= "500" for name in seen if name[-3:].isdigit()
    )


def requests(target: Target, seconds: float, rng: random.Random) -> tuple[str, bool]:
    """Odd bodies, ids and queries for every operation of the description, as an admin."""
    seen: Counter[int] = Counter()
    with target.client() as client:
        http = client.http
        paths = http.get("/api/v1/openapi.json").json()["paths"]
        operations = [(method, path) for path, of in paths.items() for method in of if "logout" not in path]
        case, until = client.start(target.plan).id, time.monotonic() + seconds
        while time.monotonic() < until:
            method, path = rng.choice(operations)
            filled = path.replace("{id}", rng.choice([case, target.plan, "x", "%00", ".."])).replace("{name}", "x")
            names = ("plan", "id", "label", "round", "reward", "text", "reason", "kind", "settings", "name", "n", "arm")
            body = {name: rng.choice(ODD) for name in rng.sample(names, 4)}
            query = {rng.choice(("after", "limit", "by", "state")): str(rng.choice(ODD[:4]))}
            with suppress(UnicodeEncodeError):
                answer = http.request(
                    method, filled.replace("{what}", "events"), content=json.dumps(body), params=query
                )
                seen[answer.status_code] += 1
    told = ", ".join(f"{status}: {n:,}" for status, n in sorted(seen.items()))
    return f"{sum(seen.values()):,} requests ({told})", not any(status >= 500 and status != 503 for status in seen)


def edits(target: Target, seconds: float, rng: random.Random) -> tuple[str, bool]:
    """Random edits of any table behind the service's back: the audit notices each, or nobody is told from it."""
    from sqlalchemy.exc import IntegrityError
    from test_audit import everything, problems, random_edit

    database, _ = everything(target.path.parent / "edited.db")
    seen: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
            try:
                _, told = random_edit(connection, rng)
                seen["noticed" if problems(connection) else "unnoticed" if told else "nobody is told from it"] += 1
            except IntegrityError:
                seen["refused by the database"] += 1
            connection.rollback()
    database.close()
    return ", ".join(f"{name}: {n:,}" for name, n in sorted(seen.items())), not seen["unnoticed"]


def tables(target: Target, seconds: float, rng: random.Random) -> tuple[str, bool]:
    """Mutated tables of every format, read in processes of their own: none may end its process."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests/cases"))
    from test_damaged_tables import SCRIPT

    n, crashes, until = 0, 0, time.monotonic() + seconds
    while time.monotonic() < until:
        command = [sys.executable, "-c", SCRIPT, str(target.path.parent), str(EACH), str(rng.randrange(10**6))]
        crashes += subprocess.run(command, capture_output=True, timeout=600, check=False).returncode != 0
        n += 4 * EACH  # of the four formats
    return f"{n:,} files: {crashes} ended their process or gave a traceback", not crashes


ATTACKS = {one.__name__: one for one in (kills, strangers, requests, edits, tables)}


def main() -> None:
    """Run every attack for a while."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each attack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=ATTACKS, default=list(ATTACKS))
    given, held = parser.parse_args(), True
    print("| attack | what came of it | held |\n| --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="banditree-attack-") as folder:
        target = Target(Path(folder))
        try:
            for name in given.only:
                told, good = ATTACKS[name](target, given.seconds, random.Random(given.seed))
                print(f"| {name} | {told} | {'yes' if good else 'NO'} |", flush=True)
                held = held and good
        finally:
            target.stop()
        database = Database(local(target.path), migrates=False)
        with database.snapshot() as connection:
            found = audit.verify(connection)
        counts = f"{found.lines:,} lines, {found.events:,} events, {found.rows:,} rows"
        print(f"| audit afterwards | {counts} | {'NO' if found.problems else 'yes'} |")
        database.close()
    sys.exit(0 if held and not found.problems else 1)


if __name__ == "__main__":
    main()
