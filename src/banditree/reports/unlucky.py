"""What the unlucky lose: a plan is signed for the average, and every case is one person. Simulated, with intervals."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binom

from banditree.nouns import plural
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary, amount, named, quoted
from banditree.simulation.engine import simulate
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

SHARES = (0.9, 0.99, 0.999)  # This share of the cases loses at most what is said.
WORST = 0.01  # The mean is taken over this share of the cases, those that lose most.
CONFIDENCE = 0.95  # Of each interval.


@dataclass(frozen=True, eq=False)
class Unlucky:
    """at_most (M, 3): the loss that 90%, 99% and 99.9% of the cases of each task do not exceed, among `runs` simulated
    ones; least, most (M, 3): where it lies with 95% confidence. worst (M,): the mean loss of the worst 1%."""

    runs: int
    at_most: FloatArray
    least: FloatArray
    most: FloatArray
    worst: FloatArray


def unlucky(plan: Plan, collection: Collection, horizon: int, runs: int, seed: int = 0) -> Unlucky:
    """What the unlucky cases of each task lose over the horizon (sums of gaps), at the estimated rates.

    Intervals are order statistics, so they need no assumption; where too few cases were simulated for one, it has no
    upper end.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> found = unlucky(build_tree(two, horizon=200), two, 200, 400)
    >>> found.at_most[:, 0].round(1).tolist(), bool((found.worst >= found.at_most[:, 1]).all())
    ([0.0, 22.5], True)
    """
    sure = replace(collection, radius=np.zeros(()), spread=None)
    results = simulate(sure, {"plan": plan}, horizon=horizon, runs=runs, rounds=[horizon], seed=seed)
    lost = np.sort(results.regret[0, ..., -1], axis=1)
    beyond = np.concatenate([lost, np.full((len(lost), 1), np.inf)], axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = ([int(binom.ppf(q, runs, share)) for share in SHARES] for q in (tail, 1 - tail))
    return Unlucky(
        runs,
        lost[:, [min(int(np.ceil(share * runs)), runs) - 1 for share in SHARES]],
        lost[:, [max(place - 1, 0) for place in low]],
        beyond[:, [min(place, runs) for place in high]],
        lost[:, -max(round(WORST * runs), 1) :].mean(axis=1),
    )


def unlucky_sentences(found: Unlucky, collection: Collection, words: Vocabulary) -> list[str]:
    """The task whose unlucky cases lose most, in the user's words."""
    task = int(found.at_most[:, 1].argmax())
    unit = collection.unit or (plural(words.success) if collection.rewards.counts else words.reward)
    of = named(words.task, quoted(collection.tasks[task]))
    most = found.most[task, 1]
    upper = f"to {amount(most)}" if np.isfinite(most) else "or more"
    return [
        f"The unlucky: 1 of 100 cases of {of} loses more than {amount(found.at_most[task, 1])} {unit} "
        f"({amount(found.least[task, 1])} {upper}), and the worst 1% of them {amount(found.worst[task])} on average; "
        f"1 of 10 loses more than {amount(found.at_most[task, 0])}. Simulated: {found.runs:,} cases of each "
        f"{words.task}."
    ]


def unlucky_document(found: Unlucky | None, collection: Collection) -> dict[str, Any] | None:
    """The same as JSON, for every task."""
    if found is None:
        return None
    columns = zip(collection.tasks, found.at_most, found.least, found.most, found.worst, strict=True)
    return {
        "simulated_cases": found.runs,
        "tasks": [
            {
                "task": task,
                "at_most": [
                    {"share": share, "loss": loss, "least": low, "most": high if np.isfinite(high) else None}
                    for share, loss, low, high in zip(
                        SHARES, at_most.tolist(), least.tolist(), most.tolist(), strict=True
                    )
                ],
                "mean_of_worst_1_percent": float(worst),
            }
            for task, at_most, least, most, worst in columns
        ],
    }
