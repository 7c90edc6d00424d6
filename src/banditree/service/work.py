"""The work that jobs do: one function per kind.

A function gets the database (to read from; the worker writes the result), the settings of the job and the callback
for its progress, and returns JSON data. What it refuses (`InvalidInput`, `Refused`) becomes the problem of the job.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from banditree.progress import OnProgress
from banditree.service import records
from banditree.service.cases import Followed
from banditree.service.database import Database
from banditree.service.problems import Refused
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection

Run = Callable[[Database, Mapping[str, Any], OnProgress], Any]


def certificate(database: Database, settings: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    """The certificate of a plan on its own or another collection: its numbers, and the table and words of its page."""
    from banditree.reports.certify import (
        certificate_document,
        certificate_report,
        certificate_rows,
        certificate_sentences,
    )

    with database.read() as connection:
        followed = records.followed_of(connection, settings["plan"])
        collection = _tasks(connection, followed, settings.get("collection"))
    report = certificate_report(followed.plan, collection)
    head, rows = certificate_rows(report)
    sentences = certificate_sentences(report)
    return {"document": certificate_document(report), "head": head, "rows": rows, "sentences": sentences}


def reach(database: Database, settings: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    """How likely each box of a plan is for each task and what it costs to get there, or a note on why that is not."""
    from banditree.reports.report import reach_or_note

    with database.read() as connection:
        followed = records.followed_of(connection, settings["plan"])
        collection = _tasks(connection, followed, None)
    found, note = reach_or_note(followed.plan, collection)
    if found is None:
        return {"note": note}
    numbers = {name: _listed(getattr(found, name)) for name in ("chance", "cost", "rounds")}
    return {**numbers, "paths": [list(path) for path in found.paths], "of": found.note}


def _tasks(connection: Any, followed: Followed, id: str | None) -> Collection:
    collection = followed.collection if id is None else records.collection_of(connection, id)
    if collection is None:
        raise Refused(f"Plan {followed.id} was put on record without its collection: say which one.")
    return collection


def _listed(values: FloatArray) -> list[list[float | None]]:
    """Numbers as JSON holds them: what is not known is null."""
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


KINDS: dict[str, Run] = {"certificate": certificate, "reach": reach}
