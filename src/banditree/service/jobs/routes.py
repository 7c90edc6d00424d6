"""The routes over jobs, and how a page or route gets what a job computes once."""

import asyncio
import json
import time
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from banditree.service.cases.case import MAX_NUMBER
from banditree.service.edge.models import Answer, Done
from banditree.service.edge.replies import ERRORS, read, reply, write, write_anew
from banditree.service.jobs.models import EndJob, JobOut, NewJob, settings_of
from banditree.service.people.senders import Operator, Viewer, sender
from banditree.service.problems import NotFound, Refused, TooMany
from banditree.service.settings import Settings
from banditree.service.store import jobs, records
from banditree.service.store.database import Connection
from banditree.service.store.jobs import Job, Lane, State, Wish
from banditree.service.store.people import Person

LOOK = 0.5  # A job that is followed is looked at every this many seconds.
STREAM_SECONDS = 25.0  # A stream of events is cut off after this many seconds: no server waits longer for its end.
MOST_STREAMS = 10  # One person follows at most this many jobs at the same time.
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}
PATIENCE = 3.0  # A request waits this many seconds for its job before it answers that there is no result yet.

router = APIRouter(prefix="/api/v1", tags=["jobs"], responses=ERRORS)
JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
JobState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]


@router.post("/jobs", response_model=Answer[JobOut], status_code=202)
async def add_job(request: Request, person: Operator, body: NewJob) -> Response:
    """Put a job in line: learn, search, evaluate or report. A worker process does it; look at it again by its id."""
    return reply(job_out(await asked(request, person, body)), 202)


async def asked(request: Request, person: Person, new: NewJob) -> Job:
    """A job that somebody asks for, put in line."""
    limits: Settings = request.app.state.settings
    if (new.seconds or 0) > limits.job_seconds:
        raise Refused(f"seconds must be at most {limits.job_seconds:,} here. Got {new.seconds:,}.")
    id = await write(request, _add_asked, person.name, new, limits)
    request.app.state.workers.wake(Lane.ASKED)
    job: Job = await read(request, jobs.find_job, id)
    return job


def _add_asked(connection: Connection, actor: str, new: NewJob, limits: Settings) -> str:
    given = settings_of(new)
    for what in records.TABLES:
        if (id := given.get(what[:-1])) is not None:
            records.check_seen(connection, what, id)
    seconds = new.seconds or limits.job_seconds
    about = given.get("plan") or given.get("collection") or given.get("file")
    return jobs.add_job(connection, actor, new.kind, given, subject=about, seconds=seconds, megabytes=limits.job_memory)


async def computed(
    request: Request, person: Person, kind: str, settings: Mapping[str, Any], subject: str, *, waits: bool = True
) -> Job:
    """The job that computes this, put in line if nobody asked before; waits: a short while, for its end."""
    job: Job | None = await read(request, jobs.find_by_key, jobs.key_of(kind, settings))
    if job is None:
        id = await write_anew(request, _add_once, person.name, kind, settings, subject, request.app.state.settings)
        job = await read(request, jobs.find_job, id)
    assert job is not None
    if not job.state.is_final:
        request.app.state.workers.wake(Lane.PAGES)
    pause, until = 0.02, time.monotonic() + PATIENCE * waits
    while not job.state.is_final and time.monotonic() < until:
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.25)
        job = await read(request, jobs.find_job, job.id)
    return job


def _add_once(connection: Any, actor: str, kind: str, given: Any, subject: str, settings: Settings) -> str:
    limits = {"seconds": settings.job_seconds, "megabytes": settings.job_memory}
    return jobs.add_job(connection, actor, kind, given, subject=subject, once=True, **limits)


def job_out(job: Job) -> JobOut:
    """A job as it is answered."""
    known = {name: getattr(job, name) for name in JobOut.model_fields if hasattr(job, name)}
    progress = {name: getattr(job.progress, name) for name in ("done", "total", "best", "text")}
    return JobOut(**{**known, **progress, "state": job.state.value})


@router.get("/jobs", response_model=Answer[list[JobOut]])
async def list_jobs(
    request: Request,
    person: Viewer,
    state: Annotated[JobState | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Long work, the newest first, without its results."""
    return reply([job_out(job) for job in await read(request, jobs.list_jobs, state=state, limit=limit)])


@router.get("/jobs/{id}", response_model=Answer[JobOut])
async def show_job(request: Request, person: Viewer, id: JobId) -> Response:
    """How a job stands, and what came of it."""
    return reply(job_out(await read(request, jobs.find_job, id)))


@router.get("/jobs/{id}/events", response_class=StreamingResponse, responses=STREAM)
async def follow_job(
    request: Request,
    person: Viewer,
    id: JobId,
    last_event_id: Annotated[int, Header(ge=-1, le=MAX_NUMBER, description="of the last plan that was seen")] = -1,
) -> Response:
    """A job as it goes on, as server-sent events: `progress`, `found` for each plan found, and in the end `end`.

    The data are those of the job, without its result; of a plan found its numbers, without the plan. A stream is cut
    off after some seconds, and a browser then asks again by itself.
    """
    await read(request, jobs.find_job, id)
    if request.app.state.streams[sender(request)] >= MOST_STREAMS:
        raise TooMany(f"You follow {MOST_STREAMS} jobs already. Ask for the job now and then instead.")
    return StreamingResponse(_stream(request, id, last_event_id + 1), media_type="text/event-stream")


async def _stream(request: Request, id: str, n_seen: int) -> AsyncIterator[str]:
    streams: Counter[str] = request.app.state.streams
    streams[sender(request)] += 1
    try:
        until, last = time.monotonic() + STREAM_SECONDS, ""
        while time.monotonic() < until:
            job: Job = await read(request, jobs.find_job, id)
            for number, one in list(enumerate(job.found))[n_seen:]:
                yield _event("found", {name: value for name, value in one.items() if name != "plan"}, number)
            n_seen = max(n_seen, len(job.found))
            now = job_out(job).model_dump_json(exclude={"result", "found"})
            if now != last:
                last = now
                yield f"event: {'end' if job.state.is_final else 'progress'}\ndata: {now}\n\n"
            if job.state.is_final:
                return
            await asyncio.sleep(LOOK)
    finally:
        streams[sender(request)] -= 1
        if not streams[sender(request)]:
            del streams[sender(request)]


def _event(name: str, data: Any, number: int) -> str:
    return f"event: {name}\nid: {number}\ndata: {json.dumps(data)}\n\n"


@router.get("/jobs/{id}/file", response_class=Response)
async def download(request: Request, person: Viewer, id: JobId) -> Response:
    """The file that a job wrote: a report or a card, as HTML or PDF."""
    return file_of_job(await read(request, jobs.find_job, id))


def file_of_job(job: Job) -> Response:
    """The file that a job wrote, sent as a download: it is not a page of ours and must not be shown as one."""
    if job.state is not State.DONE or "content" not in job.result:
        raise NotFound(f"Job {job.id} has no file.")
    name = job.result["name"]
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    media = "application/pdf" if name.endswith(".pdf") else "text/html; charset=utf-8"
    return Response(b64decode(job.result["content"]), media_type=media, headers=headers)


@router.post("/jobs/{id}/end", response_model=Answer[Done])
async def end_job(request: Request, person: Operator, id: JobId, body: EndJob) -> Response:
    """Stop a job with the best so far, or cancel it; done is false if it has ended already."""
    return reply(Done(done=await end(request, person, id, body.best_so_far)))


async def end(request: Request, person: Person, id: str, best_so_far: bool | None = None) -> bool:
    """Ask a job to end; False if it has. A search keeps the best so far, unless told otherwise."""
    job: Job = await read(request, jobs.find_job, id)
    keeps = job.kind == "search" if best_so_far is None else best_so_far
    return bool(await write(request, jobs.wish, person.name, id, Wish.STOP if keeps else Wish.CANCEL))


@router.post("/jobs/{id}/again", response_model=Answer[Done])
async def try_again(request: Request, person: Operator, id: JobId) -> Response:
    """Put a job back in line that failed, was cancelled or interrupted."""
    return reply(Done(done=await again(request, person, id)))


async def again(request: Request, person: Person, id: str) -> bool:
    """Put a job back in line; False if there is nothing to try again."""
    done = await write(request, jobs.try_again, person.name, id)
    for lane in Lane:
        request.app.state.workers.wake(lane)
    return bool(done)
