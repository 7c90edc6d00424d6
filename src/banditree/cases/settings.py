"""The settings of reading a table of cases: where they are, and which column says what."""

from typing import Annotated, Any

from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from banditree.cases.design import Design, LogDesign
from banditree.settings import Settings, Text

COLUMNS = ("individual", "arm", "reward", "round", "time", "propensity")


class CaseSettings(Settings):
    """The columns of cases that followed a plan. The usual names are recognised."""

    table: Annotated[Text | None, Field(description="The table of a database.")] = None
    individual: Annotated[Text | None, Field(description="Column of the case. Usual names are recognised.")] = None
    arm: Annotated[Text | None, Field(description="Column of the option.")] = None
    reward: Annotated[Text | None, Field(description="Column of the reward.")] = None
    round: Annotated[
        Text | None,
        Field(description="Column of the occasion, where a decision takes several rows, one per option."),
    ] = None
    time: Annotated[Text | None, Field(description="Column that gives the order. [default: the order of the rows]")] = (
        None
    )
    drop_bad_rows: Annotated[bool, Field(description="Drop bad rows instead of refusing.")] = False

    @property
    def reading(self) -> dict[str, Any]:
        """What the reader takes."""
        return self.model_dump(include={"table", "drop_bad_rows", *COLUMNS})


class LogSettings(CaseSettings):
    """The columns of a log."""

    propensity: Annotated[
        Text | None, Field(description="Column of the chance with which the logged option was chosen.")
    ] = None
    shuffle: Annotated[bool, Field(description="Shuffle the rounds of each case, where their order means nothing.")] = (
        False
    )
    design: Annotated[
        Design | SkipJsonSchema[InstanceOf[LogDesign]] | None,
        Field(description="How options were given. [default: found from the log]"),
    ] = None
    most_rows: Annotated[
        int, Field(ge=1000, description="Of a log with more rows, whole cases of about N rows are drawn by the seed.")
    ] = 2_000_000

    @property
    def reading(self) -> dict[str, Any]:
        """What the reader takes."""
        return super().reading | {"most_rows": self.most_rows}
