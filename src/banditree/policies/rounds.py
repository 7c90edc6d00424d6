"""The rounds of a case: what is asked in one, and what is reported of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import invalid
from banditree.policies.base import Outcome
from banditree.tasks.arrays import FloatArray

if TYPE_CHECKING:
    from banditree.certificates.waiting import GoingOn


class Missing(Enum):
    """The outcome of a round that will never be known."""

    MISSING = "missing"


MISSING = Missing.MISSING
Reported = float | Missing


@dataclass(frozen=True)
class Step:
    """What `ask` answers: a round and the arm to pull in it, or the outcome that says why there is none.

    going_on: what one more round costs while outcomes of earlier rounds are awaited, as `Session.going_on` says.
    """

    round: int
    arm: int | None = None
    name: str | None = None
    outcome: Outcome | None = None
    going_on: "GoingOn | None" = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.outcome is not None:
            return self.outcome.sentence()
        return f"Round {self.round}: {self.name}"


@dataclass(slots=True)
class Round:
    """One asked round: its arm, its context, and what was reported of it (None while open).

    overridden: a person chose the arm. tallied: the policy counted the outcome. harm: whether the arm did harm, such as
    a side effect; None where nothing was said of it.
    """

    arm: int
    context: list[float] | None = None
    reward: Reported | None = None
    overridden: bool = False
    tallied: bool = False
    harm: bool | None = None

    @property
    def counted(self) -> float | None:
        """The outcome as far as it can be tallied: None while it is out, NaN if it never will be."""
        if self.overridden or isinstance(self.reward, Missing):
            return math.nan
        return self.reward

    def strayed(self, applied: bool) -> bool:
        """Whether the arm was not the policy's; applied: the outcome was looked at."""
        return self.overridden or (applied and not self.tallied and self.reward is not MISSING)


def shown(value: Reported, harm: bool | None = None) -> str:
    """What was reported, as it stands in a sentence."""
    told = value.value if isinstance(value, Missing) else f"{value:g}"
    return told if harm is None else f"{told} {'with' if harm else 'without'} harm"


def checked_harm(harm: bool | None) -> bool | None:
    """Whether there was harm, or None where nothing is said of it."""
    if harm is not None and not isinstance(harm, bool):
        raise invalid("harm", "true or false", harm)
    return harm


def arm_number(arms: Sequence[str], arm: str | int) -> int:
    """The number of an arm given by name or number."""
    if isinstance(arm, str):
        if arm in arms:
            return list(arms).index(arm)
    elif 0 <= arm < len(arms):
        return int(arm)
    raise invalid("an arm", f"one of {', '.join(arms[:20])}", arm)


def kept_context(context: FloatArray) -> list[float] | None:
    """A context as it is kept; None when none was given."""
    return None if np.isnan(context).any() or not context.size else context.tolist()
