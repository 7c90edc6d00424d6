"""Policies by name."""

from banditree.errors import invalid
from banditree.policies.base import Policy
from banditree.policies.follow import dt_ece
from banditree.policies.latent import mids, mts, mucb, mucb_belief

POLICIES = {policy.name: policy for policy in (dt_ece, mts, mids, mucb, mucb_belief)}


def policy_named(name: str) -> Policy:
    """The policy of that name, to be played on a collection.

    >>> policy_named("mts").name
    'mts'
    """
    if name not in POLICIES:
        raise invalid("a policy", f"one of {', '.join(POLICIES)}", name)
    return POLICIES[name]
