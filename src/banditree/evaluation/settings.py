"""The settings of evaluating a plan on a log, and of fitting one to it."""

from typing import Annotated, Literal

from pydantic import Field, InstanceOf

from banditree.cases.settings import LogSettings
from banditree.settings import Horizon, Numbers, Seed, Settings, Texts
from banditree.tasks.rewards import Rewards


class EvaluateSettings(LogSettings):
    """How a plan is evaluated on a log of cases that it was not made from."""

    horizon: Annotated[int | None, Field(ge=1, le=10**9, description="Rounds of one case. [default: the plan's]")] = (
        None
    )
    runs: Annotated[int, Field(ge=1, le=1000, description="Runs of policies that draw at random.")] = 20
    seed: Annotated[Seed, Field(description="Seed of these runs and of the shuffle.")] = 0


class FitSettings(LogSettings):
    """How a plan is fitted to a log: what is tried, and on how many cases it is judged."""

    horizon: Horizon
    rewards: Annotated[
        Literal["bernoulli", "gaussian", "graded"] | InstanceOf[Rewards],  # fit needs the chance of each reward
        Field(description="How rewards are distributed; for those anywhere on a scale, gaussian."),
    ] = "bernoulli"
    context: Annotated[
        Texts,
        Field(description="Columns that are known before each decision, such as price,age; text is a category."),
    ] = ()
    # Since cases vary around their kind, few kinds describe many cases; longer plans are rarely signed.
    kinds: Annotated[Numbers, Field(description="Numbers of kinds to try, besides one.")] = (2, 3, 5)
    lines: Annotated[Numbers, Field(description="Most lines of the plans to try.")] = (1, 2, 3, 4, 6, 9)
    held_out: Annotated[float, Field(gt=0, lt=1, description="Share of the cases to judge the plan on.")] = 1 / 3
    folds: Annotated[int, Field(ge=2, description="Folds of the other cases, to choose by.")] = 5
    centre: Annotated[bool, Field(description="Find the kinds from outcomes compared with the case's own average.")] = (
        False
    )
    typical_rounds: Annotated[
        float | None,
        Field(ge=1, description="Rounds, of the horizon, that a case has on average. [default: as in the log]"),
    ] = None
    seed: Annotated[Seed, Field(description="Seed of the split, the folds, the kinds and the search.")] = 0


class StudySettings(Settings):
    """A study that is to show whether a plan is better than one option for everyone."""

    give: Annotated[
        Literal["random", "crossover"],
        Field(description="Options drawn at random in every round, or each for a period of its own, in random order."),
    ] = "random"
    rounds: Annotated[int | None, Field(ge=2, description="Rounds of one case in the study. [default: the plan's]")] = (
        None
    )
    power: Annotated[float, Field(gt=0.5, lt=1, description="Chance of showing it that is wanted.")] = 0.8
    confidence: Annotated[float, Field(gt=0.5, lt=1, description="Confidence of the intervals.")] = 0.95
    cases_per_month: Annotated[float | None, Field(gt=0, description="Cases that can begin in a month.")] = None
    rounds_per_month: Annotated[float, Field(gt=0, description="Rounds of one case in a month.")] = 30.0
    seed: Annotated[Seed, Field(description="Seed of the simulated study.")] = 0
