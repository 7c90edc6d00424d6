"""Cases that fit no kind: what plans lose with and without a guard, on draws that nobody has looked at.

Four settings: the kinds themselves by the certificate, and played; cases whose rates are off by up to 0.1; and cases of
none of the kinds, whose rates are drawn as those of the kinds were. Printed are the loss of the worst case, averaged
over its runs, and the mean over all, for the default plan on paper, the same as a session with the collection follows
it (`guarded`) and as the service does (the alarm), the plans of --unknown 0.05 and --allow 0.1, mTS, and Thompson
sampling from scratch. Two worst cases may differ by luck: their runs are few.

Run: python benchmarks/bench_guard.py --draws 9500-9503 [--jobs 16]
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from banditree.certificates.certify import certify
from banditree.policies.guarding import guarded
from banditree.policies.registry import policy_named
from banditree.protocols.build import build_plan
from banditree.service.cases.following import policy_of
from banditree.simulation.engine import Player, simulate
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand

HORIZON, OFF, CASES = 10_000, 0.1, 100
RUNS = {"known": 200, "off": 10, "none": 10}  # of each kind, or of each of CASES cases
PLANS = {"plan": {}, "plan --unknown 0.05": {"unknown": 0.05}, "plan --allow 0.1": {"allow": 0.1}}
OTHERS = ("mts", "bernoulli-ts")


def drawn(seed):
    return rand(10, 20, 0.4, seed=seed)


def settings_of(collection, seed):
    """The true cases of each setting."""
    rng = np.random.default_rng(seed)
    near = np.repeat(collection.means, CASES // collection.n_tasks, axis=0)
    near = np.clip(near + rng.uniform(-OFF, OFF, near.shape), 0.0, 1.0)
    none = rng.uniform(0.0, 1.0, (CASES, collection.n_arms))
    off, strange = (Collection.bernoulli(means, arms=collection.arms) for means in (near, none))
    return {"known": collection, "off": off, "none": strange}


def made(job):
    seed, name = job
    return seed, name, build_plan(drawn(seed), HORIZON, **PLANS[name])


def players(collection, plans):
    """Who is compared, by name."""
    plan = plans["plan"]
    alarm = Player("alarm", policy_of(plan, collection), plan)
    return {**plans, "plan, guarded": guarded(plan, collection), "plan, alarm": alarm, **{one: one for one in OTHERS}}


def played(job):
    seed, setting, name, plans = job
    collection = drawn(seed)
    truth = settings_of(collection, seed)[setting]
    player = players(collection, plans)[name]
    player = policy_named(player) if isinstance(player, str) else player
    how = {"horizon": HORIZON, "runs": RUNS[setting], "rounds": [HORIZON], "seed": seed, "workers": 1}
    lost = simulate(truth, {name: player}, believed=collection, **how).regret[0, ..., -1]
    top = np.sort(lost, axis=None)[-max(lost.size // 100, 1) :]
    return seed, setting, name, float(lost.mean(axis=1).max()), float(lost.mean()), float(top.mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", default="9500-9503")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    first, last = (int(part) for part in asked.draws.split("-"))
    seeds, lines = range(first, last + 1), []

    def say(text):
        print(text, flush=True)
        lines.append(text)

    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        plans = {seed: {} for seed in seeds}
        for seed, name, plan in pool.map(made, [(seed, name) for seed in seeds for name in reversed(PLANS)]):
            plans[seed][name] = plan
        for seed in seeds:
            collection = drawn(seed)
            for name, plan in {**plans[seed], "plan, guarded": guarded(plans[seed]["plan"], collection)}.items():
                found = certify(plan, collection, must_rest=False)
                said = f"{plan.n_tests} lines, worst {found.worst_regret:.2f}, mean {found.mean_regret:.2f}"
                say(f"certificate  {seed}  {name:20s} {said}, handed over at most {_share(found.handed_over)}")
        names = list(players(drawn(first), plans[first]))
        jobs = [(seed, setting, name, plans[seed]) for setting in RUNS for name in names for seed in seeds]
        table = {}
        for seed, setting, name, worst, mean, top in pool.map(played, jobs):
            table[setting, name, seed] = f"{worst:7.1f} / {mean:6.1f} / {top:7.1f}"
    say(f"{'setting':8s} {'who':20s} " + "  ".join(f"{f'{seed}: worst / mean / 1%':27s}" for seed in seeds))
    for setting in RUNS:
        for name in names:
            say(f"{setting:8s} {name:20s} " + "  ".join(f"{table[setting, name, seed]:27s}" for seed in seeds))
    if folder := os.environ.get("OUT"):
        Path(folder, "guard.txt").write_text("\n".join(lines) + "\n")


def _share(chances):
    return "0" if chances is None else f"{float(chances.max()):.3f}"


if __name__ == "__main__":
    main()
