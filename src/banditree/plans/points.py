"""What a round adds to a score: points by the outcome, by what was promised, or by how well the outcome fits.

Each class answers for its own words, checks and reading load; `machine` turns it into the rows that computers run.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from banditree.errors import invalid
from banditree.plans.words import Part, number, signed
from banditree.tasks.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from banditree.plans.gives import Gives
    from banditree.plans.plan import Plan

RARE_POINTS = 20  # Points of this size come from outcomes that are seen in a few of a hundred rounds.


@dataclass(frozen=True)
class ByOutcome(Part):
    """Points of the outcome alone: one for each bin of a reward, lowest first; cuts: the limits between bins."""

    points: tuple[int, ...]
    cuts: tuple[float, ...] = (0.5,)
    kind: Literal["outcome"] = "outcome"
    looks_at_context: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (self.points and min(self.points) < 0 < max(self.points)):
            raise invalid("points", "of both signs, or a score can never leave on one side", self.points)
        if len(self.cuts) != len(self.points) - 1 or any(not b > a for a, b in pairwise(self.cuts)):
            raise invalid("cuts", f"{len(self.points) - 1} increasing numbers", self.cuts)

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        return ""

    @property
    def bins(self) -> tuple[int, ...]:
        """The points of its bins."""
        return self.points

    @property
    def ways(self) -> set[tuple[float, ...]]:
        """The ways of scoring that a reader learns."""
        return {(*self.points, *self.cuts)}

    def phrase(self, plan: "Plan", spelled: bool = True) -> str:
        """The best outcome first: "success +1, failure -3" or, once the reader knows, "+1/-3".

        Rewards that are numbers are always spelled out unless their cuts are those of the first line.
        """
        words = plan.vocabulary
        if outcomes := plan.rewards.outcomes(words.success, words.failure):
            each = [(name, self.points[sum(cut < value for cut in self.cuts)]) for value, name in outcomes]
            if spelled:
                return ", ".join(f"{words.quoted(name)} {signed(p)}" for name, p in each)
            return "/".join(signed(p) for _, p in each)
        best_first = [signed(p) for p in self.points[::-1]]
        if not spelled and self.cuts == plan.first_cuts:
            return "/".join(best_first)
        first, *others = zip(best_first, map(words.number, self.cuts[::-1]), strict=False)
        a_reward = words.article("reward")
        said = [words.say("{points} for {a_reward} above {cut}", points=first[0], cut=first[1], a_reward=a_reward)]
        said += [words.say("{points} above {cut}", points=points, cut=cut) for points, cut in others]
        return ", ".join([*said, words.say("{points} otherwise", points=best_first[-1])])

    def short_phrases(self, plan: "Plan") -> tuple[str, ...]:
        """Its points without the names of outcomes."""
        return (self.phrase(plan, spelled=False),)


@dataclass(frozen=True)
class PromiseTable(Part):
    """The points of a 0/1 outcome by what was promised: the chance of success, at the context, for the task treated as.

    cuts: increasing. A promise of at least r of them takes row r of `rows`, the points of a failure and of a success.
    most: no points are larger, up or down. One row: points of the outcome alone.

    >>> PromiseTable((0.8,), ((-1, 2), (-4, 1)), 6).rows_at(np.array([0.5, 0.8])).tolist()
    [0, 1]
    """

    cuts: tuple[float, ...]
    rows: tuple[tuple[int, int], ...]
    most: int
    kind: Literal["promise"] = "promise"
    looks_at_context: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.cuts) + 1 or any(len(row) != 2 for row in self.rows):
            raise invalid("the rows of a table of points", "pairs, one more than cuts", self.rows)
        if any(b <= a for a, b in pairwise((0.0, *self.cuts, 1.0 + 1e-9))):
            raise invalid("the cuts of a table of points", "increasing, above 0 and at most 1", self.cuts)
        every = [points for row in self.rows for points in row]
        if not (min(every) < 0 < max(every) and max(map(abs, every)) <= self.most):
            raise invalid("a table of points", f"of both signs, none larger than {self.most}", self.rows)

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        if not plan.rewards.counts:
            return "has a table of points, which is for 0/1 rewards"
        if self.cuts and gives.task is None:
            return "has points by what was promised, and treats as no task that promises"
        return _needs_predictions(plan)

    @property
    def bins(self) -> tuple[int, ...]:
        """The points of its bins."""
        return tuple(range(-self.most, self.most + 1))

    @property
    def ways(self) -> set[tuple[float, ...]]:
        """The ways of scoring that a reader learns, one per row."""
        return {(*row, 0.5) for row in self.rows}

    def rows_at(self, promise: FloatArray) -> IntArray:
        """The row (n,) that each promise takes."""
        return np.asarray((promise[:, None] >= np.array(self.cuts)[None, :]).sum(axis=1))

    def phrase(self, plan: "Plan", spelled: bool = True) -> str:
        """ "promised 80% or more: success +1, failure -4; less: success +2, failure -1"."""
        rows = [_pair(plan, row, spelled) for row in self.rows]
        if not self.cuts:
            return rows[0]
        words = plan.vocabulary
        limits = [words.percent(number(round(100 * cut, 6))) for cut in self.cuts]
        (most, points), *others = [*zip(limits, rows[1:], strict=True)][::-1]
        said = [words.say("promised {limit} or more: {points}", limit=most, points=points)]
        said += [words.say("{limit} or more: {points}", limit=limit, points=points) for limit, points in others]
        return "; ".join([*said, words.say("less: {points}", points=rows[0])])

    def short_phrases(self, plan: "Plan") -> tuple[str, ...]:
        """The points of its rows without the names of outcomes."""
        return tuple(_pair(plan, row, spelled=False) for row in self.rows if any(row))


def _pair(plan: "Plan", row: tuple[int, int], spelled: bool) -> str:
    """The points of a success and of a failure."""
    words, (failure, success) = plan.vocabulary, row
    if not any(row):
        return words.say("no points")
    if not spelled:
        return f"{signed(success)}/{signed(failure)}"
    return f"{words.quoted(words.success)} {signed(success)}, {words.quoted(words.failure)} {signed(failure)}"


@dataclass(frozen=True)
class Fit(Part):
    """Points by how much better an outcome fits the `favoured` task than the `other` one.

    The logarithm of the ratio of the two chances (or densities) of the outcome at the context, for the arm that was
    given, divided by `unit`, rounded to a whole number (halves upwards) and kept within `most` up or down.
    """

    favoured: str
    other: str
    unit: float
    most: int
    kind: Literal["fit"] = "fit"
    looks_at_context: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.favoured == self.other:
            raise invalid("the two tasks that points compare", "different", self.favoured)
        if not (np.isfinite(self.unit) and self.unit > 0):
            raise invalid("the unit of points", "a number above 0", self.unit)
        if self.most < 1:
            raise invalid("the most points of a round", "at least 1", self.most)

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        for task in (self.favoured, self.other):
            if task not in plan.task_numbers:
                return f"names the task {task!r}, which the plan does not have"
        return _needs_predictions(plan)

    @property
    def bins(self) -> tuple[int, ...]:
        """The points of its bins."""
        return tuple(range(-self.most, self.most + 1))

    @property
    def ways(self) -> set[tuple[float, ...]]:
        """The ways of scoring that a reader learns: all fits are counted alike."""
        return {self.bins}

    def phrase(self, plan: "Plan", spelled: bool = True) -> str:
        """ "fit of early over late, 1 point per 0.5"."""
        words = plan.vocabulary
        return words.say(
            "fit of {favoured} over {other}, 1 point per {unit}",
            favoured=words.quoted(self.favoured),
            other=words.quoted(self.other),
            unit=words.number(self.unit),
        )

    def short_phrases(self, plan: "Plan") -> tuple[str, ...]:
        """A computer counts these."""
        return ()


@dataclass(frozen=True)
class StateTable(Part):
    """Points from two small tables: of the outcome in the state that the case was in, and of the state that came next.

    outcomes: for each state, of a failure and of a success. moves: for each state, of each next state. A round adds one
    of each, from the row of the state at its beginning.
    """

    outcomes: tuple[tuple[int, int], ...]
    moves: tuple[tuple[int, ...], ...]
    kind: Literal["state"] = "state"
    looks_at_context: ClassVar[bool] = False

    def __post_init__(self) -> None:
        S = len(self.moves)
        if len(self.outcomes) != S or any(len(row) != S for row in self.moves):
            raise invalid("a table of points by state", "of a row per state, with every next state", self.moves)
        if not self.bins[0] < 0 < self.bins[1]:
            raise invalid("points by state", "of both signs, or a score can never leave on one side", self.bins)

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        if not plan.states:
            return "has points by state, and treats by no rule by state"
        return "" if len(self.moves) == len(plan.states) else "has points for another number of states"

    @property
    def bins(self) -> tuple[int, ...]:
        """The least and the most points of a round."""
        rows = list(zip(self.outcomes, self.moves, strict=True))
        return min(min(own) + min(to) for own, to in rows), max(max(own) + max(to) for own, to in rows)

    @property
    def by_round(self) -> IntArray:
        """The points of a round (S, S, 2), by the state at its beginning, the next state and the outcome."""
        added: IntArray = np.array(self.moves)[:, :, None] + np.array(self.outcomes)[:, None, :]
        return added

    @property
    def ways(self) -> set[tuple[float, ...]]:
        """The ways of scoring that a reader learns: every row of the table is one to look up."""
        return {
            (row, *own, *to)
            for row, (own, to) in enumerate(zip(self.outcomes, self.moves, strict=True))
            if any(own + to)
        }

    def phrase(self, plan: "Plan", spelled: bool = True) -> str:
        """The points stand in a table below the lines."""
        return plan.vocabulary.say("points of table {number}", number=state_tables(plan).index(self) + 1)

    def short_phrases(self, plan: "Plan") -> tuple[str, ...]:
        """None: it stands in a table."""
        return ()


def state_tables(plan: "Plan") -> list[StateTable]:
    """The different tables of points by state, in the order of the lines; "table 1" is the first."""
    return list(dict.fromkeys(one for one in plan.points if isinstance(one, StateTable)))


def _needs_predictions(plan: "Plan") -> str:
    known = plan.theta is not None and plan.rewards.has_likelihood
    return "" if known else "has points that need predictions of every outcome, which the plan does not have"


Points = ByOutcome | PromiseTable | Fit | StateTable


def rare_outcome_notes(several: Iterable[Points]) -> tuple[str, ...]:
    """A warning where one outcome counts for more than many others, since it hardly ever comes.

    >>> rare_outcome_notes([ByOutcome((-1, 128))])[0][:36]
    'One outcome counts for 128 points, b'
    """
    points = {abs(p) for one in several if isinstance(one, ByOutcome) for p in one.points} - {0}
    if not points or max(points) < RARE_POINTS:
        return ()
    return (
        f"One outcome counts for {max(points)} points, because it is rare: scores of this plan rest on a "
        "handful of outcomes and on how exactly their rates are known. Longer rounds would make it steadier.",
    )
