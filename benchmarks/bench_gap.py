"""Where the gap between a plan and the limit comes from: what lines cost, and what the search misses.

    python benchmarks/bench_gap.py [--kinds 2,3] [--draws 2] [--horizons 100,1000] [--lines 1,2,4,8]

Random rates of 2 or 3 kinds and as many options, from .1 to .9, each option best for one kind; seeds 9910 and up were
not used in making the search. The optimum over all algorithms lies between the proven limit and what an algorithm
loses that follows its lattice. Ratios to the limit: of that algorithm, of plans of at most n lines, and of the longest
with four times the steps and another seed. Losses are those of the worst kind.
"""

import argparse
import time

import numpy as np

from banditree.certificates.certify import certify
from banditree.protocols.build import build_plan
from banditree.protocols.defaults import default_steps
from banditree.tasks.collection import Collection
from banditree.theory.attained import attained
from banditree.theory.limits import limit

SEED, SEEDS, LONGER = 9910, (1,), 4
STEP = 0.125  # of the lattice that is followed


def collections(n_kinds, draws):
    """Some in which not all kinds have the same best option."""
    seed = SEED + 100 * n_kinds
    while draws:
        means = np.random.default_rng(seed).uniform(0.1, 0.9, (n_kinds, n_kinds)).round(2)
        seed += 1
        if len(set(means.argmax(axis=1).tolist())) == n_kinds:
            draws -= 1
            yield Collection.bernoulli(means)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="2,3")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--horizons", default="100,1000")
    parser.add_argument("--lines", default="1,2,4,8")
    parser.add_argument("--effort", type=float, default=3e8, help="additions of one limit")
    given = parser.parse_args()
    lines = [int(n) for n in given.lines.split(",")]
    print(
        "kinds  rounds  limit  all algorithms " + "".join(f"{n:3} lines" for n in lines) + "  searched longer    CPU s"
    )
    for n_kinds in map(int, given.kinds.split(",")):
        for horizon in map(int, given.horizons.split(",")):
            found, start = [], time.process_time()
            for known in collections(n_kinds, given.draws):

                def lost(n, known=known, horizon=horizon, **more):
                    plan = build_plan(known, horizon, "protocol", lines=n, objective="worst", **more)
                    return certify(plan, known).worst_regret

                least = limit(known, horizon, effort=int(given.effort)).value
                steps = LONGER * default_steps(known)
                longer = min(lost(lines[-1], seed=seed, steps=steps) for seed in SEEDS)
                losses = [attained(known, horizon, step=STEP).worst, *map(lost, lines), longer]
                found.append([least, *(np.array(losses) / least)])
            mean, most = np.mean(found, axis=0), np.max(found, axis=0)
            ratios = "".join(f"{m:5.2f}" for m in mean[2:])
            worst = "".join(f"{m:5.2f}" for m in most[2:])
            spent = time.process_time() - start
            print(
                f"{n_kinds:5} {horizon:7} {mean[0]:6.3f} {mean[1]:8.3f}  {ratios}  at most {worst} {spent:8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
