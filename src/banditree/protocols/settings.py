"""The settings of making a plan."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from banditree.errors import InvalidInput
from banditree.protocols.objectives import Caps, Objective
from banditree.settings import Horizon, Seed, Settings, Text

MOST_STEPS = 10_000_000  # A longer search would take days.
MOST_ISLANDS = 64
MOST_SECONDS = 1_000_000.0  # 12 days.
MOST_LINES = 1_000  # Nobody reads a longer protocol.


class TreeSettings(Settings):
    """How a tree is made, with the methods tree and optimal."""

    separation: Annotated[
        float | None,
        Field(description="Trees: how far apart any two tasks must be for some arm. [default: as far as they are]"),
    ] = None
    stop_early: Annotated[bool, Field(description="Trees: stop testing once one arm is best for all tasks left.")] = (
        False
    )


class ProtocolSettings(Settings):
    """How a protocol is searched for, and what it may be."""

    objective: Annotated[
        Objective | None,
        Field(
            description="What must be least: the mean loss in the worst task (worst), the mean loss over all tasks "
            "(mean), or the former with a tenth of what the unluckiest 1% of cases lose in theirs (unlucky). [default: "
            "unlucky; worst with contexts, states, cases of a task that differ, allow, unknown, fallback, "
            "max_wrong_arm, more than 20 tasks, or at most 30 rounds]"
        ),
    ] = None
    lines: Annotated[
        int | None, Field(ge=1, le=MOST_LINES, description="Most lines. [default: 1.5 per task, 3 with contexts]")
    ] = None
    longest_path: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_LINES,
            description="Most lines on a path, restarts not counted. [default: 8 for 10 tasks, 14 for 40, any with "
            "links_back]",
        ),
    ] = None
    rule: Annotated[bool, Field(description="Whether there may be a safety rule at the foot.")] = True
    forward_only: Annotated[bool, Field(description="Never start again at line 1.")] = False
    links_back: Annotated[bool, Field(description="Lines may lead back to any earlier line.")] = False
    numbers: Annotated[
        Literal["round", "free"], Field(description="Levels that are easy to keep in mind (round), or any (free).")
    ] = "round"
    max_wrong_arm: Annotated[
        float | None,
        Field(
            gt=0, lt=1, description="Highest chance of ending without a best arm: with another one, or still testing."
        ),
    ] = None
    max_loss: Annotated[
        float | None, Field(gt=0, description="What 99% of the cases of each task may lose at most.")
    ] = None
    max_harm: Annotated[
        float | None,
        Field(gt=0, description="Most harms, such as side effects, that a case of any task may have on average."),
    ] = None
    allow: Annotated[float, Field(ge=0, lt=1, description="Allow for cases whose rates are off by up to this.")] = 0.0
    unknown: Annotated[float, Field(ge=0, lt=1, description="Share of the cases that belong to none of the tasks.")] = (
        0.0
    )
    fallback: Annotated[
        Text | None,
        Field(
            description="Who decides about a case that contradicts every task: thompson, person, or the name of an "
            "arm. [default: thompson with allow or unknown, otherwise nobody]"
        ),
    ] = None
    points: Annotated[
        Literal["fit", "table", "outcome"] | None,
        Field(
            description="Tasks with contexts: points by how well an outcome fits two tasks (fit), by what was "
            "promised, in a table of a few rows (table), or by the outcome alone (outcome). The last two can be added "
            "up on paper. [default: fit]"
        ),
    ] = None
    rule_size: Annotated[
        int | None,
        Field(
            ge=1,
            description="Tasks with contexts: each task's best arm, as a printed rule of at most this many rows. "
            "[default: the highest prediction]",
        ),
    ] = None
    washout: Annotated[
        int, Field(ge=0, le=1_000_000, description="Rounds after a change of arm that are given and not counted.")
    ] = 0
    steps: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_STEPS,
            description="Steps of the search. [default: 4,000 per task, at most 200,000, fewer for few tasks]",
        ),
    ] = None
    seconds: Annotated[
        float | None,
        Field(
            gt=0,
            le=MOST_SECONDS,
            description="Seconds for the search instead of steps, compiling, tables and proofs aside. The plan then "
            "depends on the speed of the machine.",
        ),
    ] = None
    islands: Annotated[
        int,
        Field(
            ge=1,
            le=MOST_ISLANDS,
            description="Searches side by side that share the steps and exchange the best. The plan depends on their "
            "number, and not on the cores.",
        ),
    ] = 1
    workers: Annotated[
        int | Literal["joblib"] | None,
        Field(description="Threads for the islands, or joblib for its backend, such as Dask. [default: all cores]"),
    ] = None
    seed: Annotated[Seed, Field(description="Seed of the search: the same seed and steps give the same plan.")] = 0

    @property
    def caps(self) -> Caps:
        """What the plan must keep to."""
        return Caps(self.max_wrong_arm, self.max_loss)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_loss is not None and (self.allow or self.unknown or self.fallback):
            raise InvalidInput(
                "max_loss must be omitted with allow, unknown and fallback: what single cases lose where others choose "
                "can only be simulated."
            )
        if self.steps is not None and self.seconds is not None:
            raise InvalidInput("steps must be omitted with seconds: either says how long the search lasts.")
        if self.links_back and self.forward_only:
            raise InvalidInput("links_back must be omitted with forward_only: the one allows what the other forbids.")
        return self


class PlanSettings(ProtocolSettings, TreeSettings):
    """How a plan is made. A setting that the method does not use is refused."""

    horizon: Horizon
    method: Annotated[
        Literal["protocol", "tree", "optimal", "remember"] | None,
        Field(
            description="protocol: a few lines that keep a score, least regret. tree: DT-ECE, tests of fixed size in "
            "a decision tree. optimal: the same with the fewest tests. remember: with states, tallies on a "
            "sheet of paper. [default: the first of these that can handle the tasks and takes all the settings given; "
            "with states remember instead, where it loses less than three quarters as much]"
        ),
    ] = None
    pages: Annotated[
        bool, Field(description="Add a page for each arm of the plan: the lines for a case that must not get it.")
    ] = False
    not_again: Annotated[
        bool,
        Field(description="Add pages, and a rule: after harm under an arm a case never gets it again."),
    ] = False

    ask: Annotated[
        bool,
        Field(
            description="Add a sentence for paper: a person decides about a case that would begin line 1 more than N "
            "times. N is found so that this is at most 1 of 100 cases of each task."
        ),
    ] = False

    @model_validator(mode="after")
    def _check_ask(self) -> Self:
        others = {"allow": self.allow, "unknown": self.unknown, "fallback": self.fallback, "washout": self.washout}
        others |= {"pages": self.pages, "not_again": self.not_again}
        if self.ask and (given := [name for name, value in others.items() if value]):
            raise InvalidInput(f"ask must be omitted with {given[0]}: it is for plans whose lines are all there is.")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """What was asked of the method."""
        return {name: value for name, value in self.changed.items() if name in PLANS}


PLANS = {*ProtocolSettings.model_fields, *TreeSettings.model_fields}
