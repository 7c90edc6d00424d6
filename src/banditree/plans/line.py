"""Line: what it gives, how it counts, and where it leads."""

from dataclasses import dataclass
from typing import Annotated, Union

from pydantic import Field

from banditree.errors import invalid
from banditree.plans.counts import FOR_GOOD, Counts
from banditree.plans.gives import Gives
from banditree.plans.words import Part


@dataclass(frozen=True)
class Line(Part):
    """One line of a protocol or box of a tree, as a person reads it; names are the user's.

    below, above: where it leads: the number of a line, counted from 1, or a line for good, which is an end that is
    printed inside this one ("settle on A"). None exactly for exits that its count does not have. task: the one that is
    found at a line for good. possible: the tasks still possible there, None where the plan does not say.
    """

    gives: Annotated[Gives, Field(discriminator="kind")]
    counts: Annotated[Counts, Field(discriminator="kind")] = FOR_GOOD
    below: Union[int, "Line", None] = None
    above: Union[int, "Line", None] = None
    task: str | None = None
    possible: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for side in ("below", "above"):
            target = getattr(self, side)
            if (target is None) == (side in self.counts.exits):
                rule = "given" if target is None else "omitted"
                raise invalid(f"where a line leads {side}", f"{rule}, as it counts {self.counts.kind}", target)
            if isinstance(target, Line) and target.counts.exits:
                raise invalid("an end inside a line", "a line for good", target.counts.kind)

    @property
    def found(self) -> str | None:
        """The task that is treated as or found here."""
        return self.gives.task or self.task

    @property
    def targets(self) -> tuple[Union[int, "Line"], ...]:
        """Where it leads, in the order in which its exits are read."""
        both = {"below": self.below, "above": self.above}
        return tuple(target for side in self.counts.exits if (target := both[side]) is not None)


Exit = int | Line
