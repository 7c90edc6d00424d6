"""Trust: the certificate, what the plan earns on cases held out, what all of it rests on, and the report."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from banditree.evaluation.settings import StudySettings
from banditree.nouns import counted
from banditree.plans.wording import about
from banditree.service.edge.replies import read
from banditree.service.jobs.models import ReportSettings
from banditree.service.jobs.routes import computed
from banditree.service.pages.forms import decimal
from banditree.service.pages.studio.steps import StudyId, is_busy, require, step_page, study_of
from banditree.service.pages.verdicts import verdict_in
from banditree.service.people.senders import Operator, Viewer
from banditree.service.plans.issuing import stamp_of
from banditree.service.plans.routes import certified, judged_by
from banditree.service.store import records
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person
from banditree.service.studio.asking import evaluate_settings
from banditree.service.studio.content import Content, Log
from banditree.tasks.collection import Collection

router = APIRouter(include_in_schema=False)


@router.get("/studio/{id}/trust")
async def show(
    request: Request,
    person: Viewer,
    id: StudyId,
    give: Literal["random", "crossover"] | None = None,
    per_month: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Why a person may trust the plan, and where its numbers end.

    give, per_month: of a study that may show more, its options and the cases that can begin in a month.
    """
    study = await study_of(request, id)
    require(study, "trust")
    plan = study.content.plan
    assert plan is not None
    followed = await read(request, records.followed_of, plan)
    certificate = await certified(request, person, plan)
    evaluation = await evaluated(request, person, study.content, plan)
    planned = None
    if give is not None:
        begin = decimal(per_month, "How many cases can begin in a month") if per_month.strip() else None
        how = StudySettings(give=give, cases_per_month=begin).model_dump(mode="json")
        planned = await computed(request, person, "study", {"plan": plan, **how}, plan, waits=False)
    done = planned is not None and planned.state is State.DONE
    return step_page(
        request,
        study,
        "trust",
        busy=is_busy(certificate, evaluation, planned),
        give=give,
        per_month=per_month,
        planned=planned,
        curves=Markup(planned.result["picture"]) if planned is not None and done else None,
        about=about(followed.plan),
        judged=verdict_in(evaluation),
        certificate=certificate,
        evaluation=evaluation,
        rests=rests_on(study.content, followed.collection),
    )


@router.get("/studio/{id}/report")
async def report(request: Request, person: Operator, id: StudyId) -> Response:
    """The report of the plan in one file, or how far it is."""
    study = await study_of(request, id)
    require(study, "trust")
    assert study.content.plan is not None
    known, stamp = [await read(request, one, study.content.plan) for one in (judged_by, stamp_of)]
    settings = {**ReportSettings(plan=study.content.plan).model_dump(mode="json"), "judged_by": known, "stamp": stamp}
    job = await computed(request, person, "report", settings, study.content.plan, waits=False)
    return step_page(request, study, "report", busy=is_busy(job), job=job)


async def evaluated(request: Request, person: Person, content: Content, plan: str) -> Job | None:
    """The job that judges the plan on the cases held out; None where there are none."""
    settings = evaluate_settings(content, plan)
    return None if settings is None else await computed(request, person, "evaluate", settings, plan, waits=False)


def rests_on(content: Content, collection: Collection | None) -> list[str]:
    """What the numbers rest on: where they come from, how sure they are, and what was taken for granted."""
    assert collection is not None
    kind = content.words.get("task", "kind")
    return [
        *(_of_log(content, content.log) if content.log is not None else [f"Rates: {collection.provenance}."]),
        _how_sure(collection),
        f"A case is of one {kind} throughout, and its outcomes depend on that {kind} and on what is given, and on "
        "nothing else. A case that fits none of them rings the alarm.",
    ]


def _how_sure(collection: Collection) -> str:
    if not collection.is_estimated:
        return "The rates were taken as known exactly."
    worst = float(collection.radius.max())
    most = f"{100 * worst:.0f} points" if collection.rewards.counts else f"{worst:.3g}"
    return f"With 95% confidence every rate is within its margin, at worst {most}; the search allows for that."


def _of_log(content: Content, log: Log) -> list[str]:
    parts = content.parts
    assert parts is not None
    left_out = f" {counted(log.seen.n_bad, 'row')} could not be used and were dropped." if log.seen.n_bad else ""
    whom = "all its rows" if parts.n_learn is None else counted(parts.n_learn, "case")
    held = f" {counted(parts.n_held, 'other case')} were held out." if parts.n_held else " No case was held out."
    how = log.seen.design or "how options were given is not known"
    return [
        f"Learned from {whom} of {log.file}.{held}{left_out}",
        f"The log: {how}. Rates of kinds are averages over what was given; if an option was chosen by how a case was "
        "doing, they may be off.",
        *log.seen.drift,
    ]
