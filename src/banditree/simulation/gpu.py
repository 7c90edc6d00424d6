"""The same runs on a GPU: one thread per run, from the very functions that the session runs.

The state of a run is a named tuple of small arrays. On the GPU the states of all runs of a block lie interleaved, so
that neighbouring threads read neighbouring words: each array of the state becomes a view with strides into a pool that
has one more axis, the thread. Small states live in shared memory, next to the arithmetic; large ones in the GPU's own
memory. Imported where a GPU is asked for: numba-cuda takes a while to load.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

import numba.core.config as numba_config
import numpy as np
from numba import cuda as numba_cuda

from banditree.errors import InvalidInput
from banditree.policies.base import Outcome
from banditree.policies.families import LEAST_WEIGHT, multiply
from banditree.simulation.arena import Arena, Played, loop_of
from banditree.simulation.compiling import COMPILING, fingerprint, specialised, with_callees
from banditree.simulation.playing import N_MARKS, Room
from banditree.simulation.states import WORD, bytes_of, layout_of, mapped, resetting, taking
from banditree.tasks.arrays import FloatArray

cuda: Any = numba_cuda  # Neither has types, and both say at run time what they hold.
config: Any = numba_config

BLOCKS = (128, 64)  # Threads of a block: the most whose states fit into its shared memory.
BLOCK_SHARED = 48 * 1024  # Bytes of shared memory that every GPU gives to a block.
MOST_SHARED = 220_000  # Bytes of shared memory that the blocks of one multiprocessor may take together.
MOST_THREADS = 2_048  # Threads of one multiprocessor.
REGISTERS = 96  # Registers of a thread: fewer let more threads run at once, which hides waiting for memory ...
FEW_REGISTERS = 64  # ... and are enough for a policy whose state is a few words.
SMALL_STATE = 64  # Bytes of such a state.
MOST_BLOCKS = 32  # Blocks of one multiprocessor.
MOST_ROUNDS = 5_000_000_000  # Rounds of one piece of work: well under a second, so that progress can be seen.
MEMORY_SHARE = 0.5  # Share of the GPU's free memory that one piece may take.


@dataclass(frozen=True)
class Grid:
    """How a kernel is launched, and where the states of its runs live."""

    blocks: int
    block: int
    shared: bool

    @property
    def threads(self) -> int:
        """Runs that are played at the same time."""
        return self.blocks * self.block


def pieces(arena: Arena, n_tasks: int, runs: int) -> Iterator[tuple[int, int]]:
    """(first run, number of runs), of all tasks together, of pieces of work that fit into the GPU's memory."""
    horizon = int(arena.rounds[-1])
    room = cuda.current_context().get_memory_info().free * MEMORY_SHARE - _pool_bytes(arena)
    per_run = n_tasks * len(arena.rounds) * (8 + 2 + 1) + n_tasks * (8 * N_MARKS + 8)
    if room < per_run:
        raise InvalidInput(
            f"The GPU has too little free memory for {arena.name}: one run of every task needs {per_run:,} bytes, and "
            f"the states {_pool_bytes(arena):,}. Record fewer rounds, or simulate on the CPU (device='cpu')."
        )
    size = max(1, int(min(runs, room / per_run, MOST_ROUNDS / (n_tasks * horizon))))
    yield from ((start, min(size, runs - start)) for start in range(0, runs, size))


def play_on_gpu(arena: Arena, tasks: Sequence[int], first_run: int, n_runs: int) -> Played:
    """The runs `first_run` and on, of each of `tasks`: what `Arena.play` gives, for one task behind the other."""
    n, n_rounds = len(tasks) * n_runs, len(arena.rounds)
    state = arena.policy.init(arena.params)
    grid = _grid(state)
    registers = FEW_REGISTERS if bytes_of(state) <= SMALL_STATE else REGISTERS
    block = grid.block if grid.shared else None
    kernel = _kernel(arena.policy, arena.has_contexts, layout_of(state), block, registers)
    pool = None if grid.shared else mapped(state, lambda a: cuda.device_array((*a.shape, grid.threads), a.dtype))
    features, n_arms = arena.world.mean.shape[0], arena.world.model.means.shape[1]
    room = Room(
        cuda.device_array((features, grid.threads), np.float64),
        cuda.device_array((n_arms, grid.threads), np.int64),
        cuda.to_device(np.ones(n_arms, np.bool_)),
    )
    noted = (
        cuda.device_array((n, n_rounds), np.float64),
        cuda.device_array((n, n_rounds), np.int16),
        cuda.device_array((n, n_rounds), np.int8),
        cuda.to_device(np.zeros((n, N_MARKS), np.int64)),
    )
    outcomes = cuda.device_array(n, np.int64)
    world, params, fresh = _on_gpu(arena)
    kernel[grid.blocks, grid.block](
        world,
        params,
        fresh if pool is None else pool,
        fresh,
        room,
        arena.seed,
        cuda.to_device(np.asarray(tasks, np.int64)),
        first_run,
        n_runs,
        cuda.to_device(np.asarray(arena.rounds)),
        *noted,
        outcomes,
    )
    stopped = outcomes.copy_to_host()
    if (stopped < 0).any():
        index = int((stopped < 0).argmax())
        sentence = Outcome(int(stopped[index])).sentence()
        raise InvalidInput(f"{arena.name} stopped in run {first_run + index % n_runs}: {sentence}")
    return Played(*(array.copy_to_host() for array in noted))


def _on_gpu(arena: Arena) -> tuple[Any, Any, Any]:
    state = arena.policy.init(arena.params)
    return mapped(arena.world, cuda.to_device), mapped(arena.params, cuda.to_device), mapped(state, cuda.to_device)


def _pool_bytes(arena: Arena) -> int:
    state = arena.policy.init(arena.params)
    grid = _grid(state)
    held = 0 if grid.shared else bytes_of(state)
    room = 8 * (arena.world.mean.shape[0] + arena.world.model.means.shape[1])
    return int(grid.threads * (held + room))


def _grid(state: Any) -> Grid:
    """As many blocks as the GPU runs at once; each thread plays several runs, one after another."""
    size = max(bytes_of(state), WORD)
    multiprocessors = getattr(cuda.get_current_device(), "MULTIPROCESSOR_COUNT", 1)  # the simulator has no such number
    fitting = [block for block in BLOCKS if block * size <= BLOCK_SHARED]
    if not fitting:
        return Grid(multiprocessors * MOST_THREADS // BLOCKS[0], BLOCKS[0], shared=False)
    block = fitting[0]
    blocks = min(MOST_BLOCKS, MOST_THREADS // block, MOST_SHARED // (block * size))
    return Grid(multiprocessors * blocks, block, shared=True)


def multiply_by_fours(weights: FloatArray, likelihoods: FloatArray) -> float:
    """`multiply`, to the bit, in a form in which a GPU waits for memory once for four weights."""
    # Four partial sums, as in `multiply`, added in the same order at the end: floating-point sums depend on their
    # order.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = weights.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        w, x = weights[i] * likelihoods[i], weights[i + 1] * likelihoods[i + 1]
        y, z = weights[i + 2] * likelihoods[i + 2], weights[i + 3] * likelihoods[i + 3]
        w, x, y, z = max(w, LEAST_WEIGHT), max(x, LEAST_WEIGHT), max(y, LEAST_WEIGHT), max(z, LEAST_WEIGHT)
        weights[i], weights[i + 1], weights[i + 2], weights[i + 3] = w, x, y, z
        a, b, c, d = a + w, b + x, c + y, d + z
    for i in range(whole, weights.shape[0]):
        weights[i] = max(weights[i] * likelihoods[i], LEAST_WEIGHT)
        a += weights[i]
    return float((a + b) + (c + d))


TWINS: dict[Any, Any] = {multiply: multiply_by_fours}  # The one function that a GPU runs in another form.


@cache
def _device(function: FunctionType) -> Any:
    """`function` as one that runs on the GPU, with all that it calls."""
    return _compiled(with_callees(TWINS.get(function, function), _device), device=True, forceinline=True)


take: Any = None
reset: Any = None
play: Any = None


def kernel(
    world: Any,
    params: Any,
    pool: Any,
    fresh: Any,
    rooms: Room,
    seed: int,
    tasks: Any,
    first_run: int,
    n_runs: int,
    rounds: Any,
    regret: Any,
    arms: Any,
    phases: Any,
    marks: Any,
    outcomes: Any,
) -> None:
    """The runs of one thread; `take`, `reset` and `play` are put in place for each policy."""
    # A thread plays every `threads`-th run and uses one state and one room for all of them, made fresh before each, so
    # memory does not grow with the number of runs. Every run writes to rows of its own: threads share nothing else.
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    state = take(pool, thread, cuda.threadIdx.x)
    room = Room(rooms.context[:, thread], rooms.pulls[:, thread], rooms.available)
    for index in range(thread, tasks.shape[0] * n_runs, threads):
        reset(state, fresh)
        for k in range(room.pulls.shape[0]):
            room.pulls[k] = 0
        for f in range(room.context.shape[0]):
            room.context[f] = world.mean[f]
        task, run = tasks[index // n_runs], first_run + index % n_runs
        outcomes[index] = play(
            world,
            params,
            state,
            room,
            seed,
            task,
            run,
            rounds,
            regret[index],
            arms[index],
            phases[index],
            marks[index],
        )


@cache
def _kernel(policy: Any, has_contexts: bool, layout: tuple[Any, ...], block: int | None, registers: int) -> Any:
    """The kernel of one policy and one form of its state; a second process reads it from disk (`compiled_loop`)."""
    functions: dict[str, Callable[..., Any]] = {
        "take": taking(layout, block),
        "reset": resetting(layout),
        "play": loop_of(policy, has_contexts),
    }
    runs = specialised(kernel, functions)
    copy = with_callees(runs, _device, f"kernel_{registers}_{COMPILING}_{fingerprint(runs)}")
    try:
        return _compiled(copy, max_registers=registers, cache=True)
    except RuntimeError:  # no folder that can be written to
        return _compiled(copy, max_registers=registers)


def _compiled(function: Callable[..., Any], *, device: bool = False, **options: Any) -> Any:
    """`function` compiled for the GPU, once: linking again what is all inlined already would only take time.

    numba's simulator of a GPU takes no options.
    """
    return cuda.jit(function, device=device, **({} if config.ENABLE_CUDASIM else {"lto": False, **options}))
