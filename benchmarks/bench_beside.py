"""How long a report takes while a search runs, while others read long lists, and among many cases.

One service on SQLite runs as a process of its own. Turns with and without the load alternate within one run, since the
machine has other things to do. All answers of turns with the load are taken together, and all of those without: only
the ratio of the two counts.

    python benchmarks/bench_beside.py [--cases 100000] [--seconds 5] [--turns 4] [--readers 20] [--clients 4]

--cases N are put into the database directly, each with an open round, before the service starts.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import os
import tempfile
import time
from contextlib import contextmanager

import numpy as np
import sqlalchemy as sa
from bench_service import Connection, cpu, free_port, load, memory, one_request, running

from banditree.files.plans import fingerprint
from banditree.service.client import Client
from banditree.service.settings import Settings
from banditree.service.store import records
from banditree.service.store.database import Database
from banditree.service.store.schema import cases, events
from banditree.service.store.signing import sign
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree

TOGETHER = 50_000
COLLECTION = rand(10, 20, 0.4)
PLAN = build_tree(COLLECTION, 1_000_000)


def fill(database, n):
    """Cases that each wait for their first outcome, written as the service would have."""
    opened = Database(Settings(database=database))
    with opened.write() as connection:
        plan = records.add_plan(connection, "bench", "bench", fingerprint(PLAN), PLAN, None)
        sign(connection, "bench", plan, "bench")
    common = {"at": "2026-01-01T00:00:00.000000Z", "actor": "bench"}
    arm = PLAN.lines[0].gives.arm
    for first in range(1, n + 1, TOGETHER):
        numbers = range(first, min(first + TOGETHER, n + 1))
        with opened.write() as connection:
            rows = [{"number": i, "id": f"c{i}", "plan": plan, "rounds": 1, "waiting": 1, **common} for i in numbers]
            connection.execute(sa.insert(cases), rows)
            asked = {"seq": 1, "kind": "asked", "round": 1, "arm": arm, **common}
            connection.execute(sa.insert(events), [{"case": i, **asked} for i in numbers])
    opened.close()
    return plan


async def reader(port, until):
    """One who looks at the longest list again and again."""
    path = "/api/v1/cases?state=waiting&limit=1000"
    while time.perf_counter() < until:
        connection = await Connection().open(port)
        connection.writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        await connection.reader.read()
        connection.writer.close()


def read_together(port, n, seconds):
    os.nice(19)  # readers sit at computers of their own, and cost the service nothing but their requests

    async def every():
        await asyncio.gather(*(reader(port, time.perf_counter() + seconds) for _ in range(n)))

    asyncio.run(every())


@contextmanager
def readers(port, n, seconds):
    """Many readers, in a process of their own so that they cost those who report nothing here."""
    process = multiprocessing.Process(target=read_together, args=(port, n, seconds))
    process.start()
    yield
    process.join()


@contextmanager
def searching(client, known):
    """A search that goes on, begun before the block and stopped after it."""
    job = client.add_job("search", collection=known, horizon=10_000, steps=10_000_000)
    while not client.job(job.id).total:
        time.sleep(0.1)
    yield
    client.end_job(job.id, best_so_far=False)
    client.wait(job.id)


@contextmanager
def nothing():
    yield


def measure(name, port, client, plan, options, beside):
    """p50 and p99 of a report that asks for the next round, alone and beside something."""
    times = {"alone": [], name: []}
    for turn in range(options.turns):
        for label, loaded in (("alone", nothing), (name, beside)):
            ids = [f"{name}-{turn}-{label}-{i}".replace(" ", "-") for i in range(options.clients)]
            for id in ids:
                client.start(plan, id)
            with loaded():
                times[label] += load(one_request, port, ids, options.seconds)
    (a50, a99), (b50, b99) = (1000 * np.percentile(times[label], [50, 99]) for label in ("alone", name))
    n, m = len(times["alone"]), len(times[name])
    print(
        f"{name:<22} {n:>6} {m:>6} {a50:>8.1f} {b50:>8.1f} {a99:>8.1f} {b99:>8.1f} {b50 / a50:>6.2f} {b99 / a99:>6.2f}",
        flush=True,
    )
    return b99 / a99


def timed(server, http, path, n=5):
    """Print the median milliseconds of a request, and what the server computes for it."""
    spent, before = [], cpu(server)
    for _ in range(n):
        began = time.perf_counter()
        assert http.get(path).status_code == 200
        spent.append(1000 * (time.perf_counter() - began))
    work = 1000 * (cpu(server) - before) / n
    print(f"{path[:42]:<42} {np.median(spent):>8.1f} ms, {work:>6.1f} ms of processor time", flush=True)


def large_plan(server, client):
    """The page of a plan of 172 boxes over 40 tasks: the first answer, until its certificate is there, and later."""
    known = rand(40, 20, 0.4, seed=1)
    plan = build_tree(known, 1_000_000)
    id = client.add_plan(plan, "large", client.add_collection(known, "large"), sign="tested")
    began = time.perf_counter()
    while "comes again by itself" in client.http.get(f"/plans/{id}", timeout=60).text:
        if time.perf_counter() - began < 10:
            print(f"a plan of {plan.n_boxes} boxes: first answer after {time.perf_counter() - began:.1f} s")
        time.sleep(1)
    print(
        f"a plan of {plan.n_boxes} boxes: certificate, or why there is none, after {time.perf_counter() - began:.1f} s"
    )
    timed(server, client.http, f"/plans/{id}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--only", choices=["search", "readers", "lists"], default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database, port = f"{folder}/service.db", free_port()
        began = time.perf_counter()
        plan = fill(database, options.cases)
        print(f"{options.cases:,} cases put into the database in {time.perf_counter() - began:.0f} s")
        serve = ["-m", "banditree", "serve", "--database", database, "--port", str(port), "--log-level", "warning"]
        with running([*serve, "--job-seconds", "600"], port) as server:
            client = Client(f"http://127.0.0.1:{port}")
            if options.only in (None, "lists"):
                for path in ("/", "/api/v1/cases?state=waiting&limit=1000", "/cases", "/api/v1/cases?search=c99999"):
                    timed(server, client.http, path)
                first = time.perf_counter()
                for number in itertools.islice(range(1, options.cases, max(options.cases // 50, 1)), 50):
                    client.tell(f"c{number}", 1, 1, ask=1)
                print(f"the first report of a case                 {20 * (time.perf_counter() - first):>8.1f} ms")
                print(f"memory of the server: {memory(server):.0f} MB")
                large_plan(server, client)
            if options.only == "lists":
                return
            head = ("beside", "alone", "beside", "p50", "p50", "p99", "p99", "p50", "p99")
            print("{:<22} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6}".format(*head))
            if options.only in (None, "search"):
                known = client.add_collection(COLLECTION, "bench")
                measure("a search", port, client, plan, options, lambda: searching(client, known))
            if options.only in (None, "readers"):
                beside = lambda: readers(port, options.readers, options.seconds)  # noqa: E731
                measure(f"{options.readers} readers", port, client, plan, options, beside)


if __name__ == "__main__":
    main()
