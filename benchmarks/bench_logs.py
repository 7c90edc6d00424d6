"""Logs to estimates: CPU time and peak memory of `read_log` and `estimate` on a Parquet file, against two peers.

The floor is DuckDB adding up every column of the same file; the usual way is a pandas group-by with scikit-learn's
LinearRegression per group. Each runs in a process of its own after a small warm-up; CPU time is of all threads, the
best of three (pandas once). The file has 40 tasks, 40 arms, 8 context columns and zstd compression, as polars writes;
2 million rows, 20 million (1.4 GB) with --full. A file a quarter as long shows that time is linear and memory flat.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TASKS, ARMS, FEATURES, BLOCK = 40, 40, 8, 250_000
COLUMNS = [f"x{index}" for index in range(FEATURES)]
LIMIT_CPU, LIMIT_MEMORY, LIMIT_PANDAS = 2.2, 600e6, 2.5


def write_log(path, n_rows, seed=0):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(TASKS, ARMS, FEATURES))
    writer = None
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        x, task, arm = rng.normal(size=(n, FEATURES)), rng.integers(0, TASKS, n), rng.integers(0, ARMS, n)
        reward = np.einsum("nd,nd->n", x, theta[task, arm]) + rng.normal(size=n)
        columns = {"task": task, "arm": arm, "reward": reward} | dict(zip(COLUMNS, x.T, strict=True))
        block = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, block.schema, compression="zstd", use_dictionary=["task", "arm"])
        writer.write_table(block)
    writer.close()


def sum_columns(path):
    import duckdb

    sums = ", ".join(f"sum({name})" for name in ["task", "arm", "reward", *COLUMNS])
    duckdb.connect().execute(f"SELECT {sums} FROM read_parquet('{path}')").fetchall()


def with_banditree(path):
    from banditree.tasks.rewards import Family
    from banditree.training.estimates import estimate
    from banditree.training.logs import read_log

    reading = read_log(path, rewards=Family.GAUSSIAN, context=COLUMNS)
    return float(np.abs(estimate(reading.statistics, Family.GAUSSIAN).theta).sum())


def with_pandas(path):
    import pandas as pd
    from sklearn.linear_model import LinearRegression

    total = 0.0
    for _, group in pd.read_parquet(path).groupby(["task", "arm"]):
        model = LinearRegression().fit(group[COLUMNS], group["reward"])
        total += abs(model.intercept_) + np.abs(model.coef_).sum()
    return float(total)


CONTENDERS = {"floor": sum_columns, "banditree": with_banditree, "pandas": with_pandas}


def run_child(name, small, path):
    """In the child: warm up, run, print CPU seconds, peak memory and the answer."""
    CONTENDERS[name](small)
    before = time.process_time()
    answer = CONTENDERS[name](path)
    cpu = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"cpu": cpu, "memory": peak, "answer": answer}))


def measure(name, small, path, times):
    runs = []
    for _ in range(times):
        command = [sys.executable, __file__, "--child", name, str(small), str(path)]
        runs.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))
    return min(runs, key=lambda run: run["cpu"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="20 million rows instead of 2 million")
    parser.add_argument(
        "--rows",
        type=int,
        help="another number of rows, at least 200,000: a quarter of them must do for every task and arm",
    )
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return run_child(*options.child)
    n_rows = options.rows or (20_000_000 if options.full else 2_000_000)
    with tempfile.TemporaryDirectory() as folder:
        files = {n: Path(folder, f"{n}.parquet") for n in (10_000, n_rows // 4, n_rows)}
        for n, path in files.items():
            write_log(path, n)
        small, quarter, path = files.values()
        found = {name: measure(name, small, path, 1 if name == "pandas" else 3) for name in CONTENDERS}
        found["banditree, a quarter"] = measure("banditree", small, quarter, 3)
        print(f"{n_rows:,} rows, {path.stat().st_size / 1e9:.2f} GB of Parquet")
    return report(found)


def report(found):
    print(f"{'':22}{'CPU s':>8}{'of floor':>10}{'peak MB':>9}")
    for name, run in found.items():
        times = f"{run['cpu'] / found['floor']['cpu']:.2f}"
        print(f"{name:22}{run['cpu']:8.2f}{times:>10}{run['memory'] / 1e6:9.0f}")
    ours, quarter = found["banditree"], found["banditree, a quarter"]
    pandas = found["pandas"]["cpu"] / ours["cpu"]
    print(f"pandas and scikit-learn take {pandas:.1f} times as long and {found['pandas']['memory'] / 1e6:,.0f} MB")
    print(
        f"4 times the rows: {ours['cpu'] / quarter['cpu']:.1f} times the CPU, "
        f"{ours['memory'] / quarter['memory']:.2f} times the memory"
    )
    same = np.isclose(ours["answer"], found["pandas"]["answer"], rtol=1e-9)
    broken = []
    if not same:
        broken.append("banditree and scikit-learn disagree")
    if ours["cpu"] > 2 * LIMIT_CPU * found["floor"]["cpu"]:
        broken.append(f"CPU time is over twice {LIMIT_CPU} times the floor")
    if ours["memory"] > LIMIT_MEMORY:
        broken.append("peak memory is over 600 MB")
    if pandas < LIMIT_PANDAS / 2:
        broken.append("hardly faster than pandas")
    print(
        "; ".join(broken) or f"Wanted: at most {LIMIT_CPU} of the floor, under 600 MB, pandas at least {LIMIT_PANDAS}."
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
