"""The settings of monitoring a plan, and of comparing it with another."""

from typing import Annotated

from pydantic import Field

from banditree.settings import Seed, Settings, Text


class MonitorSettings(Settings):
    """How often, how strictly and for whom a plan is monitored."""

    by: Annotated[Text | None, Field(description="Also monitor each value of this column, such as site.")] = None
    harm: Annotated[
        Text | None, Field(description="Column of harm, 0 or 1: also an alarm where there is more than was promised.")
    ] = None
    every: Annotated[float, Field(gt=0, description="Days between two looks.")] = 7.0
    level: Annotated[
        float, Field(gt=0, lt=1, description="Chance of any false alarm of the plan in a year, all tests together.")
    ] = 0.05
    block: Annotated[
        int,
        Field(ge=1, description="Cases in a row that share one mixture of kinds; 1: kinds may come in any order."),
    ] = 100
    until: Annotated[
        Text | float | None, Field(description="The day of the last look. [default: of the last outcome]")
    ] = None


class CompareSettings(Settings):
    """How cases were split between two plans, and over how many rounds these are compared."""

    seed: Annotated[Seed, Field(description="The seed of the split, as it was recorded.")]
    share: Annotated[float, Field(ge=0, le=1, description="The share of the cases for the new plan.")] = 0.5
    rounds: Annotated[
        int | None, Field(ge=1, description="Compare the first rounds of each case, this many. [default: all rounds]")
    ] = None
