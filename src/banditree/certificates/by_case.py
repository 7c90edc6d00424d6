"""Certificates where features stay the same for a whole case: averages over cases, never over rounds.

A case of a given age meets the same chances in every one of its rounds, and other chances than a case of another age.
Its certificate is computed at its own features; those of drawn cases are averaged.
"""

from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.certificates.unlucky import unlucky
from banditree.plans.plan import Plan
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import averaging_rows, contexts_of_a_case
from banditree.tasks.reward_cells import margin_at

CASES = 60  # A certificate averages over this many drawn cases, or over all of a sample that has no more.
LARGEST = {"within"}  # These numbers of a certificate are the largest over cases, not their mean.


def certify_by_case(plan: Plan, collection: Collection, horizon: int | None = None) -> Certificate:
    """The certificate of a plan averaged over cases with features of their own."""
    assert collection.contexts is not None
    every = averaging_rows(collection.contexts)
    cases = every if len(every) <= CASES else every[:: len(every) // CASES][:CASES]
    seen = [_seen_by(collection, x) for x in cases]
    each = [certify(plan, one, horizon, must_rest=False) for one in seen]
    names = [str(feature) for feature in collection.features if feature.per_case]
    off = float(np.std([one.regret for one in each], axis=0).max() / np.sqrt(len(cases)))
    how = "all cases of the sample"
    if len(cases) < len(every):
        how = f"{len(cases)} drawn cases (standard error {off:.2g})"
    stays = "stays" if len(names) == 1 else "stay"
    remark = f"{', '.join(names)} {stays} the same for a whole case: numbers are averages over {how}."
    found = _averaged(each, remark)
    if found.entered is None:
        return found
    return replace(found, find_unlucky=partial(unlucky, plan, seen, found.horizon, found.regret, found.entered))


def _seen_by(collection: Collection, x: FloatArray) -> Collection:
    """The collection as a case with the features `x` meets it."""
    assert collection.contexts is not None
    contexts = contexts_of_a_case(collection.contexts, x)
    radius: Any = 0.0
    if collection.is_estimated:
        rows = averaging_rows(contexts)
        radius = np.stack([_off(collection, rows, k) for k in range(collection.n_arms)], axis=1)
    seen = Collection.linear(
        collection.theta,
        contexts,
        collection.rewards,
        tasks=collection.tasks,
        arms=collection.arms,
        radius=radius,
        provenance=collection.provenance,
        shares=collection.shares,
        theta_error=collection.theta_error,
    )
    return replace(seen, harm=collection.harm)


def _off(collection: Collection, rows: FloatArray, arm: int) -> FloatArray:
    """How far the mean of an arm over these contexts may be off in each task (M,)."""
    assert collection.theta is not None
    values = rows @ collection.theta[:, arm].T
    return np.asarray(collection.rewards.off_by(values, margin_at(collection, rows, arm)).mean(axis=0))


def _averaged(each: list[Certificate], remark: str) -> Certificate:
    first, parts = each[0], dict[str, Any]()
    for field in fields(first):
        values = [getattr(one, field.name) for one in each]
        if isinstance(values[0], np.ndarray):
            parts[field.name] = np.max(values, axis=0) if field.name in LARGEST else np.mean(values, axis=0)
        else:
            parts[field.name] = values[0]
    return Certificate(**{**parts, "remarks": (*first.remarks, remark), "shares": first.shares})
