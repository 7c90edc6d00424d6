"""What a simulation gave: regret at chosen rounds, with confidence bands, and when each run committed."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from banditree.errors import invalid
from banditree.tasks.arrays import FloatArray, IntArray

UNKNOWN = -1  # neither right nor wrong: no commitment, or none to compare with
MOST_BYTES = 8 * 2**30


class Phase(IntEnum):
    """What a policy is doing: finding out, exploiting for good, fallen back after an alarm, or all at once."""

    EXPLORE = 0
    EXPLOIT = 1
    FALLBACK = 2
    ADAPTIVE = 3


@dataclass(frozen=True, eq=False)
class Results:
    """P policies x T tasks x R runs, at C recorded rounds; unfinished runs have a regret of nan.

    regret (P, T, R, C): pseudo-regret, the sum of the gaps of the pulled arms (NOTES 8). arm, phase (P, T, R, C): of
    that round. committed, alarmed (P, T, R): the round of the first choice made for good, or by the fallback; 0: none.
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
