"""What clinical systems send and get, in the shapes of CDS Hooks 2.0; what the standard has besides is passed over."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from banditree.service.edge.models import NO_NUL

MOST_ANSWERS = 100  # One message tells what came of at most this many cards.
Text = Annotated[str, StringConstraints(max_length=1000, pattern=NO_NUL)]


class Hooked(BaseModel):
    """A part of a message: names as the standard writes them, and anything it does not know is ignored."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Context(Hooked):
    """Whose chart was opened."""

    patient_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Opened(Hooked):
    """A chart was opened. prefetch: what the service asked to have sent along, as far as the system has it."""

    hook: Literal["patient-view"]
    context: Context
    prefetch: dict[str, Any] | None = None


class Coding(Hooked):
    """A reason by its code."""

    code: Text
    system: Text | None = None
    display: Text | None = None


class Reason(Hooked):
    """Why a card was not followed."""

    reason: Coding | None = None
    user_comment: Text | None = None


class Answered(Hooked):
    """What a person did with a card."""

    card: Annotated[str, StringConstraints(max_length=100)]
    outcome: Literal["accepted", "overridden"]
    override_reason: Reason | None = None
    outcome_timestamp: datetime | None = None


class Feedback(Hooked):
    """What people did with cards."""

    feedback: list[Answered] = Field(min_length=1, max_length=MOST_ANSWERS)


class Service(Hooked):
    """What a service does, when it wants to be asked, and what is to be sent along."""

    hook: Literal["patient-view"] = "patient-view"
    id: str = "next-step"
    title: str = "The next step of a plan"
    description: str = "What to do next in the cases of a patient that follow an exploration plan, and why."
    prefetch: dict[str, str] = {"patient": "Patient/{{context.patientId}}"}
    usage_requirements: str


class Services(Hooked):
    """What is offered."""

    services: list[Service]


class Link(Hooked):
    """Where a card leads."""

    label: str
    url: str
    type: Literal["absolute"] = "absolute"


class Source(Hooked):
    """Where a card comes from."""

    label: str
    url: str


class Suggestion(Hooked):
    """What may be agreed to with one tap. Nothing is ordered by it."""

    label: str
    uuid: str


class Card(Hooked):
    """What the person who opened the chart sees."""

    uuid: str
    summary: str
    detail: str
    indicator: Literal["info", "warning"]
    source: Source
    links: list[Link]
    suggestions: list[Suggestion] | None = None
    selection_behavior: Literal["at-most-one"] | None = None
    override_reasons: list[Coding] | None = None


class Cards(Hooked):
    """The answer to a chart that was opened."""

    cards: list[Card]
