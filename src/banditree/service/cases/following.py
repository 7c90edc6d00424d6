"""The policy that follows a plan in the service: the plan itself, with the alarm where the collection is known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from banditree.plans.plan import Plan
from banditree.policies.alarm import AlarmParams, guard
from banditree.policies.base import Policy
from banditree.policies.session import policy_for
from banditree.tasks.collection import Collection


def policy_of(plan: Plan, collection: Collection | None) -> Policy:
    """The plan's own; with a collection, until the evidence fits none of its tasks, and Thompson sampling from then on.

    Both are made for the plan: the alarm takes its means from the collection, which the plan does not have.

    >>> from banditree.trees.tree import build_tree
    >>> clinic = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]])
    >>> policy_of(build_tree(clinic, 100), clinic).name
    'follow+alarm'
    """
    if collection is None:
        return policy_for(plan)
    planned = policy_for(plan)

    def make_planned(_collection: Collection, horizon: int, options: Mapping[str, Any]) -> Any:
        return planned.make(plan, horizon, options)

    guarded = guard(replace(planned, make=make_planned))

    def make(_plan: Plan, horizon: int, options: Mapping[str, Any]) -> AlarmParams:
        params: AlarmParams = guarded.make(collection, horizon, options)
        return params

    return replace(guarded, make=make)
