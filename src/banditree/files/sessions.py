"""Cases in files: a snapshot of a session, with the fingerprint of the plan it follows."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.documents import Document, dump, parse, read_json, write_text
from banditree.files.plans import fingerprint
from banditree.plans.plan import Plan
from banditree.policies.session import Session, resume_session
from banditree.tasks.collection import Collection


class CaseFile(Document):
    """One case that follows a plan."""

    schema_: Literal["banditree/case/1"] = Field("banditree/case/1", alias="schema")
    plan: str = Field(description="fingerprint of the plan")
    session: dict[str, Any]


def save_session(session: Session, path: str | Path) -> None:
    """Write a session that follows a plan, so that it can go on later."""
    if not isinstance(session.subject, Plan):
        raise InvalidInput("Only sessions that follow a Plan can be saved to a file. Use snapshot() for others.")
    plan = session.subject if session.whole is None else session.whole
    write_text(Path(path), dump(CaseFile(plan=fingerprint(plan), session=session.snapshot())))


def load_session(plan: Plan, path: str | Path, *, collection: Collection | None = None) -> Session:
    """The session in a file, which must have been started with exactly this plan; collection: as `start_session`'s."""
    path = Path(path)
    document = parse(CaseFile, read_json(path), str(path))
    if document.plan != fingerprint(plan):
        raise InvalidInput(f"{path} is a case of another plan ({document.plan}). Give the plan it was started with.")
    return resume_session(plan, document.session, collection=collection)
