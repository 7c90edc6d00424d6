"""Certified harm against simulated cases: in how many of 200 random settings does it lie in the 99% band?

A setting is a random collection with random rates of harm, a plan for it (a protocol, with restarts and a safety rule,
or a tree) with or without the rule that what harmed is not given again, and a task. Its cases are sessions, as people
follow them. Both the expected harms and the chance of more than one are compared; the band is Bonferroni's of the two.

    python benchmarks/bench_harm.py --settings 200 --cases 2000 --workers 16
"""

import argparse
import json
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom, norm

from banditree import Collection, PlanWarning, build_plan, start_session
from banditree.certificates.harm import certify_harm
from banditree.plans.plan import Plan
from banditree.tasks.harm import with_harm

BAND = 0.99  # Of both numbers together.


def main() -> None:
    """Count the settings, and print and write the number."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--settings", type=int, default=200)
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--workers", type=int, default=os.cpu_count())
    asked = options.parse_args()
    with ProcessPoolExecutor(asked.workers) as pool:
        rows = list(pool.map(partial(one_setting, cases=asked.cases), range(asked.settings)))
    inside = sum(row["inside"] for row in rows)
    print(f"{inside} of {len(rows)} settings inside their 99% bands, {asked.cases} cases each")
    print("outside:", [row for row in rows if not row["inside"]])
    if out := os.environ.get("OUT"):
        (Path(out) / "harm.json").write_text(json.dumps(rows, indent=1))


def one_setting(seed: int, cases: int) -> dict[str, float | int | bool | str]:
    """One random setting: what is certified, what its simulated cases had, and whether that is in the band."""
    rng = np.random.default_rng([20261118, seed])
    known, plan = random_setting(rng, seed)
    task = int(rng.integers(known.n_tasks))
    harms = np.array([harms_of(plan, known, task, rng) for _ in range(cases)])
    found = certify_harm(plan, known)
    mean, more = float(found.expected[task]), float(found.more_than_one[task])
    tail = (1 - BAND) / 4  # two numbers, two sides
    off = abs(harms.mean() - mean) <= -norm.ppf(tail) * max(float(harms.std(ddof=1)), 1e-9) / np.sqrt(cases) + 1e-9
    low, high = binom.ppf(tail, cases, more), binom.ppf(1 - tail, cases, more)
    counted = int((harms > 1).sum())
    return {
        "seed": seed,
        "plan": f"{plan.origin.method}, rule {plan.on_harm is not None}, safety {plan.rule is not None}",
        "expected": mean,
        "mean": float(harms.mean()),
        "more_than_one": more,
        "share": counted / cases,
        "inside": bool(off and low <= counted <= high),
    }


def random_setting(rng: np.random.Generator, seed: int) -> tuple[Collection, Plan]:
    """A collection with harm, and a plan for it."""
    M, K = int(rng.integers(2, 5)), int(rng.integers(3, 6))
    known = Collection.bernoulli(rng.uniform(0.02, 0.98, (M, K)))
    known = with_harm(known, rng.uniform(0, rng.choice([0.01, 0.05, 0.2]), (M, K)))
    method = ("protocol", "protocol", "tree")[seed % 3]
    how = {"steps": 300, "seed": seed} if method == "protocol" else {}
    horizon = int(rng.integers(10, 60) if method == "protocol" else rng.integers(60, 160))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)  # cases that are still tested when the horizon ends count too
        return known, build_plan(known, horizon, method, not_again=bool(rng.integers(2)), **how)


def harms_of(plan: Plan, known: Collection, task: int, rng: np.random.Generator) -> int:
    """The harms of one simulated case, up to where a person decides."""
    case, harms = start_session(plan), 0
    while (step := case.ask()).outcome is None:
        harm = bool(rng.random() < known.harm.rates[task, step.arm])
        case.tell(int(rng.random() < known.means[task, step.arm]), harm=harm)
        harms += harm
    return harms


if __name__ == "__main__":
    main()
