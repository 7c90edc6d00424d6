"""What a searched plan is best for and what it may be."""

from dataclasses import dataclass
from enum import StrEnum

from banditree.errors import invalid

CARE = 0.1  # How much the mean of the worst cases counts beside the mean of all.
WORST_CASES = 0.01  # The worst cases of a task are this share of all.


class Objective(StrEnum):
    """What the plan is best for: the task it does worst on, the same with some weight on the unlucky, or the average
    over tasks.

    UNLUCKY: the mean loss in the task where that is largest, and a tenth of the mean loss of the worst 1% of the cases
    in the task where that is largest.
    """

    WORST = "worst"
    MEAN = "mean"
    UNLUCKY = "unlucky"

    @property
    def power(self) -> float:
        """The power mean over tasks that stands for it; the 8th is close to the largest, and smooth."""
        return 1.0 if self is Objective.MEAN else 8.0

    @property
    def extra(self) -> float:
        """How many times more the loss of the worst cases counts."""
        return CARE / WORST_CASES if self is Objective.UNLUCKY else 0.0

    @property
    def told(self) -> "Objective":
        """By which plans are told what they lose: what the unlucky lose is told beside it."""
        return Objective.MEAN if self is Objective.MEAN else Objective.WORST

    @property
    def words(self) -> str:
        """Where a plan loses what is told, after "loses"."""
        return "on average" if self is Objective.MEAN else "in the worst task"


def objective_named(given: Objective | str) -> Objective:
    """The objective of that name."""
    try:
        return Objective(given)
    except ValueError:
        raise invalid("objective", f"one of {', '.join(Objective)}", given) from None


@dataclass(frozen=True)
class Caps:
    """What a plan must keep to in every task; None: whatever it is.

    wrong_arm: the chance of having no best arm in force at the horizon. loss: what 99% of the cases lose at most.
    """

    wrong_arm: float | None = None
    loss: float | None = None

    @property
    def some(self) -> bool:
        """Whether there is one."""
        return self.wrong_arm is not None or self.loss is not None


NO_CAPS = Caps()


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
