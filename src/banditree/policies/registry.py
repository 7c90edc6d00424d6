"""Policies by name."""

from banditree.errors import invalid
from banditree.policies.alarm import with_alarm
from banditree.policies.base import Policy
from banditree.policies.classic import bernoulli_ts, gaussian_ts, lints, linucb, ucb1, uniform_play
from banditree.policies.ece import ece
from banditree.policies.follow import dt_ece
from banditree.policies.latent import mids, mts
from banditree.policies.mucb import mucb, mucb_belief
from banditree.policies.random_ece import random_ece
from banditree.policies.uncertain import mmts
from banditree.policies.uncertain_index import mmts_index

ALARM = "+alarm"
POLICIES = {
    policy.name: policy
    for policy in (
        dt_ece,
        ece,
        random_ece,
        mts,
        mmts,
        mmts_index,
        mids,
        mucb,
        mucb_belief,
        ucb1,
        bernoulli_ts,
        gaussian_ts,
        linucb,
        lints,
        uniform_play,
    )
}


def policy_named(name: str) -> Policy:
    """The policy of that name, to be played on a collection; "+alarm" after it adds the alarm.

    >>> policy_named("mts").name, policy_named("dt-ece+alarm").name
    ('mts', 'dt-ece+alarm')
    """
    if name.endswith(ALARM):
        return with_alarm(policy_named(name.removesuffix(ALARM)))
    if name not in POLICIES:
        raise invalid("a policy", f"one of {', '.join(POLICIES)}, or one of these with {ALARM}", name)
    return POLICIES[name]
