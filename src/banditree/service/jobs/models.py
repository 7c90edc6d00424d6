"""Jobs over HTTP: the settings of each kind, seed included, as they are kept with its result, and how one stands."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from banditree.evaluation.settings import EvaluateSettings
from banditree.protocols.settings import PlanSettings
from banditree.service.edge.models import NO_NUL, Id, Shape, Words
from banditree.training.settings import LearnSettings

Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Column = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=NO_NUL)]
Columns = Annotated[list[Column], Field(max_length=100)]
Horizon = Annotated[int, Field(ge=1, le=10**9)]
Seconds = Annotated[int | None, Field(ge=1, description="at most, of those that the service allows")]
Vocabulary = Annotated[dict[Words, Words], Field(max_length=20, description='as in {"arm": "treatment"}')]


class LearnOnFile(LearnSettings):
    """A file on record, which of its columns says what (the usual names are recognised), and how to learn from it."""

    file: Id


class SearchSettings(PlanSettings):
    """A collection on record, and how its plan is made."""

    collection: Id
    islands: Literal[1] = Field(1, description="A job searches on one core: the others are for those who follow cases.")
    words: Vocabulary = Field(default_factory=dict)


class EvaluateOnFile(EvaluateSettings):
    """A plan and a file of cases that it was not made from. collection: another one than the plan's own."""

    plan: Id
    file: Id
    collection: Id | None = None


class ReportSettings(Shape):
    """A plan to report on, in one file. collection: another one than the plan's own."""

    plan: Id
    collection: Id | None = None
    format: Literal["html", "pdf"] = "html"


class LearnJob(Shape):
    """Learn a collection from a file."""

    kind: Literal["learn"]
    settings: LearnOnFile
    seconds: Seconds = None


class SearchJob(Shape):
    """Search for plans of a collection, short and long; each is reported as it is found."""

    kind: Literal["search"]
    settings: SearchSettings
    seconds: Seconds = None


class EvaluateJob(Shape):
    """Evaluate a plan on the cases of a file."""

    kind: Literal["evaluate"]
    settings: EvaluateOnFile
    seconds: Seconds = None


class ReportJob(Shape):
    """Write the report of a plan."""

    kind: Literal["report"]
    settings: ReportSettings
    seconds: Seconds = None


NewJob = Annotated[LearnJob | SearchJob | EvaluateJob | ReportJob, Field(discriminator="kind")]


def settings_of(new: LearnJob | SearchJob | EvaluateJob | ReportJob) -> dict[str, Any]:
    """The settings as they are kept: all of them, so that the same can be asked for again."""
    return new.settings.model_dump(mode="json")


class JobOut(Shape):
    """Long work: how it stands, how far it is, what it found so far, and what came of it or why nothing did."""

    id: str
    kind: str
    subject: str | None
    settings: dict[str, Any]
    state: Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]
    done: int
    total: int
    best: float | None
    text: str
    found: list[dict[str, Any]] = Field(default_factory=list)
    result: Any = None
    problem: str | None
    seconds: int
    megabytes: int
    at: str
    actor: str
    began: str | None
    ended: str | None


class EndJob(Shape):
    """How to end a job. best_so_far: keep what it has by now; by default only searches do."""

    best_so_far: bool | None = None
