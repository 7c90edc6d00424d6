"""What it costs that outcomes come late, or in batches, where a plan looks at contexts: simulated.

A line that treats a case as one kind also counts an outcome under way of a line that treats it as another, where both
give the same arm at its context. So the exact delay of `certificates.lateness` does not hold.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from banditree.certificates.certify import certify
from banditree.certificates.lateness import Lateness, check_delay, moves_of
from banditree.certificates.outcomes import Claim
from banditree.errors import InvalidInput
from banditree.plans.machine import Machine, machine_of
from banditree.plans.plan import Plan
from banditree.policies.families import draw_reward
from banditree.policies.follow import choose_follow, init_follow, update_follow
from banditree.policies.model import best_worth, round_worth
from banditree.policies.random import reward_uniforms
from banditree.simulation.compiling import compiled_loop
from banditree.simulation.playing import World, draw_context, world_of
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.collection import Collection

RUNS = 1_000  # Cases of each task that are simulated.


class Course(NamedTuple):
    """What one case saw and was given, round by round: contexts (H, d), arms (H,), rewards (H,), regret (H,)."""

    contexts: FloatArray
    arms: IntArray
    rewards: FloatArray
    regret: FloatArray


def late_by_simulation(
    plan: Plan, collection: Collection, *, late: int = 0, batch: int = 1, horizon: int | None = None, runs: int = RUNS
) -> Lateness:
    """The loss with outcomes that come `late` rounds late, or in batches, over some cases of each task.

    >>> from banditree.protocols.build import build_plan
    >>> from banditree.tasks.instances import linear
    >>> three = linear(3, 3, 2, 0.2, seed=0)
    >>> found = late_by_simulation(build_plan(three, 50, steps=50), three, late=5, runs=200)
    >>> bool(found.regret.max() > found.at_once.max())
    True
    """
    check_delay(late, batch)
    if plan.fallback is not None or plan.outcomes_choose:
        raise InvalidInput("Late outcomes are not simulated where others than the plan choose.")
    sure = replace(collection, radius=np.zeros(())) if collection.is_estimated else collection
    certificate = certify(plan, sure, horizon, must_rest=False)
    world, machine = world_of(sure), machine_of(plan)
    course = course_of(certificate.horizon, sure)
    loop, lost = compiled_loop(follow_late), np.zeros((sure.n_tasks, runs))  # type: ignore[arg-type]
    for task in range(sure.n_tasks):
        for run in range(runs):
            loop(world, machine, init_follow(machine), course, late, batch, 0, task, run, *room_of(sure))
            lost[task, run] = course.regret.sum()
    return Lateness(
        late,
        batch,
        regret=lost.mean(axis=1),
        at_once=certificate.regret,
        moves=moves_of(machine, certificate).sum(axis=1),
        claim=Claim.ESTIMATE,
        at_estimates=collection.is_estimated,
        within=1.96 * lost.std(axis=1, ddof=1) / np.sqrt(runs),
    )


def course_of(horizon: int, collection: Collection) -> Course:
    """Room for what one case sees."""
    d = len(collection.features)
    return Course(np.zeros((horizon, d)), np.zeros(horizon, np.int64), np.zeros(horizon), np.zeros(horizon))


def room_of(collection: Collection) -> tuple[IntArray, BoolArray, BoolArray]:
    """What one run writes to besides: the pulls of each arm, and which arms may be given; which are all."""
    K = collection.n_arms
    return np.zeros(K, np.int64), np.zeros(K, np.bool_), np.ones(K, np.bool_)


def follow_late(
    world: World,
    machine: Machine,
    state: Any,
    course: Course,
    late: int,
    batch: int,
    seed: int,
    task: int,
    run: int,
    pulls: IntArray,
    only: BoolArray,
    every: BoolArray,
) -> int:
    """Follow a plan for one case and write its course; an outcome counts if its arm is the plan's once it is known."""
    model, known = world.model, 0
    for t in range(course.arms.shape[0]):
        until = t - late if batch == 1 else t - t % batch
        while known < until:
            arm = course.arms[known]
            only[arm] = True
            if choose_follow(machine, state, course.contexts[known], only, (seed, run, known)) == arm:
                update_follow(machine, state, course.contexts[known], arm, course.rewards[known])
            only[arm] = False
            known += 1
        context = course.contexts[t]
        draw_context(world, seed, task, run, t + 1, context)
        arm = choose_follow(machine, state, context, every, (seed, run, t))
        first, second = reward_uniforms(seed, task, run, arm, model.means.shape[1], int(pulls[arm]))
        pulls[arm] += 1
        course.arms[t], course.rewards[t] = arm, draw_reward(model, context, task, arm, first, second)
        course.regret[t] = best_worth(model, context, task) - round_worth(model, context, task, arm)
    return 0
