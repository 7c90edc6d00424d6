"""Households whose kind was not learned: is a plan, or a policy, worse for them than Thompson sampling alone?

The kind of a household is the brand that it buys most. In turn each kind of at least 10 households is missing: the
rates of the other kinds are the average purchases of two thirds of their households, and a plan is made from these,
with and without `--unknown 0.05`. Then it is followed on all households of the missing kind, none of which
was learned from, and on the third of the others that was held out; "all held out" are a third of all households, each
kind as often as it comes. Printed are the hits per household in its first purchases, and the difference from Thompson
sampling from scratch, household by household, with its standard error. Beside them is what cannot be had: a policy that
is told how many households are of no kind that it knows.

Run: python benchmarks/bench_missing_kind.py [--data Tuna] [--folder FOLDER] [--seed 0] [--steps 600]; all four goods
by default.
"""

import argparse

import numpy as np
from real_data import HORIZONS, read

from banditree.cases.table import only_cases
from banditree.evaluation.replay import replay
from banditree.evaluation.splits import hold_out
from banditree.policies.registry import policy_named
from banditree.protocols.build import build_plan
from banditree.tasks.collection import Collection

DATA = ("Catsup", "Ketchup", "Tuna", "Yogurt")
LEAST = 10  # A kind that is missing, or learned, has at least so many households.
FEWEST = 5  # A household has at least so many purchases: with fewer there is nothing to find out.
RUNS = 20  # of policies that draw at random
SCRATCH = "bernoulli-ts"
PLANS = {"plan": {}, "plan --unknown 0.05": {"unknown": 0.05}}
POLICIES = ("mts", "mts+alarm", "mmts-index", SCRATCH)
SINGLE = "best single option"
SHARES = (0.05, 0.6)  # of the unknown, that a policy is told which cannot be had: it knows how many of them there are
FEW_RUNS = 4  # of that policy, which is not compiled


def favourites(history):
    """The brand (U,) that each household buys most."""
    bought = np.zeros((history.n_cases, len(history.arms)))
    np.add.at(bought, history.owner, history.outcomes)
    return bought.argmax(axis=1)


def learned(history, kind, households):
    """The kinds of some households, with at least LEAST each, as a collection; None if there are fewer than two."""
    own = [households[kind[households] == k] for k in range(len(history.arms))]
    kept = [k for k, some in enumerate(own) if len(some) >= LEAST]
    if len(kept) < 2:
        return None
    rates = [only_cases(history, own[k]).outcomes.mean(axis=0) for k in kept]
    shares = np.array([len(own[k]) for k in kept], float)
    names = [history.arms[k] for k in kept]
    return Collection.bernoulli(np.array(rates), tasks=names, arms=history.arms, shares=shares / shares.sum())


def hits(known, history, horizon, steps):
    """{who: (U,)}, the purchases of each household that were foreseen."""
    found = {}
    for name, options in PLANS.items():
        plan = build_plan(known, horizon, "protocol", objective="mean", steps=steps, **options)
        found[name] = replay(plan, history, horizon, runs=RUNS if options else 1).total
    for name in POLICIES:
        found[name] = replay(known, history, horizon, policy=policy_named(name), runs=RUNS).total
    for share in SHARES:
        found[f"told that {share:.0%} are unknown"] = told_of_the_unknown(known, history, horizon, share, 0)
    single = int((known.shares @ known.means).argmax())
    rounds = np.arange(len(history.outcomes)) - history.first[:-1][history.owner] < horizon
    found[SINGLE] = np.bincount(history.owner[rounds], history.outcomes[rounds, single], minlength=history.n_cases)
    return found


def told_of_the_unknown(known, history, horizon, share, seed):
    """Hits (U,) of Thompson sampling that has "none of them" as one more kind, with any rates, of a given share."""
    rng, foreseen = np.random.default_rng(seed), np.zeros(history.n_cases)
    rates, prior = np.clip(known.means, 0.02, 0.98), np.log(np.append(known.shares * (1 - share), share))
    for run in range(FEW_RUNS * history.n_cases):
        case = run % history.n_cases
        log_weight, given, got = prior.copy(), np.zeros(len(history.arms)), np.zeros(len(history.arms))
        for bought in history.outcomes[history.first[case] : history.first[case + 1]][:horizon]:
            weight = np.exp(log_weight - log_weight.max())
            kind = rng.choice(len(weight), p=weight / weight.sum())
            drawn = rates[kind] if kind < known.n_tasks else rng.beta(1 + got, 1 + given - got)
            arm = int(drawn.argmax())
            chances = np.append(rates[:, arm], (got[arm] + 1) / (given[arm] + 2))
            log_weight += np.log(chances if bought[arm] else 1 - chances)
            given[arm] += 1
            got[arm] += bought[arm]
            foreseen[case] += bought[arm] / FEW_RUNS
    return foreseen


def without(name, folder, steps, seed):
    """[(kind, {who: (n,): hits}, whether of the missing kind (n,), whether held out (n,))] of each kind in turn."""
    history, horizon, results = read(name, folder, least=FEWEST), HORIZONS[name], []
    kind = favourites(history)
    learn, held = hold_out(history.n_cases, 1 / 3, seed)
    for out in np.flatnonzero(np.bincount(kind, minlength=len(history.arms)) >= LEAST):
        known = learned(history, kind, learn[kind[learn] != out])
        if known is not None:
            played = np.concatenate([np.flatnonzero(kind == out), held[kind[held] != out]])
            found = hits(known, only_cases(history, played), horizon, steps)
            results.append((history.arms[out], found, kind[played] == out, np.isin(played, held)))
    return results


def difference(own, scratch):
    """Hits more than from scratch per household, and its standard error."""
    more = own - scratch
    return more.mean(), more.std(ddof=1) / len(more) ** 0.5


def show(words, found, some):
    cells = []
    for who, own in found.items():
        more, error = difference(own[some], found[SCRATCH][some])
        cells.append(f"{who} {own[some].mean():.2f}" + ("" if who == SCRATCH else f" ({more:+.2f} ± {error:.2f})"))
    print(f"  {words:<38} {some.sum():>4} households: {'; '.join(cells)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=DATA)
    parser.add_argument("--folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=600)
    given = parser.parse_args()
    everything = []
    for name in [given.data] if given.data else DATA:
        print(f"{name}, first {HORIZONS[name]} purchases")
        for kind, found, is_out, is_held in without(name, given.folder, given.steps, given.seed):
            show(f"{kind} missing: its households", found, is_out)
            show(f"{kind} missing: the others", found, ~is_out)
            show(f"{kind} missing: all held out", found, is_held)
            everything.append((found, is_out, is_held))
    pooled = {who: np.concatenate([found[who] for found, *_ in everything]) for who in everything[0][0]}
    is_out, is_held = (np.concatenate([parts[number] for parts in everything]) for number in (1, 2))
    print("All together, each kind missing in turn")
    for words, some in (("of the missing kind", is_out), ("the others", ~is_out), ("all held out", is_held)):
        show(words, pooled, some)


if __name__ == "__main__":
    main()
