"""What you know: a log with its columns, or rates in a grid."""

from typing import Any

from fastapi import APIRouter, Request, Response

from banditree.languages.language import message
from banditree.service.edge.replies import write
from banditree.service.pages.forms import fields, shaped, whole
from banditree.service.pages.studio.bringing import apart, bring, brought_file
from banditree.service.pages.studio.steps import (
    StudyId,
    is_known,
    save,
    step_page,
    study_in_form,
    study_of,
    table_of,
    to_step,
)
from banditree.service.people.senders import Operator, Viewer
from banditree.service.problems import Refused
from banditree.service.store import studies
from banditree.service.studio.content import Content, Log, Rates, Reading, Roles
from banditree.service.studio.looking import look
from banditree.service.studio.rates import problem_of_rates, resized
from banditree.service.studio.splitting import split

ROLES = {  # what a person is asked, in this order
    "individual": (message("Who the row is about"), message("the case: a patient, a customer")),
    "task": (message("Which kind of case it is"), message("if the file names the kinds")),
    "arm": (message("What was given"), message("the option")),
    "reward": (message("How it went"), message("the outcome")),
    "time": (message("When"), message("if rows are not in their order")),
    "propensity": (message("The chance with which it was given"), message("if options were drawn at random")),
}
DESIGNS = {  # how options were given, where a person knows it
    "": message("as the file shows it"),
    "per-round": message("by chance, in every round"),
    "per-case": message("once per case, and kept"),
    "sticky": message("often the same as before"),
    "seen": message("chosen by how the case was doing"),
}
OUTCOMES = {
    "yes or no": message("yes or no (1 or 0, or two words)"),
    "grades": message("grades: a few numbers, as in 1 to 5"),
    "number": message("any number, as in minutes or money"),
}

router = APIRouter(include_in_schema=False)


@router.get("/studio/{id}/know")
async def show(request: Request, person: Viewer, id: StudyId, stuck: bool = False) -> Response:
    """What was brought, how it is read, and what is wrong with it. stuck: somebody wanted to go on and could not."""
    study = await study_of(request, id)
    content = study.content
    shown: dict[str, Any] = {"roles": ROLES, "designs": DESIGNS, "outcomes": OUTCOMES, "stuck": stuck}
    shown["is_known"] = is_known(content)
    return step_page(request, study, "know", problem="" if content.rates is None else _wrong(content.rates), **shown)


def _wrong(rates: Rates) -> str:
    """What is wrong with rates that somebody has begun to type, or ""."""
    return problem_of_rates(rates) if any(cell.strip() for row in rates.cells for cell in row) else ""


@router.post("/studio/{id}/know")
async def change(request: Request, person: Operator, id: StudyId) -> Response:
    """Read the log in another way, or write the rates down; then stay, or go on to the kinds."""
    ways = studies.change_study, studies.save_with_parts
    study, given = await study_in_form(request, id, *ways), await fields(request)
    said = await (_said_of_log if study.content.log else _said_of_rates)(request, study.content, given)
    content = study.content if said == study.content else said.since("know")
    wants_on = given.get("go") == "on"
    goes_on = wants_on and is_known(content)
    if goes_on and content.log is not None and content.parts is None:
        parts = await apart(request, split, await table_of(request, content.log), content.log)
        await write(request, studies.save_with_parts, person.name, study, content, parts)
    elif content is not study.content:
        await save(request, person, study, content)
    return to_step(study, "kinds" if goes_on else "know?stuck=true" if wants_on else "know")


@router.post("/studio/{id}/file")
async def replace_file(request: Request, person: Operator, id: StudyId) -> Response:
    """Another file in place of what was brought; the words stay."""
    study = await study_in_form(request, id, studies.replace_table)
    content, table = await bring(request, *await brought_file(request))
    content = content.model_copy(update={"words": study.content.words})
    await write(request, studies.replace_table, person.name, study, content, table)
    return to_step(study, "know")


async def _said_of_log(request: Request, content: Content, given: dict[str, str]) -> Content:
    log = content.log
    assert log is not None
    said: dict[str, Any] = {
        "reading": shaped(Reading, {name: given.get(f"read-{name}", known) for name, known in log.reading}),
        "roles": shaped(Roles, {role: given.get(f"role-{role}") for role in ROLES}),
        "contexts": [str(name) for name in (await request.form()).getlist("context")],
        "design": given.get("design"),
        "outcomes": given.get("outcomes", log.outcomes),
        "success": given.get("success", ""),
        "drop": "drop" in given,
        "merge": "merge" in given,
    }
    asked = shaped(Log, {**log.model_dump(), **said})
    if asked != log:
        asked = await apart(request, look, await table_of(request, log), asked, log)
    return _with_horizon(content, given).model_copy(update={"log": asked})


async def _said_of_rates(request: Request, content: Content, given: dict[str, str]) -> Content:
    assert content.rates is not None
    typed = await _typed(request, content.rates)
    wanted = {"add-kind": (1, 0), "drop-kind": (-1, 0), "add-option": (0, 1), "drop-option": (0, -1)}
    more = wanted.get(given.get("go", ""), (0, 0))
    typed = resized(typed, len(typed.kinds) + more[0], len(typed.options) + more[1])
    return _with_horizon(content, given).model_copy(update={"rates": typed})


async def _typed(request: Request, rates: Rates) -> Rates:
    """The grid as it was filled in: empty cells too."""
    form = await request.form()
    kinds, options = range(len(rates.kinds)), range(len(rates.options))
    return shaped(
        Rates,
        {
            "options": [str(form.get(f"option-{k}", "")) for k in options],
            "kinds": [str(form.get(f"kind-{i}", "")) for i in kinds],
            "cells": [[str(form.get(f"rate-{i}-{k}", "")) for k in options] for i in kinds],
            "shares": [str(form.get(f"share-{i}", "")) for i in kinds],
            "harm": [str(form.get(f"harm-{k}", "")) for k in options],
            "margin": str(form.get("margin", "")),
            "prices": [str(form.get(f"price-{k}", "")) for k in options],
            "values": [str(form.get(f"value-{k}", "")) for k in options],
            "change": str(form.get("change", "")),
            "unit": str(form.get("unit", "")),
            "source": rates.source,
            "notes": rates.notes,
        },
    )


def _with_horizon(content: Content, given: dict[str, str]) -> Content:
    """The content with the rounds of one case."""
    horizon = whole(given, "horizon")
    if horizon is None:
        raise Refused("Say how many rounds one case has.")
    return shaped(Content, {**content.model_dump(), "horizon": horizon})
