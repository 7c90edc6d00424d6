"""Splits of new cases between two plans over HTTP."""

from typing import Annotated, Literal

from pydantic import Field

from banditree.service.edge.models import Id, Shape, Words
from banditree.service.store.splits import SEEDS

Share = Annotated[float, Field(gt=0, lt=1, description="of the new cases for the new plan")]
Rounds = Annotated[int, Field(ge=1, le=1_000_000_000, description="of a case, over which the plans are compared")]
Seed = Annotated[int, Field(ge=0, lt=SEEDS, description="by default drawn when the split begins")]


class NewSplit(Shape):
    """Two signed plans between which new cases are split at random. rounds: by default all rounds of a case."""

    old: Id
    new: Id
    comment: Words
    share: Share = 0.5
    rounds: Rounds | None = None
    seed: Seed | None = None


class EndSplit(Shape):
    """The plan that is kept; the other starts no more cases."""

    keep: Id
    comment: Words


class SplitOut(Shape):
    """A split on record. seed: as long as it goes on, only for those who sign. kept: the plan that it ended with."""

    id: str
    old: str
    new: str
    share: float
    rounds: int
    seed: int | None
    at: str
    actor: str
    comment: str
    ended_at: str | None
    ended_by: str | None
    kept: str | None
    end_comment: str | None


class BetweenOut(Shape):
    """A value with an interval that holds at every look."""

    value: float
    low: float
    high: float


class ComparisonOut(Shape):
    """Reward per case over the first `rounds` rounds, on cases that have had that many outcomes.

    Cases are counted in the order in which they began, up to the first that is still running. ended_early: cases that
    ended before that many rounds. behind: cases that have had them, and began after one that is still running.
    difference: by how much the new plan gives more. verdict: what the interval shows.
    """

    rounds: int
    old: float
    new: float
    difference: BetweenOut
    old_cases: int
    new_cases: int
    ended_early: int = 0
    behind: int = 0
    verdict: Literal["new is better", "old is better", "no difference shown"]
    text: str
