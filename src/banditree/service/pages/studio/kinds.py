"""The kinds: what is known about each, how sure that is, how many there are, and the words for all of it."""

from typing import NamedTuple

from fastapi import APIRouter, Request, Response

from banditree.languages.language import Language, message
from banditree.plans.words import Vocabulary, spoken_words
from banditree.service.edge.replies import write
from banditree.service.jobs.routes import computed
from banditree.service.pages.forms import fields, shaped, whole
from banditree.service.pages.rendering import spoken
from banditree.service.pages.studio.steps import (
    OURS,
    StudyId,
    is_busy,
    require,
    save,
    step_page,
    study_in_form,
    study_of,
    to_step,
)
from banditree.service.people.senders import Operator, Viewer
from banditree.service.problems import Refused
from banditree.service.store import studies
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person
from banditree.service.store.studies import Study
from banditree.service.studio.asking import learn_settings, worth_settings
from banditree.service.studio.content import Content
from banditree.service.studio.kinds import keep_kinds, kinds_of
from banditree.tasks.collection import Collection

SHADES = 10
ENGLISH = Language()
WORDS = {  # what a person is asked, with an example
    "arm": (message("An option is a"), message("treatment")),
    "task": (message("A kind of case is a"), message("patient group")),
    "success": (message("A good outcome is a"), message("recovery")),
    "failure": (message("A bad outcome is a"), message("relapse")),
    "reward": (message("What is counted is"), message("recovery")),
    "give": (message("To use an option is to"), message("Give")),
}
SEVERAL = {  # the same where more than one is meant, which only English forms by rule
    "arms": (message("Several options are"), message("treatments")),
    "tasks": (message("Several kinds are"), message("patient groups")),
    "successes": (message("Several good outcomes are"), message("recoveries")),
    "failures": (message("Several bad outcomes are"), message("relapses")),
}

router = APIRouter(include_in_schema=False)


class Shown(NamedTuple):
    """A cell of the heat map: the rate, its margin, how dark it is, and whether it is the best of its kind."""

    rate: str
    margin: str
    shade: int
    is_best: bool


@router.get("/studio/{id}/kinds")
async def show(request: Request, person: Viewer, id: StudyId) -> Response:
    """The kinds, or how far the job is that learns them."""
    study = await study_of(request, id)
    require(study, "kinds")
    job = await _learned(request, person, study.content)
    worth = await _worth(request, person, study.content)
    known = job is None or job.state is State.DONE
    collection = kinds_of(study.content, job and job.result) if known else None
    return step_page(
        request,
        study,
        "kinds",
        busy=is_busy(job, worth),
        job=job,
        collection=collection,
        rows=[] if collection is None else heat_rows(collection, spoken(request)),
        classes=None if job is None or job.result is None else job.result["document"]["classes"],
        worth=worth,
        questions=_questions(spoken(request)),
    )


def _questions(language: Language) -> dict[str, tuple[str, str]]:
    return WORDS if language.is_english else {**WORDS, **SEVERAL}


@router.post("/studio/{id}/kinds")
async def change(request: Request, person: Operator, id: StudyId) -> Response:
    """Another number of kinds, or words and names; then stay, or go on to the plan."""
    study, given = await study_in_form(request, id, studies.change_study, keep_kinds), await fields(request)
    require(study, "kinds")
    if "n_kinds" in given:
        return await _another_number(request, person, study, whole(given, "n_kinds"))
    content = await _named(request, study.content, given)
    if given.get("go") != "on":
        await save(request, person, study, content)
        return to_step(study, "kinds")
    job = await _learned(request, person, content)
    if job is not None and job.state is not State.DONE:
        raise Refused("The kinds are not known yet. Go on once they are.")
    await write(request, keep_kinds, person.name, study, content, kinds_of(content, job and job.result))
    return to_step(study, "plan")


async def _another_number(request: Request, person: Person, study: Study, number: int | None) -> Response:
    """Learn this many kinds, or for 0 as many as fit best."""
    again = study.content.since("kinds").model_dump(exclude={"n_kinds"})
    await save(request, person, study, shaped(Content, {**again, "n_kinds": number or None}))
    return to_step(study, "kinds")


async def _named(request: Request, content: Content, given: dict[str, str]) -> Content:
    """The content with the words and names that were typed; what is later stays only if these are the same."""
    form = await request.form()
    names = [str(form[f"name-{i}"]).strip() for i in range(len(form)) if f"name-{i}" in form]
    if any(not name for name in names):
        raise Refused("Every kind must have a name.")
    language = spoken(request)
    usual = spoken_words(Vocabulary(), language)
    plain = {word: getattr(usual, word) for word in _questions(language)}
    typed = {word: given.get(f"word-{word}", known) for word, known in plain.items()}
    words = {word: text for word, text in typed.items() if text != plain[word]}
    words = words if language.is_english else {**OURS, **words}
    named = shaped(Content, {**content.model_dump(), "words": words, "names": names})
    return content if (named.words, named.names) == (content.words, content.names) else _without_plan(named)


def _without_plan(content: Content) -> Content:
    return content.since("plan").model_copy(update={"collection": None})


async def _learned(request: Request, person: Person, content: Content) -> Job | None:
    """The job that learns the kinds of a log; None for rates."""
    if content.log is None or content.parts is None:
        return None
    settings = learn_settings(content.log, content.parts, content.n_kinds)
    return await computed(request, person, "learn", settings, content.parts.learn)


async def _worth(request: Request, person: Person, content: Content) -> Job | None:
    """The job that finds out what each number of kinds is worth, where their number can be chosen."""
    log = content.log
    if log is None or content.parts is None or log.roles.individual is None or log.roles.task is not None:
        return None
    settings = worth_settings(log, content.parts)
    return await computed(request, person, "worth", settings, content.parts.learn, waits=False)


def heat_rows(collection: Collection, language: Language = ENGLISH) -> list[tuple[str, str, list[Shown]]]:
    """(kind, its share, its cells) for each row of the heat map."""
    means, radius = collection.means, collection.radius
    low, high = float(means.min()), float(means.max())
    shares = ["" if collection.shares is None else f"{share:.0%}" for share in collection.weights]
    as_share, digits = collection.rewards.counts, language.digits

    def cell(i: int, k: int) -> Shown:
        shade = int((SHADES - 1) * (means[i, k] - low) / ((high - low) or 1.0))
        rate, margin = (f"{100 * x:.0f}" if as_share else f"{x:.3g}" for x in (means[i, k], radius[i, k]))
        return Shown(
            digits(rate) + "%" * as_share,
            digits(margin) if radius[i, k] > 0 else "",
            shade,
            int(collection.best_arms[i]) == k,
        )

    columns = range(collection.n_arms)
    return [(name, shares[i], [cell(i, k) for k in columns]) for i, name in enumerate(collection.tasks)]
