"""The guard: a plan that a computer follows hands over a case that fits no kind, whether or not its lines say so.

The lines stay as they are signed. A case of a kind of the collection that is where its kind may lead is handed over
with a chance of at most 1 in `ODDS` (`theory.doubt`), a case of no kind soon. With contexts the alarm does the same
work: it bets with what each kind predicts at the context of every round.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from banditree.plans.plan import ODDS, Decider, Fallback, Plan
from banditree.policies.alarm import AlarmParams, guard
from banditree.policies.base import Outcome, Policy, Rng
from banditree.policies.classic import lints, thompson
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.cases import reach_of_cases
from banditree.tasks.collection import Collection

PERSON_NEEDED, ARM_NOT_AVAILABLE = int(Outcome.PERSON_NEEDED), int(Outcome.ARM_NOT_AVAILABLE)


def guarded(plan: Plan, collection: Collection) -> Plan:
    """The plan with a hand-over to Thompson sampling that has learned since the first round.

    A plan that hands over where line 1 was begun too often does so by the odds as well, to whom it says. The plan as it
    is where it has another fallback of its own, where the alarm guards it instead (`needs_alarm`), or where nothing is
    known by which to hand over: with worth or a rule about harm, or for a collection of other kinds.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> guarded(build_tree(two, horizon=1000), two).fallback.odds
    100
    """
    unknown = plan.theta is not None or collection.worth is not None or plan.on_harm is not None
    own = plan.fallback
    if (
        (own is not None and (own.odds or not own.starts))
        or unknown
        or (plan.tasks, plan.arms) != (collection.tasks, collection.arms)
    ):
        return plan
    allow = float((collection.radius + reach_of_cases(collection, 1.0 / (ODDS * collection.n_arms))).max())
    means = tuple(map(tuple, collection.means.tolist()))
    return replace(plan, fallback=replace(own or Fallback(), odds=ODDS, allow=allow, means=means))


def needs_alarm(plan: Plan, collection: Collection | None) -> bool:
    """Whether the alarm guards the plan: it looks at contexts, and the collection is of its kinds."""
    if collection is None or plan.theta is None or collection.theta is None:
        return False
    return (plan.tasks, plan.arms, plan.features) == (collection.tasks, collection.arms, collection.features)


def with_alarm_of(plan: Plan, planned: Policy, collection: Collection, false_alarm_rate: float | None = None) -> Policy:
    """The plan's own policy until the evidence fits no task of the collection; then whoever the plan hands over to.

    That is Thompson sampling where the plan does not say. Both are made for the plan: the alarm takes its means from
    the collection, which the plan does not have. Thompson sampling looks at contexts where there are any.

    >>> from banditree.policies.follow import follow
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> with_alarm_of(build_tree(two, horizon=1000), follow, two).name
    'follow+alarm'
    """
    rate = {} if false_alarm_rate is None else {"false_alarm_rate": false_alarm_rate}

    def make_planned(_collection: Collection, horizon: int, options: Mapping[str, Any]) -> Any:
        return planned.make(plan, horizon, options)

    learned = thompson if collection.theta is None else lints
    alarmed = guard(replace(planned, make=make_planned), handing_over(plan, learned))

    def make(_plan: Plan, horizon: int, options: Mapping[str, Any]) -> AlarmParams:
        params: AlarmParams = alarmed.make(collection, horizon, {**rate, **options})
        return params

    return replace(alarmed, make=make)


def handing_over(plan: Plan, learned: Policy) -> Policy:
    """Whoever the plan hands a case over to: a person, an arm, or else the policy that has learned from the case."""
    if plan.fallback is None or plan.fallback.to is Decider.THOMPSON:
        return learned
    given = PERSON_NEEDED if plan.fallback.arm is None else plan.arms.index(plan.fallback.arm)

    def choose(params: Any, state: Any, context: FloatArray, available: BoolArray, rng: Rng) -> int:
        return given if given < 0 or available[given] else ARM_NOT_AVAILABLE

    return replace(learned, choose=choose)
