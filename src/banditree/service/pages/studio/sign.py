"""Sign: a plan is a draft until somebody with the role to do so signs it, with a comment."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from banditree.plans.wording import about
from banditree.plans.words import in_language
from banditree.service.edge.replies import read
from banditree.service.pages.forms import fields, shaped
from banditree.service.pages.plan_pages import COMPUTING, side_of
from banditree.service.pages.rendering import spoken
from banditree.service.pages.studio.steps import (
    StudyId,
    ladder_of,
    require,
    step_page,
    study_in_form,
    study_of,
    to_step,
)
from banditree.service.pages.studio.trust import evaluated
from banditree.service.pages.verdicts import promise_in, verdict_in
from banditree.service.people.senders import Signer, Viewer
from banditree.service.plans.models import SignPlan
from banditree.service.plans.routes import changes, may_sign_alone, sign_and_prove
from banditree.service.store import records, signing
from banditree.service.store.signing import PlanState

router = APIRouter(include_in_schema=False)


@router.get("/studio/{id}/sign")
async def show(
    request: Request, person: Viewer, id: StudyId, replaces: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """The plan as it is signed; if it takes the place of another, what changes line by line."""
    study = await study_of(request, id)
    require(study, "sign")
    plan = study.content.plan
    assert plan is not None
    side, language = await side_of(request, person, plan), spoken(request)
    said = in_language(side.plan, language)
    judged = verdict_in(await evaluated(request, person, study.content, plan), language)
    signature = await read(request, signing.signature_of, plan)
    lines = await read(request, records.documents, "plans")
    old = signature.replaces or replaces or None
    return step_page(
        request,
        study,
        "sign",
        busy=judged.busy or side.why == COMPUTING,
        plan=said,
        about=about(said),
        promise=promise_in(side.certificate, language),
        why=side.why,
        judged=judged,
        ladder=ladder_of(said),
        signature=signature,
        mine=not may_sign_alone(request) and await read(request, signing.made_by, person.name, plan),
        replaceable=[line for line in lines if line["state"] == PlanState.SIGNED and line["id"] != plan],
        replaces=old,
        changes=await changes(request, plan, old, language),
    )


@router.post("/studio/{id}/sign")
async def sign(request: Request, person: Signer, id: StudyId) -> Response:
    """Sign the plan of a draft."""
    study, given = await study_in_form(request, id), await fields(request)
    require(study, "sign")
    said = shaped(SignPlan, {name: given[name] for name in ("comment", "replaces") if name in given})
    assert study.content.plan is not None  # the step before has put one on record
    await sign_and_prove(request, person, study.content.plan, said)
    return to_step(study, "sign")
