"""Plans for more kinds than a search looks at: how long they take, what they lose, and how much memory that needs.

    python benchmarks/bench_many_kinds.py                                             # 200 kinds, 50 options
    python benchmarks/bench_many_kinds.py --kinds 1000 --options 100 --seconds 200    # a thousand

Rates are uniform up to 0.8, but for one option of each kind, among `--best`, whose rate is between 0.85 and 0.95. Seeds
9800 and up were not used in making the search. Times are processor seconds, and by the clock.
"""

import argparse
import resource
import time

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import TooLong
from banditree.plans.reading_load import reading_load
from banditree.protocols.build import build_plan
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection

HORIZON = 10_000


def kinds(n_kinds, n_options, n_best, seed):
    """The collection."""
    rng = np.random.default_rng(seed)
    means = 0.8 * rng.random((n_kinds, n_options))
    means[np.arange(n_kinds), rng.integers(n_best, size=n_kinds)] = 0.85 + 0.1 * rng.random(n_kinds)
    return Collection.bernoulli(means)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=int, default=200)
    parser.add_argument("--options", type=int, default=50)
    parser.add_argument("--best", type=int, default=20, help="different best options")
    parser.add_argument("--seconds", type=float, default=30.0, help="for the search")
    parser.add_argument("--seed", type=int, default=9800)
    parser.add_argument("--runs", type=int, default=0, help="of mTS per kind, beside the plan; 3 take some minutes")
    given = parser.parse_args()
    known = kinds(given.kinds, given.options, given.best, given.seed)
    clock, work = time.monotonic(), time.process_time()
    plan = build_plan(known, HORIZON, seconds=given.seconds)
    clock, work = time.monotonic() - clock, time.process_time() - work
    n_best = len(set(known.best_arms.tolist()))
    print(f"{given.kinds} kinds, {given.options} options, {n_best} of them best for some kind, {HORIZON:,} rounds")
    load = reading_load(plan)
    print(
        f"plan: {plan.n_tests} lines, path {plan.depth}, reading load {load:.1f}; {work:.1f} s of work in {clock:.1f} s"
    )
    work = time.process_time()
    try:
        found = certify(plan, known)
        print(f"certificate: worst {found.worst_regret:,.1f}, mean {found.mean_regret:,.1f}", end="; ")
        if given.runs:
            lost = (
                simulate(known, ["mts"], horizon=HORIZON, runs=given.runs, rounds=[HORIZON]).final("mts").mean(axis=1)
            )
            worst, mean = found.worst_regret / lost.max(), found.mean_regret / lost.mean()
            print(f"ratio to mTS: worst {worst:.2f}, mean {mean:.2f}", end="; ")
    except TooLong as problem:
        print(problem, end=" ")
    print(f"{time.process_time() - work:.1f} s of work")
    alone = HORIZON * known.gaps.max(axis=0).min()
    print(f"one option for everyone loses {alone:,.0f} in the worst kind")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB")


if __name__ == "__main__":
    main()
