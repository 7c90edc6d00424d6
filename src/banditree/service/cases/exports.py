"""Everything on record as CSV or Parquet.

decisions: one row per outcome, with the value after all corrections and the names and values of the context: what
`banditree learn decisions.parquet --individual case --arm arm --reward reward` reads. events: the history itself.
"""

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import IO, Any, Literal

from banditree.errors import lacking
from banditree.languages.language import message
from banditree.service.cases.events import Event, happening_of
from banditree.service.store import records
from banditree.service.store.database import Connection, Database
from banditree.service.store.sites import limited
from banditree.tasks.contexts import INTERCEPT, Feature

ROWS_TOGETHER = 20_000  # Rows are written in groups of this many.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # A spreadsheet takes a text that begins with one of these for a formula.
Columns = dict[str, type]
Rows = Iterator[list[Any]]
LABELS = (message("site"), message("label"))  # The labels of a case, by which cases can be told apart.

DECISIONS: Columns = {
    "case": str,
    "plan": str,
    "round": int,
    "arm": str,
    "reward": float,
    "overridden": bool,
    "at": str,
    "site": str,
    "label": str,
}
EVENTS: Columns = {
    "case": str,
    "plan": str,
    "seq": int,
    "kind": str,
    "round": int,
    "arm": str,
    "reward": float,
    "details": str,
    "at": str,
    "actor": str,
}


def write_export(
    database: Database, what: Literal["decisions", "events"], format: str, plan: str | None, site: str | None = None
) -> IO[bytes]:
    """A file with everything on record, or with the cases of one plan, at its beginning.

    It has no name, so nothing is left of it once it is closed, whatever ends this process.
    """
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    write = write_parquet if format == "parquet" else write_csv
    try:
        with database.read(seconds=None) as whole:
            connection = limited(whole, site)
            features = plan_features(connection, plan)
            if what == "events":
                write(file, EVENTS, records.event_rows(connection, plan=plan))
            else:
                history = records.event_rows(connection, LABELS, plan=plan)
                write(file, DECISIONS | context_columns(features), decision_rows(history, features))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def decision_rows(history: Iterable[list[Any]], features: dict[str, tuple[Feature, ...]]) -> Rows:
    """One row per outcome that is known, as `DECISIONS` and the context columns. Erased cases have none.

    history: as `records.event_rows` gives it with the labels `LABELS`.
    """
    names = context_columns(features)
    n = len(EVENTS)
    for (case, plan, *labels), rows in groupby(history, key=lambda row: (*row[:2], *row[n:])):
        for number, entry in folded_rounds(Event(*row[2:n]) for row in rows).items():
            if entry.get("reward") is not None:
                values = context_values(features[plan], entry)
                line = [case, plan, number, entry["arm"], entry["reward"], entry["overridden"], entry["at"]]
                yield line + labels + [values.get(name) for name in names]


def folded_rounds(history: Iterable[Event]) -> dict[int, dict[str, Any]]:
    """What each round of a case is after all its events, in order."""
    rounds: dict[int, dict[str, Any]] = {}
    for event in history:
        _fold(rounds, event)
    return dict(sorted(rounds.items()))


def _fold(rounds: dict[int, dict[str, Any]], event: Event) -> None:
    happening = happening_of(event)
    if happening is None or event.round is None:
        return
    for number in getattr(happening, "withdrawn", None) or ():
        rounds.pop(int(number), None)
    told = happening.decision()
    if "reward" in told:
        told["at"] = event.at
    rounds.setdefault(event.round, {"context": None, "given": None}).update(told)


def plan_features(connection: Connection, plan: str | None) -> dict[str, tuple[Feature, ...]]:
    """The features of the plans that are exported."""
    ids = [line["id"] for line in records.documents(connection, "plans")] if plan is None else [plan]
    return {id: records.followed_of(connection, id).plan.features for id in ids}


def context_columns(features: dict[str, tuple[Feature, ...]]) -> Columns:
    """A column per named part of the contexts: text where some plan knows levels of it, else numbers."""
    columns: Columns = {}
    for feature in (feature for of_plan in features.values() for feature in of_plan):
        if feature.name != INTERCEPT:
            name = f"context_{feature.name}" if feature.name in DECISIONS else feature.name
            known = columns.get(name, float)
            columns[name] = str if feature.level is not None else known
    return columns


def context_values(features: tuple[Feature, ...], entry: dict[str, Any]) -> dict[str, Any]:
    """The context of a round by name: as it was given, and else read off its vector."""
    given: dict[str, Any] = {}
    for feature, value in zip(features, entry["context"] or (), strict=False):
        if feature.level is None:
            given[feature.name] = value
        elif value:
            given[feature.name] = feature.level
    given.pop(INTERCEPT, None)
    given |= entry["given"] or {}
    return {f"context_{name}" if name in DECISIONS else name: value for name, value in given.items()}


def write_csv(file: IO[bytes], columns: Columns, rows: Rows) -> None:
    """The rows as CSV, with a header; texts that a spreadsheet would take for a formula begin with a quote mark."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow([harmless(name) for name in columns])
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
    text.detach()


def harmless(cell: str) -> str:
    """A text that no spreadsheet computes.

    >>> harmless("=1+1"), harmless("A")
    ("'=1+1", 'A')
    """
    return f"'{cell}" if cell.startswith(FORMULAS) else cell


def write_parquet(file: IO[bytes], columns: Columns, rows: Rows) -> None:
    """The rows as Parquet, in groups, so that memory does not grow with their number."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise lacking("Parquet needs pyarrow. Ask for CSV, or install it", "frames") from None
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    with pq.ParquetWriter(file, schema) as writer:
        while group := list(islice(rows, ROWS_TOGETHER)):
            arrays = [
                pa.array([None if value is None else kind(value) for value in column], types[kind])
                for column, kind in zip(zip(*group, strict=True), columns.values(), strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
