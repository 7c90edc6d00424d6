"""Rounds per second on a GPU, against the same runs on the processor: rand-40-40 over 10,000 rounds.

`--processor-runs 0` omits the comparison. Where there is no GPU, a sentence says so and nothing is measured.
"""

import argparse
import time

import numpy as np

import banditree
from banditree.simulation.devices import gpu_problem
from banditree.tasks.instances import rand

HORIZON = 10_000
ASKED = {"mts": 1e10, "mucb": 2e10, "protocol": 2e10, "dt-ece": 5e10}  # rounds per second


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=20_000, help="runs per task and policy on the GPU")
    arguments.add_argument("--processor-runs", type=int, default=50, help="runs that are also played on the processor")
    arguments.add_argument("--policies", default=",".join(ASKED))
    given = arguments.parse_args()
    if problem := gpu_problem():
        print(f"Not measured: {problem}")
        return
    tasks = rand(40, 40, 0.4, seed=0)
    columns = ("first result", "rounds/s", "asked", "processor", "ratio", "other runs")
    print(f"{'policy':12}", *(f"{column:>12}" for column in columns))
    for name in given.policies.split(","):
        policy = {name: plan_of(tasks)} if name == "protocol" else [name]
        settings = {"horizon": HORIZON, "rounds": [HORIZON], "seed": 7}
        _, first = timed(tasks, policy, runs=1, device="gpu", **settings)
        tries = [timed(tasks, policy, runs=given.runs, device="gpu", **settings) for _ in range(3)]
        found, seconds = min(tries, key=last)
        rate = tasks.n_tasks * given.runs * HORIZON / seconds
        line = f"{name:12} {first:10.1f} s {rate:12.2g} {ASKED.get(name, 0):12.1g}"
        if given.processor_runs:
            timed(tasks, policy, runs=1, workers=1, **settings)
            same, slow = timed(tasks, policy, runs=given.processor_runs, workers=1, **settings)
            pace = tasks.n_tasks * given.processor_runs * HORIZON / slow
            mine, theirs = found.regret[:, :, : given.processor_runs], same.regret
            others = np.abs(mine - theirs).max(axis=(0, 3)) > 1e-6
            line += f" {pace:12.2g} {rate / pace:12.0f} {others.mean():12.1e}"
        print(line, flush=True)


def plan_of(tasks: banditree.Collection) -> banditree.Plan:
    """The first plan that the search finds: its speed does not depend on how good it is."""
    return banditree.build_plan(tasks, HORIZON, on_progress=lambda progress: progress.best is None)


def timed(tasks: banditree.Collection, policy: object, **settings: object) -> tuple[banditree.Results, float]:
    start = time.perf_counter()
    results = banditree.simulate(tasks, policy, **settings)
    return results, time.perf_counter() - start


def last(pair: tuple[banditree.Results, float]) -> float:
    return pair[1]


if __name__ == "__main__":
    main()
