"""Plans that learn from their own cases: do the intervals cover, and does the loss go down from version to version?

python benchmarks/bench_relearn.py [--worlds 200] [--versions 4] [--cases 150] [--rounds 50]

Every world has its own kinds and shares. A log with labels gives the first collection; a plan is made from it; its
cases and the log give the next collection, and so on. Printed: how often the interval of a rate covers the truth, over
all rates and versions and for the rates that plans try most and least; how often all intervals of all versions do; and
the loss per case of every version, computed exactly on the true rates.

--verdicts: instead, what is said of the second plan on cases that it was not made from, beside what it truly gains;
also in worlds whose log is so long (--long rows) that there is hardly anything left to gain.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from banditree.cases.table import Cases
from banditree.certificates.certify import certify
from banditree.evaluation.succession import judge_succession
from banditree.monitoring.simulated import simulate_cases
from banditree.plans.plan import Plan
from banditree.protocols.build import build_plan
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.training.collection import to_collection
from banditree.training.estimates import estimate
from banditree.training.relearning import relearn
from banditree.training.statistics import Statistics, collect, merge_statistics

STEPS = 250  # of the search for a plan: short, as there are many
ARMS = ("A", "B", "C", "D")


def true_kinds(rng: np.random.Generator) -> Collection:
    """Three kinds with different best options."""
    while True:
        means = rng.uniform(0.1, 0.9, (3, len(ARMS)))
        best = np.sort(means, axis=1)
        if len(set(means.argmax(axis=1).tolist())) == 3 and (best[:, -1] - best[:, -2]).min() > 0.1:
            return Collection.bernoulli(means, arms=ARMS, shares=rng.dirichlet(3 * np.ones(3)))


def first_collection(truth: Collection, rows: int, rng: np.random.Generator) -> Collection:
    """What a log with `rows` rows of every kind and option tells."""
    kinds = np.repeat(np.arange(3), rows * len(ARMS))
    arms = np.tile(np.repeat(np.arange(len(ARMS)), rows), 3)
    rewards = (rng.random(len(kinds)) < truth.means[kinds, arms]).astype(float)
    log = collect([f"task {i + 1}" for i in kinds], [ARMS[k] for k in arms], rewards)
    return to_collection(estimate(log), log)


def case_statistics(seen: Cases, version: int) -> Statistics:
    """The sums of every case."""
    names = [f"{version}: {seen.cases[u]}" for u in seen.owner]
    return collect(names, [ARMS[k] for k in seen.arm], seen.reward)


def one_world(
    rows: int, versions: int, cases: int, rounds: int, world: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every version: the loss per case; whether each interval covers; and the outcomes that each rate had."""
    rng = np.random.default_rng([world, 5])
    truth = true_kinds(rng)
    log = first_collection(truth, rows, rng)
    known, seen, losses, covers, tried = log, None, [], [], []
    for version in range(versions):
        plan = build_plan(trust_estimates(known), rounds, steps=STEPS, objective="mean", seed=world)
        losses.append(certify(plan, truth, must_rest=False).mean_regret)
        new = case_statistics(simulate_cases(plan, truth, cases, rounds=rounds, seed=1000 * world + version), version)
        seen = new if seen is None else merge_statistics(seen, new)
        found = relearn(log, seen)
        known = found.collection
        covers.append(np.abs(known.means - truth.means) <= known.radius)
        tried.append(found.rows)
    return np.array(losses), np.array(covers), np.array(tried)


def one_verdict(rows: int, cases: int, rounds: int, world: int) -> tuple[float, float, float, float]:
    """What the second plan gains per case: said with its interval, and truly."""
    rng = np.random.default_rng([world, 6])
    truth = true_kinds(rng)
    log = first_collection(truth, rows, rng)

    def make(known: Collection) -> Plan:
        return build_plan(trust_estimates(known), rounds, steps=STEPS, objective="mean", seed=world)

    old = make(log)
    seen = case_statistics(simulate_cases(old, truth, cases, rounds=rounds, seed=world), 0)
    found = judge_succession(old, log, seen, make)
    lost = [certify(one, truth, must_rest=False).mean_regret for one in (old, make(relearn(log, seen).collection))]
    assert found is not None
    return found.gain.value, found.gain.low, found.gain.high, lost[0] - lost[1]


def verdicts(given: argparse.Namespace) -> None:
    """How often a better plan is called better, and one that is not."""
    for rows in (given.rows, given.long):
        with ProcessPoolExecutor(given.processes) as pool:
            play = partial(one_verdict, rows, given.cases, given.rounds)
            value, low, high, truly = np.array(list(pool.map(play, range(given.worlds)))).T
        print(f"{given.worlds} worlds, {given.cases} cases of {given.rounds} rounds, {rows} logged rows per rate")
        holds = np.sum((low <= truly) & (truly <= high))
        print(f"  gain per case: said {value.mean():.3f}, truly {truly.mean():.3f}; the interval holds it in {holds}")
        for name, some in (("worse or equal", truly <= 0), ("better", truly > 0), ("better by .3", truly > 0.3)):
            called = f"called better {(some & (low > 0)).sum()}, worse {(some & (high < 0)).sum()}"
            print(f"  truly {name}: {some.sum()}, {called}")


def main() -> None:
    """Play the worlds and print what came of it."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("worlds", 200), ("versions", 4), ("cases", 150), ("rounds", 50), ("rows", 40)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--processes", type=int, default=None)
    options.add_argument("--verdicts", action="store_true")
    options.add_argument("--long", type=int, default=2_000)
    given = options.parse_args()
    if given.verdicts:
        verdicts(given)
        return
    begin = time.perf_counter()
    play = partial(one_world, given.rows, given.versions, given.cases, given.rounds)
    with ProcessPoolExecutor(given.processes) as pool:
        worlds = list(pool.map(play, range(given.worlds)))
    losses, covers, tried = (np.array(part) for part in zip(*worlds, strict=True))
    sizes = f"{given.cases} cases of {given.rounds} rounds per version, {given.rows} logged rows per rate"
    print(f"{given.worlds} worlds, {sizes}")
    print(f"intervals that cover: {covers.mean():.2%} of all; {covers[:, -1].mean():.2%} in the last version")
    often, rarely = tried >= np.median(tried), tried < np.median(tried)
    print(f"  of rates with many outcomes {covers[often].mean():.2%}, with few {covers[rarely].mean():.2%}")
    print(f"  the rate that is covered least often: {covers.mean(axis=(0, 1)).min():.2%}")
    every = covers.all(axis=(1, 2, 3))
    print(f"worlds in which all intervals of all versions cover: {every.sum()} of {len(every)}")
    for version in range(given.versions):
        text = f"version {version + 1}: loss per case {losses[:, version].mean():.3f}"
        if version:
            less = losses[:, version - 1] - losses[:, version]
            text += (
                f", {less.mean():+.3f} less than before (standard error {less.std(ddof=1) / np.sqrt(len(less)):.3f})"
            )
        print(text)
    print(f"[{time.perf_counter() - begin:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
