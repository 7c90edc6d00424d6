"""What the unlucky lose, in words and as JSON; where it cannot be computed, simulated cases say it, with intervals."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.certificates.unlucky import SHARES, THOUSAND, WORST, Unlucky
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.plans.words import amount
from banditree.reports.promise import lost_word, unlucky_sentence
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.states import StateCollection

CONFIDENCE = 0.95  # Of each interval.


def unlucky_or_none(plan: Plan, collection: Collection, certificate: Certificate, runs: int) -> Unlucky | None:
    """What the unlucky lose: computed, or from this many simulated cases of each task; None if these are 0, or if they
    cannot be simulated, as where a person decides."""
    if certificate.unlucky is not None or not runs:
        return certificate.unlucky
    with suppress(InvalidInput):
        return simulated(plan, collection, certificate.horizon, runs)
    return None


def simulated(plan: Plan, collection: Collection, horizon: int, runs: int, seed: int = 0) -> Unlucky:
    """What the unlucky cases of each task lose over the horizon, at the estimated rates.

    Intervals are order statistics, so they need no assumption; where too few cases were simulated for one, it has no
    upper end.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> found = simulated(build_tree(two, horizon=200), two, 200, 400)
    >>> found.at_most[:, 0].round(1).tolist(), bool((found.worst >= found.at_most[:, 1]).all())
    ([0.0, 22.5], True)
    """
    from scipy.stats import binom

    from banditree.simulation.engine import simulate
    from banditree.simulation.with_states import simulate_states

    if isinstance(collection, StateCollection):
        lost = np.sort(simulate_states(collection, {"plan": plan}, horizon, runs=runs, seed=seed).loss[0], axis=1)
    else:
        sure = replace(collection, radius=np.zeros(()), spread=None)
        results = simulate(sure, {"plan": plan}, horizon=horizon, runs=runs, rounds=[horizon], seed=seed)
        lost = np.sort(results.regret[0, ..., -1], axis=1)
    beyond = np.concatenate([lost, np.full((len(lost), 1), np.inf)], axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = ([int(binom.ppf(q, runs, share)) for share in SHARES] for q in (tail, 1 - tail))

    def at(shares: FloatArray) -> FloatArray:
        return np.asarray(lost[:, np.maximum(np.ceil(shares * runs).astype(int), 1) - 1])

    return Unlucky(
        at(np.array(SHARES)),
        lost[:, [max(place - 1, 0) for place in low]],
        beyond[:, [min(place, runs) for place in high]],
        lost[:, -max(round(WORST * runs), 1) :].mean(axis=1),
        at(THOUSAND),
        runs,
    )


def unlucky_sentences(plan: Plan, collection: Collection, certificate: Certificate, found: Unlucky) -> list[str]:
    """The task whose unlucky cases lose most, in the user's words.

    >>> from banditree.certificates.certify import certify
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> certificate = certify(plan, two)
    >>> unlucky_sentences(plan, two, certificate, certificate.unlucky)[0][:64]
    '1 of 100 cases of task 2 loses 28.8 successes or more (1 of 10: '
    """
    task = found.task
    often, _, rarely = (amount(float(loss)) for loss in found.at_most[task])
    sentence = unlucky_sentence(plan, certificate, found).removesuffix(".")
    said = f"{sentence} (1 of 10: {often}, 1 of 1,000: {rarely}); the worst 1% lose "
    said += f"{amount(float(found.worst[task]))} on average."
    if found.runs:
        most = found.most[task, 1]
        upper = f"to {amount(most)}" if np.isfinite(most) else "or more"
        said += (
            f" Simulated, since it cannot be computed: {found.runs:,} cases of each {plan.vocabulary.task}; with 95% "
            f"confidence 1 of 100 loses {amount(found.least[task, 1])} {upper} {lost_word(plan, certificate.unit)}."
        )
    elif not isinstance(collection, StateCollection) and collection.theta is not None:
        said += " Each round is counted as what it costs on average over contexts."
    return [said]


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
