"""The settings of learning from a log, and again from a plan's own cases."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from banditree.cases.design import Design
from banditree.errors import invalid
from banditree.settings import Seed, Settings, Text, Texts
from banditree.tasks.rewards import Family, Link, Rewards, make_rewards
from banditree.training.classes import Criterion
from banditree.training.collection import Untried
from banditree.training.estimates import FAILURE_PROBABILITY

COLUMNS = {"table", "task", "individual", "arm", "reward", "context", "propensity", "categorical", "numeric"}


class LearnSettings(Settings):
    """Which column of a log says what, and how the log is turned into a collection."""

    table: Annotated[Text | None, Field(description="The table of a database.")] = None
    task: Annotated[Text | None, Field(description="Column of the task, the kind of case.")] = None
    individual: Annotated[
        Text | None,
        Field(description="Column of the individual, whose rows count together. Without a task, the kinds are found."),
    ] = None
    arm: Annotated[Text | None, Field(description="Column of the arm. Usual names are recognised.")] = None
    reward: Annotated[Text | None, Field(description="Column of the reward. Usual names are recognised.")] = None
    harm: Annotated[
        Text | None,
        Field(description="Column of harm, 0 or 1, such as a side effect: its rates are learned beside the rewards."),
    ] = None
    state: Annotated[
        Text | None,
        Field(
            description="Column of the state that the case was in, which changes with what is given; a row per round."
        ),
    ] = None
    states: Annotated[Texts, Field(description="The states in your order, as in well,moderate,ill.")] = ()
    time: Annotated[
        Text | None,
        Field(description="Column that gives the order of rounds, with states. [default: that of the rows]"),
    ] = None
    context: Annotated[Texts, Field(description="Context columns, as in age,sex. Text columns are categories.")] = ()
    per_case: Annotated[
        Texts, Field(description="Context columns that stay the same for a whole case, as an age does.")
    ] = ()
    categorical: Annotated[Texts, Field(description="Context columns that are categories, though numbers.")] = ()
    numeric: Annotated[Texts, Field(description="Context columns that are numbers though they look like text.")] = ()
    propensity: Annotated[
        Text | None, Field(description="Column of the chance with which the logged arm was chosen.")
    ] = None
    design: Annotated[
        Design | None, Field(description="How options were given. [default: found from the log, where it has cases]")
    ] = None
    rewards: Annotated[
        Family | SkipJsonSchema[InstanceOf[Rewards]], Field(description="How rewards are distributed.")
    ] = Family.BERNOULLI
    low: Annotated[float | None, Field(description="Least reward, for bounded rewards. [default: 0]")] = None
    high: Annotated[float | None, Field(description="Greatest reward, for bounded rewards. [default: 1]")] = None
    grades: Annotated[
        dict[Text, float] | tuple[float, ...],
        Field(description="Values of graded rewards, with names or without, as in none=0,partial=0.5,full=1."),
    ] = ()
    link: Annotated[
        Link, Field(description="How the chance of a success follows from the context, where there is one.")
    ] = Link.LINEAR
    intercept: Annotated[bool, Field(description="Whether predictions have a constant term.")] = True
    ridge: Annotated[float, Field(ge=0, description="Penalty on the parameters of predictions.")] = 0.0
    untried: Annotated[Untried, Field(description="Arms without an estimate for some task: what to do about them.")] = (
        Untried.REFUSE
    )
    drop_bad_rows: Annotated[bool, Field(description="Drop bad rows instead of refusing.")] = False
    failure_probability: Annotated[
        float, Field(gt=0, lt=1, description="Chance that some mean is outside its margin.")
    ] = FAILURE_PROBABILITY
    keep_sample: Annotated[
        int | None,
        Field(
            ge=0,
            description="Contexts to keep beside their moments. [default: 2,000, none where rows are added to others]",
        ),
    ] = None
    kinds: Annotated[int | None, Field(ge=1, description="How many kinds to find. [default: by the criterion]")] = None
    criterion: Annotated[Criterion, Field(description="How the number of kinds is chosen.")] = Criterion.BIC
    merge: Annotated[float | None, Field(description="Merge tasks that no arm tells apart by this much.")] = None
    shares: Annotated[
        dict[Text, float] | tuple[float, ...],
        Field(description="Shares of the tasks among cases, as in mild=0.3,severe=0.7. [default: as in the log]"),
    ] = ()
    seed: Annotated[Seed, Field(description="Seed of the search for kinds and of the sample.")] = 0

    @property
    def columns(self) -> dict[str, Any]:
        """What the reader takes."""
        return self.model_dump(include=COLUMNS)

    @property
    def family(self) -> Rewards | Family:
        """The rewards, as far as they are known before the log is read."""
        named = self.grades if isinstance(self.grades, dict) else {}
        values: Iterable[float] = self.grades.values() if isinstance(self.grades, dict) else self.grades
        asked: dict[str, Any] = {"low": self.low, "high": self.high, "link": self.link, "values": sorted(values)}
        asked["names"] = sorted(named, key=lambda name: named[name])
        given = {name: value for name, value in asked.items() if value not in (None, Link.LINEAR, [])}
        if not given:
            return self.rewards
        if isinstance(self.rewards, Rewards):
            raise invalid("rewards", f"the name of a family with {', '.join(given)}", self.rewards)
        return make_rewards(self.rewards, **given)


class RelearnSettings(Settings):
    """How the cases of a plan are added to what its log told."""

    failure_probability: Annotated[
        float,
        Field(gt=0, lt=1, description="Chance that any of the new margins ever fails, however often you relearn."),
    ] = 0.05
    log_weight: Annotated[
        float, Field(ge=0, le=1, description="Weight of a row of the log; less than 1 where rates have changed.")
    ] = 1.0
