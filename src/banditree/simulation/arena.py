"""One player against the true tasks: its loop, compiled if it can be, and the runs it plays."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from banditree.errors import InvalidInput
from banditree.plans.plan import Plan
from banditree.policies.base import Outcome, Policy
from banditree.simulation.compiling import compiled_loop, specialised, with_twins
from banditree.simulation.playing import N_MARKS, World, keeps_its_plan, never_commits, play, play_in
from banditree.simulation.without_contexts import WITHOUT_CONTEXTS
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.trees.tree import LazyTree

Subject = Collection | Plan | LazyTree
LONGEST_GIST = 200  # This many letters of a message of numba are shown.
NEEDS_COUNTS = "NRT required"  # numba says this of a function that makes an array and was compiled as lean.
MOST_LOOPS = 100  # Loops that are kept: putting one together takes as long as playing 10,000 rounds of a short plan.
LEAN, COMPILED, INTERPRETED = "lean", "compiled", "interpreted"  # The modes, from fast to slow.


class SlowSimulation(UserWarning):
    """A policy that cannot be compiled and is simulated as ordinary Python."""


class Played(NamedTuple):
    """What some runs gave: regret, arms and phases (runs, rounds), marks (runs, 5); see `playing.play`."""

    regret: FloatArray
    arms: IntArray
    phases: IntArray
    marks: IntArray

    def part(self, runs: slice) -> "Played":
        """What some of the runs gave."""
        return Played(self.regret[runs], self.arms[runs], self.phases[runs], self.marks[runs])


@dataclass(frozen=True, eq=False)
class Arena:
    """All that a worker needs to play runs of one player."""

    world: World
    name: str
    policy: Policy
    params: Any
    believed_tasks: tuple[str, ...]
    seed: int
    rounds: IntArray
    mode: str = LEAN
    on_gpu: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether runs are played as ordinary Python."""
        return self.mode == INTERPRETED

    @property
    def has_contexts(self) -> bool:
        """Whether the true tasks have features; where they have none, no policy's subject has any."""
        return self.world.mean.size > 0

    def play(self, task: int, first_run: int, n_runs: int) -> Played:
        """The runs `first_run` and on, on one task."""
        loop, played = self.loop(), _unplayed(n_runs, len(self.rounds))
        for index in range(n_runs):
            outcome = loop(*self.arguments(task, first_run + index, played, index))
            if outcome < 0:
                raise InvalidInput(f"{self.name} stopped in run {first_run + index}: {Outcome(outcome).sentence()}")
        return played

    def loop(self) -> Any:
        """`play` with the policy's functions in place, compiled unless that cannot be."""
        return _loop(self.policy, self.mode, self.has_contexts)

    def arguments(self, task: int, run: int, played: Played, index: int) -> tuple[Any, ...]:
        """What the loop is called with, for one run that starts afresh."""
        state = self.policy.init(self.params)
        noted = (array[index] for array in played)
        return (self.world, self.params, state, self.seed, task, run, self.rounds, *noted)


@lru_cache(MOST_LOOPS)
def _loop(policy: Policy, mode: str, has_contexts: bool) -> Any:
    loop = specialised(play, {"play_in": loop_of(policy, has_contexts or mode == INTERPRETED)})
    return loop if mode == INTERPRETED else compiled_loop(loop, lean=mode == LEAN)


def loop_of(policy: Policy, has_contexts: bool) -> FunctionType:
    """`play_in` with the policy's functions in place, to be compiled for tasks with contexts or without."""
    functions: dict[str, Callable[..., Any]] = {
        "choose": policy.choose,
        "update": policy.update,
        "commitment": policy.commitment or never_commits,
        "replan": policy.replan or keeps_its_plan,
    }
    loop = specialised(play_in, functions)
    return loop if has_contexts else with_twins(loop, WITHOUT_CONTEXTS)


def open_arena(
    world: World,
    name: str,
    policy: Policy,
    subject: Subject,
    options: Mapping[str, Any],
    horizon: int,
    seed: int,
    rounds: IntArray,
    *,
    on_gpu: bool = False,
) -> Arena:
    """The arena in the fastest mode that works; a warning if that is the slow one."""
    params = policy.make(subject, horizon, options)
    if on_gpu:
        return Arena(world, name, policy, params, subject.tasks, seed, rounds, on_gpu=True)
    if policy.replan is not None:
        problem = "it replans in Python"
    else:
        arena = Arena(world, name, policy, params, subject.tasks, seed, rounds, LEAN)
        problem = _compile(arena)
        if NEEDS_COUNTS in problem:
            arena = replace(arena, mode=COMPILED)
            problem = _compile(arena)
        if not problem:
            return arena
    warnings.warn(
        f"{name} is simulated as ordinary Python, 100 to 1,000 times slower than compiled: {problem}.",
        SlowSimulation,
        stacklevel=3,
    )
    return Arena(world, name, policy, params, subject.tasks, seed, rounds, INTERPRETED)


def _compile(arena: Arena) -> str:
    """Compile the loop, or read it from disk; what stands in the way, if anything does."""
    from numba import typeof
    from numba.core.errors import NumbaError

    arguments = arena.arguments(0, 0, _unplayed(1, len(arena.rounds)), 0)
    try:
        arena.loop().compile(tuple(typeof(argument) for argument in arguments))  # type: ignore[no-untyped-call]
    except (NumbaError, NotImplementedError, TypeError, ValueError) as problem:
        return f"numba cannot compile it ({_gist(str(problem))})"
    return ""


def _gist(message: str) -> str:
    """The line of a message of numba that says what is wrong."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    if any(NEEDS_COUNTS in line for line in lines):
        return NEEDS_COUNTS
    telling = [line for line in lines if line and not line.startswith(("Failed in", "During", "File", "-"))]
    return (telling or lines or ["no reason given"])[0][:LONGEST_GIST]


def _unplayed(n_runs: int, n_rounds: int) -> Played:
    shape = (n_runs, n_rounds)
    marks = np.zeros((n_runs, N_MARKS), np.int64)
    return Played(np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64), marks)
