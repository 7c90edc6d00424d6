"""The verdict on a plan, which comes first wherever a plan is shown to be signed or followed, and what it promises."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi import Request
from markupsafe import Markup

from banditree.figures.svg import svg
from banditree.languages.language import Language
from banditree.languages.retelling import retold
from banditree.reports.held_out import NOT_JUDGED, held_out_in, held_out_scene
from banditree.service.edge.replies import read
from banditree.service.store import jobs
from banditree.service.store.jobs import Job, State


class Judged(NamedTuple):
    """The verdict on cases held out, and its picture; busy: it is being found."""

    sentence: str
    picture: Markup | None = None
    busy: bool = False


async def judged(request: Request, plan: str, language: Language) -> Judged:
    """What is known about a plan on cases that it was not made from."""
    return verdict_in(await read(request, jobs.newest, "evaluate", plan), language)


def verdict_in(job: Job | None, language: Language) -> Judged:
    """What a job over cases held out found; None: there was none."""
    not_judged = language.translated(NOT_JUDGED)
    if job is None:
        return Judged(not_judged)
    if not job.state.is_final:
        return Judged(language.say("The plan is being followed on the cases held out."), busy=True)
    if job.state is not State.DONE:
        return Judged(f"{not_judged} {retold(language, job.problem or '')}".strip())
    found = held_out_in(job.result["held_out"], language)
    picture = Markup(svg(held_out_scene(found["unit"], found["rows"], language))) if found["rows"] else None
    return Judged(found["sentence"], picture)


def promise_in(certificate: Mapping[str, Any] | None, language: Language) -> Sequence[str]:
    """What a plan promises; certificates of earlier versions say it in English."""
    known = {} if certificate is None else certificate
    return list(known.get("promises", {}).get(language.code, known.get("promise", ())))
