"""A plan all of whose ends give the same option has nothing to find out."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from banditree.plans.plan import NONE, BoxKind, Plan

OF_THE_PLAN = {"theta"}  # Arrays that belong to the whole plan and have no row per box.


def at_once(plan: Plan) -> Plan:
    """The plan that gives its option at once if all its ends give the same one; otherwise the plan itself.

    >>> from banditree.plans.assemble import Box, assemble
    >>> from banditree.tasks.collection import Collection
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.6, 0.3]], arms=["A", "B"])
    >>> test = Box(arm=1, low=1, high=2, points=(-2, 1), floor=4, ceil=6)
    >>> at_once(assemble([test, Box(arm=0), Box(arm=0)], two, horizon=100)).n_boxes
    1
    """
    ends = np.flatnonzero(plan.kind == BoxKind.EXPLOIT)
    staying = plan.arm[np.isin(plan.kind, (BoxKind.EXPLOIT, BoxKind.WATCH))]  # a watch line may never be left either
    if plan.n_boxes == 1 or not ends.size or staying.min() != staying.max() or staying[0] < 0:
        return plan
    arrays = {f.name: value for f in fields(plan) if isinstance(value := getattr(plan, f.name), np.ndarray)}
    rows: dict[str, Any] = {name: value[ends[:1]] for name, value in arrays.items() if name not in OF_THE_PLAN}
    rows |= {"task": np.array([NONE]), "survivors": None if plan.survivors is None else plan.survivors[:1]}
    return replace(plan, rule=None, **rows)
