"""What a searched plan is best for and what it may be."""

from dataclasses import dataclass
from enum import StrEnum

from banditree.errors import invalid


class Objective(StrEnum):
    """What the plan is best for: the task it does worst on, or the average over tasks."""

    WORST = "worst"
    MEAN = "mean"

    @property
    def power(self) -> float:
        """The power mean over tasks that stands for it; the 8th is close to the largest, and smooth."""
        return 8.0 if self is Objective.WORST else 1.0


def objective_named(given: Objective | str) -> Objective:
    """The objective of that name."""
    try:
        return Objective(given)
    except ValueError:
        raise invalid("objective", f"one of {', '.join(Objective)}", given) from None


@dataclass(frozen=True)
class Limits:
    """What a protocol may be: the most lines, the longest path (None: any), and what is allowed.

    rule: a safety rule. restarts: "start again at line 1", in lines and by the rule. links_back: exits that lead back
    to any line.
    """

    lines: int
    longest_path: int | None = None
    rule: bool = True
    restarts: bool = True
    links_back: bool = False
