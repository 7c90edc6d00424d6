"""Plan: an exploration plan as flat arrays, self-contained and frozen."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from functools import cached_property
from itertools import pairwise

import numpy as np

from banditree.errors import invalid
from banditree.plans.by_context import AnyGrading, KindRule
from banditree.plans.links import longest_path
from banditree.tasks.arrays import BoolArray, ByteArray, FloatArray, IntArray, frozen
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Rewards
from banditree.version import __version__

NONE = -1  # In place of an arm, a task or a box: there is none.
HAND_OVER = -2  # The arm of the end at which a case goes to the fallback of the plan.
SEVERAL = -3  # The arm of an end with several arms, among which the outcomes so far choose.


class BoxKind(IntEnum):
    """What a box asks for: a fixed number of pulls, pulls until a score is reached, one arm for good, or one arm for as
    long as its score stays above a floor."""

    FIXED = 0
    SCORE = 1
    EXPLOIT = 2
    WATCH = 3


class Form(StrEnum):
    """How a plan is read: numbered boxes, or the lines of a protocol with their ends inside."""

    BOXES = "boxes"
    LINES = "lines"


class Decider(StrEnum):
    """Who decides about a case that fits no task."""

    THOMPSON = "thompson"
    OPTION = "option"
    PERSON = "person"


@dataclass(frozen=True)
class Fallback:
    """Who decides after a hand-over: Thompson sampling that has learned since the first round, one arm, or a person.

    odds: a case is handed over from wherever it is as soon as its outcomes speak so many to one against every task that
    may lead there, allowing for rates that are off by `allow`; 0 if only lines and the safety rule hand over.
    """

    to: Decider = Decider.THOMPSON
    arm: int = NONE
    odds: int = 0
    allow: float = 0.0

    def __post_init__(self) -> None:
        if self.odds < 0 or self.odds == 1:
            raise invalid("the odds of a fallback", "at least 2, or 0 for none", self.odds)
        if not 0 <= self.allow < np.inf:
            raise invalid("what a fallback allows for", "at least 0", self.allow)
        if (self.to is Decider.OPTION) != (self.arm != NONE):
            raise invalid("fallback", "one arm exactly where it goes to an option", (str(self.to), self.arm))


@dataclass(frozen=True)
class SafetyRule:
    """Whenever an arm is used for good it is scored from 0; at -floor or less the case starts again at box 0.

    points: one for each bin of a reward, lowest first; cuts: the limits between bins. cap: the score is never counted
    above it; 0 for no cap. hands_over: the case goes to the plan's fallback instead of starting again.
    """

    points: tuple[int, ...]
    floor: int
    cuts: tuple[float, ...] = (0.5,)
    cap: int = 0
    hands_over: bool = False

    def __post_init__(self) -> None:
        if not (self.points and min(self.points) < 0 < max(self.points)):
            raise invalid("the points of the safety rule", "of both signs", self.points)
        if len(self.cuts) != len(self.points) - 1 or any(b <= a for a, b in pairwise(self.cuts)):
            raise invalid("the cuts of the safety rule", f"{len(self.points) - 1} increasing numbers", self.cuts)
        if self.floor < 1:
            raise invalid("the floor of the safety rule", "at least 1", self.floor)
        if self.cap < 0:
            raise invalid("the cap of the safety rule", "at least 1, or 0 for none", self.cap)


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

    kind: a `BoxKind`. arm: the arm to pull, for good if EXPLOIT; NONE for "treat as the task": the arm that is best for
    it at the context, by its rule (kind_rules, one per task) or, without one, the highest x'theta; HAND_OVER at the one
    end where a case that fits no task goes to the fallback; SEVERAL at an end between some arms, which are those of its
    row of among (N, K), None where there is no such end. rates (N, K), None or what each of them is expected to give,
    as if from `worth` rounds: the highest `horizon_index` is then given; without rates Thompson sampling chooses.
    kinds (M, K), None or the means of the tasks, by which a fallback with odds sees that a case is none of them; with
    rates, a task is drawn by how well it fits, and its means are expected: `rates` are those of the one that is likely.
    low, high: the next box; both NONE exactly for EXPLOIT, high alone for WATCH.
    pulls, threshold (FIXED): after n pulls, a total of at most the threshold leads to low, else to high.
    cuts (N, B-1), points (N, B) (SCORE): the reward's bin gives integer points; floor, ceil: score <= -floor leads to
    low, score >= ceil to high; the tally is fresh on entry. WATCH has no ceil, and never counts its score above cap
    (0: no cap). task: the one that is treated as or, at an EXPLOIT box, classified; or NONE.
    grading (N,), gradings: which of them gives the points of a box, in place of cuts; NONE, or no array, for cuts.
    rule: scores every EXPLOIT box with one arm from 0 and starts again at box 0 or hands over, or None. form: LINES are
    protocols: first the lines (SCORE or WATCH) in reading order, then the EXPLOIT boxes, at most one per arm, which are
    printed inside the lines.
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
    cap: IntArray
    task: IntArray
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    rewards: Rewards
    horizon: int
    method: str
    rule: SafetyRule | None = None
    fallback: Fallback | None = None
    among: BoolArray | None = None
    rates: FloatArray | None = None
    worth: int = 0
    kinds: FloatArray | None = None
    form: Form = Form.BOXES
    survivors: ByteArray | None = None
    theta: FloatArray | None = None
    kind_rules: tuple[KindRule | None, ...] = ()
    grading: IntArray | None = None
    gradings: tuple[AnyGrading, ...] = ()
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

    def grading_of(self, box: int) -> AnyGrading | None:
        """How the points of a box look at the context, or None where they are those of the outcome alone."""
        number = NONE if self.grading is None else int(self.grading[box])
        return None if number == NONE else self.gradings[number]

    @property
    def n_boxes(self) -> int:
        """N, tests and leaves together."""
        return len(self.kind)

    @property
    def n_tests(self) -> int:
        """How many boxes are tests."""
        return int((self.kind != BoxKind.EXPLOIT).sum())

    @cached_property
    def hand_over(self) -> int | None:
        """The box at which a case goes to the fallback, or None."""
        found = np.flatnonzero((self.kind == BoxKind.EXPLOIT) & (self.arm == HAND_OVER))
        return int(found[0]) if found.size else None

    @cached_property
    def by_thompson(self) -> BoolArray:
        """The boxes (N,) at which the outcomes so far choose: ends with several arms, and perhaps the hand-over."""
        chosen = self.arm == SEVERAL
        if self.fallback is not None and self.fallback.to is Decider.THOMPSON:
            chosen = chosen | (self.arm == HAND_OVER)
        return np.asarray(chosen)

    @cached_property
    def right_kinds(self) -> BoolArray:
        """The tasks (N, M) that a case may be of while it is rightly at a box: at an end with one arm, or between some
        of which nothing is expected, those that may lead there."""
        right = np.ones((self.n_boxes, len(self.tasks)), dtype=bool)
        for box in np.flatnonzero((self.kind == BoxKind.EXPLOIT) & (self.arm != HAND_OVER)):
            survivors = self.survivors_at(int(box))
            if survivors is not None and survivors.size and not self.draws_tasks(int(box)):
                right[box] = np.isin(np.arange(len(self.tasks)), survivors)
        return right

    def draws_tasks(self, box: int) -> bool:
        """Whether a box is an end between several arms at which what is expected depends on a task that is drawn."""
        return bool(self.arm[box] == SEVERAL and self.rates is not None and self.kinds is not None)

    def arms_at(self, box: int) -> IntArray:
        """The arms that a box of `by_thompson` chooses from."""
        several = self.among is not None and self.arm[box] == SEVERAL
        return np.flatnonzero(self.among[box]) if several and self.among is not None else np.arange(len(self.arms))

    @property
    def rule_target(self) -> int:
        """The box that the safety rule leads to."""
        hands_over = self.rule is not None and self.rule.hands_over
        return self.hand_over if hands_over and self.hand_over is not None else 0

    @cached_property
    def has_links_back(self) -> bool:
        """Whether some box leads back to an earlier one."""
        return any(child <= box for box, children in enumerate(self.links) for child in children)

    @cached_property
    def depth(self) -> int:
        """D, the most tests or lines on a path, not counting links back."""
        return longest_path(self.links, (self.kind != BoxKind.EXPLOIT).tolist(), range(self.n_boxes))

    @cached_property
    def most_pulls(self) -> int | None:
        """The most pulls before an arm is used for good, or None if a score, a link back or a rule sets no limit."""
        scored = (self.kind == BoxKind.SCORE) | (self.kind == BoxKind.WATCH)
        if self.has_links_back or self.rule is not None or scored.any():
            return None
        return longest_path(self.links, self.pulls.tolist(), range(self.n_boxes))

    def survivors_at(self, box: int) -> IntArray | None:
        """The tasks still possible at `box`, or None if the plan does not say."""
        if self.survivors is None:
            return None
        bits = np.unpackbits(self.survivors[box], count=len(self.tasks))
        return np.flatnonzero(bits).astype(np.int64)

    def children(self, box: int) -> Iterator[int]:
        """The boxes that `box` leads to, low first."""
        return iter(self.links[box])

    @cached_property
    def links(self) -> list[list[int]]:
        """For each box, those it leads to, low first; where the rule leads is not among them."""
        sides = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return [[side for side in both if side != NONE] for both in sides]

    def __str__(self) -> str:
        from banditree.plans.wording import plan_text

        return plan_text(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        from banditree.figures.notebook import plan_bundle

        return plan_bundle(self)


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
