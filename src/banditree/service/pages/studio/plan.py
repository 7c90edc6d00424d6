"""The plan: limits as plain questions, a search in the background, and one of the plans that it finds."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from banditree.languages.language import Language, message
from banditree.plans.plan import Plan
from banditree.plans.wording import heading
from banditree.plans.words import capital, in_language
from banditree.protocols.objectives import Objective
from banditree.reports.promise import lost_word
from banditree.service.edge.replies import read, write
from banditree.service.jobs.models import SearchJob
from banditree.service.jobs.routes import asked, computed, end
from banditree.service.pages.forms import fields, shaped, whole
from banditree.service.pages.rendering import spoken
from banditree.service.pages.studio.bringing import apart
from banditree.service.pages.studio.picture import picture, unbeaten
from banditree.service.pages.studio.steps import (
    StudyId,
    is_busy,
    ladder_of,
    require,
    step_page,
    study_in_form,
    study_of,
    table_of,
    to_step,
)
from banditree.service.people.senders import Operator, Viewer
from banditree.service.problems import Refused
from banditree.service.store import jobs, records, studies
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person
from banditree.service.store.studies import Study
from banditree.service.studio.asking import search_settings
from banditree.service.studio.content import Content, Limits
from banditree.service.studio.kinds import keep_smaller, without_options
from banditree.service.studio.splitting import held_without
from banditree.service.studio.taking import plan_found, take

NOTHING: dict[str, Any] = {
    "picture": None,
    "lost": [],
    "chosen": None,
    "ladder": None,
    "best": [],
    "lost_where": "",
}  # before a plan is found
CHANCES = {"0.1": "10", "0.05": "20", "0.01": "100", "0.001": "1,000"}  # the chance, and of how many it is one

router = APIRouter(include_in_schema=False)


@router.get("/studio/{id}/plan")
async def show(
    request: Request, person: Viewer, id: StudyId, dot: Annotated[int | None, Query(ge=0, le=10_000)] = None
) -> Response:
    """The limits, the search as far as it is, and the plan of one dot."""
    study = await study_of(request, id)
    require(study, "plan")
    content = study.content
    job = None if content.found is None else await read(request, jobs.find_job, content.found)
    about = None if job is None else (job.settings["collection"], job.settings["horizon"])
    beside = None if about is None else await _beside(request, person, *about)
    kinds = await read(request, records.collection_of, content.collection)
    shown = {}
    if job is not None and job.found:
        objective, language = (content.limits.objective or Objective.UNLUCKY).told, spoken(request)
        shown = await run_in_threadpool(_shown, language, kinds.unit, objective, job, beside, dot)
    return step_page(
        request, study, "plan", busy=is_busy(job, beside), job=job, kinds=kinds, chances=CHANCES, **{**NOTHING, **shown}
    )


def _shown(
    language: Language, unit: str | None, objective: Objective, job: Job, beside: Job | None, dot: int | None
) -> dict[str, Any]:
    """What is shown of the plans found: all of them as dots, and one of them in full beside what else could be done."""
    others = beside.result if beside is not None and beside.state is State.DONE else []
    found = [{**one, "loss": (one["at_estimates"] or {}).get(objective, one["loss"])} for one in job.found]
    best = sorted(unbeaten(found), key=lambda n: found[n]["lines"])
    number = dot if dot is not None and dot < len(found) else best[-1]
    plan = in_language(plan_found(job, number), language)
    lost = lost_word(plan, unit)
    return {
        "picture": picture(found, others, objective, number),
        "best": [(n, found[n]) for n in best],
        "lost": [*_lost(found[number]), *({"one_in_100": None, **other} for other in others)],
        "chosen": {**found[number], "number": number, "heading": heading(plan), "lost": lost},
        "lost_where": _where_lost(plan, objective, lost),
        "ladder": ladder_of(plan),
    }


def _where_lost(plan: Plan, objective: Objective, lost: str) -> str:
    """What the picture compares."""
    say = plan.vocabulary.say
    if objective is Objective.MEAN:
        return capital(say("{lost} lost on average", lost=lost))
    return capital(say("{lost} lost in the worst {task}", lost=lost))


def _lost(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What a plan loses: where rates are estimates, at these rates as the others do, and at worst."""
    at_most = {"worst": found["worst_regret"], "mean": found["mean_regret"], "one_in_100": found["unlucky"]}
    if found["at_estimates"] is None:
        return [{"name": message("this plan"), **at_most}]
    worst = {"name": message("this plan, at the worst rates within the margins"), **at_most}
    itself = {"name": "this plan", **found["at_estimates"], "one_in_100": found["unlucky"]}
    return [itself, {**worst, "one_in_100": None}]


async def _beside(request: Request, person: Person, collection: str, horizon: int) -> Job:
    """The job that finds out what is lost without a plan."""
    about = {"collection": collection, "horizon": horizon}
    return await computed(request, person, "beside", about, collection, waits=False)


@router.post("/studio/{id}/plan")
async def change(request: Request, person: Operator, id: StudyId) -> Response:
    """Search within limits, stop with the best so far, or take one of the plans found."""
    study, given = await study_in_form(request, id, studies.save_with_held, take), await fields(request)
    require(study, "plan")
    does = {"search": _search, "stop": _stop, "take": _take}
    return await does.get(given.get("go", ""), _search)(request, person, study, given)


async def _search(request: Request, person: Person, study: Study, given: dict[str, str]) -> Response:
    content = study.content.since("plan").model_copy(update={"limits": await _limits(request, given)})
    collection = await _allowed(request, person, study, content)
    held = await _held(request, study.content, content)
    settings = search_settings(content, collection)
    await _beside(request, person, collection, content.horizon)  # quick, so it is put in line before the search
    job = await asked(request, person, SearchJob(kind="search", settings=settings))
    content = content.model_copy(update={"found": job.id})
    await write(request, studies.save_with_held, person.name, study, content, held)
    return to_step(study, "plan")


async def _limits(request: Request, given: dict[str, str]) -> Limits:
    """The answers to the questions."""
    excluded = [str(name) for name in (await request.form()).getlist("excluded")]
    said = {
        "lines": whole(given, "lines"),
        "restarts": given.get("restarts", "yes") == "yes",
        "links_back": given.get("restarts") == "anywhere",
        "wrong": given.get("wrong"),
        "washout": whole(given, "washout") or 0,
        "rule": whole(given, "rule"),
        "harm": given.get("harm") or None,
        "most": given.get("most") or None,
        "ask": "ask" in given,
        "not_again": "not_again" in given,
        "objective": given.get("objective") or None,
        "excluded": excluded,
    }
    if said["links_back"]:
        said["restarts"] = True
    return shaped(Limits, said)


async def _allowed(request: Request, person: Person, study: Study, content: Content) -> str:
    """The collection that a plan is searched for: that of the draft, without options that may not be used."""
    assert content.collection is not None
    if not content.limits.excluded:
        return content.collection
    kinds = await read(request, records.collection_of, content.collection)
    smaller = without_options(kinds, content.limits.excluded)
    return str(await write(request, keep_smaller, person.name, study.name, smaller, content.limits.excluded))


async def _held(request: Request, before: Content, now: Content) -> bytes | None:
    """The held-out part without options that may not be used, where these are others than before; else None."""
    if now.log is None or now.parts is None or not now.parts.held or now.limits.excluded == before.limits.excluded:
        return None
    table = await table_of(request, now.log)
    held: bytes = await apart(request, held_without, table, now.log, now.limits.excluded)
    return held


async def _stop(request: Request, person: Person, study: Study, given: dict[str, str]) -> Response:
    if study.content.found is not None:
        await end(request, person, study.content.found, best_so_far=True)
    return to_step(study, "plan")


async def _take(request: Request, person: Person, study: Study, given: dict[str, str]) -> Response:
    """Put the plan of a dot on record, as a draft."""
    number = whole(given, "dot")
    if study.content.found is None or number is None:
        raise Refused("Choose a plan first.")
    job = await read(request, jobs.find_job, study.content.found)
    plan = plan_found(job, number)
    await write(request, take, person.name, study, plan, job.settings["collection"])
    return to_step(study, "trust")
