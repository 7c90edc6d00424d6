"""The first page: what waits, and for whom."""

from itertools import islice
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Request, Response

from banditree.service.edge.replies import read
from banditree.service.field import monitoring as field
from banditree.service.pages.job_pages import KINDS
from banditree.service.pages.rendering import page
from banditree.service.people.senders import Viewer
from banditree.service.store import case_lists, jobs, records
from banditree.service.store.jobs import State
from banditree.service.store.schema import RINGS, WAITING, cases, plans
from banditree.service.store.signing import PlanState
from banditree.service.store.sites import seen

SHOWN = 6  # So many of each thing that waits are shown.
MOST_COUNTED = 1_000  # Cases are counted up to here; of more, the page says only that there are more.

router = APIRouter(include_in_schema=False)


@router.get("/")
async def start(request: Request, person: Viewer) -> Response:
    """What needs attention: outcomes, alarms, plans to sign, jobs."""
    known = await read(request, records.documents, plans)
    drafts = [line for line in known if line["state"] == PlanState.DRAFT]
    recent = await read(request, jobs.list_jobs, limit=50, asked=True)
    return page(
        request,
        "start.html",
        plans={line["id"]: line["name"] for line in known},
        starts=any(line["state"] == PlanState.SIGNED for line in known),
        awaited=await read(request, _cases, "waiting"),
        n_awaited=await read(request, _count, WAITING),
        alarms=await read(request, field.recent_alarms),
        ringing=await read(request, _cases, "alarm"),
        n_ringing=await read(request, _count, RINGS),
        drafts=drafts[:SHOWN],
        n_drafts=len(drafts),
        jobs=list(islice((job for job in recent if _matters(job, person.name)), SHOWN)),
        kinds=KINDS,
        most=MOST_COUNTED,
    )


def _cases(connection: sa.Connection, state: str) -> list[dict[str, Any]]:
    return case_lists.list_cases(connection, state=state, limit=SHOWN)


def _count(connection: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    """How many cases there are of some, counted up to a limit: on a million cases counting all takes a while."""
    some = sa.select(cases.c.number).where(which, seen(connection, cases))
    counted = sa.select(sa.func.count()).select_from(some.limit(MOST_COUNTED + 1).subquery())
    return int(connection.execute(counted).scalar_one())


def _matters(job: jobs.Job, name: str) -> bool:
    """Whether somebody may want to look: whatever goes on, and what ended of one's own."""
    return not job.state.is_final or (job.actor == name and job.state is not State.CANCELLED)
