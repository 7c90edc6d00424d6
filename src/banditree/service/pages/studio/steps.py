"""What the five pages have in common: where a draft is, how it is shown, and how a change is written."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Path, Request, Response
from markupsafe import Markup

from banditree.figures.html import ladder_list
from banditree.figures.ladder import ladder_info
from banditree.languages.language import message
from banditree.languages.retelling import retold
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary, spoken_words
from banditree.service.edge.replies import read, was_made, write
from banditree.service.pages.forms import fields, to, whole
from banditree.service.pages.rendering import page, spoken
from banditree.service.problems import Conflict, Refused
from banditree.service.store import studies
from banditree.service.store.files import file_of
from banditree.service.store.jobs import Job
from banditree.service.store.people import Person
from banditree.service.store.studies import Study
from banditree.service.studio.content import Content, Log
from banditree.service.studio.rates import problem_of_rates

StudyId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
STEPS = {
    "know": message("What you know"),
    "kinds": message("The kinds"),
    "plan": message("The plan"),
    "trust": message("Trust"),
    "sign": message("Sign"),
}
OURS = Content().words  # The words of a draft until somebody types others.


async def study_of(request: Request, id: str) -> Study:
    """The draft of an address."""
    study: Study = await read(request, studies.find_study, id)
    return study


async def table_of(request: Request, log: Log) -> bytes:
    """The table of a log, as it is kept."""
    _name, content = await read(request, file_of, log.table)
    return bytes(content)


def furthest(content: Content) -> str:
    """The last page that has what it needs."""
    if content.plan is not None:
        return "sign"
    if content.collection is not None:
        return "plan"
    return "kinds" if is_known(content) and (content.log is None or content.parts is not None) else "know"


def is_known(content: Content) -> bool:
    """Whether the first page is done: a log that can be read, or rates."""
    if content.log is None:
        return content.rates is not None and not problem_of_rates(content.rates)
    seen = content.log.seen
    return not seen.problem and bool(seen.options) and (not seen.n_bad or content.log.drop)


def require(study: Study, step: str) -> None:
    """Refuse a page before its time."""
    names = list(STEPS)
    if names.index(step) > names.index(furthest(study.content)):
        raise Refused(f'"{STEPS[step]}" needs what comes before it. Go on from "{STEPS[furthest(study.content)]}".')


def step_page(request: Request, study: Study, step: str, *, busy: bool = False, **shown: Any) -> Response:
    """A page of a draft; busy: it reloads by itself while a job runs."""
    names = list(STEPS)
    open_until = names.index(furthest(study.content))
    language = spoken(request)
    steps = [(name, retold(language, STEPS[name]), number <= open_until) for number, name in enumerate(names)]
    words = spoken_words(Vocabulary(**study.content.words), language)
    return page(request, f"studio/{step}.html", study=study, steps=steps, step=step, words=words, busy=busy, **shown)


async def version_in(request: Request) -> int:
    """The version of the draft that whoever sent the form had looked at."""
    version = whole(await fields(request), "version")
    if version is None:
        raise Refused("The form is not complete. Open the page again.")
    return version


async def save(request: Request, person: Person, study: Study, content: Content) -> None:
    """Write a change of a draft, if nobody else changed it since the form was opened."""
    await write(request, studies.change_study, person.name, study.id, await version_in(request), content)


async def study_in_form(request: Request, id: str, *changes: Callable[..., Any]) -> Study:
    """The draft that a form is about, refused at once where somebody changed it since: before anything is computed.

    changes: how the form may change the draft; where it was sent before and did so, it is answered as then.
    """
    study = await study_of(request, id)
    if study.version != await version_in(request) and not any([await was_made(request, one) for one in changes]):
        raise Conflict(studies.changed_meanwhile(study))
    return study


def to_step(study: Study, step: str) -> Response:
    """Go on at a page of a draft."""
    return to(f"/studio/{study.id}/{step}")


def is_busy(*jobs: Job | None) -> bool:
    """Whether some of the jobs still run."""
    return any(job is not None and not job.state.is_final for job in jobs)


def ladder_of(plan: Plan) -> Markup:
    """The lines of a plan as a picture, safe as it is: every text in it was escaped where it was made."""
    return Markup(f'<div class="flow">{ladder_list(ladder_info(plan))}</div>')
