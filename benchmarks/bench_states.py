"""Protocols with states against mTS with states: exact worst loss of the plan divided by the simulated worst of mTS.

    python benchmarks/bench_states.py --size hard --draws 4000-4019
    python benchmarks/bench_states.py --size small --draws 4000-4019
    python benchmarks/bench_states.py --size large --draws 4000-4019

hard: `hard_states` of 3 to 5 kinds and 2 to 5 states. small: `rand_states` of 3 to 5 kinds, 3 to 6 states, 3 to 5
options. large: 10 kinds, 3 to 10 states, 3 to 5 options. Plans have 1.5 lines per kind, over 1,000 rounds; mTS has
2,000 cases per kind (`--runs`), because the worst of noisy means is too large. Times are processor seconds of one core,
without compiling. remember: the ratio of a plan that remembers, simulated on the same cases; default: of the one that
`build_plan` gives. Seeds 0 to 107 and 5000 to 5007 were looked at while the search was made: use others.
"""

import argparse
import time

import numpy as np

from banditree import build_plan, certify, simulate_states
from banditree.plans.reading_load import reading_load
from banditree.protocols.by_state import WORTH_TALLIES
from banditree.tasks.state_instances import hard_states, rand_states

HORIZON = 1_000
ASKED = {"hard": 0.5, "small": 1.3, "large": 2.5}
ASKED_REMEMBERED = {"hard": 0.5, "small": 1.0, "large": 1.2}


def instance(size, seed):
    """The collection of a size; its numbers of kinds, states and options go round with the seed."""
    if size == "hard":
        return hard_states(3 + seed % 3, 2 + seed % 4, seed=seed)
    kinds = 3 + seed % 3 if size == "small" else 10
    states = 3 + seed % 4 if size == "small" else 3 + seed % 8
    return rand_states(kinds, states, 3 + (seed // 4) % 3, seed=seed)


def measured(size, seed, runs):
    """The numbers of one draw, by name."""
    known = instance(size, seed)
    start = time.process_time()
    plan = build_plan(known, HORIZON, "protocol", seed=1)
    searched = time.process_time() - start
    start = time.process_time()
    found = certify(plan, known)
    certified = time.process_time() - start
    remembers = build_plan(known, HORIZON, method="remember")
    lost = simulate_states(known, {"mts": "mts", "remember": remembers}, HORIZON, runs=runs, seed=7)
    tallied = lost.worst["remember"] < WORTH_TALLIES * found.worst_regret
    return {
        "kinds": known.n_tasks,
        "states": known.n_states,
        "lines": plan.n_tests,
        "load": reading_load(plan),
        "search s": searched,
        "certificate s": certified,
        "plan": found.worst_regret,
        "mTS": lost.worst["mts"],
        "ratio": found.worst_regret / lost.worst["mts"],
        "remember": lost.worst["remember"] / lost.worst["mts"],
        "default": (lost.worst["remember"] if tallied else found.worst_regret) / lost.worst["mts"],
        "its load": reading_load(remembers),
    }


def main():
    """Print a row per draw, and the average."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=ASKED, default="small")
    parser.add_argument("--draws", default="4000-4019")
    parser.add_argument("--runs", type=int, default=2000)
    asked = parser.parse_args()
    first, _, last = asked.draws.partition("-")
    warm = rand_states(2, 2, 2)
    certify(build_plan(warm, 100, steps=20), warm)
    rows = []
    for seed in range(int(first), int(last or first) + 1):
        rows.append(measured(asked.size, seed, asked.runs))
        if len(rows) == 1:
            print("seed  " + "  ".join(rows[0]))
        print(f"{seed}  " + "  ".join(f"{value:.4g}".rjust(len(name)) for name, value in rows[-1].items()), flush=True)
    mean = {name: np.mean([row[name] for row in rows]) for name in rows[0]}
    most = {name: max(row[name] for row in rows) for name in ("search s", "certificate s")}
    print("mean  " + "  ".join(f"{value:.4g}".rjust(len(name)) for name, value in mean.items()))
    wanted = ASKED[asked.size], ASKED_REMEMBERED[asked.size]
    ratios = f"{mean['ratio']:.2f}, {mean['remember']:.2f} and {mean['default']:.2f} by default"
    print(f"Slowest: {most}. Ratios {ratios}; asked for {wanted}.")


if __name__ == "__main__":
    main()
