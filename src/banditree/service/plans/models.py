"""Plans, collections and files over HTTP: what puts one on record, signs it and lists it."""

from datetime import date
from typing import Any, Literal

from pydantic import Field

from banditree.service.edge.models import Days, Id, Name, Shape, Words
from banditree.training.settings import RelearnSettings

CardFormat = Literal["pdf", "html"]
PaperName = Literal["a4", "letter"]


class NewCollection(Shape):
    """A collection file with a name."""

    name: Name
    collection: dict[str, Any] = Field(description='the content of a collection file ("banditree/collection/2")')


class SignPlan(Shape):
    """A signature under a plan. replaces: the plan it replaces, if not the one that the draft names.

    beside: it replaces no plan, whatever the draft says; new cases can then be split between the two.
    """

    comment: Words
    replaces: Id | None = None
    beside: bool = False


class NewPlan(Shape):
    """A plan file with a name, and the collection it was made from if its cases should have the alarm.

    It is a draft, on which no case can start, until it is signed: later, or with `sign` in the same request by
    somebody who may. replaces: the plan that it will replace.
    """

    name: Name
    plan: dict[str, Any] = Field(description='the content of a plan file ("banditree/plan/4")')
    collection: Id | None = None
    replaces: Id | None = None
    sign: SignPlan | None = None


class AnswerAlarm(Shape):
    """What somebody says to an alarm: what was found out, and what is done about it."""

    comment: Words


class AlarmLine(Shape):
    """An alarm about a plan's cases; answered_by, answer: None until somebody has answered it."""

    key: str
    sentence: str
    noticed: str
    answered_by: str | None
    answer: str | None


class Relearn(RelearnSettings):
    """What to learn from. After a change: only outcomes since a day (UTC), and less weight for the log."""

    since: date | None = None


class TakeSuccessor(Shape):
    """The job that learned from a plan's cases, and the name of the collection and the draft that it proposes."""

    job: Id
    name: Name


class DocumentLine(Shape):
    """A plan or collection on record."""

    id: str
    name: str
    at: str
    actor: str
    collection: str | None = None
    site: str | None = None


class Interval(Shape):
    """Days from one visit of a case to the next, for every case of a plan that has none of its own; null: unknown."""

    every: Days | None = None


class PlanLine(DocumentLine):
    """A plan on record. replaced: a signed plan, `replaced_by`, took its place, and it starts no more cases.

    every: days from one visit of a case to the next.
    """

    state: Literal["draft", "signed", "replaced"]
    signed_at: str | None
    signed_by: str | None
    comment: str | None
    replaces: str | None
    replaced_by: str | None
    every: int | None = None


class ChangedLine(Shape):
    """A line of a plan or of the one that it replaces: in both, only in the old one, or only in the new one."""

    kind: Literal["same", "gone", "new"]
    text: str


class SeparationOut(Shape):
    """The two tasks that are hardest to tell apart: no arm separates their means by more than `value`."""

    value: float
    tasks: tuple[str, str]
    arm: str


class FileLine(Shape):
    """A file on record."""

    id: str
    name: str
    size: int
    at: str
    actor: str
    site: str | None
