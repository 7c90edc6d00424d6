"""ECE (Algorithms 1 and 2) with arms and rules as tests, and randomised ECE (the footnote to Theorem 3.1); NOTES 5.

Which test comes next is decided by weights over the arms: equal ones for the arms that tie for the most even test, or
the distribution that solves Eq. (3) on the tasks still possible. The draw is keyed by the number of the test, so all
pulls of a test are of one arm, or of one rule from contexts to arms where there are such tests. Which rule was drawn
is not in the state: those that would have pulled other arms are ruled out on the way.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.policies.base import NO_TASK, UNDECIDED, Facts, Outcome, Policy, Rng
from banditree.policies.families import log_likelihood, outcome_of
from banditree.policies.follow import UNLIMITED
from banditree.policies.model import CONTEXT_NEEDED, Model, best_available, lacks_context, model_of
from banditree.policies.options import take_options
from banditree.policies.random import uniform
from banditree.tasks.arrays import BoolArray, ByteArray, FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import require_likelihood
from banditree.tasks.rewards.compiled import GAUSSIAN
from banditree.tasks.separation import Sense, least_separation, separation_of_arm, separations, tolerance
from banditree.theory.bounds import ece_samples
from banditree.theory.context_rules import rules_named
from banditree.theory.separating_tests import rule_distances

ARM_NOT_AVAILABLE = int(Outcome.ARM_NOT_AVAILABLE)
MOST_BYTES = 2**30  # The table "this arm separates these two tasks" may have this many bytes.
DONE, TESTS, TASK, ARM, PULLED = 0, 1, 2, 3, 4  # The entries of EceState.place.


class EceParams(NamedTuple):
    """apart (T, M, M): 1 where a test separates two tasks. slack: how far a log-likelihood may be below the best.

    Tests are the K arms, then the rules (P, K, d), of which those `absolute` look at the size of x'rule only. first
    (T,): what `lay_out_even` finds while all tasks are possible, the same for every case.
    """

    model: Model
    apart: ByteArray
    pulls: int
    slack: float
    stop_early: bool
    rules: FloatArray
    absolute: ByteArray
    first: FloatArray


class EceState(NamedTuple):
    """survivors (M,) of 0 and 1; fit (M,): log-likelihoods in the test at hand; weights (T,): of the test at
    hand in the draw, negative once it would have pulled another arm than was pulled (only where there are rules).

    place: pulls done (-1 when exploiting), tests done, the task exploited or NO_TASK, the arm exploited if no task is,
    the arm pulled last. total (1,): the sum of rewards in the test at hand. seen (G,): how often each reward came in
    it, or the sum of squares of normal ones; `fit` follows from it at the end of the test, but with contexts.
    """

    survivors: ByteArray
    fit: FloatArray
    weights: FloatArray
    place: IntArray
    total: FloatArray
    seen: FloatArray


def make_ece(collection: Collection, horizon: int, options: Mapping[str, Any]) -> EceParams:
    """The table of separations, the pulls per test and the slack of Algorithm 2.

    Options: separation (lambda in the Hellinger sense; the collection's own), failure_probability (delta; 1/H), slack
    ("printed": 3 log(M/delta), or "tight": log(M (M - 1)/delta), with which the proof gives a failure probability of
    2 delta (M - 1)/M: give half of the delta that is wanted), stop_early (NOTES 11), rules (tests that look at the
    context beside the arms: "best", the best arm of each task; "pairs", where two tasks differ most; or ContextRules).
    """
    taken = take_options(
        options, separation=None, failure_probability=None, slack="printed", stop_early=False, rules=None
    )
    require_likelihood(collection.rewards, "ECE")
    M, delta = collection.n_tasks, taken["failure_probability"] or 1.0 / horizon
    if not 0 < delta <= 1:
        raise invalid("failure_probability", "above 0 and at most 1", delta)
    if taken["slack"] not in ("printed", "tight"):
        raise invalid("slack", 'one of "printed", "tight"', taken["slack"])
    rules = rules_named(collection, taken["rules"])
    by_rule = rule_distances(collection, rules) if len(rules) else np.zeros((0, M, M))
    lam = _separation(collection, by_rule, taken["separation"])
    slack = 3 * math.log(M / delta) if taken["slack"] == "printed" else math.log(M * (M - 1) / delta)
    pulls = ece_samples(n_tasks=M, separation=lam, failure_probability=delta, slack=slack)
    apart = _apart(collection, by_rule, lam)
    return EceParams(
        model_of(collection),
        apart,
        pulls,
        slack,
        bool(taken["stop_early"]),
        frozen(rules.weights, float),
        frozen(rules.absolute, np.uint8),
        _most_even(apart),
    )


def _separation(collection: Collection, by_rule: FloatArray, wanted: float | None) -> float:
    closest = least_separation(collection, Sense.HELLINGER)
    largest = closest.value
    if len(by_rule):  # the pair that all tests together separate least
        most = np.maximum(by_rule.max(axis=0), separations(collection, Sense.HELLINGER).max(axis=0))
        largest = float(most[np.triu_indices(collection.n_tasks, 1)].min())
    lam = largest if wanted is None else float(wanted)
    if largest <= tolerance(1.0):
        raise InvalidInput(f"No arm tells {closest.tasks[0]!r} from {closest.tasks[1]!r}. Merge them into one task.")
    if not 0 < lam <= largest + tolerance(largest):
        raise invalid("separation", f"above 0 and at most {largest:.6g} (Hellinger)", lam, f"It is {closest}.")
    return lam


def _apart(collection: Collection, by_rule: FloatArray, lam: float) -> ByteArray:
    M, K = collection.n_tasks, collection.n_arms
    if K * M * M > MOST_BYTES:
        raise InvalidInput(f"ECE compares all pairs of {M:,} tasks on {K:,} arms, too many to hold. Use dt-ece.")
    apart = np.empty((K + len(by_rule), M, M), np.uint8)
    apart[K:] = by_rule >= lam - tolerance(lam)
    for k in range(K):
        apart[k] = separation_of_arm(collection, k, Sense.HELLINGER) >= lam - tolerance(lam)
    return frozen(apart, np.uint8)


def _most_even(apart: ByteArray) -> FloatArray:
    """`lay_out_even` for all tasks at once."""
    separated = np.array([one.sum(axis=1, dtype=np.int64) for one in apart])  # (T, M)
    least, pairs = separated.min(axis=1), separated.sum(axis=1)
    best = max(((int(a), int(b)) for a, b in zip(least, pairs, strict=True) if b > 0), default=(0, 0))
    return frozen((least == best[0]) & (pairs == best[1]), float)


def init_ece(params: EceParams) -> EceState:
    """All tasks possible, and the first test laid out."""
    state = empty_state(params)
    if not settle(params, state):
        state.weights[:] = params.first
    return state


def empty_state(params: EceParams) -> EceState:
    """All tasks possible, and no test laid out."""
    T, M, _ = params.apart.shape
    place = np.array([0, 0, UNDECIDED, -1, -1])
    seen = np.zeros(max(len(params.model.values), 1))
    return EceState(np.ones(M, np.uint8), np.zeros(M), np.zeros(T), place, np.zeros(1), seen)


def looks_at_contexts(params: EceParams) -> bool:
    """Whether likelihoods, or the arm of a test, depend on the context of a round."""
    return bool(params.model.theta.shape[2] > 0 or params.rules.shape[0] > 0)


def choose_ece(params: EceParams, state: EceState, context: FloatArray, available: BoolArray, rng: Rng) -> int:
    """The arm of the test at hand, drawn by its weight; then the best available arm of the task that is left."""
    if lacks_context(params.model.theta, context):
        return CONTEXT_NEEDED
    if state.place[DONE] < 0:
        return choose_exploit(params, state, context, available)
    if state.place[DONE] > 0 and not looks_at_contexts(params):
        arm = int(state.place[PULLED])
        return arm if available[arm] else ARM_NOT_AVAILABLE
    total = 0.0
    for t in range(state.weights.shape[0]):
        total += abs(state.weights[t])
    left = uniform((rng[0], rng[1], int(state.place[TESTS])), 0) * total
    test = -1
    for t in range(state.weights.shape[0]):
        if state.weights[t] != 0.0:
            test = t
            left -= abs(state.weights[t])
            if left < 0.0:
                break
    arm = arm_of(params, test, context)
    return arm if available[arm] else ARM_NOT_AVAILABLE


def arm_of(params: EceParams, test: int, context: FloatArray) -> int:
    """The arm that a test pulls at a context: the arm itself, or that of a rule."""
    n_arms = params.model.means.shape[1]
    if test < n_arms:
        return test
    best, largest = 0, -math.inf
    for k in range(n_arms):
        value = 0.0
        for f in range(params.rules.shape[2]):
            value += context[f] * params.rules[test - n_arms, k, f]
        if params.absolute[test - n_arms]:
            value = abs(value)
        if value > largest:
            best, largest = k, value
    return best


def choose_exploit(params: EceParams, state: EceState, context: FloatArray, available: BoolArray) -> int:
    """The best available arm of the classified task, or the arm that is best for all tasks left."""
    task = state.place[TASK]
    if task < 0:
        arm = int(state.place[ARM])
        return arm if available[arm] else ARM_NOT_AVAILABLE
    return best_available(params.model, context, available, task)


def update_ece(params: EceParams, state: EceState, context: FloatArray, arm: int, reward: float) -> None:
    """Add the reward to the likelihoods; at the end of the test keep the tasks it allows and lay out the next."""
    if tally(params, state, context, arm, reward):
        keep_likely(params, state, arm)
        next_test(state)
        lay_out_even(params, state)


def tally(params: EceParams, state: EceState, context: FloatArray, arm: int, reward: float) -> bool:
    """Add the reward to the tally; whether this ends the test.

    All pulls of a test are of one arm. So without contexts it is enough to count rewards: a round then takes the same
    time for any number of tasks.
    """
    if state.place[DONE] < 0:
        return False
    if looks_at_contexts(params):
        weigh_at_context(params, state, context, arm, reward)
    elif params.model.family == GAUSSIAN:
        state.seen[0] += reward * reward
    else:
        state.seen[outcome_of(params.model, reward)] += 1.0
    state.total[0] += reward
    state.place[PULLED] = arm
    state.place[DONE] += 1
    return bool(state.place[DONE] == params.pulls)


def weigh_at_context(params: EceParams, state: EceState, context: FloatArray, arm: int, reward: float) -> None:
    """Add the reward to the log-likelihoods, and mark the tests that would have pulled another arm."""
    for i in range(state.fit.shape[0]):
        if state.survivors[i]:
            state.fit[i] += log_likelihood(params.model, context, i, arm, reward)
    if params.rules.shape[0] > 0:
        for t in range(state.weights.shape[0]):
            if state.weights[t] > 0.0 and arm_of(params, t, context) != arm:
                state.weights[t] = -state.weights[t]


def weigh_tally(params: EceParams, state: EceState, arm: int) -> None:
    """The log-likelihoods of all rewards of a test, up to a constant that is the same for all tasks."""
    model, pulls = params.model, float(state.place[DONE])
    for i in range(state.fit.shape[0]):
        if state.survivors[i] and model.family == GAUSSIAN:
            mean, deviation = model.means[i, arm], model.deviation[i, arm]
            squares = state.seen[0] - 2.0 * mean * state.total[0] + pulls * mean * mean
            state.fit[i] = -0.5 * squares / (deviation * deviation) - pulls * model.deviation_log[i, arm]
        elif state.survivors[i]:
            for g in range(state.seen.shape[0]):
                if state.seen[g] > 0.0:
                    likelihood = log_likelihood(model, model.top, i, arm, model.values[g])
                    state.fit[i] += state.seen[g] * likelihood


def keep_likely(params: EceParams, state: EceState, arm: int) -> None:
    """Algorithm 2, and then drop every survivor that the test separates from another survivor (NOTES 5).

    Where several rules would have pulled the same arms, a survivor is dropped that each of them separates from another.
    If none is left, keep the one that fits best.
    """
    if not looks_at_contexts(params):
        weigh_tally(params, state, arm)
    best = -1
    for i in range(state.fit.shape[0]):
        if state.survivors[i] and (best < 0 or state.fit[i] > state.fit[best]):
            best = i
    for i in range(state.fit.shape[0]):
        if state.survivors[i] and state.fit[i] < state.fit[best] - params.slack:
            state.survivors[i] = 0
    marked, left = 2, 0
    for i in range(state.fit.shape[0]):
        if state.survivors[i] and told_apart(params, state, arm, i):
            state.survivors[i] = marked
    for i in range(state.fit.shape[0]):
        if state.survivors[i] == marked:
            state.survivors[i] = 0
        left += state.survivors[i]
    if left == 0:
        state.survivors[best] = 1


def told_apart(params: EceParams, state: EceState, arm: int, task: int) -> bool:
    """Whether every test that may have been drawn separates the task from another survivor."""
    if params.rules.shape[0] == 0:
        return separated_from(params, state, arm, task) > 0
    possible = False
    for t in range(state.weights.shape[0]):
        if state.weights[t] > 0.0:
            possible = True
            if separated_from(params, state, t, task) == 0:
                return False
    return possible


def next_test(state: EceState) -> None:
    """A fresh tally."""
    state.place[TESTS] += 1
    state.place[DONE] = 0
    state.total[0] = 0.0
    for i in range(state.fit.shape[0]):
        state.fit[i] = 0.0
    for g in range(state.seen.shape[0]):
        state.seen[g] = 0.0


def lay_out_even(params: EceParams, state: EceState) -> None:
    """Weight 1 for each test that ties for the most even one; or exploit, if no test is needed.

    Most even: the greatest min over survivors i of |S-bar(i)|, the survivors that the test separates from i; ties by
    the number of pairs that it separates, of which there must be one (NOTES 5).
    """
    if settle(params, state):
        return
    M = state.survivors.shape[0]
    most_even, most_pairs = -1, 0
    for k in range(state.weights.shape[0]):
        least, pairs = M, 0
        for i in range(M):
            if state.survivors[i]:
                separated = separated_from(params, state, k, i)
                least = min(least, separated)
                pairs += separated
        state.weights[k] = 0.0
        if pairs > 0 and (least > most_even or (least == most_even and pairs > most_pairs)):
            most_even, most_pairs = least, pairs
            for earlier in range(k):
                state.weights[earlier] = 0.0
        if pairs > 0 and least == most_even and pairs == most_pairs:
            state.weights[k] = 1.0


def separated_from(params: EceParams, state: EceState, test: int, task: int) -> int:
    """|S-bar(task)|: how many survivors the test separates from the task."""
    count = 0
    for j in range(state.survivors.shape[0]):
        if state.survivors[j] and params.apart[test, task, j]:
            count += 1
    return count


def settle(params: EceParams, state: EceState) -> bool:
    """Exploit if one task is left or, where asked, if one arm is best for all that are; whether it is so."""
    left, first = 0, -1
    for i in range(state.survivors.shape[0]):
        if state.survivors[i]:
            left += 1
            if first < 0:
                first = i
    if left == 1:
        state.place[DONE], state.place[TASK] = -1, first
        return True
    if params.stop_early and params.model.theta.shape[2] == 0:
        arm = shared_arm(params.model, state.survivors)
        if arm >= 0:
            state.place[DONE], state.place[TASK], state.place[ARM] = -1, NO_TASK, arm
            return True
    return False


def shared_arm(model: Model, survivors: ByteArray) -> int:
    """The first arm that is best for every survivor, or -1."""
    for k in range(model.means.shape[1]):
        best_for_all = True
        for i in range(survivors.shape[0]):
            if survivors[i] and model.worths[i, k] < model.top[i]:
                best_for_all = False
        if best_for_all:
            return k
    return -1


def patience_ece(params: EceParams, state: EceState) -> int:
    """Pulls until the end of the test at hand."""
    return UNLIMITED if state.place[DONE] < 0 else int(params.pulls - state.place[DONE])


def commitment_ece(params: EceParams, state: EceState) -> int:
    """The task that is left."""
    return UNDECIDED if state.place[DONE] >= 0 else int(state.place[TASK])


def explain_ece(params: EceParams, state: EceState) -> Facts:
    """The tasks still possible, and the tally of the test at hand."""
    exploiting = bool(state.place[DONE] < 0)
    arm = None
    if exploiting:
        task = int(state.place[TASK])
        contextual = params.model.theta.size > 0
        arm = int(state.place[ARM]) if task < 0 else None if contextual else int(params.model.best[task])
    return Facts(
        exploiting=exploiting,
        arm=arm,
        possible=tuple(np.flatnonzero(state.survivors).tolist()),
        pulls=0 if exploiting else int(state.place[DONE]),
        total=float(state.total[0]),
        details={"tests": int(state.place[TESTS]), "pulls": params.pulls},
    )


ece = Policy(
    "ece",
    make_ece,
    init_ece,
    choose_ece,
    update_ece,
    explain_ece,
    patience_ece,
    commitment=commitment_ece,
)
