"""The verdict on a plan, which comes first wherever a plan is shown to be signed or followed."""

from typing import NamedTuple

from fastapi import Request
from markupsafe import Markup

from banditree.figures.svg import svg
from banditree.reports.held_out import NOT_JUDGED, held_out_scene
from banditree.service.edge.replies import read
from banditree.service.store import jobs
from banditree.service.store.jobs import Job, State


class Judged(NamedTuple):
    """The verdict on cases held out, and its picture; busy: it is being found."""

    sentence: str
    picture: Markup | None = None
    busy: bool = False


async def judged(request: Request, plan: str) -> Judged:
    """What is known about a plan on cases that it was not made from."""
    return verdict_in(await read(request, jobs.newest, "evaluate", plan))


def verdict_in(job: Job | None) -> Judged:
    """What a job over cases held out found; None: there was none."""
    if job is None:
        return Judged(NOT_JUDGED)
    if not job.state.is_final:
        return Judged("The plan is being followed on the cases held out.", busy=True)
    if job.state is not State.DONE:
        return Judged(f"{NOT_JUDGED} {job.problem or ''}".strip())
    found = job.result["held_out"]
    picture = Markup(svg(held_out_scene(found["unit"], found["rows"]))) if found["rows"] else None
    return Judged(found["sentence"], picture)
