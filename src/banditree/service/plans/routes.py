"""The routes over collections, plans and exports."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from banditree.languages.language import Language
from banditree.languages.language import language as spoken
from banditree.plans.changes import Change, changed_lines
from banditree.plans.plan import Plan
from banditree.plans.words import in_language
from banditree.service.cases import exports
from banditree.service.edge.description import COMPONENT
from banditree.service.edge.models import Answer, Created, Done, Id
from banditree.service.edge.replies import ERRORS, desk_of, read, reply, write
from banditree.service.jobs.routes import computed, file_of_job, job_out
from banditree.service.people.senders import Operator, Signer, Viewer, sender
from banditree.service.plans import uploads
from banditree.service.plans.issuing import stamp_of
from banditree.service.plans.models import (
    CardFormat,
    ChangedLine,
    DocumentLine,
    Interval,
    NewCollection,
    NewPlan,
    PaperName,
    PlanLine,
    SeparationOut,
    SignPlan,
)
from banditree.service.problems import Forbidden, Refused
from banditree.service.store import jobs, records, signing
from banditree.service.store.database import Connection, Database
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person, Role
from banditree.service.store.trail import note_action
from banditree.tasks.separation import least_separation

BOM = b"\xef\xbb\xbf"  # By this Excel knows that a CSV file is in UTF-8.
router = APIRouter(prefix="/api/v1", responses=ERRORS)
MOST_COMPARED = 1_500  # Plans of up to this many boxes are compared line by line, which takes seconds at most.
CARD: dict[int | str, dict[str, Any]] = {200: {"content": {"application/pdf": {}, "text/html": {}}}}
PIECE = 262_144  # This many bytes of an export are sent at a time.
DocumentId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


def _body(shape: type[BaseModel]) -> dict[str, Any]:
    """The description of a body that a route reads by itself."""
    content = {"application/json": {"schema": shape.model_json_schema(ref_template=COMPONENT)}}
    return {"requestBody": {"required": True, "content": content}}


@router.post("/collections", response_model=Answer[Created], tags=["plans"], openapi_extra=_body(NewCollection))
async def add_collection(request: Request, person: Operator) -> Response:
    """Put a collection on record."""
    given = await read_body(request, uploads.read_collection)
    return reply(Created(id=await write(request, records.add_collection, person.name, *given)))


async def read_body(request: Request, how: Callable[[bytes], Any]) -> Any:
    """What a function of `uploads` makes of the body, read where nobody waits for it."""
    return await request.app.state.reader.read(sender(request), how, await request.body())


@router.get("/collections", response_model=Answer[list[DocumentLine]], tags=["plans"])
async def list_collections(request: Request, person: Viewer) -> Response:
    """The collections on record."""
    return reply([DocumentLine(**line) for line in await read(request, records.documents, "collections")])


@router.get("/collections/{id}", response_model=Answer[dict[str, Any]], tags=["plans"])
async def show_collection(request: Request, person: Viewer, id: DocumentId) -> Response:
    """A collection, as its file."""
    return _document(await read(request, records.document_of, "collections", id))


@router.post("/plans", response_model=Answer[Created], tags=["plans"], openapi_extra=_body(NewPlan))
async def add_plan(request: Request, person: Operator) -> Response:
    """Put a plan on record: a draft, or with `sign` at once signed. With its collection, its cases have the alarm."""
    return reply(Created(id=await put_plan(request, person, *await read_body(request, uploads.read_plan))))


async def put_plan(request: Request, person: Person, new: NewPlan, id: str, plan: Plan, text: str) -> str:
    """Put a plan that was read on record, and sign it where that is asked for; its id."""
    if new.sign is not None and person.role < Role.SIGNER:
        raise Forbidden(f"Signing needs the role signer, and {person.name} has {person.role.word}. Omit sign.")
    alone = may_sign_alone(request)
    added = str(await write(request, _add_plan, person.name, new, id, plan, text, alone))
    if new.sign is not None:
        await _keep_proof(request, person, added)
    return added


def _add_plan(connection: Connection, actor: str, new: NewPlan, id: str, plan: Plan, text: str, alone: bool) -> str:
    records.add_plan(connection, actor, new.name, id, plan, new.collection, text, new.replaces)
    if new.sign is not None:
        sign_as_asked(connection, actor, id, new.sign, alone)
    return id


@router.get("/plans", response_model=Answer[list[PlanLine]], tags=["plans"])
async def list_plans(request: Request, person: Viewer) -> Response:
    """The plans on record, drafts among them."""
    return reply([PlanLine(**line) for line in await read(request, records.documents, "plans")])


@router.post("/plans/{id}/sign", response_model=Answer[Done], tags=["plans"])
async def sign_plan(request: Request, person: Signer, id: DocumentId, body: SignPlan) -> Response:
    """Sign a draft, so that cases can start on it; done is false if it was signed before."""
    return reply(Done(done=await sign_and_prove(request, person, id, body)))


async def sign_and_prove(request: Request, person: Person, id: str, body: SignPlan) -> bool:
    """Sign a plan and have it proven; False if it was signed before."""
    done = await write(request, sign_as_asked, person.name, id, body, may_sign_alone(request))
    await _keep_proof(request, person, id)
    return bool(done)


async def _keep_proof(request: Request, person: Person, id: str) -> None:
    """Have a plan that was signed certified and proven, if nobody asked for it before; nobody waits for it."""
    if await read(request, records.collection_id_of, id) is not None:
        await computed(request, person, "certificate", {"plan": id}, id, waits=False)


def sign_as_asked(connection: Connection, actor: str, id: str, body: SignPlan, alone: bool) -> bool:
    """Sign a plan; False if it was signed before. alone: as in `signing.sign`."""
    return signing.sign(connection, actor, id, body.comment, body.replaces, beside=body.beside, alone=alone)


def may_sign_alone(request: Request) -> bool:
    """Whether whoever made a plan may sign it, although there are other users."""
    return bool(request.app.state.settings.sign_alone)


@router.post("/plans/{id}/interval", response_model=Answer[Done], tags=["plans"])
async def set_interval(request: Request, person: Operator, id: DocumentId, body: Interval) -> Response:
    """Say how many days there are from one visit to the next, in cases that have no number of their own."""
    return reply(Done(done=await write(request, records.set_interval, person.name, id, body.every)))


@router.get("/plans/{id}/changes", response_model=Answer[list[ChangedLine]], tags=["plans"])
async def show_changes(request: Request, person: Viewer, id: DocumentId) -> Response:
    """What changed, line by line, from the plan that this one replaces; nothing where it replaces none."""
    found = await changes(request, id, (await read(request, signing.signature_of, id)).replaces)
    return reply([ChangedLine(kind=change.kind.value, text=change.text) for change in found])


async def changes(request: Request, id: str, old: str | None, language: Language | None = None) -> list[Change]:
    """The lines of a plan and of an older one, as they are compared."""
    if old is None:
        return []
    both = [(await read(request, records.followed_of, one)).plan for one in (old, id)]
    before, after = both if language is None else [in_language(plan, language) for plan in both]
    if max(before.n_boxes, after.n_boxes) > MOST_COMPARED:
        raise Refused(f"Plans of more than {MOST_COMPARED:,} boxes are not compared line by line.")
    return await run_in_threadpool(changed_lines, before, after)


@router.get("/plans/{id}", response_model=Answer[dict[str, Any]], tags=["plans"])
async def show_plan(request: Request, person: Viewer, id: DocumentId) -> Response:
    """A plan, as its file."""
    return _document(await read(request, records.document_of, "plans", id))


@router.get("/plans/{id}/certificate", response_model=Answer[dict[str, Any]], tags=["plans"])
async def show_certificate(
    request: Request,
    person: Viewer,
    id: DocumentId,
    collection: Annotated[Id | None, Query(description="another collection than the plan's own")] = None,
) -> Response:
    """What a plan costs and how often it errs, as `banditree certify --json`. Until it is known, 202 and the job."""
    job = await certified(request, person, id, collection)
    if job.state is State.FAILED:
        raise Refused(f"There is no certificate. {job.problem}")
    if job.state is not State.DONE:
        return reply(job_out(job), 202)
    return Response(json.dumps({"data": job.result["document"]}), media_type="application/json")


@router.get("/plans/{id}/proof", response_model=Answer[dict[str, Any]], tags=["plans"])
async def show_proof(request: Request, person: Viewer, id: DocumentId) -> Response:
    """The proof of a plan's certificate on its own collection, as `certify --proof` writes it, for
    `conformance/check_proof.py`. Until it is known, 202 and the job."""
    job = await certified(request, person, id)
    if not job.state.is_final:
        return reply(job_out(job), 202)
    found = job.result if job.state is State.DONE else {"unproven": job.problem}
    if "proof" not in found:
        raise Refused(f"There is no proof. {found['unproven']}")
    return _document(json.dumps(found["proof"]))


@router.get("/plans/{id}/card", response_class=Response, tags=["plans"], responses=CARD)
async def show_card(
    request: Request,
    person: Viewer,
    id: DocumentId,
    format: CardFormat = "pdf",
    paper: PaperName = "a4",
    language: Annotated[str, Query(max_length=16, description="en, de, fr or es")] = "en",
) -> Response:
    """The card of a plan with its worksheet, as `banditree show --card`. Until it is there, 202 and the job."""
    job = await printed(request, person, id, format, paper, spoken(language))
    if job.state is State.FAILED:
        raise Refused(job.problem or "The job failed.")
    return file_of_job(job) if job.state is State.DONE else reply(job_out(job), 202)


async def printed(
    request: Request, person: Person, id: str, format: CardFormat, paper: PaperName, language: Language
) -> Job:
    """The card of a plan in a language, printed once."""
    await read(request, records.document_of, "plans", id)
    known, stamp = await read(request, judged_by, id), await read(request, stamp_of, id)
    settings = {"plan": id, "format": format, "paper": paper, "judged_by": known, "stamp": stamp}
    if not language.is_english:
        settings["language"] = language.code
    return await computed(request, person, "card", settings, id)


def judged_by(connection: Connection, plan: str) -> str | None:
    """The job that judged a plan on cases held out: what is printed before it is another file than what comes after."""
    job = jobs.newest(connection, "evaluate", plan)
    return job.id if job is not None and job.state is State.DONE else None


async def certified(request: Request, person: Person, id: str, collection: str | None = None) -> Job:
    """The certificate of a plan, computed once: plans and collections never change."""
    own = await read(request, records.collection_id_of, id)
    await read(request, records.document_of, "plans", id)
    if collection is None and own is None:
        raise Refused(f"Plan {id} was put on record without its collection. Name the collection.")
    if collection is not None:
        await read(request, records.document_of, "collections", collection)
    settings = {"plan": id} if collection in (None, own) else {"plan": id, "collection": collection}
    return await computed(request, person, "certificate", settings, id)


@router.get("/collections/{id}/separation", response_model=Answer[SeparationOut], tags=["plans"])
async def show_separation(request: Request, person: Viewer, id: DocumentId) -> Response:
    """The two tasks of a collection that are hardest to tell apart, and by how much."""
    collection = await read(request, records.collection_of, id)
    found = await run_in_threadpool(least_separation, collection)
    return reply(SeparationOut(value=found.value, tasks=found.tasks, arm=found.arm))


def _document(text: str) -> Response:
    return Response(json.dumps({"data": json.loads(text)}), media_type="application/json")


@router.get("/export/{what}", tags=["export"], response_class=StreamingResponse)
async def export(
    request: Request,
    person: Operator,
    what: Literal["decisions", "events"],
    format: Annotated[Literal["csv", "excel", "parquet"], Query(description="excel: CSV that Excel opens")] = "csv",
    plan: Annotated[Id | None, Query(description="only the cases of this plan")] = None,
) -> Response:
    """Everything on record: decisions, one row per outcome as `banditree learn` reads it, or events, one row each."""
    database: Database = desk_of(request).database
    written = partial(exports.write_export, database, what, format, plan, person.site)
    file = await request.app.state.exporters.run(sender(request), written)
    await write(request, note_action, person.name, f"export {what}", plan, None)
    is_table = format == "parquet"
    headers = {"content-disposition": f'attachment; filename="{what}.{"parquet" if is_table else "csv"}"'}
    media = "application/vnd.apache.parquet" if is_table else "text/csv"
    return StreamingResponse(_pieces(file, BOM if format == "excel" else b""), media_type=media, headers=headers)


def _pieces(file: IO[bytes], first: bytes) -> Iterator[bytes]:
    yield first
    with file:
        while piece := file.read(PIECE):
            yield piece
