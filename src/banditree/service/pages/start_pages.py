"""The first page: what waits, and for whom."""

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from banditree.languages.language import language
from banditree.service.cases import routes as case_routes
from banditree.service.cases.case import utc_now
from banditree.service.edge.replies import read
from banditree.service.field import monitoring as field
from banditree.service.pages.forms import local_path, to
from banditree.service.pages.job_pages import KINDS
from banditree.service.pages.rendering import LANGUAGE, page
from banditree.service.people.senders import Viewer
from banditree.service.store import case_lists, jobs, records
from banditree.service.store.jobs import State
from banditree.service.store.signing import PlanState
from banditree.version import __version__

SHOWN = 6  # This many of each thing that waits are shown.
WORKLIST = 100  # The first page lists at most this many cases that are under way.
YEAR = 365 * 86_400  # Seconds for which a browser keeps the language that somebody chose.
MOST_COUNTED = 1_000  # Cases are counted up to here; of more, the page says only that there are more.

router = APIRouter(include_in_schema=False)
Whose = Annotated[str, Query(max_length=100)]


@router.get("/")
async def start(request: Request, person: Viewer, whose: Whose = "") -> Response:
    """What needs attention: cases under way, alarms, plans to sign, jobs. whose: only the cases of this person."""
    known = await read(request, records.documents, "plans")
    drafts = [line for line in known if line["state"] == PlanState.DRAFT]
    recent = await read(request, jobs.list_jobs, limit=50, asked=True)
    owner = whose or None
    return page(
        request,
        "start.html",
        plans={line["id"]: line["name"] for line in known},
        starts=any(line["state"] == PlanState.SIGNED for line in known),
        worklist=await read(request, case_lists.worklist, owner, WORKLIST),
        n_listed=await read(request, case_lists.count_worklist, MOST_COUNTED + 1, owner),
        whose=whose,
        owners=await read(request, case_lists.owners),
        today=utc_now()[:10],
        alarms=await read(request, field.open_alarms),
        ringing=await read(request, case_lists.list_cases, state="alarm", limit=SHOWN),
        n_ringing=await read(request, case_lists.count_cases, "alarm", MOST_COUNTED + 1),
        drafts=drafts[:SHOWN],
        n_drafts=len(drafts),
        jobs=list(islice((job for job in recent if _matters(job, person.name)), SHOWN)),
        kinds=KINDS,
        most=MOST_COUNTED,
    )


@router.get("/due.ics")
async def due(request: Request, person: Viewer, whose: Whose = "") -> Response:
    """The next visits as a calendar file."""
    return await case_routes.calendar(request, whose or None)


@router.get("/language/{code}")
async def choose_language(request: Request, code: str, back: str = "/") -> Response:
    """Say everything in another language from now on, in this browser."""
    going, settings = to(local_path(back)), request.app.state.settings
    secure = settings.authentication and settings.secure_cookies
    kept = {"max_age": YEAR, "httponly": True, "samesite": "lax", "secure": secure}
    going.set_cookie(LANGUAGE, language(code).code, **kept)
    return going


@router.get("/help")
async def show_help(request: Request, person: Viewer) -> Response:
    """How things are done here, and what to do when something went wrong."""
    return page(request, "help.html", version=__version__)


def _matters(job: jobs.Job, name: str) -> bool:
    """Whether somebody may want to look: whatever goes on, and what ended of one's own."""
    return not job.state.is_final or (job.actor == name and job.state is not State.CANCELLED)
