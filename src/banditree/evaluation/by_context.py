"""What contexts alone decide: everyone is of one kind, and a short printed rule says which option is best at a context.

Beside it stand what else a person would use who looks at contexts and not at what a case has shown before: a tree of
four leaves, logistic regression, and LinUCB, which learns anew from every case.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from banditree.cases.table import Cases
from banditree.evaluation.singles import best_single
from banditree.evaluation.weighting import logged_chances
from banditree.plans.gives import TreatAs
from banditree.plans.kind_rule import KindRule
from banditree.plans.line import Line
from banditree.plans.one_option import one_option
from banditree.plans.plan import Origin, Plan
from banditree.plans.words import Vocabulary
from banditree.policies.base import Policy
from banditree.policies.following import policy_for
from banditree.policies.registry import policy_named
from banditree.protocols.kind_rules import rules_for
from banditree.tasks.arrays import FloatArray
from banditree.tasks.predictions import predict
from banditree.tasks.rewards import Bernoulli, Link, Rewards
from banditree.training.logistic import fit_curve
from banditree.trees.tree import round_significant

EVERYONE = "everyone"
SIZES = (2, 4, 8)  # Rows of the rules that are tried; nobody keeps more in mind.
TREE = 4  # Leaves of the tree that a person would use.

Beside = dict[str, tuple[Plan, Policy]]


class Curves(NamedTuple):
    """The prediction of every option's reward at a context: theta (K, d), and the family with its link."""

    theta: FloatArray
    rewards: Rewards

    def at(self, x: FloatArray) -> FloatArray:
        """The predictions (n, K) at contexts (n, d)."""
        return predict(self.theta, x, self.rewards)


def curves_of(history: Cases, rewards: Rewards) -> Curves:
    """A curve for each option over all cases, logistic where rewards are 0 or 1, else linear."""
    assert history.contexts is not None
    theta = np.zeros((len(history.arms), history.contexts.shape[1]))
    for k in range(len(history.arms)):
        known = history.known[:, k]
        theta[k] = curve_of(history.contexts[known], history.outcomes[known, k], rewards)
    return Curves(round_significant(theta), Bernoulli(link=Link.LOGISTIC) if rewards.counts else rewards)


def curve_of(x: FloatArray, reward: FloatArray, rewards: Rewards) -> FloatArray:
    """theta (d,) of one option from rounds with contexts x (n, d)."""
    return fit_curve(x, reward).theta if rewards.counts else np.asarray(np.linalg.lstsq(x, reward, rcond=None)[0])


def worth_of_options(history: Cases, curves: Curves, horizon: int) -> tuple[FloatArray, FloatArray]:
    """What each option is worth in the first rounds of every case (n, K), and the contexts there.

    The outcome where it is known to everyone; else doubly robust: the prediction, and for the option that was given
    what came beyond it, over the chance that it had.
    """
    rounds = np.flatnonzero(history.place < horizon)
    assert history.contexts is not None
    x, outcome, arm = history.contexts[rounds], history.outcomes[rounds], history.arm[rounds]
    predicted = curves.at(x)
    if history.is_full:
        return np.where(np.isnan(outcome), predicted, outcome), x
    every = np.arange(len(rounds))
    beyond = outcome[every, arm] - predicted[every, arm]
    worth = predicted.copy()
    worth[every, arm] += np.nan_to_num(beyond) / logged_chances(history)[rounds]
    return worth, x


def rule_plans(
    history: Cases, rewards: Rewards, horizon: int, vocabulary: Vocabulary, sizes: Sequence[int] = SIZES
) -> Iterator[tuple[int, Plan]]:
    """The plan of one line that treats everyone alike at a context, for each number of rows of its rule."""
    curves = curves_of(history, rewards)
    worth, x = worth_of_options(history, curves, horizon)
    for size, rule in rules_for(worth, x, history.features, sizes).items():
        yield size, _settled(_plan(history, curves, rule, horizon, vocabulary), history, rewards)


def curve_plan(history: Cases, rewards: Rewards, horizon: int, vocabulary: Vocabulary) -> Plan:
    """The plan of one line that gives everyone the option with the highest prediction at a context."""
    return _settled(_plan(history, curves_of(history, rewards), None, horizon, vocabulary), history, rewards)


def _settled(plan: Plan, history: Cases, rewards: Rewards) -> Plan:
    """The plan, or the best single option for everyone where that is all that it gives at the contexts of the log."""
    assert history.contexts is not None
    assert plan.theta is not None
    best = best_single(history)
    rule = plan.kind_rules[0] if plan.kind_rules else None
    if rule is not None:
        given = rule.arms_at(history.contexts)
    else:
        given = predict(plan.theta[0], history.contexts, plan.rewards).argmax(axis=1)
    if (given != best).any():
        return plan
    return replace(one_option(plan, plan.arms[best]), rewards=rewards, theta=None, features=())


def _plan(history: Cases, curves: Curves, rule: KindRule | None, horizon: int, vocabulary: Vocabulary) -> Plan:
    return Plan(
        (Line(TreatAs(EVERYONE)),),
        history.arms,
        (EVERYONE,),
        curves.rewards,
        horizon,
        theta=curves.theta[None],
        features=history.features,
        kind_rules=() if rule is None else (rule,),
        vocabulary=vocabulary,
        origin=Origin("rule by context"),
    )


def beside_by_context(known: Cases, rewards: Rewards, horizon: int) -> Beside:
    """What else looks at contexts, made from the known cases: a plan, and the policy that plays it."""
    curves = curves_of(known, rewards)
    worth, x = worth_of_options(known, curves, horizon)
    about = (horizon, Vocabulary())
    tree = _plan(known, curves, rules_for(worth, x, known.features, (TREE,))[TREE], *about)
    regression = _plan(known, curves, None, *about)
    name = "logistic" if rewards.counts else "linear"
    return {
        f"tree of {TREE} leaves by context": (tree, policy_for(tree)),
        f"{name} regression by context": (regression, policy_for(regression)),
        "LinUCB for each case": (tree, policy_named("linucb")),
    }
