"""The pages on which a plan is signed, and the card that people work with."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from banditree.plans.wording import about, plain_text
from banditree.plans.words import in_language
from banditree.service.edge.replies import read
from banditree.service.jobs.routes import file_of_job
from banditree.service.pages import verdicts
from banditree.service.pages.forms import fields, shaped, to
from banditree.service.pages.plan_pages import COMPUTING, side_of
from banditree.service.pages.rendering import page, spoken
from banditree.service.people.senders import Signer, Viewer
from banditree.service.plans import routes as plan_routes
from banditree.service.plans.models import CardFormat, PaperName, SignPlan
from banditree.service.plans.routes import DocumentId
from banditree.service.store import case_lists, records, signing
from banditree.service.store.jobs import State
from banditree.service.store.signing import PlanState

router = APIRouter(include_in_schema=False)


@router.get("/plans/{id}/sign")
async def show_sign(
    request: Request, person: Viewer, id: DocumentId, instead: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """What is signed: the plan in words, what it promises, and what changes from the one that it replaces."""
    lines = await read(request, records.documents, "plans")
    side = await side_of(request, person, id)
    line = next(one for one in lines if one["id"] == id)
    old = next((one for one in lines if one["id"] == (instead or line["replaces"])), None)
    if line["state"] != PlanState.DRAFT:
        return to(f"/plans/{id}")
    language = spoken(request)
    judged, said = await verdicts.judged(request, id, language), in_language(side.plan, language)
    return page(
        request,
        "sign.html",
        line=line,
        about=about(said),
        promise=verdicts.promise_in(side.certificate, language),
        judged=judged,
        why=side.why,
        refresh=judged.busy or side.why == COMPUTING,
        text=await run_in_threadpool(plain_text, said),
        mine=not plan_routes.may_sign_alone(request) and await read(request, signing.made_by, person.name, id),
        old=old,
        replaceable=[one for one in lines if one["state"] == PlanState.SIGNED],
        changes=[] if old is None else await plan_routes.changes(request, id, old["id"], language),
        running=0 if old is None else len(await read(request, case_lists.list_cases, plan=old["id"], state="open")),
    )


@router.post("/plans/{id}/sign")
async def sign(request: Request, person: Signer, id: DocumentId) -> Response:
    """Sign a draft, with a comment."""
    body = shaped(SignPlan, await fields(request))
    await plan_routes.sign_and_prove(request, person, id, body)
    return to(f"/plans/{body.replaces}/split?other={id}" if body.beside and body.replaces else f"/plans/{id}")


@router.get("/plans/{id}/card")
async def card(
    request: Request, person: Viewer, id: DocumentId, format: CardFormat = "pdf", paper: PaperName = "a4"
) -> Response:
    """The card with its worksheet, to print; the page of its job until it is there."""
    job = await plan_routes.printed(request, person, id, format, paper, spoken(request))
    return file_of_job(job) if job.state is State.DONE else to(f"/jobs/{job.id}")
