"""The rounds of a case: what is asked in one, and what is reported of it."""

from dataclasses import dataclass
from enum import Enum

from banditree.policies.base import Outcome


class Missing(Enum):
    """The outcome of a round that will never be known."""

    MISSING = "missing"


MISSING = Missing.MISSING
Reported = float | Missing


@dataclass(frozen=True)
class Step:
    """What `ask` answers: a round and the arm to pull in it, or the outcome that says why there is none."""

    round: int
    arm: int | None = None
    name: str | None = None
    outcome: Outcome | None = None

    def __str__(self) -> str:
        if self.outcome is not None:
            return self.outcome.sentence()
        return f"Round {self.round}: {self.name}"


@dataclass(slots=True)
class Round:
    """One asked round: its arm, its context, and what was reported of it (None while open).

    overridden: a person chose the arm. tallied: the policy counted the outcome.
    """

    arm: int
    context: list[float] | None = None
    reward: Reported | None = None
    overridden: bool = False
    tallied: bool = False

    def strayed(self, applied: bool) -> bool:
        """Whether the arm was not the policy's; applied: the outcome was looked at."""
        return self.overridden or (applied and not self.tallied and self.reward is not MISSING)


def shown(value: Reported) -> str:
    """What was reported, as it stands in a sentence."""
    return value.value if isinstance(value, Missing) else f"{value:g}"
