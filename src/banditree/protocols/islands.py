"""Islands: searches side by side that exchange the best they found; in threads, or where joblib runs them.

How many there are is a setting and not the number of cores, so that the plan depends on neither cores nor machines.
Compiled by numba: import this module where it is used, not at the top of another one.
"""

import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from banditree.errors import invalid, lacking
from banditree.progress import Clock, OnProgress, Progress
from banditree.protocols.draft import Draft, drafted
from banditree.protocols.moves import Moves
from banditree.protocols.objectives import Limits
from banditree.protocols.search import POWERS, Exact, go_on, search
from banditree.protocols.tables import Line, Tables
from banditree.protocols.worlds import World
from banditree.tasks.arrays import IntArray
from banditree.tasks.one_thread import in_one_thread

EXCHANGES = (
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
)  # After these shares of the chains every island goes on from the best of all.
LOOK = 0.1  # While islands work, progress is reported every this many seconds.
Workers = int | Literal["joblib"] | None
Told = tuple[int, IntArray, IntArray, int]  # The root, the lines, the links and the rule of a draft.


@dataclass(frozen=True)
class Island:
    """What one island does between two exchanges, as it is sent to wherever it is done.

    begun: a draft to begin with. judged: the world by which drafts are judged; `world` is what was given. since, until:
    which part of the chains.
    """

    tables: Tables
    world: World
    judged: World
    limits: Limits
    power: float
    seed: tuple[int, ...]
    steps: int
    seconds: float | None
    begun: Told | None
    since: float
    until: float


def search_islands(
    moves: Moves, exact: Exact | None, begun: Draft | None, n: int, workers: Workers, seed: int
) -> Draft:
    """The best draft that n islands find with the steps of `moves`, which they share; see `search.search`."""
    threads = workers if isinstance(workers, int) else os.cpu_count() or 1
    if threads < 1:
        raise invalid("workers", 'at least 1, or "joblib"', workers)
    steps, turns = moves.last - moves.steps, 1 if workers == "joblib" else -(-n // threads)
    seconds = None if moves.clock is None else moves.clock.seconds * steps / moves.clock.steps / turns
    tables = replace(moves.tables, known={}) if workers == "joblib" else moves.tables  # what travels is small
    since, best = 0.0, begun
    for until in EXCHANGES:
        share = until - since
        long = max(1, int(share * steps / n)), None if seconds is None else share * seconds
        told = None if best is None else (best.root, best.lines, best.links, best.rule)
        about = (tables, moves.given, moves.world, moves.limits, moves.power)
        islands = [Island(*about, (seed, number, int(100 * since)), *long, told, since, until) for number in range(n)]
        for found in _found(moves, islands, workers, threads):
            moves.accept(_drafted(moves, found))
        since, best = until, moves.best
        if moves.stopped_early or moves.objective(best) == 0:
            break
        if exact is not None:
            moves.correct(exact(best))
            exact = None
    moves.sharpen(POWERS[-1][1])
    moves.steps = moves.last
    return moves.best


def _drafted(moves: Moves, told: Told) -> Draft:
    root, lines, links, rule = told
    every, where = [Line(*line) for line in lines.tolist()], [(low, high) for low, high in links.tolist()]
    return drafted(moves.tables, root, every, where, rule, moves.limits.links_back)


def _work(island: Island, on_progress: OnProgress | None = None) -> Told:
    """The best draft of one island."""
    clock = None if island.seconds is None else Clock(island.seconds, steps=island.steps)
    moves = Moves(
        island.tables,
        island.world,
        island.limits,
        power=island.power,
        seed=island.seed,
        steps=island.steps,
        on_progress=on_progress,
        clock=clock,
    )
    moves.judge_in(island.judged)
    begun = None if island.begun is None else _drafted(moves, island.begun)
    if begun is None or island.since == 0:
        best = search(moves, None, begun, island.until)
    else:
        best = go_on(moves, begun, island.since, island.until)
    return best.root, best.lines, best.links, best.rule


def _found(moves: Moves, islands: list[Island], workers: Workers, threads: int) -> list[Told]:
    """What the islands find, in their order."""
    if workers != "joblib":
        with in_one_thread():  # around all threads: each would undo it for the others
            return _in_threads(moves, islands, threads)
    try:
        from joblib import Parallel, delayed
    except ImportError:
        raise lacking("workers='joblib' needs joblib", "logs") from None
    found = list(Parallel()(delayed(_work)(island) for island in islands))
    moves.count(sum(island.steps for island in islands), _worst(moves))
    return found


def _in_threads(moves: Moves, islands: list[Island], threads: int) -> list[Told]:
    """The same in threads, which end when nobody wants more."""
    before, reached, best = moves.steps, [0] * len(islands), [_worst(moves)] * len(islands)

    def listening(number: int) -> OnProgress:
        def report(progress: Progress) -> bool:
            reached[number] = progress.done
            best[number] = np.inf if progress.best is None else progress.best
            return not moves.stopped_early

        return report

    with ThreadPoolExecutor(min(threads, len(islands))) as pool:
        work = [pool.submit(_work, island, listening(number)) for number, island in enumerate(islands)]
        waiting = set(work)
        try:
            while waiting:
                waiting = wait(waiting, LOOK, FIRST_COMPLETED)[1]
                if any(reached):
                    moves.begin_clock()  # by now what islands need is compiled
                moves.count(before + sum(reached) - moves.steps, min(best))
        except BaseException:
            moves.stopped_early = True  # the threads end soon, whatever happened here
            raise
    moves.count(before + sum(island.steps for island in islands) - moves.steps, min(best))
    return [one.result() for one in work]


def _worst(moves: Moves) -> float:
    return float(moves.world.by_group(moves.best.regret).max())
