"""Cases in files: a snapshot of a session, with the fingerprint of the plan it follows."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.documents import Document, Part, dump, parse, read_json, write_text
from banditree.files.plans import fingerprint
from banditree.plans.plan import Plan
from banditree.policies.session import Session
from banditree.policies.starting import resume_session
from banditree.tasks.collection import Collection


class CaseEvent(Part):
    """Something that happened to a case, as the app of a plan keeps it; kinds as in the service."""

    kind: Literal["asked", "told", "missing", "overridden", "corrected", "undone", "noted", "closed", "reopened"]
    round: int | None = None
    arm: str | None = None
    reward: float | None = None
    harm: bool | None = None
    context: list[float] | dict[str, str | float] | None = None
    text: str | None = None
    withdrawn: list[dict[str, int | str]] | None = Field(None, description="open rounds that were taken back")
    at: str | None = None


class CaseFile(Document):
    """One case that follows a plan. The app of a plan writes id, label and events too: what others go on with."""

    schema_: Literal["banditree/case/1"] = Field("banditree/case/1", alias="schema")
    plan: str = Field(description="fingerprint of the plan")
    session: dict[str, Any]
    id: str | None = None
    label: str | None = None
    events: list[CaseEvent] | None = None


def save_session(session: Session, path: str | Path) -> None:
    """Write a session that follows a plan, so that it can go on later; a file keeps its label and earlier events."""
    if not isinstance(session.subject, Plan):
        raise InvalidInput("Only sessions that follow a Plan can be saved to a file. Use snapshot() for others.")
    path, plan = Path(path), fingerprint(session.subject if session.whole is None else session.whole)
    known = parse(CaseFile, read_json(path), str(path)) if path.exists() else None
    kept = known.model_dump(include={"id", "label", "events"}) if known is not None and known.plan == plan else {}
    write_text(path, dump(CaseFile(plan=plan, session=session.snapshot(), **kept)))


def load_session(plan: Plan, path: str | Path, *, collection: Collection | None = None) -> Session:
    """The session in a file, which must have been started with exactly this plan; collection: as `start_session`'s."""
    path = Path(path)
    document = parse(CaseFile, read_json(path), str(path))
    if document.plan != fingerprint(plan):
        raise InvalidInput(f"{path} is a case of another plan ({document.plan}). Give the plan it was started with.")
    return resume_session(plan, document.session, collection=collection)
