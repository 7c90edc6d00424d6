"""Playing a policy on rounds with contexts of their own: they are passed over until the log gave what is asked for.

A round that did is taken with a chance that makes all rounds as likely to be taken, whatever their context: the least
chance of the options that the policy ever gives, over that of the given one (rejection sampling). So a case comes to
its round t if t of its rounds are taken, which has a binomial chance.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from banditree.cases.design import Design
from banditree.cases.table import Cases
from banditree.errors import InvalidInput
from banditree.evaluation.queues import NOTHING, Shown
from banditree.evaluation.replay import loop_with, replay
from banditree.evaluation.supply import chain_of, contradict, least_chances, shares
from banditree.policies.base import Outcome, Policy
from banditree.policies.follow import UNLIMITED
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

init: Any = None
choose: Any = None
update: Any = None
replan: Any = None
patience: Any = None


def pass_cases(
    params: Any,
    reward: FloatArray,
    given: IntArray,
    taken: BoolArray,
    order: IntArray,
    first: IntArray,
    contexts: FloatArray,
    available: BoolArray,
    rng: tuple[int, int],
    row: IntArray,
    asked: IntArray,
    needs: IntArray,
) -> int:
    """`pass_case` for all cases, the random numbers of case u keyed by rng[1] + u; 0, or a negative outcome."""
    for u in range(first.shape[0] - 1):
        state, key, n = init(params), (rng[0], rng[1] + u), min(first[u + 1] - first[u], row.shape[1])
        mine = order[first[u] : first[u + 1]]
        own = (given, taken, mine, contexts, available, key, row[u, :n], asked[u, :n], needs[u])
        ended = pass_case(params, state, reward, *own)
        if ended < 0:
            return int(ended)
    return 0


def pass_case(
    params: Any,
    state: Any,
    reward: FloatArray,
    given: IntArray,
    taken: BoolArray,
    order: IntArray,
    contexts: FloatArray,
    available: BoolArray,
    rng: tuple[int, int],
    row: IntArray,
    asked: IntArray,
    needs: IntArray,
) -> int:
    """Play one case to the end of `row`, or until its rounds have run out; 0, or a negative outcome.

    Once the policy will not change its mind, the rounds that are left answer in turn, again and again. needs: how many
    rounds must have been taken.
    """
    place, settled = 0, -1
    for t in range(needs.shape[0]):
        needs[t] = t + 1 if settled < 0 else needs[t - 1]
        if t >= row.shape[0]:
            continue
        if settled < 0 and patience(params, state) >= UNLIMITED:
            settled = place
        looked = 0
        while looked <= order.shape[0]:
            if place == order.shape[0]:
                if settled < 0:
                    return 0
                place = settled
            if place == order.shape[0]:
                return 0
            r = order[place]
            arm = choose(params, state, contexts[r], available, (rng[0], rng[1], t + 1))
            if arm < 0:
                return int(arm)
            place += 1
            looked += 1
            if taken[r] and arm == given[r]:
                row[t], asked[t] = r, arm
                update(params, state, contexts[r], arm, reward[r])
                replan(params, state)
                break
        if row[t] < 0:
            return 0
    return 0


def passed(
    subject: Any, policy: Policy, cases: Cases, design: Design, horizon: int, passes: int, seed: int
) -> Iterator[tuple[Shown, FloatArray]]:
    """What a policy met in each pass over all cases, and the chance (U, T) that a case comes to each round.

    Every pass takes the rounds of a case in another order. Chances that contradict each other come from a log that
    followed from what came before for sure: it is passed over once, in its own order, and nothing is lost by chance.
    """
    params, loop = policy.make(subject, horizon, {}), loop_with(policy, pass_cases, pass_case)
    U, T, in_order = cases.n_cases, int(np.minimum(cases.n_rounds, horizon).max()), contradict(cases)
    contexts = np.zeros((len(cases.arm), 0)) if cases.contexts is None else cases.contexts
    least, kept = np.ones(U), cases.told.astype(float)
    if not in_order:
        used = np.unique(replay(subject, cases, horizon, policy=policy, seed=seed).chosen)
        least, kept = taking(cases, design, used[used >= 0])
    for number in range(1 if in_order else passes):
        rng, order = np.random.default_rng([seed, 6, number]), np.arange(len(kept))
        if not in_order:
            order = np.lexsort((rng.random(len(kept)), cases.owner))
        shown = Shown(np.full((U, T), NOTHING), np.full((U, T), NOTHING), np.zeros((U, T), np.int64))
        taken = rng.random(len(kept)) < kept
        about = (cases.reward, cases.arm, taken, order, cases.first, contexts, np.ones(len(cases.arms), bool))
        ended = loop(params, *about, (seed, number * U), *shown)
        if ended < 0:
            raise InvalidInput(f"The replay stopped: {Outcome(ended).sentence()}")
        yield shown, np.ones((U, T)) if in_order else _coming(cases, least, shown.needs)


def taking(cases: Cases, design: Design, used: IntArray) -> tuple[FloatArray, FloatArray]:
    """The chance (U,) with which any round of a case is taken, and that (R,) of a round that gave what is asked for."""
    if cases.chances is not None:
        least, chance = least_chances(cases)[:, used].min(axis=1), cases.chances
    elif design is Design.STICKY:
        chain = chain_of(cases)
        before = np.where(cases.place > 0, np.roll(cases.arm, 1), len(cases.arms))
        least, chance = np.full(cases.n_cases, chain[:, used].min()), chain[before, cases.arm]
    else:
        share = shares(cases)
        least, chance = np.full(cases.n_cases, share[used].min()), share[cases.arm]
    kept = np.where(cases.told, least[cases.owner] / np.maximum(chance, least[cases.owner]), 0.0)
    return least, np.nan_to_num(kept)


def _coming(cases: Cases, least: FloatArray, needs: IntArray) -> FloatArray:
    """The chance (U, T) that as many of a case's rounds are taken: a binomial tail."""
    from scipy.special import betainc

    left = np.bincount(cases.owner[cases.told], minlength=cases.n_cases)[:, None] - needs + 1
    return np.asarray(np.where(left > 0, betainc(needs, np.maximum(left, 1), least[:, None]), 0.0))
