"""The alarm: "this case fits no task of the collection", and the fallback to a policy that does not use them.

One e-process per task. The residuals reward - mean of task i on arm k are, if the case is task i, a martingale with
sub-Gaussian steps of variance s^2. Mixing exp(l S - l^2 s^2 n / 2) over l ~ N(0, 1 / s^2) gives the bet
    E_ik = exp(S^2 / (2 s^2 (1 + n))) / sqrt(1 + n)
of `theory.doubt.normal_log_odds`. Its product over arms starts at 1 and has expectation at most 1 at any stopping
time, however arms are chosen. The alarm goes off when every task has reached 1/alpha. The true task ever does so with
probability at most alpha (Ville), over the whole horizon and beyond: that is the false-alarm rate, for a case of the
collection. Means known only within a radius count only what lies beyond it.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.policies.base import ADAPTIVE, FALLBACK, Facts, Policy, Rng
from banditree.policies.classic import thompson
from banditree.policies.model import CONTEXT_NEEDED, Model, lacks_context, model_of, predicted
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.cases import reach_of_cases
from banditree.tasks.collection import Collection
from banditree.theory.doubt import normal_log_odds

FALSE_ALARM_RATE = 0.05  # The alarm goes off for a case of the collection with at most this probability, by default.
FOR_VARYING = 0.2  # This part of the rate is for cases whose own rates are far from their task's.


class EvidenceParams(NamedTuple):
    """limit: log(1/alpha). variance: s^2 of one reward given its context."""

    model: Model
    limit: float
    variance: float


class EvidenceState(NamedTuple):
    """residuals (K, M), pulls (K,), evidence (M,): log of each task's e-process, alarmed (1,): 1 once it went off."""

    residuals: FloatArray
    pulls: IntArray
    evidence: FloatArray
    alarmed: IntArray


class AlarmParams(NamedTuple):
    """The parameters of the policy, of the fallback and of the alarm."""

    inner: Any
    fallback: Any
    alarm: EvidenceParams


class AlarmState(NamedTuple):
    """The states of the policy, of the fallback and of the alarm."""

    inner: Any
    fallback: Any
    alarm: EvidenceState


def make_evidence(collection: Collection, false_alarm_rate: float) -> EvidenceParams:
    """The arrays that the alarm needs."""
    if not isinstance(collection, Collection):
        raise InvalidInput("An alarm needs the means of all tasks. Give it the collection, not only the plan.")
    if not 0 < false_alarm_rate < 1:
        raise invalid("false_alarm_rate", "between 0 and 1", false_alarm_rate)
    slack, rate = allowance(collection, false_alarm_rate)
    model = model_of(collection)
    if collection.varies:
        model = model._replace(slack=frozen(slack.T, float))
    return EvidenceParams(model, -math.log(rate), float(collection.rewards.variance_proxy))


def allowance(collection: Collection, false_alarm_rate: float) -> tuple[FloatArray, float]:
    """How far (M, K) the rate of a case may be from its task's without an alarm, and the false-alarm rate that is left.

    The radius; where cases vary within tasks, also so much that a fifth of the false alarms, over all arms, are cases
    farther away.
    """
    if not collection.varies:
        return collection.radius, false_alarm_rate
    far = reach_of_cases(collection, FOR_VARYING * false_alarm_rate / collection.n_arms)
    return np.asarray(collection.radius + far), (1 - FOR_VARYING) * false_alarm_rate


def init_evidence(params: EvidenceParams) -> EvidenceState:
    """No evidence against any task."""
    M, K = params.model.means.shape
    return EvidenceState(np.zeros((K, M)), np.zeros(K, np.int64), np.zeros(M), np.zeros(1, np.int64))


def update_evidence(params: EvidenceParams, state: EvidenceState, context: FloatArray, arm: int, reward: float) -> None:
    """Add the reward to the evidence against each task; sound the alarm if there is enough against all."""
    n = state.pulls[arm]
    state.pulls[arm] += 1
    least = math.inf
    for i in range(state.evidence.shape[0]):
        before = log_evidence(params, state.residuals[arm, i], n, params.model.slack[arm, i])
        state.residuals[arm, i] += reward - predicted(params.model, context, i, arm)
        after = log_evidence(params, state.residuals[arm, i], n + 1, params.model.slack[arm, i])
        state.evidence[i] += after - before
        least = min(least, state.evidence[i])
    if least >= params.limit:
        state.alarmed[0] = 1


def log_evidence(params: EvidenceParams, residual: float, pulls: int, radius: float) -> float:
    """log E_ik after `pulls` pulls of one arm, with as much of the residual forgiven as the radius explains.

    >>> from banditree.tasks.collection import Collection
    >>> params = make_evidence(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]]), 0.05)
    >>> round(log_evidence(params, 10.0, 20, 0.0), 3)
    8.002
    """
    return normal_log_odds(max(abs(residual) - pulls * radius, 0.0), pulls, params.variance)


@cache
def with_alarm(policy: Policy, fallback: Policy = thompson) -> Policy:
    """`policy` until the alarm goes off, `fallback` from then on: Thompson sampling that has learned from round one.

    Options: `false_alarm_rate`, 0.05 by default; the others are the policy's own. What was asked in advance (several
    open rounds) is not taken back: the alarm is heard with the first choice after it.

    >>> from banditree.policies.latent import mts
    >>> with_alarm(mts).name
    'mts+alarm'
    """
    return guard(policy, fallback)


def guard(policy: Policy, fallback: Policy = thompson) -> Policy:
    """`with_alarm`, made again each time: for a policy that is made for one case and must not be kept for good."""
    inner_choose, inner_update, inner_patience = policy.choose, policy.update, policy.patience
    inner_replan = policy.replan
    fallback_choose, fallback_update = fallback.choose, fallback.update
    if fallback.replan is not None:
        raise InvalidInput(f"{fallback.name} cannot be a fallback, since it replans.")

    def make(collection: Collection, horizon: int, options: Mapping[str, Any]) -> AlarmParams:
        rate = options.get("false_alarm_rate", FALSE_ALARM_RATE)
        own = {name: value for name, value in options.items() if name != "false_alarm_rate"}
        alarm = make_evidence(collection, rate)
        return AlarmParams(policy.make(collection, horizon, own), fallback.make(collection, horizon, {}), alarm)

    def init(params: AlarmParams) -> AlarmState:
        return AlarmState(policy.init(params.inner), fallback.init(params.fallback), init_evidence(params.alarm))

    def choose(params: AlarmParams, state: AlarmState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
        if lacks_context(params.alarm.model.theta, context):
            return CONTEXT_NEEDED
        if state.alarm.alarmed[0] != 0:
            return fallback_choose(params.fallback, state.fallback, context, available, rng)
        return inner_choose(params.inner, state.inner, context, available, rng)

    def update(params: AlarmParams, state: AlarmState, context: FloatArray, arm: int, reward: float) -> None:
        fallback_update(params.fallback, state.fallback, context, arm, reward)
        if state.alarm.alarmed[0] == 0:
            inner_update(params.inner, state.inner, context, arm, reward)
            update_evidence(params.alarm, state.alarm, context, arm, reward)

    def explain(params: AlarmParams, state: AlarmState) -> Facts:
        if state.alarm.alarmed[0]:
            details = {"alarm": "fits no task", "evidence": state.alarm.evidence.tolist()}
            return Facts(exploiting=False, possible=(), pulls=None, details=details)
        return policy.explain(params.inner, state.inner)

    def patience(params: AlarmParams, state: AlarmState) -> int:
        if state.alarm.alarmed[0] or inner_patience is None:
            return 1
        return inner_patience(params.inner, state.inner)

    def replan(params: AlarmParams, state: AlarmState) -> None:
        if inner_replan is not None and not state.alarm.alarmed[0]:
            inner_replan(params.inner, state.inner)

    return Policy(
        f"{policy.name}+alarm",
        make,
        init,
        choose,
        update,
        explain,
        patience,
        None if inner_replan is None else replan,
        _commitment_of(policy),
    )


def _commitment_of(policy: Policy) -> Callable[[AlarmParams, AlarmState], int]:
    """What the guarded policy is committed to; two functions, since a compiled one cannot ask whether there is one."""
    inner_commitment = policy.commitment
    if inner_commitment is None:

        def commitment(params: AlarmParams, state: AlarmState) -> int:
            return FALLBACK if state.alarm.alarmed[0] != 0 else ADAPTIVE
    else:

        def commitment(params: AlarmParams, state: AlarmState) -> int:
            return FALLBACK if state.alarm.alarmed[0] != 0 else inner_commitment(params.inner, state.inner)

    return commitment
