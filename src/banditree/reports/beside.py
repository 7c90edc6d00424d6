"""What else could be done, in one sentence beside a plan: the tree of the paper, one arm for all, and mTS."""

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput, PlanWarning
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.plans.words import amount, quoted
from banditree.simulation.engine import simulate
from banditree.simulation.results import mean_band, worst_band
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree

MAX_TREE = 2_000  # A tree that is built only for comparison has at most this many boxes.
MOST_STEPS = 20_000_000  # This many decisions of mTS are simulated at most, which takes about a second.
MOST_RUNS, LEAST_RUNS = 1_000, 20  # Runs of mTS per task; with fewer than the least nothing is printed.


class Lost(NamedTuple):
    """Regret in the worst task and on average over tasks, as the mean of simulated runs."""

    worst: float
    mean: float
    runs: int


def beside_sentence(plan: Plan, collection: Collection) -> str:
    """What the tree, the best single arm and mTS lose in their worst task over the rounds of `plan`."""
    return beside_text(plan, collection, thompson_loss(collection, plan.horizon))


def beside_text(plan: Plan, collection: Collection, mts: Lost | None) -> str:
    """The same where it is known what mTS loses, or that this is not known.

    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> beside_text(build_tree(two, horizon=1000), two, None)
    'In their worst task, A for all loses 300.'
    """
    known = at_estimates(collection)
    others = [*_this(plan, collection), *_tree(plan, known), _single(plan, known), *_thompson(mts)]
    (who, lost), *rest = others
    listed = [f"{who} loses {lost}", *(f"{name} {amount}" for name, amount in rest)]
    *most, last = listed
    terms = "At the estimated rates, in" if collection.is_estimated else "In"
    return f"{terms} their worst {plan.vocabulary.task}, {', '.join([*most, f'and {last}']) if most else last}."


def at_estimates(collection: Collection) -> Collection:
    """The collection as if its rates were known exactly: the terms on which plans and others are compared."""
    return replace(collection, radius=np.zeros(()), spread=None) if collection.is_estimated else collection


def _this(plan: Plan, collection: Collection) -> list[tuple[str, str]]:
    """The plan itself, where what is said of it elsewhere is a bound within the margins of the rates."""
    if not collection.is_estimated:
        return []
    try:
        return [("this plan", amount(certify(plan, at_estimates(collection)).worst_regret))]
    except InvalidInput:
        return []


def _tree(plan: Plan, collection: Collection) -> list[tuple[str, str]]:
    """The tree of the paper, unless the plan is it or there is none."""
    if plan.origin.method == "tree":
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            tree = build_tree(collection, plan.horizon, max_boxes=MAX_TREE)
            return [("the tree of the paper", amount(certify(tree, collection).worst_regret))]
    except InvalidInput:
        return []


def _single(plan: Plan, collection: Collection) -> tuple[str, str]:
    """The one arm that loses least in its worst task."""
    lost = plan.horizon * collection.gaps.max(axis=0)
    arm = int(lost.argmin())
    return f"{quoted(collection.arms[arm])} for all", amount(lost[arm])


def _thompson(lost: Lost | None) -> list[tuple[str, str]]:
    """mTS, where it can be simulated."""
    if lost is None:
        return []
    name = "mTS, which needs a computer at every decision,"
    return [(name, f"{amount(lost.worst)} (mean of {counted(lost.runs, 'simulated run')})")]


def thompson_loss(collection: Collection, horizon: int) -> Lost | None:
    """What mTS loses, simulated where that takes about a second; None where it cannot be played or takes longer."""
    runs = min(MOST_RUNS, MOST_STEPS // (horizon * collection.n_tasks))
    if runs < LEAST_RUNS:
        return None
    try:
        results = simulate(collection, ["mts"], horizon=horizon, runs=runs, rounds=[horizon])
    except InvalidInput:
        return None
    worst, mean = worst_band(results, "mts"), mean_band(results, "mts", shares=collection.shares)
    return Lost(float(worst.mean[-1]), float(mean.mean[-1]), runs)
