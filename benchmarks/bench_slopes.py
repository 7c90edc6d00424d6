"""What searches with contexts gain by allowing for estimated slopes.

Random kinds with two features each, learned from a log of a few rows for each kind and option. Plans are searched for
with slopes that are off, as `plan` does, and at the estimates alone; printed is what both lose per case at the true
slopes, over 40 rounds, and the difference with its standard error.

Run: python benchmarks/bench_slopes.py [--rows 8] [--collections 40]
"""

import argparse
from unittest.mock import patch

import numpy as np

from banditree import Collection, build_plan, certify, learn
from banditree.errors import InvalidInput
from banditree.protocols import by_context
from banditree.tasks.changes import trust_estimates
from banditree.tasks.contexts import INTERCEPT, Feature, sampled_contexts
from banditree.tasks.rewards import BERNOULLI

HORIZON, CONTEXTS = 40, 200
KINDS, ARMS = ("a", "b", "c"), ("A", "B", "C")
POINTS = {"fit": {}, "outcome": {"rule_size": 3}}


def truth(rng, size):
    """Kinds whose rates lie near the middle, with slopes of up to .5."""
    rows = np.column_stack([np.ones(CONTEXTS), rng.uniform(0, 1, (2, CONTEXTS)).round(2).T])
    slopes = rng.uniform(-0.5, 0.5, (size, size, 2))
    level = rng.uniform(0.2, 0.8, (size, size, 1)) - slopes.sum(axis=2, keepdims=True) / 2
    features = [Feature(INTERCEPT), Feature("price"), Feature("age")]
    theta, contexts = np.concatenate([level, slopes], axis=2), sampled_contexts(rows, features)
    return Collection.linear(theta, contexts, BERNOULLI, tasks=KINDS[:size], arms=ARMS[:size]), rows


def learned(rng, known, rows, each):
    import polars

    M, K = known.means.shape
    n = each * M * K
    x, kind, arm = rows[rng.integers(0, CONTEXTS, n)], rng.integers(0, M, n), rng.integers(0, K, n)
    reward = rng.random(n) < np.clip((x * known.theta[kind, arm]).sum(axis=1), 0, 1)
    log = {"task": np.array(KINDS)[kind], "arm": np.array(ARMS)[arm], "reward": reward * 1}
    return learn(polars.DataFrame(log | {"price": x[:, 1], "age": x[:, 2]}), context="price,age").collection


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8, help="for each kind and option")
    parser.add_argument("--collections", type=int, default=40)
    given = parser.parse_args()
    lost = {points: [] for points in POINTS}
    for seed in range(given.collections):
        rng = np.random.default_rng([seed, 5])
        known, rows = truth(rng, 2 + seed % 2)
        try:
            estimated = learned(rng, known, rows, given.rows)
        except InvalidInput:  # too few rows of some option
            continue
        for points, more in POINTS.items():
            both = []
            for around in (by_context.around_slopes, trust_estimates):
                with patch.object(by_context, "around_slopes", around):
                    how = {"points": points, "objective": "mean", "lines": 3, "steps": 400, **more}
                    plan = build_plan(estimated, HORIZON, **how)
                both.append(certify(plan, known, must_rest=False).mean_regret)
            lost[points].append(both)
    print(f"{'points':10}{'allowing':>9}{'not':>9}{'difference':>12}{'error':>8}  collections")
    for points, pairs in lost.items():
        values = np.array(pairs)
        less = values[:, 0] - values[:, 1]
        error = less.std(ddof=1) / np.sqrt(len(less))
        means = "".join(f"{mean:9.2f}" for mean in values.mean(axis=0))
        print(f"{points:10}{means}{less.mean():12.2f}{error:8.2f}  {len(less)}")


if __name__ == "__main__":
    main()
