"""How a line counts: a fixed number of rounds, a score between two levels, a watched score, or not at all (for good).

Each class answers for its own words, checks, tally, reading load and numbers in the machine.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from banditree.errors import invalid
from banditree.plans.points import Points
from banditree.plans.words import Part, Vocabulary, signed
from banditree.tasks.rewards import Rewards

if TYPE_CHECKING:
    from banditree.plans.gives import Gives
    from banditree.plans.plan import Plan

LARGEST = 1_000_000  # Nobody counts further, and what is computed about a score takes memory in proportion.
MOST_ROUNDS = 10**12  # No line is followed for longer.
HUGE = 1e300  # No total of rewards is larger.
BELOW, ABOVE = "below", "above"  # The two exits of a line.


class Counting(IntEnum):
    """How a row of a machine counts."""

    FIXED = 0
    SCORE = 1
    EXPLOIT = 2
    WATCH = 3


class Numbers(NamedTuple):
    """What a count is in the machine; points apart."""

    kind: Counting
    pulls: int = 0
    threshold: float = 0.0
    floor: int = 0
    ceil: int = 0
    cap: int = 0


class Count(Part):
    """What all ways of counting share."""

    @property
    def followed(self) -> "Counts":
        """The way of counting that followers in other programs know, which decides the same."""
        return self  # type: ignore[return-value]


@dataclass(frozen=True)
class ForGood(Count):
    """Not at all: what is given is given from now on."""

    kind: Literal["for good"] = "for good"
    exits: ClassVar[tuple[str, ...]] = ()
    points: ClassVar[Points | None] = None
    rests: ClassVar[bool] = True  # Whether a case may stay for ever.

    numbers: ClassVar[Numbers] = Numbers(Counting.EXPLOIT)
    levels: ClassVar[tuple[float, ...]] = ()  # The numbers that a reader compares with.

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        return ""

    def action(self, plan: "Plan", give: str, spelled: bool) -> str:
        """What to do on the line, without its exits."""
        return plan.vocabulary.say("{action} from now on", action=give)

    def condition(self, plan: "Plan", side: str) -> str:
        """When an exit is taken."""
        raise AssertionError("a line for good has no exits")

    def tally(self, plan: "Plan", pulls: int, total: float) -> str:
        """What has been counted so far: nothing."""
        return ""


@dataclass(frozen=True)
class Rounds(Count):
    """A fixed number of rounds: a total of at most `at_most` leads below, else above."""

    rounds: int
    at_most: float
    kind: Literal["rounds"] = "rounds"
    exits: ClassVar[tuple[str, ...]] = (BELOW, ABOVE)
    points: ClassVar[Points | None] = None
    rests: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_most", float(self.at_most))  # as plan files have it, so that fingerprints agree
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise invalid("the rounds of a line", f"from 1 to {MOST_ROUNDS:,}", self.rounds)
        if not np.isfinite(self.at_most):
            raise invalid("the threshold of a line", "finite", self.at_most)

    @property
    def numbers(self) -> Numbers:
        """What it is in the machine."""
        return Numbers(Counting.FIXED, self.rounds, self.at_most)

    @property
    def levels(self) -> tuple[float, ...]:
        """The numbers that a reader compares with."""
        return self.rounds, self.at_most

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        if gives.task is not None or gives.chooses:
            return "counts a fixed number of rounds, which is for one arm"
        fraction = plan.rewards.counts and self.at_most != round(self.at_most)
        return "compares a count with a fraction" if fraction else ""

    def action(self, plan: "Plan", give: str, spelled: bool) -> str:
        """What to do on the line, without its exits."""
        return plan.vocabulary.say("{action} {times}", action=give, times=plan.vocabulary.times(self.rounds))

    def condition(self, plan: "Plan", side: str) -> str:
        """When an exit is taken."""
        words, limit = plan.vocabulary, self.at_most
        if side == ABOVE:
            return words.say("Otherwise")
        if plan.rewards.counts:
            return words.say("At most {successes}", successes=words.counted(int(limit), "success", words.number(limit)))
        return words.say("Total {reward} at most {limit}", limit=words.number(limit))

    def tally(self, plan: "Plan", pulls: int, total: float) -> str:
        """What has been counted so far."""
        return self.tallied(plan.vocabulary, plan.rewards, pulls, total)

    def tallied(self, words: Vocabulary, rewards: Rewards, pulls: int, total: float) -> str:
        """The same where there is no plan as a whole."""
        values = {"pulls": pulls, "rounds": words.count(self.rounds, "{n} round", "{n} rounds")}
        values["limit"] = words.number(self.at_most)
        if rewards.counts:
            good = words.counted(int(total), "success")
            bad = words.counted(pulls - int(total), "failure")
            return words.say(
                "{good}, {bad} ({pulls} of {rounds} tallied; the limit is {limit}).", good=good, bad=bad, **values
            )
        return words.say(
            "Total {reward} {total} ({pulls} of {rounds} tallied; the limit is {limit}).",
            total=words.digits(f"{total:g}"),
            **values,
        )


@dataclass(frozen=True)
class Scored(Count):
    """What score lines and watch lines share: a score from 0 that leads below at -`floor` or less."""

    points: Annotated[Points, Field(discriminator="kind")]
    floor: int

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan, or nothing."""
        return self.points.check(plan, gives) if gives.is_scored else "keeps a score of what it does not choose"

    def tally(self, plan: "Plan", pulls: int, total: float) -> str:
        """What has been counted so far."""
        words, high = plan.vocabulary, getattr(self, "ceil", None)
        values = {"rounds": words.count(pulls, "{n} round", "{n} rounds"), "score": signed(int(total))}
        values["low"] = f"{-self.floor:+d}"
        if high is None:
            return words.say("{rounds} tallied, score {score}; it ends at {low}.", **values)
        return words.say(
            "{rounds} tallied, score {score}; it ends at {high} and at {low}.", high=f"{high:+d}", **values
        )


@dataclass(frozen=True)
class Score(Scored):
    """A score from 0: at `ceil` or more it leads above, at -`floor` or less below."""

    ceil: int
    kind: Literal["score"] = "score"
    exits: ClassVar[tuple[str, ...]] = (ABOVE, BELOW)
    rests: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_levels(self.points, self.floor, self.ceil)

    @property
    def numbers(self) -> Numbers:
        """What it is in the machine."""
        return Numbers(Counting.SCORE, floor=self.floor, ceil=self.ceil)

    @property
    def levels(self) -> tuple[float, ...]:
        """The numbers that a reader compares with."""
        return self.floor, self.ceil

    def action(self, plan: "Plan", give: str, spelled: bool) -> str:
        """What to do on the line, without its exits."""
        return plan.vocabulary.say("{action}; {points}", action=give, points=self.points.phrase(plan, spelled))

    def condition(self, plan: "Plan", side: str) -> str:
        """When an exit is taken."""
        return plan.vocabulary.say("At {level}", level=f"{self.ceil if side == ABOVE else -self.floor:+d}")


@dataclass(frozen=True)
class Watch(Scored):
    """A score from 0 that keeps what is given for as long as it stays above -`floor`; it is never counted above `cap`
    (0: no cap)."""

    cap: int = 0
    kind: Literal["watch"] = "watch"
    exits: ClassVar[tuple[str, ...]] = (BELOW,)
    rests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_levels(self.points, self.floor, 1)
        if not 0 <= self.cap <= LARGEST:
            raise invalid("the cap of a score", f"from 1 to {LARGEST:,}, or 0 for none", self.cap)

    @property
    def numbers(self) -> Numbers:
        """What it is in the machine."""
        return Numbers(Counting.WATCH, floor=self.floor, cap=self.cap)

    @property
    def levels(self) -> tuple[float, ...]:
        """The numbers that a reader compares with."""
        return self.floor, self.cap

    def action(self, plan: "Plan", give: str, spelled: bool) -> str:
        """What to do on the line, without its exits."""
        words, points = plan.vocabulary, self.points.phrase(plan, spelled)
        kept = words.say(
            "{action} for as long as the score ({points}) stays above {level}",
            action=give,
            points=points,
            level=f"{-self.floor:+d}",
        )
        return self.capped(plan, kept)

    def capped(self, plan: "Plan", phrase: str) -> str:
        """A phrase about the score, with its cap if it has one."""
        if not self.cap:
            return phrase
        return plan.vocabulary.say("{phrase}; never count above {cap}", phrase=phrase, cap=f"{self.cap:+d}")

    def condition(self, plan: "Plan", side: str) -> str:
        """When an exit is taken."""
        return plan.vocabulary.say("Then")


@dataclass(frozen=True)
class Pause(Count):
    """Rounds after a change that are given and not counted. No file has it: it follows from the washout of a plan."""

    rounds: int
    kind: Literal["pause"] = "pause"
    exits: ClassVar[tuple[str, ...]] = (BELOW,)
    points: ClassVar[Points | None] = None
    rests: ClassVar[bool] = False
    levels: ClassVar[tuple[float, ...]] = ()

    @property
    def numbers(self) -> Numbers:
        """What it is in the machine: a fixed number of rounds whose total does not matter."""
        return Numbers(Counting.FIXED, self.rounds, np.inf)

    @property
    def followed(self) -> "Counts":
        """A fixed number of rounds, whatever their total."""
        return Rounds(self.rounds, HUGE)

    def check(self, plan: "Plan", gives: "Gives") -> str:
        """What is wrong with it on a line of this plan."""
        return "is a pause, which follows from the washout of a plan"

    def action(self, plan: "Plan", give: str, spelled: bool) -> str:
        """What to do, without what follows."""
        words = plan.vocabulary
        return words.say("{action} {times}, without counting", action=give, times=words.times(self.rounds))

    def condition(self, plan: "Plan", side: str) -> str:
        """When it is over."""
        return plan.vocabulary.say("Then")

    def tally(self, plan: "Plan", pulls: int, total: float) -> str:
        """How much of it is over."""
        return plan.vocabulary.count(
            self.rounds,
            "{pulls} of {n} round that the plan does not count.",
            "{pulls} of {n} rounds that the plan does not count.",
            pulls=pulls,
        )


Counts = ForGood | Rounds | Score | Watch
FOR_GOOD = ForGood()


def _check_levels(points: Points, floor: int, ceil: int) -> None:
    if min(floor, ceil) < 1:
        raise invalid("the levels of a score", "at least 1, or it leaves at once", min(floor, ceil))
    if (most := max(floor, ceil, *map(abs, points.bins))) > LARGEST:
        raise invalid("the numbers of a score", f"at most {LARGEST:,}", most)
