"""The routes over jobs, and how a page or route gets what a job computes once."""

import asyncio
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from banditree.service import jobs
from banditree.service.access import Operator, Viewer
from banditree.service.jobs import Job, Wish
from banditree.service.models import Answer, Done, EndJob, JobOut
from banditree.service.people import Person
from banditree.service.replies import ERRORS, read, reply, write
from banditree.service.settings import Settings

PATIENCE = 3.0  # seconds that a request waits for its job before it answers that there is none yet

router = APIRouter(prefix="/api/v1", tags=["jobs"], responses=ERRORS)
JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
JobState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]


async def computed(request: Request, person: Person, kind: str, settings: Mapping[str, Any], subject: str) -> Job:
    """The job that computes this, put in line if nobody asked before; waits a short while for its end."""
    job: Job | None = await read(request, jobs.find_by_key, jobs.key_of(kind, settings))
    if job is None:
        id = await write(request, _add_once, person.name, kind, settings, subject, request.app.state.settings)
        job = await read(request, jobs.find_job, id)
    assert job is not None
    if not job.state.is_final:
        request.app.state.workers.wake()
    pause, until = 0.02, time.monotonic() + PATIENCE
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


@router.post("/jobs/{id}/end", response_model=Answer[Done])
async def end_job(request: Request, person: Operator, id: JobId, body: EndJob) -> Response:
    """Stop a job with the best so far, or cancel it; done is false if it has ended already."""
    wanted = Wish.STOP if body.best_so_far else Wish.CANCEL
    return reply(Done(done=await write(request, jobs.wish, person.name, id, wanted)))


@router.post("/jobs/{id}/again", response_model=Answer[Done])
async def try_again(request: Request, person: Operator, id: JobId) -> Response:
    """Put a job back in line that failed, was cancelled or interrupted."""
    done = await write(request, jobs.try_again, person.name, id)
    request.app.state.workers.wake()
    return reply(Done(done=done))
