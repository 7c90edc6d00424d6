"""How hard is a collection? Separation, coefficients, depths and bounds, as flat facts and as text."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.nouns import counted
from banditree.plans.words import Vocabulary
from banditree.progress import OnProgress, goes_on, named_part
from banditree.reports.limits import QUICK, limit_or_none, limit_sentence
from banditree.tasks.collection import Collection
from banditree.tasks.separation import Sense, least_separation
from banditree.theory.bounds import ece_regret, greedy_depth_bound, unseparated_rate
from banditree.theory.coefficients import Coefficient, deterministic_coefficient, soft_coefficient
from banditree.theory.graves_lai import graves_lai
from banditree.theory.limits import Limit
from banditree.theory.randomised import randomised_coefficient
from banditree.theory.separating_tests import separating_arms
from banditree.trees.expected_depth import least_expected_depth
from banditree.trees.guarantee import guaranteed_regret
from banditree.trees.optimal import Depth, optimal_depth
from banditree.trees.randomised_depth import randomised_depth
from banditree.trees.tree import LazyTree, lazy_tree

SHOWN = 12  # The text names this many tasks of the hardest set.
Fact = float | int | str | bool | list[str] | None
INFINITE = "infinite"
QUANTITIES = (
    ("Deterministic coefficient", "deterministic_coefficient"),
    ("Randomised coefficient", "randomised_coefficient"),
    ("Soft coefficient", "soft_coefficient"),
    ("Optimal depth", "optimal_depth"),
    ("Greedy depth", "greedy_depth"),
    ("Expected depth, at best", "expected_depth"),
    ("Average depth of randomised trees", "randomised_depth"),
)
WIDEST = max(len(label) for label, _name in QUANTITIES)


@dataclass(frozen=True)
class Analysis:
    """The answers as flat `facts`, ready for JSON, and as `text` for a person.

    Every quantity x has x_lower, x_upper and x_proven; x itself is None unless proven. Infinite values are the word
    "infinite", since JSON has no such number.
    """

    facts: Mapping[str, Fact]
    text: str


def analyze(
    collection: Collection,
    separation: float | None = None,
    horizon: int = 10_000,
    *,
    effort: int = QUICK,
    on_progress: OnProgress | None = None,
) -> Analysis:
    """Everything the theory says about a collection, at `separation` in the mean sense (its own by default).

    effort: how many additions to spend on the limit of every algorithm; 0 omits it.
    on_progress is told what is being worked out; returning False ends that part with the bounds so far.

    >>> facts = analyze(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])).facts
    >>> facts["deterministic_coefficient"], facts["optimal_depth"], round(facts["separation_hellinger"], 3)
    (2.0, 1, 0.296)
    """
    tree = lazy_tree(collection, horizon, separation)
    _announce(on_progress, "optimal depth")
    depth = optimal_depth(collection, separation)
    coefficients = _coefficients(tree, depth, on_progress)
    _announce(on_progress, "expected depth")
    average = least_expected_depth(collection, separation)
    drawn = randomised_depth(collection, separation)
    facts = _separation_facts(tree, separation)
    for name, found in coefficients.items():
        facts |= _coefficient_facts(name, found, collection)
    facts |= _range_facts("optimal_depth", depth.lower, depth.upper)
    most = _most_tests(depth, collection)
    facts |= _range_facts("greedy_depth", depth.lower if depth.greedy is None else depth.greedy, most)
    facts |= _range_facts("expected_depth", average.lower, average.upper)
    facts |= _range_facts("randomised_depth", drawn.upper if drawn.proven else drawn.lower, drawn.upper)
    facts |= _bound_facts(tree, coefficients, depth)
    told = named_part(on_progress, "limit for every algorithm")
    facts |= _limit_facts(collection, limit_or_none(collection, horizon, effort, told))
    return Analysis(facts, _text(facts))


def _announce(on_progress: OnProgress | None, stage: str) -> None:
    """Announce a part that is soon over and cannot be stopped early."""
    goes_on(on_progress, 0, 0, text=stage)


def _coefficients(tree: LazyTree, depth: Depth, on_progress: OnProgress | None) -> dict[str, Coefficient]:
    collection, lam, radius = tree.collection, tree.gap, tree.usable_radius
    table = separating_arms(collection, lam, radius=radius)
    fixed = deterministic_coefficient(table, on_progress=named_part(on_progress, "deterministic coefficient"))
    told = named_part(on_progress, "soft coefficient")
    soft = soft_coefficient(collection, lam, radius=radius, on_progress=told)
    if soft.upper > max(depth.upper + 1, soft.lower):  # C_soft <= C* + 1 (NOTES 6)
        soft = replace(soft, upper=float(max(depth.upper + 1, soft.lower)))
    told = named_part(on_progress, "randomised coefficient")
    mixed = randomised_coefficient(table, at_most=fixed.upper, on_progress=told)
    found = {"deterministic_coefficient": fixed, "randomised_coefficient": mixed, "soft_coefficient": soft}
    if collection.rewards.has_likelihood:
        own = least_separation(collection, Sense.HELLINGER).value
        table = separating_arms(collection, own, Sense.HELLINGER)
        told = named_part(on_progress, "deterministic coefficient (Hellinger)")
        found["hellinger_coefficient"] = deterministic_coefficient(table, effort=2_000_000, on_progress=told)
    return found


def _separation_facts(tree: LazyTree, asked: float | None) -> dict[str, Fact]:
    collection = tree.collection
    own = least_separation(collection, Sense.MEAN)
    facts: dict[str, Fact] = {
        "n_tasks": collection.n_tasks,
        "n_arms": collection.n_arms,
        "horizon": tree.horizon,
        "separation": tree.separation if asked is None else asked,
        "separation_of_tests": tree.separation,
        "separation_mean": own.value,
        "closest_tasks": list(own.tasks),
        "closest_told_by": own.arm,
        "separation_hellinger": None,
    }
    if collection.rewards.has_likelihood:
        facts["separation_hellinger"] = least_separation(collection, Sense.HELLINGER).value
    return facts


def _number(value: float) -> Fact:
    return INFINITE if value == np.inf else value


def _range_facts(name: str, lower: float, upper: float) -> dict[str, Fact]:
    proven = upper <= lower * (1 + 1e-9)
    return {
        name: _number(lower) if proven else None,
        f"{name}_lower": _number(lower),
        f"{name}_upper": _number(upper),
        f"{name}_proven": proven,
    }


def _coefficient_facts(name: str, found: Coefficient, collection: Collection) -> dict[str, Fact]:
    return _range_facts(name, found.lower, found.upper) | {
        f"{name}_subset": [collection.tasks[i] for i in found.subset],
        f"{name}_reason": found.reason,
    }


def _most_tests(depth: Depth, collection: Collection) -> int:
    """The depth of the greedy tree, or the most it can be where that tree is too large to hold."""
    return collection.n_tasks - 1 if depth.greedy is None else depth.greedy


def _bound_facts(tree: LazyTree, coefficients: Mapping[str, Coefficient], depth: Depth) -> dict[str, Fact]:
    """The theorems with this collection's numbers; upper bounds where a coefficient is not proven."""
    collection = tree.collection
    gap = float(collection.gaps.max())
    tested = guaranteed_regret(tree, _most_tests(depth, collection))
    facts: dict[str, Fact] = {
        "greedy_depth_bound": int(
            greedy_depth_bound(n_tasks=collection.n_tasks, soft=coefficients["soft_coefficient"].upper).value
        ),
        "dt_ece_regret_bound": tested.value if tested is not None and tested.holds else None,
        "unseparated_rate": unseparated_rate(n_tasks=collection.n_tasks, horizon=tree.horizon).value,
        "dt_ece_samples_per_test": tree.pulls_at_depth(_most_tests(depth, collection)),
    }
    if "hellinger_coefficient" in coefficients:
        facts["ece_regret_bound"] = ece_regret(
            n_tasks=collection.n_tasks,
            horizon=tree.horizon,
            coefficient=coefficients["hellinger_coefficient"].upper,
            separation=least_separation(collection, Sense.HELLINGER).value,
            largest_gap=gap,
        ).value
        constants = [graves_lai(collection, task).constant for task in range(collection.n_tasks)]
        facts["graves_lai_largest"] = _number(max(constants))
    return facts


def _limit_facts(collection: Collection, found: Limit | None) -> dict[str, Fact]:
    if found is None:
        return {"limit": None}
    return {
        "limit": found.value,
        "limit_tasks": [collection.tasks[i] for i in found.tasks],
        "limit_sentence": limit_sentence(found, collection, Vocabulary()),
    }


def _text(facts: Mapping[str, Fact]) -> str:
    lines = [
        f"{facts['n_tasks']} tasks, {facts['n_arms']} arms, {facts['horizon']:,} rounds.",
        _separation_text(facts),
        "",
        *(f"{label:<{WIDEST + 2}}{range_text(facts, name)}" for label, name in QUANTITIES),
        "",
        _hardest_text(facts),
        *bound_lines(facts),
    ]
    return "\n".join(lines)


def _separation_text(facts: Mapping[str, Any]) -> str:
    first, second = facts["closest_tasks"]
    text = (
        f"Separation {facts['separation']:.4g} in the mean sense; the closest tasks, {first!r} and {second!r}, are "
        f"{facts['separation_mean']:.4g} apart (by {facts['closest_told_by']!r})."
    )
    if facts["separation_hellinger"] is not None:
        text += f" In the Hellinger sense: {facts['separation_hellinger']:.4g}."
    return text


def range_text(facts: Mapping[str, Any], name: str) -> str:
    """A quantity of `QUANTITIES` in words: proven, between bounds, or infinite and why."""
    value, reason = facts[name], facts.get(f"{name}_reason", "")
    if value == INFINITE:
        return f"infinite: {reason}"
    if value is not None:
        return f"{value:.4g}, proven" if name != "greedy_depth" else f"{value:.4g}"
    lower, upper = facts[f"{name}_lower"], facts[f"{name}_upper"]
    above = f"{upper:.4g}" if upper != INFINITE else "infinity"
    return f"between {lower:.4g} and {above}" + (f": {reason}" if reason else "")


def _hardest_text(facts: Mapping[str, Any]) -> str:
    names = facts["deterministic_coefficient_subset"]
    shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"Hardest tasks to tell apart: {shown}."


def bound_lines(facts: Mapping[str, Any]) -> list[str]:
    """What the theorems say about these tasks, one sentence each."""
    depth = facts["greedy_depth"]
    lines = [
        f"The greedy tree has at most {counted(facts['greedy_depth_bound'], 'test')} on a path by Lemma 4.3"
        + (f", and {depth} in fact." if depth is not None else "; it is too large to hold."),
    ]
    if facts["dt_ece_regret_bound"] is not None:
        lines.append(
            f"DT-ECE loses at most {facts['dt_ece_regret_bound']:,.0f} over the horizon (Theorem 4.4; "
            f"{facts['dt_ece_samples_per_test']} pulls per test)."
        )
    if "ece_regret_bound" in facts:
        lines.append(f"ECE loses at most {facts['ece_regret_bound']:,.0f} (Theorem 3.1, Hellinger sense).")
    rate = facts["unseparated_rate"]
    lines.append(f"Without separation, some tasks cost any algorithm on the order of {rate:,.0f} (Theorem 2.1).")
    if facts.get("graves_lai_largest") == 0:
        lines.append("In the long run, every task's best arm alone tells it from the others: Graves-Lai 0.")
    elif "graves_lai_largest" in facts:
        constant = facts["graves_lai_largest"]
        shown = constant if constant == INFINITE else f"{constant:.4g}"
        lines.append(f"In the long run the hardest task costs any algorithm {shown} log H (Graves-Lai).")
    if facts["limit"] is not None:
        lines.append(facts["limit_sentence"])
    return lines
