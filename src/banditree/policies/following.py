"""Which policy follows a plan."""

from banditree.plans.machine import refuse_states
from banditree.plans.plan import Plan
from banditree.plans.tally_machine import tallies_of
from banditree.policies.base import Policy
from banditree.policies.by_state import follow_by_state
from banditree.policies.follow import follow
from banditree.policies.follow_lazily import follow_lazily
from banditree.policies.hand_over import follow_thompson
from banditree.policies.tallies import follow_tallies
from banditree.trees.tree import LazyTree


def policy_for(subject: Plan | LazyTree) -> Policy:
    """The policy that follows a plan, held whole or computed box by box, with Thompson sampling where it chooses."""
    if isinstance(subject, LazyTree):
        return follow_lazily
    refuse_states(subject)
    return follow_thompson if subject.outcomes_choose else follow


def session_policy(subject: Plan | LazyTree) -> Policy:
    """The same, and for a plan with states the policy that follows it, which only sessions can give the states."""
    if not isinstance(subject, Plan) or not subject.states:
        return policy_for(subject)
    return follow_by_state if tallies_of(subject) is None else follow_tallies
