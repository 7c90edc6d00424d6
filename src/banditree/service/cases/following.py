"""The policy that follows a plan in the service: the plan itself, with the alarm where the collection is known."""

from banditree.plans.plan import Plan
from banditree.policies.base import Policy
from banditree.policies.following import session_policy
from banditree.policies.guarding import with_alarm_of
from banditree.tasks.collection import Collection


def policy_of(plan: Plan, collection: Collection | None) -> Policy:
    """The plan's own; with a collection, until the evidence fits none of its tasks, and Thompson sampling from then on.

    With states there is no alarm.

    >>> from banditree.trees.tree import build_tree
    >>> clinic = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]])
    >>> policy_of(build_tree(clinic, 100), clinic).name
    'follow+alarm'
    """
    planned = session_policy(plan)
    return planned if collection is None or plan.states else with_alarm_of(plan, planned, collection)
