"""Files that people upload to learn from and to evaluate on; kept in the database, where every worker finds them."""

import secrets

import sqlalchemy as sa

from banditree.service.cases.case import utc_now
from banditree.service.problems import Conflict, NotFound, Refused
from banditree.service.store.schema import files
from banditree.service.store.sites import n_of_site, seen, site_of
from banditree.service.store.trail import note_action

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".jsonl", ".ndjson", ".feather", ".arrow")
MOST_FILES = 200  # At most this many files of one site are on record; then some must be deleted.


def add_file(connection: sa.Connection, actor: str, name: str, content: bytes) -> str:
    """Put a file on record; its id."""
    if not name.lower().endswith(SUFFIXES):
        raise Refused(f"The name of a file must end in {', '.join(SUFFIXES)}. Got {name[:100]!r}.")
    if not content:
        raise Refused(f"{name[:100]} is empty. Check that it is the right file.")
    if n_of_site(connection, files) >= MOST_FILES:
        raise Conflict(f"There are {MOST_FILES} files on record. Delete some that are no longer needed.")
    id = secrets.token_hex(8)
    row = {"id": id, "name": name, "size": len(content), "content": content, "site": site_of(connection)}
    connection.execute(sa.insert(files), {**row, "at": utc_now(), "actor": actor})
    note_action(connection, actor, "add file", id, None)
    return id


def file_of(connection: sa.Connection, id: str) -> tuple[str, bytes]:
    """(name, content) of a file."""
    columns = sa.select(files.c.name, files.c.content)
    found = connection.execute(columns.where(files.c.id == id, seen(connection, files))).first()
    if found is None:
        raise NotFound(f"There is no file {id}.")
    return found[0], found[1]


def delete_file(connection: sa.Connection, actor: str, id: str) -> bool:
    """Delete a file; what was learned from it stays."""
    mine = sa.delete(files).where(files.c.id == id, seen(connection, files))
    if connection.execute(mine).rowcount == 0:
        raise NotFound(f"There is no file {id}.")
    note_action(connection, actor, "delete file", id, None)
    return True
