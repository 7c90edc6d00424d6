"""The pages of jobs: how far each is, how to end it, and what came of it."""

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from banditree.languages.language import message
from banditree.plans.wording import plan_text
from banditree.service.edge.replies import read
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.routes import JobId
from banditree.service.pages.forms import to
from banditree.service.pages.rendering import page
from banditree.service.people.senders import Operator, Viewer
from banditree.service.store import jobs, records
from banditree.service.store.jobs import Job, State

SHOWN_JOBS = 100
KINDS = {
    "learn": message("Learning from a file"),
    "search": message("Searching for plans"),
    "evaluate": message("Evaluating a plan"),
    "report": message("Writing a report"),
    "certificate": message("Computing a certificate"),
    "reach": message("Computing the chances of a plan"),
    "card": message("Printing a card"),
    "monitor": message("Comparing a plan's promise with its cases"),
    "relearn": message("Learning from the cases of a plan"),
    "comparison": message("Comparing two plans on their cases"),
    "webhook": message("Sending a message"),
    "mail": message("Sending an e-mail"),
    "worth": message("Comparing numbers of kinds"),
    "beside": message("Comparing with what else could be done"),
    "study": message("Finding out how large a study has to be"),
}

router = APIRouter(include_in_schema=False)


@router.get("/jobs")
async def list_jobs(request: Request, person: Viewer) -> Response:
    """The jobs that people asked for, the newest first."""
    lines = await read(request, jobs.list_jobs, limit=SHOWN_JOBS, asked=True)
    return page(request, "jobs.html", jobs=lines, kinds=KINDS)


@router.get("/jobs/{id}")
async def show_job(request: Request, person: Viewer, id: JobId) -> Response:
    """One job: its progress, what it found, what came of it. Without scripts the page reloads by itself."""
    job: Job = await read(request, jobs.find_job, id)
    return page(
        request,
        "job.html",
        job=job,
        kinds=KINDS,
        subject=_subject(job),
        keeps=job.kind == "search",
        best=await run_in_threadpool(_best, job),
    )


def _best(job: Job) -> str:
    """The best plan of a search, in words."""
    if job.kind != "search" or job.state is not State.DONE:
        return ""
    return plan_text(records.read_plan(job.found[job.result["best"]]["plan"])[1])


def _subject(job: Job) -> str:
    """The page of what a job is about; "" for what has none."""
    for name in ("plan", "collection"):
        if job.settings.get(name):
            return f"/{name}s/{job.settings[name]}"
    return ""


@router.post("/jobs/{id}/end")
async def end_job(request: Request, person: Operator, id: JobId) -> Response:
    """End a job; a search keeps the best so far."""
    await job_routes.end(request, person, id)
    return to(f"/jobs/{id}")


@router.post("/jobs/{id}/again")
async def try_again(request: Request, person: Operator, id: JobId) -> Response:
    """Put a job back in line."""
    await job_routes.again(request, person, id)
    return to(f"/jobs/{id}")
