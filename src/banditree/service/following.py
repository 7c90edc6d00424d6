"""The policy that follows a plan in the service: the plan itself, with the alarm where the collection is known."""

from banditree.plans.plan import Plan
from banditree.policies.base import Policy
from banditree.policies.follow import follow
from banditree.tasks.collection import Collection


def policy_of(plan: Plan, collection: Collection | None) -> Policy:
    """`follow`."""
    return follow
