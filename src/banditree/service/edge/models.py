"""The shapes that all bodies over HTTP share. Success is {"data": ...}, an error is {"error": {"code", "message"}}."""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints

Data = TypeVar("Data")
KEY = "Idempotency-Key"  # The header with which a request can be sent again without being carried out again.
MOST_DAYS = 3650  # From one visit to the next it is at most this many days.
NO_NUL = r"^[^\x00]*$"  # PostgreSQL does not store the null character.

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NO_NUL)]
Days = Annotated[int, Strict(), Field(ge=1, le=MOST_DAYS)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=NO_NUL)]


class Shape(BaseModel):
    """A body: nothing unknown in it, and no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Answer(Shape, Generic[Data]):
    """The one shape of success."""

    data: Data


class Problem(Shape):
    """What went wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class Failure(Shape):
    """The one shape of an error."""

    error: Problem


class Created(Shape):
    """The id of what is on record now."""

    id: str


class Done(Shape):
    """done: false if nothing had to be changed."""

    done: bool
