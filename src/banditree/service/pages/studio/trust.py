"""Trust: the certificate, what the plan earns on cases held out, what all of it rests on, and the report."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup

from banditree.evaluation.settings import StudySettings
from banditree.languages.language import Language
from banditree.languages.retelling import retold
from banditree.plans.wording import about
from banditree.plans.words import Vocabulary, in_language, spoken_words
from banditree.service.edge.replies import read
from banditree.service.jobs.models import ReportSettings
from banditree.service.jobs.routes import computed
from banditree.service.pages.forms import decimal
from banditree.service.pages.rendering import spoken
from banditree.service.pages.studio.steps import StudyId, is_busy, require, step_page, study_of
from banditree.service.pages.verdicts import promise_in, verdict_in
from banditree.service.people.senders import Operator, Viewer
from banditree.service.plans.issuing import stamp_of
from banditree.service.plans.routes import certified, judged_by
from banditree.service.store import records
from banditree.service.store.jobs import Job, State
from banditree.service.store.people import Person
from banditree.service.studio.asking import evaluate_settings
from banditree.service.studio.content import Content, Log
from banditree.tasks.collection import Collection

ENGLISH = Language()

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
    plan, language = study.content.plan, spoken(request)
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
        about=about(in_language(followed.plan, language)),
        judged=verdict_in(evaluation, language),
        promise=promise_in(certificate.result if certificate.state is State.DONE else None, language),
        certificate=certificate,
        evaluation=evaluation,
        rests=rests_on(study.content, followed.collection, language),
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


def rests_on(content: Content, collection: Collection | None, language: Language = ENGLISH) -> list[str]:
    """What the numbers rest on: where they come from, how sure they are, and what was taken for granted."""
    assert collection is not None
    words = spoken_words(Vocabulary(**content.words), language)
    if content.log is not None:
        source = _of_log(content, content.log, words)
    else:
        source = [words.say("Rates: {source}.", source=retold(language, collection.provenance))]
    always = words.say(
        "A case is of one {task} throughout, and its outcomes depend on that {task} and on what is given, and on "
        "nothing else. A case that fits none of them rings the alarm."
    )
    return [*source, _how_sure(collection, words), always]


def _how_sure(collection: Collection, words: Vocabulary) -> str:
    if not collection.is_estimated:
        return words.say("The rates were taken as known exactly.")
    worst = float(collection.radius.max())
    if collection.rewards.counts:
        most = words.say("{n} points", n=words.digits(f"{100 * worst:.0f}"))
    else:
        most = words.digits(f"{worst:.3g}")
    return words.say(
        "With 95% confidence every rate is within its margin, at worst {most}; the search allows for that.", most=most
    )


def _of_log(content: Content, log: Log, words: Vocabulary) -> list[str]:
    parts, say, language = content.parts, words.say, words.language
    assert parts is not None
    if parts.n_learn is None:
        learned = say("Learned from all rows of {file}.", file=log.file)
    else:
        learned = words.count(
            parts.n_learn, "Learned from {n} case of {file}.", "Learned from {n} cases of {file}.", file=log.file
        )
    if parts.n_held:
        held = words.count(parts.n_held, "{n} other case was held out.", "{n} other cases were held out.")
    else:
        held = say("No case was held out.")
    dropped = words.count(
        log.seen.n_bad,
        "{n} row could not be used and was dropped.",
        "{n} rows could not be used and were dropped.",
    )
    how = retold(language, log.seen.design) if log.seen.design else say("how options were given is not known")
    return [
        " ".join([learned, held, *([dropped] if log.seen.n_bad else [])]),
        say(
            "The log: {how}. Rates of kinds are averages over what was given; if an option was chosen by how a case "
            "was doing, they may be off.",
            how=how,
        ),
        *(retold(language, note) for note in log.seen.drift),
    ]
