"""Backups: everything on record in one SQLite file, whichever database it came from, checked row by row.

A backup is taken from one moment of a live service (one read transaction) and holds the same tables, and for each of
them how many rows it has and a hash over them. So it can be verified by itself, and restored into either kind of
database: also the way from SQLite to PostgreSQL.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from banditree.files.documents import written_whole
from banditree.service.cases.case import utc_now
from banditree.service.problems import Refused
from banditree.service.settings import Settings
from banditree.service.store.database import Database, make_private, naming_failures, newest_version, open_engine
from banditree.service.store.schema import metadata
from banditree.version import __version__

ROWS_TOGETHER = 5_000
CONTENTS = sa.Table(
    "backup",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
MADE = "made"  # The row of CONTENTS that says when the backup was made, and by which version.


class Content(NamedTuple):
    """One table of a backup."""

    name: str
    rows: int
    hash: str


def back_up(settings: Settings, path: Path) -> list[Content]:
    """Write everything on record to a file, all of it or nothing, and verify it; the service may keep running."""
    database = Database(settings, migrates=False)
    try:
        database.check()
        with written_whole(path) as temporary:
            make_private(temporary)
            with database.snapshot() as source, _opened(temporary) as target:
                metadata.create_all(target)
                CONTENTS.create(target)
                found = [_copy(source, target, table) for table in metadata.sorted_tables]
                rows = [one._asdict() for one in found]
                rows.append({"name": MADE, "rows": 0, "hash": f"{utc_now()} {newest_version()} {__version__}"})
                target.execute(sa.insert(CONTENTS), rows)
            verify(temporary)
        path.chmod(0o600)
        return found
    finally:
        database.close()


def verify(path: Path) -> list[Content]:
    """The tables of a backup, refused unless each is as it was written: no row missing, changed or added."""
    if not path.is_file():
        raise Refused(f"{path}: no such file. Check the name and the folder.")
    with naming_failures(), _opened(path) as connection:
        known = _contents(connection, path)
        found = []
        for table in metadata.sorted_tables:
            content = _content(table, _rows(connection, table))
            if content != known.get(table.name):
                raise Refused(
                    f"{path} is damaged: its table {table.name} is not as it was written. Take another backup."
                )
            found.append(content)
        return found


def restore(path: Path, settings: Settings) -> list[Content]:
    """Restore a backup into an empty database, SQLite or PostgreSQL: all of it, or nothing."""
    verify(path)
    database = Database(settings)
    try:
        with _opened(path) as source, database.write() as target:
            for table in metadata.sorted_tables:
                if target.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
                    raise Refused("The database to restore into must be empty. Give a new file or a new database.")
            found = [_copy(source, target, table) for table in metadata.sorted_tables]
            _go_on_counting(target)
        with database.snapshot() as connection:
            again = [_content(table, _rows(connection, table)) for table in metadata.sorted_tables]
        if again != found:
            raise Refused("What was restored is not what the backup holds. Do not use this database.")
        return found
    finally:
        database.close()


def _opened(path: Path) -> Any:
    return open_engine(f"sqlite:///{path}", most=1, wal=False).begin()


def _contents(connection: sa.Connection, path: Path) -> dict[str, Content]:
    if not sa.inspect(connection).has_table(CONTENTS.name):
        raise Refused(f"{path} is not a backup. Give a file that `banditree db backup` wrote.")
    rows = {row.name: Content(*row) for row in connection.execute(sa.select(CONTENTS))}
    _, version, by = rows.pop(MADE).hash.split(" ")
    if version != newest_version():
        raise Refused(
            f"{path} was made by banditree {by} with tables of version {version}, and this one has {newest_version()}. "
            f"Restore it with banditree {by}, then upgrade: the service brings its tables up to date when it starts."
        )
    return rows


def _copy(source: sa.Connection, target: sa.Connection, table: sa.Table) -> Content:
    def passed_on() -> Iterator[tuple[Any, ...]]:
        together: list[tuple[Any, ...]] = []
        for row in _rows(source, table):
            together.append(row)
            if len(together) == ROWS_TOGETHER:
                _insert(target, table, together)
                together = []
            yield row
        _insert(target, table, together)

    return _content(table, passed_on())


def _insert(target: sa.Connection, table: sa.Table, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        names = [column.name for column in table.c]
        target.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in rows])


def _rows(connection: sa.Connection, table: sa.Table) -> Iterator[tuple[Any, ...]]:
    query = sa.select(table).order_by(*table.primary_key.columns)
    for row in connection.execution_options(yield_per=ROWS_TOGETHER).execute(query):
        yield tuple(row)


def _content(table: sa.Table, rows: Iterable[tuple[Any, ...]]) -> Content:
    """How many rows, and a hash that does not depend on the order in which a database sorts texts."""
    n, total = 0, 0
    for row in rows:
        n += 1
        total += int.from_bytes(sha256(json.dumps(row, default=bytes.hex).encode()).digest())
    return Content(table.name, n, f"{total % 2**256:064x}")


def _go_on_counting(connection: sa.Connection) -> None:
    """PostgreSQL counts new rows from its own sequences, which know nothing of rows that came with their numbers."""
    if connection.dialect.name != "postgresql":
        return
    for table in metadata.sorted_tables:
        if "number" in table.c and table.c.number.primary_key:
            last = sa.select(sa.func.coalesce(sa.func.max(table.c.number), 1)).scalar_subquery()
            sequence = sa.func.pg_get_serial_sequence(table.name, "number")
            any_row = sa.select(sa.func.count() > 0).select_from(table).scalar_subquery()
            connection.execute(sa.select(sa.func.setval(sequence, last, any_row)))
