"""The work that jobs do: one function per kind.

A function gets the database (to read from; the worker writes the result), the settings of the job and the callback
for its progress and what it finds, and returns JSON data. What it refuses (`InvalidInput`, `Refused`) becomes the
problem of the job.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.errors import InvalidInput
from banditree.evaluation.evaluate import evaluate as evaluate_on
from banditree.evaluation.settings import EvaluateSettings
from banditree.figures.card import card_html, card_info, card_pages
from banditree.figures.drawing import A4, LETTER
from banditree.figures.pdf import pdf
from banditree.files.collections import collection_document
from banditree.files.documents import dump
from banditree.files.proofs import proof_json
from banditree.languages.catalogue import codes
from banditree.plans.plan import Plan
from banditree.plans.words import in_language
from banditree.reports.beside import beside_sentence
from banditree.reports.certify import certificate_document, certificate_report, certificate_rows, certificate_sentences
from banditree.reports.evaluate import evaluation_document, evaluation_text
from banditree.reports.held_out import NOT_JUDGED, held_out, held_out_in
from banditree.reports.learning import learn_document, learn_text
from banditree.reports.promise import loss_sentence, promise_sentences
from banditree.reports.report import reach_or_note, write_report
from banditree.service.field.comparing import comparison
from banditree.service.field.mail import mail
from banditree.service.field.monitoring import monitor, relearn
from banditree.service.field.webhook import webhook
from banditree.service.jobs.log_files import file_on_disk
from banditree.service.jobs.messages import Reports
from banditree.service.jobs.searching import search
from banditree.service.plans.issuing import issue_of
from banditree.service.problems import Refused
from banditree.service.store import jobs, records
from banditree.service.store.database import Connection, Database
from banditree.service.store.jobs import State
from banditree.service.studio.work import beside, study, worth
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.training.learning import learn as learn_from
from banditree.training.settings import LearnSettings

Run = Callable[[Database, Mapping[str, Any], Reports], Any]


def certificate(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """The certificate of a plan on its own or another collection: its numbers, and the table and words of its page."""
    plan, collection = _plan(database, settings)
    report = certificate_report(plan, collection)
    head, rows = certificate_rows(report)
    return {
        "document": certificate_document(report),
        "head": head,
        "rows": rows,
        "sentences": certificate_sentences(report),
        "promise": promise_sentences(plan, report.certificate, varies=collection.varies),
        "promises": {
            code: promise_sentences(in_language(plan, code), report.certificate, varies=collection.varies)
            for code in codes()
        },
        "loss": loss_sentence(plan, report.certificate, report.varying),
        "beside": beside_sentence(plan, collection) if collection.theta is None else "",
        **_proof(plan, collection, report.certificate),
    }


def _proof(plan: Plan, collection: Collection, certified: Certificate) -> dict[str, Any]:
    """The proof of the numbers, or why there is none."""
    try:
        return {"proof": json.loads(proof_json(plan, collection, certified))}
    except InvalidInput as problem:
        return {"unproven": str(problem)}


def reach(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """How likely each box of a plan is for each task and what it costs to get there, or a note on why that is not."""
    plan, collection = _plan(database, settings)
    found, note = reach_or_note(plan, collection)
    if found is None:
        return {"note": note}
    numbers = {name: _listed(getattr(found, name)) for name in ("chance", "cost", "rounds")}
    return {**numbers, "paths": [list(path) for path in found.paths], "of": found.note}


def learn(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """A collection from a file: its document, and what was found on the way as data and as text."""
    with file_on_disk(database, settings["file"]) as log:
        found = learn_from(log, on_progress=reports, **LearnSettings.among(settings))
    document = json.loads(dump(collection_document(found.collection)))
    return {"collection": document, "document": learn_document(found), "text": learn_text(found)}


def evaluate(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """What a plan would have earned on the cases of a file, as data and as text."""
    plan, collection = _plan(database, settings, needed=False)
    with file_on_disk(database, settings["file"]) as log:
        found = evaluate_on(plan, log, collection=collection, **EvaluateSettings.among(settings))
    judged = held_out(plan, collection, found)
    return {"document": evaluation_document(found), "text": evaluation_text(found), "held_out": judged}


def report(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """The report of a plan as a file: its name, and its content in base64."""
    plan, collection = _plan(database, settings)
    with database.read() as connection:
        judged = verdict_of(connection, settings["plan"])
    issue = issue_of(database, settings["plan"], plan.vocabulary.language)
    content = write_report(plan, collection, f".{settings['format']}", held_out=judged, issue=issue)
    return {"name": f"report-{settings['plan']}.{settings['format']}", "content": b64encode(content).decode()}


def card(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """The card of a plan as a file; where its collection is known it says what the plan promises."""
    plan, collection = _plan(database, settings, needed=False)
    plan = in_language(plan, settings.get("language", "en"))
    with database.read() as connection:
        judged = verdict_of(connection, settings["plan"])
    promise = (
        ()
        if collection is None
        else tuple(promise_sentences(plan, certify(plan, collection), varies=collection.varies))
    )
    spoken, paper = plan.vocabulary.language, settings["paper"]
    verdict = spoken.translated(NOT_JUDGED) if judged is None else held_out_in(judged, spoken)["sentence"]
    issue = issue_of(database, settings["plan"], spoken)
    info = card_info(plan, promise, verdict=verdict, issue=issue)
    if settings["format"] == "html":
        content = card_html(info, "A4" if paper == "a4" else "letter").encode()
    else:
        content = pdf(card_pages(info, A4 if paper == "a4" else LETTER))
    return {"name": f"card-{settings['plan']}.{settings['format']}", "content": b64encode(content).decode()}


def verdict_of(connection: Connection, plan: str) -> dict[str, Any] | None:
    """What a plan was worth on cases that it was not made from, as the last job over such cases found it."""
    job = jobs.newest(connection, "evaluate", plan)
    found: dict[str, Any] | None = job.result["held_out"] if job is not None and job.state is State.DONE else None
    return found


def _plan(database: Database, settings: Mapping[str, Any], *, needed: bool = True) -> tuple[Plan, Any]:
    """The plan of some settings, with the collection that they name or its own; needed: refuse one without."""
    with database.read() as connection:
        followed = records.followed_of(connection, settings["plan"])
        id = settings.get("collection")
        collection = followed.collection if id is None else records.collection_of(connection, id)
    if collection is None and needed:
        raise Refused(f"Plan {followed.id} was put on record without its collection. Name the collection.")
    return followed.plan, collection


def _listed(values: FloatArray) -> list[list[float | None]]:
    """Numbers as JSON holds them: what is not known is null."""
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


KINDS: dict[str, Run] = {
    "certificate": certificate,
    "reach": reach,
    "learn": learn,
    "search": search,
    "evaluate": evaluate,
    "report": report,
    "monitor": monitor,
    "relearn": relearn,
    "webhook": webhook,
    "mail": mail,
    "worth": worth,
    "beside": beside,
    "study": study,
    "card": card,
    "comparison": comparison,
}
