"""Does a server that is busy for long go on as it began? Its memory, and how long reports take, interval by interval.

One service on SQLite, as a process of its own, at full load: every client follows one case after the other to the end
of its plan, starts each with a key, and one reader looks at pages. Memory is to stay within 10% of what it was after
the first part of the time, and reports are not to take longer. The 99th percentile of a machine with other work to do
moves by itself, so the processor time of the server per event is beside it.

    python benchmarks/bench_soak.py [--minutes 15] [--settled 10] [--intervals 15] [--clients 16]
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time

import httpx
import numpy as np
from bench_service import Connection, cpu, free_port, memory, running

from banditree.service.client import Client
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree

ROUNDS = 100  # A case is followed for this many rounds.
PAGES = ("/", "/cases", "/plans", "/jobs", "/api/v1/cases?limit=100")
PAUSE = 0.5  # The reader looks at a page every this many seconds.


async def follow(port, until, plan, client, times):
    """One client: a case after the other, each to its end, told and asked in one request."""
    http, number = await Connection().open(port), 0
    while time.perf_counter() < until:
        number += 1
        case = f"soak-{client}-{number}"
        await http.post("/api/v1/cases", {"plan": plan, "id": case})
        step = (await http.post(f"/api/v1/cases/{case}/ask", {}))[0]
        while step["round"] is not None and time.perf_counter() < until:
            began = time.perf_counter()
            told = {"round": step["round"], "reward": step["round"] % 2, "ask": {}}
            step = (await http.post(f"/api/v1/cases/{case}/tell", told))["steps"][0]
            times.append((began, time.perf_counter() - began))
            if step["round"] is None or step["round"] > ROUNDS:
                break
        await http.post(f"/api/v1/cases/{case}/close", {"reason": "over"})


async def read(port, until):
    """One reader, who is let down sometimes when the service is busy."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        while time.perf_counter() < until:
            for page in PAGES:
                with contextlib.suppress(httpx.HTTPError):
                    await http.get(page)
                await asyncio.sleep(PAUSE)


async def watch(server, port, until, seconds, times, rows):
    """One row for every interval: events so far, memory, times, and the work of an event."""
    began, events, work = time.perf_counter(), await events_of(port), cpu(server)
    while time.perf_counter() < until:
        await asyncio.sleep(min(seconds, max(until - time.perf_counter(), 0.0)))
        now_events, now_work, recent = await events_of(port), cpu(server), [took for _, took in times]
        times.clear()
        if now_events == events or not recent:
            continue
        p50, p99 = 1000 * np.percentile(recent, [50, 99])
        each = 1000 * (now_work - work) / (now_events - events)
        rows.append((memory(server), p99, each))
        minutes = (time.perf_counter() - began) / 60
        print(
            f"{minutes:>7.1f} {now_events:>10,} {memory(server):>8.0f} {p50:>8.1f} {p99:>8.1f} {each:>8.2f}", flush=True
        )
        events, work = now_events, now_work


async def events_of(port):
    async with httpx.AsyncClient(timeout=60) as http:
        text = (await http.get(f"http://127.0.0.1:{port}/metrics")).text
    return int(float(text.split("\nbanditree_events_total ")[1].split()[0]))


async def soak(server, port, plan, options):
    until, times, rows = time.perf_counter() + 60 * options.minutes, [], []
    seconds = 60 * options.minutes / options.intervals
    clients = [follow(port, until, plan, number, times) for number in range(options.clients)]
    await asyncio.gather(*clients, read(port, until), watch(server, port, until, seconds, times, rows))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--settled", type=float, default=10.0, help="minutes after which nothing is to grow")
    parser.add_argument("--intervals", type=int, default=15)
    parser.add_argument("--clients", type=int, default=16)
    options = parser.parse_args()
    print(f"{'minutes':>7} {'events':>10} {'MB':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8}")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        port = free_port()
        serve = ["-m", "banditree", "serve", "--database", f"{folder}/soak.db", "--port", str(port)]
        with running([*serve, "--log-level", "warning"], port) as server:
            with Client(f"http://127.0.0.1:{port}", timeout=60) as client:
                plan = client.add_plan(build_tree(rand(10, 20, 0.4), 10_000), "soak", sign="tested")
            rows = asyncio.run(soak(server, port, plan, options))
    settled = max(round(len(rows) * options.settled / options.minutes), 1)
    before, after = np.array(rows[:settled]), np.array(rows[settled:])
    if not len(after):
        sys.exit("Give more minutes than --settled.")
    grown = after[:, 0].max() / before[-1, 0]
    slower, work = np.median(after[:, 1:], axis=0) / np.median(before[:, 1:], axis=0)
    told = f"memory {grown:.2f} times, p99 {slower:.2f} times, processor time of an event {work:.2f} times"
    print(f"After minute {options.settled:g}: {told}")
    sys.exit(bool(grown > 1.1))


if __name__ == "__main__":
    main()
