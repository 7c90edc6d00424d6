"""Playing a policy on cases of which every round shows one option: the outcomes of each option wait in a queue.

When the policy asks for an option, the case answers with the next outcome of that option's queue, in a random order;
it is shown until a queue that is asked has run out. What the policy meets is distributed as it would be live if a case
responds alike early and late (Mandel, Liu, Brunskill and Popovic 2016). No round is thrown away because the log gave
something else than the policy asks for just then, and every case is compared with itself.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from banditree.cases.table import Cases
from banditree.errors import InvalidInput
from banditree.evaluation.replay import loop_with
from banditree.policies.base import Outcome, Policy
from banditree.policies.follow import UNLIMITED
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray

init: Any = None
choose: Any = None
update: Any = None
replan: Any = None
patience: Any = None

NOTHING = -1  # In place of a round: the policy was not shown so far.


class Shown(NamedTuple):
    """What a policy met in one pass over all cases: row (U, T), the round of the log that answered, NOTHING after the
    last; asked (U, T): the arm that was asked for, that of the end included. needs (U, T, K): how many outcomes of each
    arm the queues needed to hold."""

    row: IntArray
    asked: IntArray
    needs: IntArray

    @property
    def changes(self) -> BoolArray:
        """Whether (U,) a case was shown another option than its first one."""
        given = np.where(self.row == NOTHING, NOTHING, self.asked)
        return np.asarray(((given != given[:, :1]) & (given != NOTHING)).any(axis=1))


def play_cases(
    params: Any,
    reward: FloatArray,
    queue: IntArray,
    ends: IntArray,
    rounds: IntArray,
    contexts: FloatArray,
    available: BoolArray,
    rng: tuple[int, int],
    row: IntArray,
    asked: IntArray,
    needs: IntArray,
) -> int:
    """`play_case` for all cases, the random numbers of case u keyed by rng[1] + u; 0, or a negative outcome."""
    for u in range(rounds.shape[0]):
        state, n, key = init(params), rounds[u], (rng[0], rng[1] + u)
        own = (ends[u, :-1], ends[u, 1:], contexts[u], available, key, row[u, :n], asked[u, :n], needs[u, :n])
        ended = play_case(params, state, reward, queue, *own)
        if ended < 0:
            return int(ended)
    return 0


def play_case(
    params: Any,
    state: Any,
    reward: FloatArray,
    queue: IntArray,
    begin: IntArray,
    end: IntArray,
    context: FloatArray,
    available: BoolArray,
    rng: tuple[int, int],
    row: IntArray,
    asked: IntArray,
    needs: IntArray,
) -> int:
    """Play one case to the end of `row`, or until a queue has run out; 0, or a negative outcome.

    Once the policy will give one option for good, the outcomes that are left of it answer in turn, again and again.
    """
    place, settled = begin.copy(), -1
    for t in range(row.shape[0]):
        arm = choose(params, state, context, available, (rng[0], rng[1], t + 1))
        if arm < 0:
            return int(arm)
        asked[t] = arm
        if t > 0:
            needs[t] = needs[t - 1]
        if settled < 0:
            needs[t, arm] += 1
            if patience(params, state) >= UNLIMITED:
                settled = place[arm]
        elif place[arm] == end[arm]:
            place[arm] = settled
        if place[arm] == end[arm]:
            break
        row[t] = queue[place[arm]]
        place[arm] += 1
        update(params, state, context, arm, reward[row[t]])
        replan(params, state)
    return 0


def played(
    subject: Any, policy: Policy, cases: Cases, kept: Iterator[BoolArray], rounds: IntArray, horizon: int, seed: int
) -> Iterator[Shown]:
    """Passes of a policy over the cases, each (U,) for its first `rounds`; kept: which rounds (R,) wait in the queues.

    Each pass puts the queues into another random order.
    """
    params, loop = policy.make(subject, horizon, {}), loop_with(policy, play_cases, play_case)
    U, K, T = cases.n_cases, len(cases.arms), int(rounds.max())
    reward, everything, contexts = cases.reward, np.ones(K, bool), np.zeros((U, 0))
    if subject.features and cases.contexts is not None:  # those of a case stay the same
        contexts = cases.contexts[cases.first[:-1]]
    for number, keep in enumerate(kept):
        queue, ends = _queues(cases, keep, np.random.default_rng([seed, 6, number]))
        shown = Shown(np.full((U, T), NOTHING), np.full((U, T), NOTHING), np.zeros((U, T, K), np.int64))
        ended = loop(params, reward, queue, ends, rounds, contexts, everything, (seed, number * U), *shown)
        if ended < 0:
            raise InvalidInput(f"The replay stopped: {Outcome(ended).sentence()}")
        yield shown


def _queues(cases: Cases, keep: BoolArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The rounds that are kept, by case and arm, in a random order, and where (U, K + 1) each case's queues end."""
    K, rows = len(cases.arms), np.flatnonzero(keep)
    group = cases.owner[rows] * K + cases.arm[rows]
    order = np.lexsort((rng.random(len(rows)), group))
    ends = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=cases.n_cases * K))])
    return rows[order], ends[np.arange(cases.n_cases)[:, None] * K + np.arange(K + 1)]
