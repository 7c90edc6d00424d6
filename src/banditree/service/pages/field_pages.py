"""The pages of a plan in the field: promised against observed, and what its cases teach."""

from typing import Any

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from banditree.service.cases.exports import LABELS
from banditree.service.edge.replies import read
from banditree.service.field.routes import AlarmKey, answer_alarm, monitored, relearning, succeeded
from banditree.service.jobs.routes import JobId
from banditree.service.pages.forms import fields, shaped, to, whole
from banditree.service.pages.rendering import page, spoken
from banditree.service.pages.split_pages import shown_splits
from banditree.service.people.senders import Operator, Viewer
from banditree.service.plans.models import AnswerAlarm, Relearn, TakeSuccessor
from banditree.service.plans.routes import DocumentId
from banditree.service.problems import NotFound, Refused
from banditree.service.store import jobs, records
from banditree.service.store.jobs import Job, State

router = APIRouter(include_in_schema=False)


@router.get("/plans/{id}/field")
async def show_field(request: Request, person: Viewer, id: DocumentId, by: str = "") -> Response:
    """What the plan promised against what its cases show; the page reloads by itself while that is computed."""
    lines = await read(request, records.documents, "plans")
    line, label = await _line(request, id), by if by in LABELS else None
    shown = await shown_splits(request, person, id)
    job, why = None, ""
    try:
        job = await monitored(request, person, id, label)
    except (NotFound, Refused) as problem:  # nothing to show yet, and the page says why
        why = str(problem)
    done = job.result if job is not None and job.state is State.DONE else {}
    code = spoken(request).code
    found = done.get("document")
    said = (
        [{**alarm, "said": told} for alarm, told in zip(found["alarms"], done["alarms"], strict=True)] if found else []
    )
    return page(
        request,
        "field.html",
        line=line,
        job=job,
        why=why,
        labels=LABELS,
        by=label,
        shown=shown,
        names={one["id"]: one["name"] for one in lines},
        going_on=any(one.split.ended_at is None for one in shown),
        refresh=(job is not None and not job.state.is_final) or any(one.computing for one in shown),
        found=found and {**found, "alarms": said},
        charts=[Markup(chart) for chart in done.get("charts", ())],
        verdict=done.get("verdict", {}).get(code, ""),
        tables=done.get("tables", {}).get(code, []),
    )


@router.post("/plans/{id}/alarms/{key}")
async def answer(request: Request, person: Operator, id: DocumentId, key: AlarmKey) -> Response:
    """Answer an alarm."""
    await answer_alarm(request, person, id, key, shaped(AnswerAlarm, await fields(request)))
    return to(f"/plans/{id}")


@router.post("/plans/{id}/relearn")
async def relearn(request: Request, person: Operator, id: DocumentId) -> Response:
    """Learn from the cases of the plan, or after a change from what came since then."""
    given: dict[str, Any] = await fields(request)
    percent = whole(given, "percent")
    given.pop("percent", None)
    asked = shaped(Relearn, {**given, "log_weight": 1.0 if percent is None else percent / 100})
    return to(f"/plans/{id}/relearned/{(await relearning(request, person, id, asked)).id}")


@router.get("/plans/{id}/relearned/{job}")
async def show_relearned(request: Request, person: Viewer, id: DocumentId, job: JobId) -> Response:
    """What was learned, and the plan that may follow; the page reloads by itself until that is known."""
    found: Job = await read(request, jobs.find_job, job)
    if found.kind != "relearn" or found.settings["plan"] != id:
        raise NotFound(f"There is no job {job} about plan {id}.")
    return page(request, "relearned.html", line=await _line(request, id), job=found, refresh=not found.state.is_final)


@router.post("/plans/{id}/relearned/{job}")
async def take(request: Request, person: Operator, id: DocumentId, job: JobId) -> Response:
    """Put the new collection and the draft of the new plan on record."""
    await read(request, records.check_seen, "plans", id)
    body = shaped(TakeSuccessor, {**await fields(request), "job": job})
    return to(f"/plans/{await succeeded(request, person, id, body)}")


async def _line(request: Request, id: str) -> dict[str, Any]:
    await read(request, records.check_seen, "plans", id)
    lines = await read(request, records.documents, "plans")
    return next(dict(one) for one in lines if one["id"] == id)
