"""Lists of cases: which ones, in which order, as rows for the pages and as JSON for the API."""

from typing import Any

import sqlalchemy as sa

from banditree.service.store.schema import RINGS, WAITING, cases, plans
from banditree.service.store.sites import seen

NAMES = ("number", "id", "plan", "label", "at", "actor", "state", "rounds", "waiting", "site", "gives", "since")
SHOWN = [cases.c[name] for name in (*NAMES, "rings", "finished")]
OWNER = sa.func.coalesce(cases.c.owner, cases.c.actor).label("owner")
EVERY = sa.func.coalesce(cases.c.every, sa.select(plans.c.every).where(plans.c.id == cases.c.plan).scalar_subquery())
_day = sa.func.substr(cases.c.since, 1, 10)
# The day of the next visit: the one that a person set, or that of the last visit and some days.
DUE: dict[str, sa.ColumnElement[Any]] = {
    "sqlite": sa.func.coalesce(cases.c.due, sa.func.date(_day, EVERY.op("||")(" days"))),
    "postgresql": sa.func.coalesce(
        cases.c.due, sa.func.to_char(sa.func.to_date(_day, "YYYY-MM-DD") + EVERY, "YYYY-MM-DD")
    ),
}
UNDER_WAY = sa.and_(cases.c.state == "open", sa.not_(cases.c.finished))
# SQLite has no truth values: what its JSON functions get is 0 or 1. As texts, since putting them together takes longer
# than SQLite takes for a short list.
_pairs = ", ".join(f"'{name}', {name}" for name in (*NAMES, "owner", "due"))
_truths = ", ".join(f"'{name}', json(CASE WHEN {name} THEN 'true' ELSE 'false' END)" for name in ("rings", "finished"))
AS_JSON: dict[str, sa.ColumnElement[Any]] = {
    "sqlite": sa.literal_column(f"json_group_array(json_object({_pairs}, {_truths}))"),
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


def lines_of(connection: sa.Connection, ids: list[str]) -> list[dict[str, Any]]:
    """Some cases as lists show them."""
    query = page_of_cases(connection, limit=len(ids)).where(cases.c.id.in_(ids))
    return [dict(row) for row in connection.execute(query).mappings()]


def worklist(connection: sa.Connection, owner: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
    """The cases under way: those due first, then those that wait longest. owner: only those this person looks after."""
    due = DUE[connection.dialect.name]
    query = _of(page_of_cases(connection, limit=limit).where(UNDER_WAY).order_by(None), owner)
    query = query.order_by(due.is_(None), due, cases.c.since, cases.c.number)
    return [dict(row) for row in connection.execute(query).mappings()]


def count_worklist(connection: sa.Connection, most: int, owner: str | None = None) -> int:
    """How many cases are under way, counted up to a limit."""
    some = _of(sa.select(cases.c.number).where(seen(connection, cases), UNDER_WAY), owner).limit(most).subquery()
    return int(connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def _of(query: sa.Select[Any], owner: str | None) -> sa.Select[Any]:
    return query if owner is None else query.where(sa.func.coalesce(cases.c.owner, cases.c.actor) == owner)


def owners(connection: sa.Connection) -> list[str]:
    """Who looks after cases that are under way, at most a hundred names."""
    query = sa.select(OWNER).where(seen(connection, cases), UNDER_WAY).distinct().order_by(OWNER).limit(100)
    return list(connection.execute(query).scalars())


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
    owner: str | None = None,
    today: str = "",
) -> sa.Select[Any]:
    """The query of a page of cases in the order they were started.

    newest: in the opposite order. search: only those with this in their id or label, in capitals or not. owner: only
    those that this person looks after. today: the day by which those due are meant.
    """
    due = DUE[connection.dialect.name]
    query = (
        sa.select(*SHOWN, OWNER, due.label("due"))
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
    elif state == "due":
        query = query.where(UNDER_WAY, due <= today)
    elif state is not None:
        query = query.where(cases.c.state == state)
    return _of(query, owner)


def _has(connection: sa.Connection, column: sa.Column[Any], text: str) -> sa.ColumnElement[bool]:
    """Whether a text is part of a column's, in capitals or not: what LIKE means in SQLite, at half the price."""
    if connection.dialect.name == "sqlite":
        return column.contains(text, autoescape=True)
    return column.icontains(text, autoescape=True)
