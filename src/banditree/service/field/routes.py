"""The routes over a plan in the field: what it promised against what is observed, and what its cases teach."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from banditree.service.edge.models import Answer, Created, Done
from banditree.service.edge.replies import ERRORS, read, reply, write
from banditree.service.field import monitoring as field
from banditree.service.jobs.models import JobOut
from banditree.service.jobs.routes import computed, job_out
from banditree.service.people.senders import Operator, Viewer
from banditree.service.plans.models import AlarmLine, AnswerAlarm, Relearn, TakeSuccessor
from banditree.service.plans.routes import DocumentId
from banditree.service.problems import Conflict, Refused
from banditree.service.settings import Settings
from banditree.service.store import jobs, records
from banditree.service.store.database import Connection
from banditree.service.store.jobs import Job, Lane, State
from banditree.service.store.people import Person

router = APIRouter(prefix="/api/v1", tags=["field"], responses=ERRORS)
By = Annotated[Literal["site", "label"] | None, Query(description="also for each value of this label of the cases")]
AlarmKey = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]
EVERYTHING = Relearn()  # What a request without a body asks for.
MARKDOWN: dict[int | str, dict[str, Any]] = {200: {"content": {"text/markdown": {}}}}


@router.get("/plans/{id}/monitor", response_model=Answer[dict[str, Any]])
async def monitor(request: Request, person: Viewer, id: DocumentId, by: By = None) -> Response:
    """What a plan promised against what its cases show, as `banditree monitor --json`. Until it is known, 202."""
    job = await monitored(request, person, id, by)
    if job.state is not State.DONE:
        return reply(job_out(job), 202)
    return Response(json.dumps({"data": job.result["document"]}), media_type="application/json")


@router.get("/plans/{id}/digest", response_class=Response, responses=MARKDOWN)
async def digest(request: Request, person: Viewer, id: DocumentId, by: By = None) -> Response:
    """The weekly digest of a plan as Markdown. Until it is known, 202 and the job."""
    job = await monitored(request, person, id, by)
    if job.state is not State.DONE:
        return reply(job_out(job), 202)
    return Response(job.result["markdown"], media_type="text/markdown; charset=utf-8")


async def monitored(request: Request, person: Person, id: str, by: str | None) -> Job:
    """The job that monitors a plan, for whoever asks first today or after something was told."""
    settings = await read(request, field.monitoring_of, id, by, person.site)
    if await read(request, jobs.find_by_key, jobs.key_of("monitor", settings)) is None:
        await write(request, field.forget_old, id)
    job = await computed(request, person, "monitor", settings, id)
    if job.state is State.FAILED:
        raise Refused(f"The plan could not be monitored. {job.problem}")
    return job


@router.get("/plans/{id}/alarms", response_model=Answer[list[AlarmLine]])
async def alarms(request: Request, person: Viewer, id: DocumentId) -> Response:
    """The alarms about a plan's cases as they were last looked at, answered or not."""
    await read(request, records.check_seen, "plans", id)
    return reply([_alarm_line(one) for one in await read(request, field.alarms_of, id)])


def _alarm_line(alarm: dict[str, Any]) -> AlarmLine:
    answer = alarm["answer"] or {"actor": None, "subject": None}
    return AlarmLine(
        **{name: alarm[name] for name in ("key", "sentence", "noticed")},
        answered_by=answer["actor"],
        answer=answer["subject"],
    )


@router.post("/plans/{id}/alarms/{key}", response_model=Answer[Done])
async def answer_alarm(
    request: Request, person: Operator, id: DocumentId, key: AlarmKey, body: AnswerAlarm
) -> Response:
    """Answer an alarm, so that it leaves the pages; done is false if it was answered before."""
    await read(request, records.check_seen, "plans", id)
    return reply(Done(done=await write(request, field.answer_alarm, person.name, id, key, body.comment)))


@router.post("/plans/{id}/relearn", response_model=Answer[JobOut], status_code=202)
async def relearn(request: Request, person: Operator, id: DocumentId, body: Relearn = EVERYTHING) -> Response:
    """Learn from the cases of a plan, and search for the plan that may follow it: a job. Its result is a proposal."""
    return reply(job_out(await relearning(request, person, id, body)), 202)


async def relearning(request: Request, person: Person, id: str, asked: Relearn) -> Job:
    """The job that learns from a plan's cases, put in line."""
    settings = await read(request, field.monitoring_of, id, None, person.site)
    given = {"plan": id, "site": person.site, "told": settings["told"], **asked.model_dump(mode="json")}
    job_id = await write(request, _add_relearning, person.name, given, request.app.state.settings)
    request.app.state.workers.wake(Lane.ASKED)
    job: Job = await read(request, jobs.find_job, job_id)
    return job


def _add_relearning(connection: Connection, actor: str, given: dict[str, Any], limits: Settings) -> str:
    seconds, megabytes = limits.job_seconds, limits.job_memory
    return jobs.add_job(
        connection, actor, "relearn", given, subject=given["plan"], seconds=seconds, megabytes=megabytes
    )


@router.post("/plans/{id}/successor", response_model=Answer[Created])
async def take_successor(request: Request, person: Operator, id: DocumentId, body: TakeSuccessor) -> Response:
    """Put what was relearned on record: a collection, and a draft that replaces the plan once it is signed."""
    return reply(Created(id=await succeeded(request, person, id, body)))


async def succeeded(request: Request, person: Person, id: str, body: TakeSuccessor) -> str:
    """The id of the draft that a job of relearning proposed."""
    await read(request, records.check_seen, "plans", id)
    job: Job = await read(request, jobs.find_job, body.job)
    if job.kind != "relearn" or job.settings["plan"] != id or job.state is not State.DONE:
        raise Conflict(f"Job {body.job} has no successor of plan {id}.")
    found = job.result
    return str(
        await write(request, field.take_relearned, person.name, id, body.name, found["collection"], found["plan"])
    )
