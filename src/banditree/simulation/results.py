"""What a simulation gave: regret at chosen rounds, with confidence bands, and when each run committed."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from banditree.errors import InvalidInput, invalid
from banditree.simulation.playing import ADAPTIVE_PHASE, EXPLOIT_PHASE, EXPLORE_PHASE, FALLBACK_PHASE
from banditree.tasks.arrays import FloatArray, IntArray

UNKNOWN = -1  # Neither right nor wrong: there is no commitment, or nothing to compare it with.
MOST_BYTES = 8 * 2**30  # Larger results are refused.
N_RESAMPLES = 2_000  # The resamples that the bootstrap draws.


class BandKind(StrEnum):
    """How a confidence band is found: from the standard error over runs, or by resampling runs."""

    NORMAL = "normal"
    BOOTSTRAP = "bootstrap"


class Phase(IntEnum):
    """What a policy is doing: finding out, exploiting for good, fallen back after an alarm, or all at once."""

    EXPLORE = EXPLORE_PHASE
    EXPLOIT = EXPLOIT_PHASE
    FALLBACK = FALLBACK_PHASE
    ADAPTIVE = ADAPTIVE_PHASE


@dataclass(frozen=True, eq=False)
class Results:
    """P policies x T tasks x R runs, at C recorded rounds; unfinished runs have a regret of nan.

    regret (P, T, R, C): pseudo-regret, the sum of the gaps of the pulled arms (NOTES 8). arm, phase (P, T, R, C): of
    that round. committed, alarmed (P, T, R): the round since which the choice in force at the end is made for good, or
    the first by the fallback; 0: none.
    task_right, arm_right (P, T, R): 1 if the classified task has the name of the true one, if its arm is a best one; 0
    if not; UNKNOWN if there is none to compare with.
    """

    policies: tuple[str, ...]
    tasks: tuple[str, ...]
    arms: tuple[str, ...]
    rounds: IntArray
    regret: FloatArray
    arm: npt.NDArray[np.int32]
    phase: npt.NDArray[np.int8]
    committed: IntArray
    alarmed: IntArray
    task_right: npt.NDArray[np.int8]
    arm_right: npt.NDArray[np.int8]
    settings: dict[str, Any]
    versions: dict[str, str]

    @classmethod
    def unfinished(
        cls,
        policies: tuple[str, ...],
        tasks: tuple[str, ...],
        arms: tuple[str, ...],
        rounds: IntArray,
        runs: int,
        settings: dict[str, Any],
        versions: dict[str, str],
    ) -> "Results":
        """Results with no run finished, for the engine to fill."""
        runs_shape = (len(policies), len(tasks), runs)
        shape = (*runs_shape, len(rounds))
        if (size := int(np.prod(shape, dtype=float)) * 13) > MOST_BYTES:
            raise invalid(
                "the number of recorded values",
                f"at most {MOST_BYTES // 2**30} GiB in all",
                f"{size / 2**30:.1f} GiB for {shape}",
                "Record fewer rounds, or simulate fewer runs at a time.",
            )
        return cls(
            policies,
            tasks,
            arms,
            rounds,
            np.full(shape, np.nan),
            np.full(shape, -1, np.int32),
            np.zeros(shape, np.int8),
            np.zeros(runs_shape, np.int64),
            np.zeros(runs_shape, np.int64),
            np.full(runs_shape, UNKNOWN, np.int8),
            np.full(runs_shape, UNKNOWN, np.int8),
            settings,
            versions,
        )

    @property
    def finished(self) -> npt.NDArray[np.bool_]:
        """Which runs were played to the end, (P, T, R)."""
        return np.asarray(~np.isnan(self.regret[..., -1]))

    def final(self, policy: str) -> FloatArray:
        """The regret at the last round (T, R) of one policy; nan where a run is unfinished."""
        return np.asarray(self.regret[self.number(policy), :, :, -1])

    def number(self, policy: str) -> int:
        """The position of a policy by its name."""
        if policy not in self.policies:
            raise invalid("policy", f"one of {', '.join(self.policies)}", policy)
        return self.policies.index(policy)

    def whole_runs(self, policy: str) -> FloatArray:
        """The regret (T, R', C) of the runs that are finished on every task."""
        number = self.number(policy)
        whole = self.finished[number].all(axis=0)
        if not whole.any():
            raise InvalidInput(f"No run of {policy} is finished on every task. Let the simulation go on for longer.")
        return np.asarray(self.regret[number][:, whole])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from banditree.figures.notebook import results_bundle

        return results_bundle(self)


@dataclass(frozen=True, eq=False)
class Band:
    """A regret curve with its confidence band: mean, low and high (C,), and the task (C,) it is of, -1 for all."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    task: IntArray


def mean_band(
    results: Results,
    policy: str,
    kind: BandKind = BandKind.NORMAL,
    level: float = 0.95,
    seed: int = 0,
    shares: FloatArray | None = None,
) -> Band:
    """The regret of a policy averaged over tasks and runs. Runs are what is independent: tasks are averaged first.

    shares: (M,) of the tasks, by which each counts; all alike if omitted.

    >>> from banditree.simulation.engine import simulate
    >>> from banditree.tasks.instances import rand
    >>> band = mean_band(simulate(rand(3, 4, 0.2), ["uniform"], horizon=100, runs=20), "uniform")
    >>> bool(band.low[-1] < band.mean[-1] < band.high[-1])
    True
    """
    by_run = np.average(results.whole_runs(policy), axis=0, weights=shares)  # (R, C)
    mean = by_run.mean(axis=0)
    if BandKind(kind) is BandKind.NORMAL:
        half = _normal_half_width(by_run, level)
        low, high = mean - half, mean + half
    else:
        low, high = _percentiles(_resampling(len(by_run), seed) @ by_run, level)
    return Band(mean, low, high, np.full(mean.shape, -1))


def worst_band(
    results: Results, policy: str, kind: BandKind = BandKind.NORMAL, level: float = 0.95, seed: int = 0
) -> Band:
    """The regret, averaged over runs, of the task on which it is highest at each round: Eq. (1).

    The normal band is that of the task which came out worst. The bootstrap takes the worst task of each resample,
    and so counts that the worst of many noisy averages looks worse than it is.
    """
    regret = results.whole_runs(policy)  # (T, R, C)
    by_task = regret.mean(axis=1)
    task = by_task.argmax(axis=0)
    mean = by_task.max(axis=0)
    if BandKind(kind) is BandKind.NORMAL:
        halves = np.stack([_normal_half_width(runs, level) for runs in regret])
        half = np.take_along_axis(halves, task[None], axis=0)[0]
        return Band(mean, mean - half, mean + half, task)
    weights = _resampling(regret.shape[1], seed)
    worst = weights @ regret[0]
    for runs in regret[1:]:
        np.maximum(worst, weights @ runs, out=worst)
    low, high = _percentiles(worst, level)
    return Band(mean, low, high, task)


def _normal_half_width(runs: FloatArray, level: float) -> FloatArray:
    from scipy.special import ndtri

    if not 0 < level < 1:
        raise invalid("level", "between 0 and 1", level)
    if len(runs) < 2:
        return np.full(runs.shape[1], np.inf)
    return np.asarray(ndtri((1 + level) / 2) * runs.std(axis=0, ddof=1) / np.sqrt(len(runs)))


def _resampling(n_runs: int, seed: int) -> FloatArray:
    """Weights (B, R) of the runs in each resample."""
    drawn = np.random.default_rng(seed).multinomial(n_runs, np.full(n_runs, 1 / n_runs), N_RESAMPLES)
    return np.asarray(drawn / n_runs)


def _percentiles(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


@dataclass(frozen=True)
class Summary:
    """One policy in numbers: regret at the end with 95% bands, and how its runs committed (None if it does not)."""

    policy: str
    runs: int
    mean: float
    mean_low: float
    mean_high: float
    worst: float
    worst_low: float
    worst_high: float
    worst_task: str
    committed: float | None
    committed_at: float | None
    task_right: float | None
    arm_right: float | None
    alarmed: float


def summaries(results: Results, kind: BandKind = BandKind.NORMAL, shares: FloatArray | None = None) -> list[Summary]:
    """A `Summary` of each policy: committed, task_right, arm_right and alarmed are shares, committed_at a median.

    Policies without a run that is finished on every task are omitted. shares: (M,), what each task counts in a mean.
    """
    begun = np.any(results.finished.all(axis=1), axis=1)
    whole = [policy for policy, some in zip(results.policies, begun, strict=True) if some]
    return [_summary(results, policy, kind, shares) for policy in whole]


def _summary(results: Results, policy: str, kind: BandKind, shares: FloatArray | None) -> Summary:
    mean, worst = mean_band(results, policy, kind, shares=shares), worst_band(results, policy, kind)
    number = results.number(policy)
    finished = results.finished[number]
    committed = results.committed[number][finished]
    commits = bool((results.phase[number][finished] != Phase.ADAPTIVE).any())
    return Summary(
        policy=policy,
        runs=int(finished.all(axis=0).sum()),
        mean=float(mean.mean[-1]),
        mean_low=float(mean.low[-1]),
        mean_high=float(mean.high[-1]),
        worst=float(worst.mean[-1]),
        worst_low=float(worst.low[-1]),
        worst_high=float(worst.high[-1]),
        worst_task=results.tasks[int(worst.task[-1])],
        committed=float((committed > 0).mean()) if commits else None,
        committed_at=float(np.median(committed[committed > 0])) if (committed > 0).any() else None,
        task_right=_share(results.task_right[number][finished]),
        arm_right=_share(results.arm_right[number][finished]),
        alarmed=float((results.alarmed[number][finished] > 0).mean()),
    )


def _share(right: npt.NDArray[np.int8]) -> float | None:
    known = right[right != UNKNOWN]
    return float(known.mean()) if known.size else None
