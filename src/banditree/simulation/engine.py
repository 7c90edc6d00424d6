"""Many runs of many policies on every task of a collection, compiled, on several threads or machines."""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.plans.plan import Plan, current_versions
from banditree.policies.base import Policy
from banditree.policies.following import policy_for
from banditree.policies.registry import policy_named
from banditree.policies.session import MAX_KEY
from banditree.progress import OnProgress, goes_on
from banditree.settings import keywords
from banditree.simulation.arena import Arena, Played, Subject, open_arena
from banditree.simulation.devices import goes_to_gpu
from banditree.simulation.playing import ALARMED, COMMITTED, COMMITTED_TASK, COMMITTED_WELL, world_of
from banditree.simulation.results import UNKNOWN, Results
from banditree.simulation.settings import SimulateSettings
from banditree.tasks.arrays import IntArray
from banditree.tasks.collection import Collection
from banditree.trees.tree import LazyTree

ALL_TASKS = -1  # The task of a batch that plays its runs on every task, as a GPU does.
N_ROUNDS = 100  # If none are chosen, 100 rounds on an even grid are recorded, and as many on a geometric one.
STEPS_PER_BATCH = 2_000_000  # Rounds of one piece of work: a fraction of a second, compiled ...
SLOW_STEPS_PER_BATCH = 20_000  # ... and fewer for a policy that is simulated as ordinary Python.


@dataclass(frozen=True)
class Player:
    """A policy with what it is given: the collection it believes in or the plan it follows, and its options."""

    name: str
    policy: Policy
    subject: Subject
    options: Mapping[str, Any] = field(default_factory=dict)


Given = str | Policy | Plan | LazyTree | Player


class Batch(NamedTuple):
    """A piece of work: some runs of one player on one task, or on ALL_TASKS."""

    player: int
    task: int
    first_run: int
    n_runs: int


@keywords(SimulateSettings)
def simulate(
    truth: Collection,
    policies: Sequence[Given] | Mapping[str, Given],
    *,
    tasks: Sequence[int] | None = None,
    believed: Collection | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Results:
    """`runs` runs of each policy on each task of `truth`, as `Results`.

    policies: names (`policies.registry`), plans, policies of your own, or `Player`s with options; a mapping gives them
    other names. They know `believed`, by default the true tasks: give an estimated collection to see what the errors
    cost, or play tasks of a `truth` that is not among what is believed. tasks: the numbers of the true tasks to play.
    settings: of `SimulateSettings`. By default 100 even and 100 geometric rounds are recorded; workers="joblib" stands
    for the backend set by `joblib.parallel_config`.
    on_progress is called after each batch; when it returns False, what is finished is returned.

    The result depends on the seed, and not on the number of workers; a GPU plays the same runs, except where the last
    digit of a logarithm decides. All policies see the same rewards: pull number n
    of an arm in a run of a task gives the same to each.

    >>> from banditree.tasks.instances import hard
    >>> results = simulate(hard(3, 6, 0.4, 0.01), ["mts", "dt-ece"], horizon=1000, runs=5)
    >>> results.policies, results.regret.shape[:3]
    (('mts', 'dt-ece'), (2, 3, 5))
    """
    how = SimulateSettings(**settings)
    horizon, runs, seed = how.horizon, how.runs, how.seed
    players = _players(policies, truth if believed is None else believed)
    task_numbers = _check(truth, players, horizon, runs, seed, tasks)
    checkpoints = _rounds(horizon, how.rounds)
    world, arenas = world_of(truth), []
    where, amount = how.device, len(task_numbers) * runs * horizon
    for player in players:  # not a comprehension: warnings point to the caller
        subject, options = player.subject, player.options
        on_gpu = goes_to_gpu(player.policy, player.name, amount, where)
        arenas.append(
            open_arena(world, player.name, player.policy, subject, options, horizon, seed, checkpoints, on_gpu=on_gpu)
        )
    batches = _batches(arenas, len(task_numbers), runs, horizon)
    results = Results.unfinished(
        policies=tuple(player.name for player in players),
        tasks=tuple(truth.tasks[i] for i in task_numbers),
        arms=truth.arms,
        rounds=checkpoints,
        runs=runs,
        settings=_settings(truth, believed, players, horizon, runs, seed),
        versions=current_versions(),
    )
    with closing(_work(arenas, task_numbers, batches, how.workers)) as work:
        for done, (batch, played) in enumerate(work, 1):
            _put(results, batch, played, arenas[batch.player])
            if not goes_on(on_progress, done, len(batches)):
                break
    return results


def _players(policies: Sequence[Given] | Mapping[str, Given], believed: Collection) -> list[Player]:
    named: list[tuple[str | None, Any]]
    named = list(policies.items()) if isinstance(policies, Mapping) else [(None, given) for given in policies]
    players = [_player(name, given, believed) for name, given in named]
    if not players:
        raise invalid("policies", "at least one", [])
    names = [player.name for player in players]
    if len(set(names)) != len(names):
        raise invalid("policies", "of different names", names, "Give them as a mapping of names to policies.")
    return players


def _player(name: str | None, given: Given, believed: Collection) -> Player:
    if isinstance(given, Player):
        return given if name is None else replace(given, name=name)
    if isinstance(given, Plan | LazyTree):
        method = given.origin.method if isinstance(given, Plan) else given.method
        return Player(name or method, policy_for(given), given)
    policy = policy_named(given) if isinstance(given, str) else given
    return Player(name or policy.name, policy, believed)


def _check(
    truth: Collection, players: list[Player], horizon: int, runs: int, seed: int, tasks: Sequence[int] | None
) -> list[int]:
    numbers = list(range(truth.n_tasks)) if tasks is None else [int(task) for task in tasks]
    for name, value, most in (("horizon", horizon, MAX_KEY), ("runs", runs, MAX_KEY // truth.n_tasks)):
        if not 1 <= value < most:
            raise invalid(name, f"a whole number in [1, {most:,})", value)
    if not 0 <= seed < MAX_KEY:
        raise invalid("seed", f"a whole number in [0, {MAX_KEY:,})", seed)
    if not numbers or len(set(numbers)) != len(numbers) or min(numbers) < 0 or max(numbers) >= truth.n_tasks:
        raise invalid("tasks", f"different numbers from 0 to {truth.n_tasks - 1}", numbers)
    for player in players:
        _check_fits(truth, player)
    return numbers


def _check_fits(truth: Collection, player: Player) -> None:
    subject = player.subject
    if len(subject.arms) != truth.n_arms:
        raise invalid(f"what {player.name} is given", f"over {truth.n_arms} arms, as the tasks are", len(subject.arms))
    if isinstance(subject, Plan) and subject.on_harm is not None:
        raise InvalidInput(
            f"{player.name} has a rule about harm, which a simulation of rewards cannot follow. Use certify."
        )
    d = len(truth.features)
    if len(subject.features) not in (0, d):
        raise invalid(f"what {player.name} is given", f"over contexts of {d} features", len(subject.features))
    mine, theirs = truth.rewards, subject.rewards
    if not theirs.accepts(mine):
        raise invalid(f"what {player.name} is given", f"about {mine.family} rewards", str(theirs.family))
    if mine.low < theirs.low or mine.high > theirs.high:
        raise invalid(
            f"what {player.name} is given", f"about rewards in [{mine.low:g}, {mine.high:g}]", (theirs.low, theirs.high)
        )


def _rounds(horizon: int, rounds: Iterable[int] | None) -> IntArray:
    if rounds is None:
        even, geometric = np.linspace(1, horizon, N_ROUNDS), np.geomspace(1, horizon, N_ROUNDS)
        chosen = np.concatenate([even, geometric]).round().astype(np.int64)
    else:
        chosen = np.array(list(rounds), dtype=np.int64)
        if chosen.size == 0 or chosen.min() < 1 or chosen.max() > horizon:
            raise invalid("rounds", f"numbers from 1 to the horizon {horizon}", chosen.tolist())
    return np.union1d(chosen, [horizon])


def _batches(arenas: list[Arena], n_tasks: int, runs: int, horizon: int) -> list[Batch]:
    """The work in the order of the runs, so that policies and tasks are level if it is cut short; a GPU's first."""
    batches = []
    for player, arena in enumerate(arenas):
        if arena.on_gpu:
            from banditree.simulation.gpu import pieces

            batches += [Batch(player, ALL_TASKS, start, size) for start, size in pieces(arena, n_tasks, runs)]
            continue
        steps = SLOW_STEPS_PER_BATCH if arena.is_slow else STEPS_PER_BATCH
        size = max(1, min(runs, steps // horizon))
        for task in range(n_tasks):
            starts = range(0, runs, size)
            batches += [Batch(player, task, start, min(size, runs - start)) for start in starts]
    return sorted(batches, key=lambda batch: (batch.task != ALL_TASKS, batch.first_run, batch.task, batch.player))


def _work(
    arenas: list[Arena], task_numbers: list[int], batches: list[Batch], workers: int | Literal["joblib"] | None
) -> Generator[tuple[Batch, Played]]:
    """Batches as they are finished, in any order."""
    for batch in batches:
        if batch.task == ALL_TASKS:
            from banditree.simulation.gpu import play_on_gpu

            yield batch, play_on_gpu(arenas[batch.player], task_numbers, batch.first_run, batch.n_runs)
    jobs = [(batch, arenas[batch.player], task_numbers[batch.task]) for batch in batches if batch.task != ALL_TASKS]
    if workers == "joblib":
        from joblib import Parallel, delayed

        yield from Parallel(return_as="generator_unordered")(delayed(_play)(*job) for job in jobs)
        return
    n_threads = os.cpu_count() or 1 if workers is None else workers
    if n_threads < 1:
        raise invalid("workers", 'at least 1, or "joblib"', workers)
    if n_threads == 1:
        yield from (_play(*job) for job in jobs)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        for future in as_completed([pool.submit(_play, *job) for job in jobs]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _play(batch: Batch, arena: Arena, task: int) -> tuple[Batch, Played]:
    return batch, arena.play(task, batch.first_run, batch.n_runs)


def _put(results: Results, batch: Batch, played: Played, arena: Arena) -> None:
    tasks = range(len(results.tasks)) if batch.task == ALL_TASKS else [batch.task]
    for index, task in enumerate(tasks):
        part = slice(index * batch.n_runs, (index + 1) * batch.n_runs)
        _put_task(results, batch._replace(task=task), played.part(part), arena)


def _put_task(results: Results, batch: Batch, played: Played, arena: Arena) -> None:
    place = (batch.player, batch.task, slice(batch.first_run, batch.first_run + batch.n_runs))
    committed, task = played.marks[:, COMMITTED], played.marks[:, COMMITTED_TASK]
    results.regret[place] = played.regret
    results.arm[place] = played.arms
    results.phase[place] = played.phases
    results.committed[place] = committed
    results.alarmed[place] = played.marks[:, ALARMED]
    results.arm_right[place] = np.where(committed > 0, played.marks[:, COMMITTED_WELL], UNKNOWN)
    name = results.tasks[batch.task]
    if name in arena.believed_tasks:
        right = task == arena.believed_tasks.index(name)
        results.task_right[place] = np.where((committed > 0) & (task >= 0), right, UNKNOWN)


def _settings(
    truth: Collection, believed: Collection | None, players: list[Player], horizon: int, runs: int, seed: int
) -> dict[str, Any]:
    return {
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "truth": f"{truth} ({truth.provenance})",
        "believed": "the truth" if believed is None else f"{believed} ({believed.provenance})",
        "policies": {
            player.name: {"policy": player.policy.name, "options": dict(player.options)} for player in players
        },
    }
