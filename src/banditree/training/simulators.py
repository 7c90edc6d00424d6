"""Algorithm 3: a collection from simulators of its tasks, by a fixed number of samples or until it is known."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from banditree.errors import InvalidInput, invalid, lacking
from banditree.progress import OnProgress, goes_on
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Feature, draw_contexts
from banditree.tasks.rewards import BERNOULLI, Family, Rewards
from banditree.tasks.separation import closest_rows
from banditree.training.collection import to_collection
from banditree.training.estimates import FAILURE_PROBABILITY, Estimates, estimate
from banditree.training.statistics import Statistics, merge_statistics

BLOCK = 20_000  # One job makes this many draws.
SHIFT_DRAWS = 100  # The shift is the mean of this many draws.
FIRST_DRAWS = 64  # Sequential training begins with this many draws of each task and arm.
SHARE = 8  # NOTES 4: training ends when all means are within an eighth of the separation, as plans need them.


class Simulator(Protocol):
    """One task that can be tried at will: anything that draws contexts and, for contexts and an arm, rewards."""

    def contexts(self, n: int, rng: np.random.Generator) -> FloatArray:
        """`n` contexts, shape (n, d); (n, 0) if there are none."""

    def rewards(self, contexts: FloatArray, arm: int, rng: np.random.Generator) -> FloatArray:
        """One reward (n,) of `arm` for each context."""


@dataclass(frozen=True)
class TaskSimulator:
    """A task of a known collection as a simulator.

    >>> coin = TaskSimulator(Collection.bernoulli([[0.0, 1.0], [0.5, 0.5]]), 0)
    >>> rng = np.random.default_rng(0)
    >>> coin.rewards(coin.contexts(3, rng), 1, rng).tolist()
    [1.0, 1.0, 1.0]
    """

    collection: Collection
    task: int

    def contexts(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Contexts of the collection."""
        known = self.collection.contexts
        return np.zeros((n, 0)) if known is None else draw_contexts(known, n, rng)

    def rewards(self, contexts: FloatArray, arm: int, rng: np.random.Generator) -> FloatArray:
        """Rewards around the prediction at each context, or around the mean of the arm."""
        own = self.collection.parameters[self.task, arm]
        parameters = np.broadcast_to(own, (len(contexts), *own.shape))
        if self.collection.theta is not None:
            parameters = self.collection.rewards.at(contexts @ self.collection.theta[self.task, arm])
        return self.collection.rewards.sample(parameters, rng)


class GymnasiumSimulator:
    """A Gymnasium-style environment as a simulator: `reset(seed=...)` shows the context, one `step(arm)` the reward.

    A reward belongs to the context it was drawn for: the environment is reset to the same seed before its step.
    """

    def __init__(self, environment: Any, has_contexts: bool = True) -> None:
        self.environment, self.has_contexts = environment, has_contexts
        self._seeds: IntArray = np.zeros(0, np.int64)

    def contexts(self, n: int, rng: np.random.Generator) -> FloatArray:
        """The observations after `n` resets."""
        self._seeds = rng.integers(0, 2**31, n)
        seen = [np.ravel(self.environment.reset(seed=int(seed))[0]) for seed in self._seeds]
        return np.array(seen, dtype=float) if self.has_contexts else np.zeros((n, 0))

    def rewards(self, contexts: FloatArray, arm: int, rng: np.random.Generator) -> FloatArray:
        """The rewards of one step from each of the contexts drawn last."""
        if len(contexts) != len(self._seeds):
            raise invalid("contexts", f"the {len(self._seeds)} drawn last", len(contexts))
        rewards = np.empty(len(contexts))
        for index, seed in enumerate(self._seeds):
            self.environment.reset(seed=int(seed))
            rewards[index] = self.environment.step(arm)[1]
        return rewards


def lemma_samples(
    *,
    horizon: int,
    n_tasks: int,
    n_arms: int,
    n_features: int,
    sigma: float,
    separation: float,
    gap: float,
    share: int = 4,
    printed: bool = False,
) -> int:
    """N_est of Lemma 4.1: samples per task and arm after which E|x'theta_hat - x'theta| <= min(gap/2, separation/4).

    N_est = 160 sigma^2 d log(4HMK) / min(gap^2, separation^2), each with probability at least 1 - 1/(2HMK); d = 1 needs
    240 in place of 160 unless `printed`, and at least d samples are needed (NOTES 10). Means known within
    separation/8, which plans ask for, take share=8: four times as many.
    gap: Delta, the smallest positive gap between the best arm of a task and another (NOTES 13).

    >>> lemma_samples(horizon=1000, n_tasks=10, n_arms=20, n_features=3, sigma=0.5, separation=0.4, gap=0.4)
    10195
    """
    for name, value in (("sigma", sigma), ("separation", separation), ("gap", gap)):
        if not (value > 0 or (value == 0 and name == "sigma")):
            raise invalid(name, "above 0", value)
    constant = 160 if n_features >= 2 or printed else 240
    log = math.log(4 * horizon * n_tasks * n_arms)
    needed = constant * (share / 4) ** 2 * sigma**2 * n_features * log / min(gap, separation) ** 2
    return max(n_features, math.ceil(needed))


def mean_samples(*, horizon: int, n_tasks: int, n_arms: int, variance: float, separation: float, share: int = 4) -> int:
    """Samples per task and arm after which the average reward is within separation/share of its mean (NOTES 10).

    2 s^2 log(4HMK) / (separation/share)^2; the printed share of 4 gives 32 s^2 log(4HMK) / separation^2.

    >>> mean_samples(horizon=1000, n_tasks=10, n_arms=20, variance=0.25, separation=0.4)
    680
    """
    log = math.log(4 * horizon * n_tasks * n_arms)
    return math.ceil(2 * variance * log / (separation / share) ** 2)


class Job(NamedTuple):
    """One block of draws of one task and arm."""

    task: int
    arm: int
    block: int
    n: int


def train(
    simulators: Sequence[Simulator],
    n_samples: int | IntArray,
    *,
    arms: Sequence[str],
    tasks: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    seed: int = 0,
    first_block: int = 0,
    workers: int | Literal["joblib"] = 1,
    on_progress: OnProgress | None = None,
) -> Statistics:
    """The statistics of `n_samples` (a number, or one per task and arm) draws of every arm of every simulator.

    Every block of draws has its own random numbers, keyed by (seed, task, arm, block), and blocks are added up in
    order, so the result does not depend on the workers: how many processes, or "joblib" for the backend set by
    `joblib.parallel_config`, such as a Dask cluster.
    on_progress is told the draws so far; returning False stops after the blocks at hand.

    >>> coins = Collection.bernoulli([[0.9, 0.2], [0.1, 0.6]], arms=["A", "B"])
    >>> statistics = train([TaskSimulator(coins, 0), TaskSimulator(coins, 1)], 1000, arms=coins.arms)
    >>> statistics.counts.tolist()
    [[1000, 1000], [1000, 1000]]
    """
    if not simulators or not arms:
        raise InvalidInput("Training needs at least one simulator and one arm. Give both.")
    wanted = np.broadcast_to(np.asarray(n_samples, dtype=np.int64), (len(simulators), len(arms)))
    if wanted.min() < 0 or wanted.max() == 0:
        raise invalid("n_samples", "at least 1", int(wanted.min()))
    shift = _find_shift(simulators[0], seed)
    jobs = list(_jobs(wanted, first_block))
    p = len(shift)
    count = np.zeros(wanted.shape, dtype=np.int64)
    sums, products = np.zeros((*wanted.shape, p)), np.zeros((*wanted.shape, p, p))
    done = 0
    for job, (block_sums, block_products) in zip(jobs, _run(simulators, jobs, shift, seed, workers), strict=False):
        count[job.task, job.arm] += job.n
        sums[job.task, job.arm] += block_sums
        products[job.task, job.arm] += block_products
        done += job.n
        if not goes_on(on_progress, done, int(wanted.sum())):
            break
    task, arm = np.nonzero(count)
    names = [f"x{index + 1}" for index in range(p - 1)] if features is None else features
    return Statistics(
        tuple(f"task {index + 1}" for index in range(len(simulators))) if tasks is None else tuple(tasks),
        tuple(arms),
        tuple(Feature(str(name)) for name in names),
        task,
        arm,
        count[task, arm],
        sums[task, arm],
        products[task, arm],
        shift,
    )


def _jobs(wanted: IntArray, first_block: int) -> Iterator[Job]:
    for task, arm in np.argwhere(wanted > 0):
        left, block = int(wanted[task, arm]), first_block
        while left > 0:
            yield Job(int(task), int(arm), block, min(left, BLOCK))
            left, block = left - BLOCK, block + 1


def _find_shift(simulator: Simulator, seed: int) -> FloatArray:
    contexts = simulator.contexts(SHIFT_DRAWS, np.random.default_rng([seed, 2**31]))
    return np.array([*(float(f"{mean:.6g}") for mean in contexts.mean(axis=0)), 0.0])


def _run(
    simulators: Sequence[Simulator], jobs: list[Job], shift: FloatArray, seed: int, workers: int | Literal["joblib"]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The sums of every job, in the order of the jobs."""
    if workers == 1:
        return (draw_block(simulators[job.task], job, shift, seed) for job in jobs)
    try:
        from joblib import Parallel, delayed
    except ImportError:
        raise lacking("More than one worker needs joblib", "logs") from None
    parallel = Parallel(n_jobs=None if workers == "joblib" else workers, return_as="generator")
    found: Iterator[tuple[FloatArray, FloatArray]] = parallel(
        delayed(draw_block)(simulators[job.task], job, shift, seed) for job in jobs
    )
    return found


def draw_block(simulator: Simulator, job: Job, shift: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Sums (p,) and products (p, p) of one block of draws, less the shift."""
    rng = np.random.default_rng([seed, job.task, job.arm, job.block])
    contexts = np.asarray(simulator.contexts(job.n, rng), dtype=float)
    rewards = np.asarray(simulator.rewards(contexts, job.arm, rng), dtype=float)
    rows = np.column_stack([contexts, rewards]) - shift
    if not np.isfinite(rows).all():
        raise InvalidInput(f"Simulator {job.task + 1} drew something that is not a finite number (arm {job.arm + 1}).")
    return rows.sum(axis=0), rows.T @ rows


class Ending(StrEnum):
    """Why sequential training ended."""

    KNOWN = "every estimated mean is within an eighth of the separation"
    LIMIT = "the limit on samples was reached"
    STOPPED = "it was stopped"


@dataclass(frozen=True, eq=False)
class Training:
    """What sequential training found: the collection so far, the estimates behind it, and why it ended."""

    collection: Collection
    estimates: Estimates
    statistics: Statistics
    separation: float
    ending: Ending


def train_sequentially(
    simulators: Sequence[Simulator],
    *,
    arms: Sequence[str],
    tasks: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    rewards: Rewards | Family = BERNOULLI,
    intercept: bool = False,
    failure_probability: float = FAILURE_PROBABILITY,
    max_samples: int = 1_000_000,
    seed: int = 0,
    workers: int | Literal["joblib"] = 1,
    on_progress: OnProgress | None = None,
) -> Training:
    """A collection whose means are within an eighth of its separation, without knowing that separation in advance.

    Samples of every (task, arm) not yet known well enough are doubled until all are (NOTES 10). Bounds hold at all
    looks at once: look number j spends failure_probability / (j (j + 1)).
    max_samples: of one task and arm. on_progress is told the draws, the total as far as it can be foreseen.

    >>> coins = Collection.bernoulli([[0.9, 0.2], [0.1, 0.6]], arms=["A", "B"])
    >>> found = train_sequentially([TaskSimulator(coins, 0), TaskSimulator(coins, 1)], arms=coins.arms)
    >>> bool((abs(found.collection.means - coins.means) <= found.collection.radius).all())
    True
    """
    statistics: Statistics | None = None
    wanted = np.full((len(simulators), len(arms)), FIRST_DRAWS, dtype=np.int64)
    look, block = 1, 0
    while True:
        new = train(
            simulators, wanted, arms=arms, tasks=tasks, features=features, seed=seed, first_block=block, workers=workers
        )
        statistics = new if statistics is None else merge_statistics(statistics, new)
        share = failure_probability / (look * (look + 1))
        found = estimate(statistics, rewards, intercept=intercept, failure_probability=share)
        collection = to_collection(found, statistics, provenance="estimated from simulators")
        closest = closest_rows(collection.means)
        separation = 0.0 if closest is None else closest[0]
        short = collection.radius > separation / SHARE
        stopped = not goes_on(on_progress, statistics.n_rows, _foreseen(statistics, collection, separation))
        ending = Ending.KNOWN if not short.any() else Ending.STOPPED if stopped else None
        wanted = np.where(short, np.minimum(statistics.counts, max_samples - statistics.counts), 0)
        if ending is None and wanted.max() <= 0:
            ending = Ending.LIMIT
        if ending is not None:
            return Training(collection, found, statistics, separation, ending)
        block += int(np.ceil(statistics.counts.max() / BLOCK))
        look += 1


def _foreseen(statistics: Statistics, collection: Collection, separation: float) -> int:
    """How many draws it will have taken, as radii shrink with the square root of the draws."""
    if separation <= 0:
        return 2 * statistics.n_rows
    times = np.maximum((collection.radius * SHARE / separation) ** 2, 1.0)
    return int((statistics.counts * times).sum())
