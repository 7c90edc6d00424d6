"""How close the limit for every algorithm comes to the best that is known, and how long it takes.

python benchmarks/bench_limits.py                      # a quick table
python benchmarks/bench_limits.py --effort 1e11 --only rand-10-20   # about five minutes a row
"""

import argparse
import time
import warnings

from banditree.certificates.certify import certify
from banditree.errors import PlanWarning
from banditree.protocols.build import build_plan
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, rand
from banditree.theory.attained import attained
from banditree.theory.limits import limit


def collections(seeds: int) -> dict[str, tuple[Collection, int]]:
    """What is measured: a name, the tasks and the horizon."""
    found: dict[str, tuple[Collection, int]] = {}
    for n_tasks, n_arms in ((3, 5), (5, 10), (10, 20)):
        for seed in range(seeds):
            found[f"rand-{n_tasks}-{n_arms} seed {seed}"] = (rand(n_tasks, n_arms, 0.4, seed=seed), 10_000)
    found["hard-5-10"] = (hard(5, 10, 0.4, 0.01), 4_000)
    return found


def best_known(collection: Collection, horizon: int, runs: int) -> tuple[float, float]:
    """The worst regret of the better of two protocols (exact: usual lines, three per task) and of mIDS (simulated)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        plans = [build_plan(collection, horizon, lines=lines) for lines in (None, 3 * collection.n_tasks)]
    plan = min(certify(plan, collection).worst_regret for plan in plans)
    sampled = simulate(collection, ["mids"], horizon=horizon, runs=runs)
    return plan, float(sampled.final(sampled.policies[0]).mean(axis=1).max())


def follower(collection: Collection, horizon: int, step: float) -> float:
    """The worst regret of the algorithm that follows the lattice, infinite for more than three tasks."""
    return attained(collection, horizon, step=step).worst if collection.n_tasks <= 3 else float("inf")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--effort", type=float, default=1e9, help="additions of one limit")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="the names that contain this")
    parser.add_argument("--runs", type=int, default=100, help="of mIDS")
    parser.add_argument("--step", type=float, default=0.125, help="of the algorithm that follows the lattice")
    asked = parser.parse_args()
    print("| collection | limit | tasks | plan | mIDS | lattice | limit / best known | CPU seconds |")
    print("| --- " * 8 + "|")
    for name, (collection, horizon) in collections(asked.seeds).items():
        if asked.only not in name:
            continue
        start = time.process_time()
        found = limit(collection, horizon, effort=int(asked.effort))
        seconds = time.process_time() - start
        plan, mids = best_known(collection, horizon, asked.runs)
        close = follower(collection, horizon, asked.step)
        share = found.value / min(plan, mids, close)
        shown = " | ".join("-" if number == float("inf") else f"{number:.3f}" for number in (plan, mids, close))
        numbers = f"{found.value:.3f} | {len(found.tasks)} | {shown} | {share:.0%} | {seconds:.0f}"
        print(f"| {name} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
