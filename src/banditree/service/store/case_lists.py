"""Lists of cases: which ones, in which order, as rows for the pages and as JSON for the API."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from banditree.service.cases.events import Asked, Overridden
from banditree.service.store.schema import RINGS, WAITING, cases, events
from banditree.service.store.sites import seen

NAMES = ("number", "id", "plan", "label", "at", "actor", "state", "rounds", "waiting", "site", "rings")
SHOWN = [cases.c[name] for name in NAMES]
# SQLite has no truth values: what its JSON functions get is 0 or 1. As texts, since putting them together takes longer
# than SQLite takes for a short list.
_pairs = ", ".join(f"'{name}', {name}" for name in NAMES[:-1])
_rings = "'rings', json(CASE WHEN rings THEN 'true' ELSE 'false' END)"
AS_JSON: dict[str, sa.ColumnElement[Any]] = {
    "sqlite": sa.literal_column(f"json_group_array(json_object({_pairs}, {_rings}))"),
    "postgresql": sa.literal_column("CAST(COALESCE(json_agg(row_to_json(line)), '[]') AS TEXT)"),
}


def list_cases(connection: sa.Connection, **options: Any) -> list[dict[str, Any]]:
    """A page of cases, each with how many rounds were asked and wait for an outcome; options: of `page_of_cases`."""
    return [dict(row) for row in connection.execute(page_of_cases(connection, **options)).mappings()]


def list_cases_json(connection: sa.Connection, **options: Any) -> str:
    """The same as a JSON text, written by the database itself.

    A list of 1,000 is read beside those who report. SQLite writes it in a quarter of the time that Python would take,
    and without the interpreter's lock; PostgreSQL in a process of its own.
    """
    lines = page_of_cases(connection, **options).subquery("line")
    written = sa.select(AS_JSON[connection.dialect.name]).select_from(lines)
    return str(connection.execute(written).scalar_one())


def next_steps(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, sa.RowMapping]:
    """By the number of a case: the arm that was asked for last, when, and by whom."""
    given = events.c.kind.in_((Asked.kind, Overridden.kind)), events.c.case.in_(numbers)
    last = sa.select(events.c.case, sa.func.max(events.c.seq).label("seq")).where(*given).group_by(events.c.case)
    newest = last.subquery()
    same = sa.and_(events.c.case == newest.c.case, events.c.seq == newest.c.seq)
    query = sa.select(events.c.case, events.c.arm, events.c.at, events.c.actor).join(newest, same)
    return {row["case"]: row for row in connection.execute(query).mappings()}


def count_cases(connection: sa.Connection, state: str, most: int) -> int:
    """How many cases there are in a state, counted up to a limit: on a million cases counting all takes a while."""
    some = page_of_cases(connection, state=state, limit=most).order_by(None).subquery()
    return int(connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def page_of_cases(
    connection: sa.Connection,
    *,
    plan: str | None = None,
    state: str | None = None,
    after: int = 0,
    limit: int = 100,
    search: str | None = None,
    newest: bool = False,
) -> sa.Select[Any]:
    """The query of a page of cases in the order they were started.

    newest: in the opposite order. search: only those with this in their id or label, in capitals or not.
    """
    query = (
        sa.select(*SHOWN)
        .where(seen(connection, cases))
        .order_by(cases.c.number.desc() if newest else cases.c.number)
        .limit(limit)
    )
    if after:
        query = query.where(cases.c.number < after if newest else cases.c.number > after)
    if search:
        query = query.where(sa.or_(_has(connection, cases.c.id, search), _has(connection, cases.c.label, search)))
    if plan is not None:
        query = query.where(cases.c.plan == plan)
    if state == "waiting":
        query = query.where(WAITING)
    elif state == "alarm":
        query = query.where(RINGS)
    elif state is not None:
        query = query.where(cases.c.state == state)
    return query


def _has(connection: sa.Connection, column: sa.Column[Any], text: str) -> sa.ColumnElement[bool]:
    """Whether a text is part of a column's, in capitals or not: what LIKE means in SQLite, at half the price."""
    if connection.dialect.name == "sqlite":
        return column.contains(text, autoescape=True)
    return column.icontains(text, autoescape=True)
