"""Plans for tiny problems beside what no algorithm can beat, and what tossing a coin between two plans would gain.

python benchmarks/bench_tiny.py [--draws 40]

Random rates of 3 kinds and 3 options, from .2 to .8 in hundredths, over 10, 20 or 30 rounds, unless one option is best
for all. The limit is the proven one of `banditree analyze`, never above the exact minimax loss. For the coin, plans for
other shares of the kinds, with other seeds, and every single option are candidates beside the default plan; a linear
programme has the mixture of any of them that loses least in its worst kind.
"""

import argparse
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from banditree import Collection, Give, Line, build_plan, certify, make_plan
from banditree.theory.limits import limit

SEED = 77
EFFORT = 200_000_000  # additions: some seconds, after which nothing more is gained at this size
LEANINGS = ([0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6])
STEPS = 400


def candidates(collection, horizon):
    """The default plan first, then what may be mixed with it."""
    leaning = [
        build_plan(replace(collection, shares=np.array(shares)), horizon, objective="mean", steps=STEPS)
        for shares in LEANINGS
    ]
    seeds = [build_plan(collection, horizon, seed=seed, steps=STEPS) for seed in (1, 2)]
    single = [make_plan([Line(Give(arm))], collection, horizon) for arm in collection.arms]
    return [build_plan(collection, horizon), *leaning, *seeds, *single]


def least_mixed(losses):
    """The least worst loss of a mixture of plans with these losses (plans, kinds)."""
    n, kinds = losses.shape
    mixed = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.column_stack([losses.T, -np.ones(kinds)]),
        b_ub=np.zeros(kinds),
        A_eq=[np.append(np.ones(n), 0.0)],
        b_eq=[1.0],
    )
    return mixed.fun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    rng, ratios = np.random.default_rng(SEED), []
    print("rounds  limit  plan / limit  with a coin / limit")
    for _ in range(parser.parse_args().draws):
        horizon, means = int(rng.choice([10, 20, 30])), rng.uniform(0.2, 0.8, (3, 3)).round(2)
        collection = Collection.bernoulli(means)
        if len(set(collection.best_arms.tolist())) == 1:
            continue
        losses = np.array([certify(plan, collection).regret for plan in candidates(collection, horizon)])
        least = limit(collection, horizon, effort=EFFORT).value
        ratios.append((losses[0].max() / least, least_mixed(losses) / least))
        print(f"{horizon:6} {least:6.3f} {ratios[-1][0]:13.3f} {ratios[-1][1]:20.3f}", flush=True)
    plan, coin = np.array(ratios).T
    print(f"mean ratio of plans {plan.mean():.3f}, at most {plan.max():.3f}; with a coin {coin.mean():.3f}")


if __name__ == "__main__":
    main()
