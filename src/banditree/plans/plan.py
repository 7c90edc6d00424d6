"""Plan: an exploration plan as flat arrays, self-contained and frozen."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property

import numpy as np

from banditree.tasks.arrays import ByteArray, FloatArray, IntArray, frozen
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Rewards
from banditree.version import __version__

NONE = -1


class BoxKind(IntEnum):
    """What a box asks for: a fixed number of pulls, pulls until a score is reached, or one arm for good."""

    FIXED = 0
    SCORE = 1
    EXPLOIT = 2


@dataclass(frozen=True)
class Vocabulary:
    """The user's words for an arm, a task, a reward of 1 and of 0, a reward, and the verb of a pull."""

    arm: str = "arm"
    task: str = "task"
    success: str = "success"
    failure: str = "failure"
    reward: str = "reward"
    give: str = "Give"


@dataclass(frozen=True, eq=False)
class Plan:
    """N boxes, starting at box 0; where a case stands is (box, pulls, total). Arrays are of length N.

    kind: a `BoxKind`. arm: the arm to pull; EXPLOIT: the arm for good, or NONE for "argmax of x'theta of the task".
    low, high: the next box; NONE exactly for EXPLOIT.
    pulls, threshold (FIXED): after n pulls, a total of at most the threshold leads to low, else to high.
    cuts (N, B-1), points (N, B) (SCORE): the reward's bin gives integer points; floor, ceil: score <= -floor leads to
    low, score >= ceil to high; the tally is fresh on entry. task (EXPLOIT): the classified task, or NONE.
    survivors: packed bits (N, ceil(M/8)) of the tasks still possible, or None. theta: (M, K, d), or None.
    """

    kind: IntArray
    arm: IntArray
    low: IntArray
    high: IntArray
    pulls: IntArray
    threshold: FloatArray
    cuts: FloatArray
    points: IntArray
    floor: IntArray
    ceil: IntArray
    task: IntArray
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    rewards: Rewards
    horizon: int
    method: str
    survivors: ByteArray | None = None
    theta: FloatArray | None = None
    features: tuple[Feature, ...] = ()
    separation: float | None = None
    radius: float = 0.0
    seed: int | None = None
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    versions: dict[str, str] = field(default_factory=lambda: current_versions())

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, frozen(value, value.dtype))
        from banditree.plans.checks import check_plan

        check_plan(self)

    @property
    def n_boxes(self) -> int:
        """N, tests and leaves together."""
        return len(self.kind)

    @property
    def n_tests(self) -> int:
        """How many boxes are tests."""
        return int((self.kind != BoxKind.EXPLOIT).sum())

    @cached_property
    def has_links_back(self) -> bool:
        """Whether some box leads back to an earlier one."""
        number = np.arange(self.n_boxes)
        tests = self.kind != BoxKind.EXPLOIT
        return bool(((self.low <= number) | (self.high <= number))[tests].any())

    @cached_property
    def depth(self) -> int:
        """D, the most tests on a path, not counting links back."""
        return _longest(self, np.ones(self.n_boxes, dtype=np.int64))

    @cached_property
    def most_pulls(self) -> int | None:
        """The most pulls before an arm is used for good, or None if a score box or a link back sets no limit."""
        if self.has_links_back or (self.kind == BoxKind.SCORE).any():
            return None
        return _longest(self, self.pulls)

    def survivors_at(self, box: int) -> IntArray | None:
        """The tasks still possible at `box`, or None if the plan does not say."""
        if self.survivors is None:
            return None
        bits = np.unpackbits(self.survivors[box], count=len(self.tasks))
        return np.flatnonzero(bits).astype(np.int64)

    def children(self, box: int) -> Iterator[int]:
        """The boxes that `box` leads to, low first."""
        if self.kind[box] != BoxKind.EXPLOIT:
            yield int(self.low[box])
            yield int(self.high[box])

    def __str__(self) -> str:
        from banditree.plans.wording import plan_text

        return plan_text(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from banditree.figures.notebook import plan_bundle

        return plan_bundle(self)


def _longest(plan: Plan, weight: IntArray) -> int:
    """The heaviest path from box 0 to a leaf over links that lead forward."""
    heaviest = np.zeros(plan.n_boxes, dtype=np.int64)
    for box in range(plan.n_boxes - 1, -1, -1):
        onward = [int(heaviest[child]) for child in plan.children(box) if child > box]
        if plan.kind[box] != BoxKind.EXPLOIT:
            heaviest[box] = int(weight[box]) + max(onward, default=0)
    return int(heaviest[0])


def pack_survivors(sets: list[IntArray], n_tasks: int) -> ByteArray:
    """Sets of task numbers as one array of packed bits, shape (len(sets), ceil(M/8))."""
    packed = np.zeros((len(sets), (n_tasks + 7) // 8), dtype=np.uint8)
    row = np.zeros(n_tasks, dtype=bool)
    for index, members in enumerate(sets):
        row[:] = False
        row[members] = True
        packed[index] = np.packbits(row)
    return packed


def current_versions() -> dict[str, str]:
    """What made a result: versions of banditree, Python and numpy."""
    return {"banditree": __version__, "python": platform.python_version(), "numpy": np.__version__}
