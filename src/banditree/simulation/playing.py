"""One run of one policy on one task: the loop that the simulator compiles for each policy.

`choose`, `update`, `commitment` and `replan` are the policy's own functions, put in place by `compiling.specialised`.
"""

from typing import Any, NamedTuple

import numpy as np

from banditree.policies.base import ADAPTIVE, FALLBACK, NO_TASK, UNDECIDED
from banditree.policies.families import draw_reward
from banditree.policies.model import Model, best_worth, model_of, round_worth
from banditree.policies.random import CONTEXT_STREAM, normal, pcg4d, reward_uniforms, unit
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray, frozen
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import ContextKind

choose: Any = None
update: Any = None
commitment: Any = None
replan: Any = None

EXPLORE_PHASE, EXPLOIT_PHASE, FALLBACK_PHASE, ADAPTIVE_PHASE = 0, 1, 2, 3
NEVER = 0  # In place of a round that did not come; rounds are counted from 1.
COMMITTED, COMMITTED_TASK, COMMITTED_WELL, ALARMED, COMMITTED_ARM = 0, 1, 2, 3, 4  # The entries of `marks`.
N_MARKS = 5
NO_GAP = 1e-12  # A gap up to this is a rounding error.


class World(NamedTuple):
    """The true tasks, and how contexts come about: mean (d,) + factor (d, d) times a normal vector, or rows (n, d).

    per_case: (d,), which features are drawn once for a whole run.
    """

    model: Model
    mean: FloatArray
    factor: FloatArray
    rows: FloatArray
    per_case: BoolArray


def world_of(truth: Collection) -> World:
    """The arrays of the true tasks. Contexts of which only the moments are known are drawn as normal ones."""
    contexts, model = truth.contexts, model_of(truth)
    no_rows = frozen(np.zeros((0, 0)), float)
    if contexts is None:
        return World(model, frozen([], float), no_rows, no_rows, frozen([], bool))
    per_case = frozen(contexts.per_case, bool)
    if contexts.rows is not None:
        return World(model, contexts.mean, no_rows, contexts.rows, per_case)
    if contexts.kind is ContextKind.FIXED:
        return World(model, contexts.mean, frozen(np.zeros_like(contexts.covariance), float), no_rows, per_case)
    values, vectors = np.linalg.eigh(contexts.covariance)
    factor = frozen(vectors * np.sqrt(np.maximum(values, 0.0)), float)
    return World(model, contexts.mean, factor, no_rows, per_case)


class Room(NamedTuple):
    """What one run writes to beside the policy's state: the context (d,) and the pulls of each arm (K,).

    available: (K,), read only; in a simulation every arm always is.
    """

    context: FloatArray
    pulls: IntArray
    available: BoolArray


def play(
    world: World,
    params: Any,
    state: Any,
    seed: int,
    task: int,
    run: int,
    rounds: IntArray,
    regret: FloatArray,
    arms: IntArray,
    phases: IntArray,
    marks: IntArray,
) -> int:
    """`play_in` a room of its own."""
    n_arms = world.model.means.shape[1]
    room = Room(world.mean.copy(), np.zeros(n_arms, np.int64), np.ones(n_arms, np.bool_))
    return int(play_in(world, params, state, room, seed, task, run, rounds, regret, arms, phases, marks))


def play_in(
    world: World,
    params: Any,
    state: Any,
    room: Room,
    seed: int,
    task: int,
    run: int,
    rounds: IntArray,
    regret: FloatArray,
    arms: IntArray,
    phases: IntArray,
    marks: IntArray,
) -> int:
    """Play `rounds[-1]` rounds in a given room; at each of `rounds` (C,), note the pseudo-regret, arm and phase.

    regret, arms, phases: (C,), written. marks: (5,), written: the round of the commitment in force at the end, its
    task, whether its arm is a best one, the round of the alarm, the arm of the commitment. Returns 0, or the negative
    outcome of a policy that would not choose.
    """
    # At the start of round t: `total` is the regret of the rounds before, `before` the arm of the last of them,
    # pulls[k] how often arm k was given in them, and rounds[place] the next round to note. Contexts are keyed by the
    # round and rewards by (arm, how often it was given), so a run is the same whatever thread plays it, and two
    # policies that give an arm for the n-th time get one reward.
    model, context, pulls, available = world.model, room.context, room.pulls, room.available
    case = run * model.means.shape[0] + task
    total, place, before = 0.0, 0, 0
    for t in range(1, rounds[-1] + 1):
        if model.theta.shape[2] > 0:
            draw_context(world, seed, task, run, t, context)
        standing = commitment(params, state)
        arm = choose(params, state, context, available, (seed, case, t))
        if arm < 0:
            return int(arm)
        gap = best_worth(model, context, task) - round_worth(model, context, task, arm)
        total += gap + model.change if t > 1 and arm != before else gap
        before = arm
        if standing != ADAPTIVE:
            mark(marks, standing, t, arm, gap)
        first, second = reward_uniforms(seed, task, run, arm, model.means.shape[1], int(pulls[arm]))
        reward = draw_reward(model, context, task, arm, first, second)
        pulls[arm] += 1
        update(params, state, context, arm, reward)
        replan(params, state)
        if t == rounds[place]:
            regret[place], arms[place], phases[place] = total, arm, phase_of(standing)
            place += 1
    return 0


def phase_of(standing: int) -> int:
    """The phase that goes with what a policy's `commitment` returned."""
    if standing == UNDECIDED:
        return EXPLORE_PHASE
    if standing == ADAPTIVE:
        return ADAPTIVE_PHASE
    return FALLBACK_PHASE if standing == FALLBACK else EXPLOIT_PHASE


def mark(marks: IntArray, standing: int, t: int, arm: int, gap: float) -> None:
    """Note the first round of the alarm, or of the commitment in force: a protocol may leave one for another."""
    if standing == FALLBACK:
        if marks[ALARMED] == NEVER:
            marks[ALARMED] = t
    elif standing == UNDECIDED:
        marks[COMMITTED] = NEVER
    elif (
        marks[COMMITTED] == NEVER
        or marks[COMMITTED_TASK] != standing
        or (standing == NO_TASK and marks[COMMITTED_ARM] != arm)
    ):
        marks[COMMITTED] = t
        marks[COMMITTED_TASK] = standing
        marks[COMMITTED_ARM] = arm
        marks[COMMITTED_WELL] = 1 if gap <= NO_GAP else 0


def draw_context(world: World, seed: int, task: int, run: int, t: int, context: FloatArray) -> None:
    """Write the context of round `t` of one run into `context` (d,); what belongs to the case is that of round 0."""
    d, some = context.shape[0], False
    for f in range(d):
        some = some or world.per_case[f]
    if world.rows.shape[0] > 0:
        row = drawn_row(world, seed, task, run, t)
        own = drawn_row(world, seed, task, run, 0) if some else row
        for f in range(d):
            context[f] = world.rows[own if world.per_case[f] else row, f]
        return
    for f in range(d):
        context[f] = world.mean[f]
    for g in range(d):
        deviate = drawn_deviate(seed, run, task * d + g, t)
        lasting = drawn_deviate(seed, run, task * d + g, 0) if some else deviate
        for f in range(d):
            context[f] += world.factor[f, g] * (lasting if world.per_case[f] else deviate)


def drawn_row(world: World, seed: int, task: int, run: int, t: int) -> int:
    """The number of the row of the sample that round `t` of one run meets."""
    x, y, _z, _w = pcg4d(seed ^ CONTEXT_STREAM, run, task, t)
    return int(unit(x, y) * world.rows.shape[0])


def drawn_deviate(seed: int, run: int, place: int, t: int) -> float:
    """The normal deviate of one direction of the contexts in round `t`."""
    x, y, z, w = pcg4d(seed ^ CONTEXT_STREAM, run, place, t)
    return normal(unit(x, y), unit(z, w))


def never_commits(params: Any, state: Any) -> int:
    """The commitment of a policy that makes none."""
    return ADAPTIVE


def keeps_its_plan(params: Any, state: Any) -> None:
    """The replanning of a policy that needs none."""
