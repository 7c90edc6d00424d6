"""Logs of many individuals: CPU time and peak memory of `learn`, `fit` and `evaluate` beside DuckDB's group-by.

The floor is DuckDB adding up the rewards of every individual and arm in the same Parquet file, best of two. 20 rows for
each individual, 5 arms, 3 kinds of equal shares; each contender runs in a process of its own. `fit` and `evaluate` use
whole cases with 2 million rows of a larger log, as they do by default.

Run: python benchmarks/bench_individuals.py [--rows 4000000] [--only learn,evaluate]
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

RATES = np.array([[0.7, 0.3, 0.4, 0.5, 0.2], [0.3, 0.6, 0.4, 0.2, 0.5], [0.4, 0.35, 0.7, 0.3, 0.55]])
EACH, BLOCK, HORIZON = 20, 2_000_000, 20
LIMIT_CPU, LIMIT_MEMORY = 4.0, 1.5e9
COLUMNS = {"individual": "individual", "arm": "arm", "reward": "reward"}


def write_log(path, n_rows, seed=0):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    kind, writer = rng.integers(0, len(RATES), n_rows // EACH), None
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        who, arm = rng.integers(0, len(kind), n), rng.integers(0, RATES.shape[1], n)
        reward = (rng.random(n) < RATES[kind[who], arm]).astype(np.int8)
        block = pa.table({"individual": who, "arm": np.array(list("ABCDE"))[arm], "reward": reward})
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block)
    writer.close()


def group_by(path, _plan):
    import duckdb

    groups = f"SELECT count(*) AS n, sum(reward) AS total FROM read_parquet('{path}') GROUP BY individual, arm"
    duckdb.connect().execute(f"SELECT count(*), sum(n), sum(total) FROM ({groups})").fetchall()


def learn(path, _plan):
    from banditree.training.learning import learn

    return learn(path, **COLUMNS).collection.shares.round(3).tolist()


def fit(path, plan):
    from banditree.evaluation.fit import fit
    from banditree.files.plans import save_plan

    found = fit(path, HORIZON, **COLUMNS)
    save_plan(found.plan, plan)
    return found.evaluation.rows[0].value.value


def evaluate(path, plan):
    from banditree.evaluation.evaluate import evaluate
    from banditree.files.plans import load_plan

    return evaluate(load_plan(plan), path, **COLUMNS).rows[0].value.value


CONTENDERS = {"group-by": group_by, "learn": learn, "fit": fit, "evaluate": evaluate}


def run_child(name, path, plan):
    wall = time.perf_counter()
    answer = CONTENDERS[name](path, plan)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = {"cpu": time.process_time(), "wall": time.perf_counter() - wall, "memory": peak, "answer": answer}
    print(json.dumps(found))


def measure(name, path, plan):
    command = [sys.executable, __file__, "--child", name, str(path), str(plan)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", default=",".join(CONTENDERS), help="which of these; fit makes the plan of evaluate")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return run_child(*given.child)
    with tempfile.TemporaryDirectory() as folder:
        path, plan = Path(folder, "log.parquet"), Path(folder, "plan.json")
        write_log(path, given.rows)
        floor = min((measure("group-by", path, plan) for _ in range(2)), key=lambda one: one["cpu"])
        print(f"{given.rows:,} rows\n{'':10}{'CPU s':>8}{'of floor':>10}{'wall s':>8}{'peak MB':>9}  answer")
        for name in given.only.split(","):
            one = floor if name == "group-by" else measure(name, path, plan)
            ratio = one["cpu"] / floor["cpu"]
            size = f"{one['memory'] / 1e6:9.0f}"
            print(f"{name:10}{one['cpu']:8.1f}{ratio:10.1f}{one['wall']:8.1f}{size}  {one['answer']}", flush=True)
    print(f"Wanted of learn and evaluate: at most {LIMIT_CPU:g} times the floor and {LIMIT_MEMORY / 1e9} GB.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
