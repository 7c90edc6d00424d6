"""Many cases with states, played by plans and by policies that know the kinds; the very functions of a live session,
compiled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.errors import invalid
from banditree.plans.plan import Plan
from banditree.policies.by_state import STATE_POLICIES
from banditree.policies.following import session_policy
from banditree.policies.random import REWARD_STREAM, pcg4d, unit
from banditree.simulation.compiling import compiled_loop, specialised
from banditree.tasks.arrays import BoolArray, FloatArray, frozen
from banditree.tasks.optimal_states import missed, optimal
from banditree.tasks.states import StateCollection, with_its_states


@dataclass(frozen=True, eq=False)
class StateResults:
    """What simulated cases lost: loss (P, M, R), of R cases of every task under every policy, over H rounds; loss_at
    (P, M, H + 1), their average after each round. `worst`: of the worst task on average, with its standard error."""

    policies: tuple[str, ...]
    tasks: tuple[str, ...]
    loss: FloatArray
    loss_at: FloatArray

    @property
    def means(self) -> FloatArray:
        """(P, M)."""
        return np.asarray(self.loss.mean(axis=2))

    @property
    def errors(self) -> FloatArray:
        """The standard errors of the means (P, M)."""
        return np.asarray(self.loss.std(axis=2, ddof=1) / np.sqrt(self.loss.shape[2]))

    @property
    def worst(self) -> dict[str, float]:
        """What each policy loses in its worst task."""
        return {name: float(mean.max()) for name, mean in zip(self.policies, self.means, strict=True)}


def simulate_states(
    truth: StateCollection,
    policies: Mapping[str, Plan | str],
    horizon: int,
    *,
    runs: int = 1000,
    seed: int = 0,
    believed: StateCollection | None = None,
) -> StateResults:
    """What plans and policies lose on drawn cases of every task, against its optimal policy from the same start.

    policies: plans, or "mts" (posterior sampling), "mle" (the likeliest kind) or "qmdp", all of which know the kinds
    of `believed` (the true ones by default). The loss of a round is what its option gives up against the optimal
    policy with the rounds that are left, which has less noise than rewards and the same mean.

    >>> from banditree.tasks.state_instances import rand_states
    >>> found = simulate_states(rand_states(2, 2, 2), {"mts": "mts", "mle": "mle"}, 50, runs=20)
    >>> found.loss.shape, found.worst["mts"] > 0
    ((2, 2, 20), True)
    """
    truth = with_its_states(truth)
    for name, value in (("horizon", horizon), ("runs", runs)):
        if value < 1:
            raise invalid(name, "at least 1", value)
    known = truth if believed is None else with_its_states(believed)
    costs = missed(truth, optimal(truth, horizon), horizon)
    P, M = len(policies), truth.n_tasks
    loss, course = np.zeros((P, M, runs)), np.zeros((P, M, horizon + 1))
    for p, given in enumerate(policies.values()):
        policy = session_policy(given) if isinstance(given, Plan) else _named(given)
        params = policy.make(given if isinstance(given, Plan) else known, horizon, {})
        functions = {"init": policy.init, "choose": policy.choose, "update": policy.update}
        loop = compiled_loop(specialised(play_case, functions))
        every = np.ones(truth.n_arms, dtype=bool)
        for i in range(M):
            world = (truth.start, truth.rates[i], truth.moves[i], np.ascontiguousarray(costs[:, i]))
            for run in range(runs):
                state = policy.init(params)
                loss[p, i, run] = loop(params, state, every, *world, (seed, i, run), course[p, i])
    course /= runs
    return StateResults(tuple(policies), truth.tasks, frozen(loss, float), frozen(course, float))


def _named(name: str) -> Any:
    if name not in STATE_POLICIES:
        raise invalid("a policy for cases with states", f"a plan, or one of {', '.join(STATE_POLICIES)}", name)
    return STATE_POLICIES[name]


def choose(params: Any, state: Any, context: FloatArray, available: BoolArray, rng: tuple[int, int, int]) -> int:
    """Stands for the function of the policy."""
    raise NotImplementedError


def update(params: Any, state: Any, context: FloatArray, arm: int, reward: float) -> None:
    """Stands for the function of the policy."""
    raise NotImplementedError


def play_case(
    params: Any,
    state: Any,
    available: BoolArray,
    start: FloatArray,
    rates: FloatArray,
    moves: FloatArray,
    costs: FloatArray,
    key: tuple[int, int, int],
    course: FloatArray,
) -> float:
    """The loss of one case of one task; adds what is lost after each round to the course. key: (seed, task, run)."""
    horizon, context, lost = costs.shape[0], np.zeros(1), 0.0
    here = place_in(start, uniform_of(key, 0, 0))
    for t in range(horizon):
        context[0] = here
        arm = choose(params, state, context, available, (key[0], key[1] * 1000003 + key[2], t + 1))
        lost += costs[horizon - 1 - t, here, arm]
        course[t + 1] += lost
        reward = 1.0 if uniform_of(key, t + 1, 1) < rates[here, arm] else 0.0
        update(params, state, context, arm, reward)
        here = place_in(moves[here, arm], uniform_of(key, t + 1, 2))
    return lost


def uniform_of(key: tuple[int, int, int], round_: int, use: int) -> float:
    """A number in [0, 1) of one round of a case; all policies see the same."""
    x, y, _z, _w = pcg4d(key[0] ^ REWARD_STREAM, key[1] * 4 + use, key[2], round_)
    return unit(x, y)


def place_in(chances: FloatArray, left: float) -> int:
    """The first place at which the sum of the chances exceeds `left`, or the last that has a chance."""
    last = 0
    for s in range(chances.shape[0]):
        if chances[s] > 0.0:
            last = s
            left -= chances[s]
            if left < 0.0:
                return s
    return last
