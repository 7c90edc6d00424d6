"""Replay: play a policy against the outcomes of a log, and see what it would have earned.

A round counts when the log has the outcome of the arm that the policy chooses there; otherwise it is passed over, and
the policy chooses again at the next one. Where a log has every outcome, no round is passed over. Where it has that of
one arm, this is the rejection replay of Li, Chu, Langford and Wang (2011): what the policy meets is distributed as it
would be live, if the log gave its arms at random and a case responds in the same way early and late.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.cases.table import Cases
from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.policies.base import Outcome, Policy
from banditree.policies.following import policy_for
from banditree.simulation.compiling import compiled_loop, specialised
from banditree.simulation.playing import keeps_its_plan
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.trees.tree import LazyTree

init: Any = None
choose: Any = None
update: Any = None
replan: Any = None

NOT_REACHED = -1  # In place of an arm: the policy never came to this round.


@dataclass(frozen=True, eq=False)
class Replayed:
    """What a policy earned: `total` and `rounds` (U,) of every case, and what it chose and got round by round.

    chosen: (R,), the arm in every logged round. rewards: (U, H), the reward of each round that counted, NaN after the
    last. Of a policy that draws at random these are means over runs, and `chosen` is that of the first run.
    """

    total: FloatArray
    rounds: FloatArray
    chosen: IntArray
    rewards: FloatArray


def replay_cases(
    params: Any,
    outcomes: FloatArray,
    first: IntArray,
    horizon: int,
    waits: bool,
    stand_in: FloatArray,
    contexts: FloatArray,
    available: BoolArray,
    known: BoolArray,
    rng: tuple[int, int],
    chosen: IntArray,
    rewards: FloatArray,
) -> int:
    """`replay_case` for all cases, the random numbers of case u keyed by rng[1] + u; 0, or a negative outcome."""
    for u in range(first.shape[0] - 1):
        state, key, mine = init(params), (rng[0], rng[1] + u), rewards[u]
        about = (outcomes, first[u], first[u + 1], horizon, waits, stand_in, contexts, available, known)
        ended = replay_case(params, state, *about, key, chosen, mine)
        if ended < 0:
            return int(ended)
    return 0


def replay_case(
    params: Any,
    state: Any,
    outcomes: FloatArray,
    begin: int,
    end: int,
    horizon: int,
    waits: bool,
    stand_in: FloatArray,
    contexts: FloatArray,
    available: BoolArray,
    known: BoolArray,
    rng: tuple[int, int],
    chosen: IntArray,
    rewards: FloatArray,
) -> int:
    """Play the rounds `begin` to `end` - 1 until `horizon` of them counted; how many did, or a negative outcome.

    stand_in: (R,), what a round gives whose arm is not among the `known`; NaN for nothing, and
    such a round is passed over if the policy waits, and is otherwise the last.
    """
    counted = 0
    for r in range(begin, end):
        if counted == horizon:
            break
        context = contexts[r]
        arm = choose(params, state, context, available, (rng[0], rng[1], counted + 1))
        if arm < 0:
            return int(arm)
        if math.isnan(outcomes[r, arm]) and not math.isnan(stand_in[r]):
            other = choose(params, state, context, known[r], (rng[0], rng[1], counted + 1))
            arm = other if other >= 0 else arm
        chosen[r] = arm
        reward = outcomes[r, arm]
        if not math.isnan(reward):
            update(params, state, context, arm, reward)
            replan(params, state)
            rewards[counted] = reward
            counted += 1
        elif not math.isnan(stand_in[r]):
            rewards[counted] = stand_in[r]
            counted += 1
        elif not waits:
            break
    return counted


def replay(
    subject: Plan | LazyTree | Collection,
    history: Cases,
    horizon: int,
    *,
    policy: Policy | None = None,
    waits: bool = True,
    stand_in: FloatArray | None = None,
    runs: int = 1,
    seed: int = 0,
) -> Replayed:
    """What following a plan, or a policy that knows a collection, would have earned in the first `horizon` rounds.

    The arms of `subject` and of the history must be the same, in the same order (`with_arms`). waits, stand_in: see
    `replay_case`. runs: how often the policy is played, for policies that draw at random.

    >>> from banditree.cases.table import cases_of
    >>> from banditree import ByOutcome, Give, Line, Score, make_plan
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    >>> count = Score(ByOutcome((-1, 1)), floor=1, ceil=3)
    >>> switch = [Line(Give("A"), count, below=Line(Give("B")), above=Line(Give("A")))]
    >>> history = cases_of(["ann"] * 4, ["A", "B"], [[0, 1], [0, 1], [1, 0], [0, 1]])
    >>> replay(make_plan(switch, two, horizon=4), history, 4).total.tolist()
    [2.0]
    """
    if policy is None:
        assert not isinstance(subject, Collection)
        policy = policy_for(subject)
    params = policy.make(subject, horizon, {})
    loop = _loop(policy)
    chosen = np.full((runs, len(history.outcomes)), NOT_REACHED)
    width = int(min(horizon, history.n_rounds.max()))
    rewards = np.full((runs, history.n_cases, width), np.nan)
    contexts = np.zeros((len(history.outcomes), 0)) if history.contexts is None else history.contexts
    stand_in = np.full(len(history.outcomes), np.nan) if stand_in is None else stand_in
    everything, known = np.ones(len(history.arms), bool), history.known
    for run in range(runs):
        about = (horizon, waits, stand_in, contexts, everything, known, (seed, run * history.n_cases))
        ended = loop(params, history.outcomes, history.first, *about, chosen[run], rewards[run])
        if ended < 0:
            raise InvalidInput(f"The replay stopped: {Outcome(ended).sentence()}")
    return replayed(rewards, chosen[0])


def replayed(rewards: FloatArray, chosen: IntArray) -> Replayed:
    """What was earned, from the rewards (runs, U, H) of the rounds that counted."""
    here = ~np.isnan(rewards)
    total = np.where(here, rewards, 0.0)
    often = here.sum(axis=0)
    mean = np.where(often > 0, total.sum(axis=0) / np.maximum(often, 1), np.nan)
    return Replayed(total.sum(axis=2).mean(axis=0), here.sum(axis=2).mean(axis=0), chosen, mean)


def _loop(policy: Policy) -> Any:
    """`replay_cases` with the policy's functions in place, compiled if they can be."""
    return loop_with(policy, replay_cases, replay_case)


def loop_with(policy: Policy, every: Callable[..., Any], one: Callable[..., Any]) -> Any:
    """The loop over every case, which calls `one` for each, with the functions of a policy; compiled if they can be."""
    functions: dict[str, Callable[..., Any]] = {
        "init": policy.init,
        "choose": policy.choose,
        "update": policy.update,
        "replan": policy.replan or keeps_its_plan,
        "patience": policy.patience or never,
    }
    loop = specialised(every, functions | {one.__name__: specialised(one, functions)})
    return loop if policy.replan is not None else compiled_loop(loop, lean=False)


def never(params: Any, state: Any) -> int:
    """The patience of a policy that may change its mind after every round."""
    return 1
