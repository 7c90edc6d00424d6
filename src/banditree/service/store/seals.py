"""Seals: each row that decides what a person is told, or who may do what, has its hash in the audit trail.

A statement that changes such a row clears its salt. Before the transaction ends, each row without a salt gets a new
one, and the trail a line with the hash of row and salt. So no function can forget to say what it changed; and the hash
of what was erased says nothing, since its salt is gone.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa

from banditree.service.store.schema import DERIVED, cases, jobs, metadata
from banditree.service.store.trail import SEAL, Line, add_lines

DELETED = "-"  # Stands in place of the hash of a row that was deleted.
CHANGED = "changed"  # Where a connection keeps what its transaction changed.
KEEPS_SEAL = "keeps_seal"  # Marks a statement that changes only what is not sealed.
SEALED = tuple(table for table in metadata.sorted_tables if {"proof", "line"} & set(table.c.keys()) == {"proof"})
# What follows from the events of a case, and how a job is getting on, is not sealed: the one is checked against the
# events, and from the other nothing follows.
UNSEALED = {
    cases.name: set(DERIVED),
    jobs.name: {"wish", "tries", "worker", "beat", "done", "total", "best", "text", "began", "ended"},
}
OF_ENDED = {"state", "found"}  # Of a job these are sealed once it has ended.
UNDER_WAY = ("waiting", "running")

Statement = TypeVar("Statement", bound=sa.Update)


@dataclass
class Changed:
    """What a transaction changed. unsealed: the rows of each table that somebody else had changed before."""

    unsealed: dict[str, set[Any]] = field(default_factory=dict)
    deleted: list[tuple[str, Any]] = field(default_factory=list)


def watch_changes(engine: sa.Engine) -> None:
    """Have the connections of an engine remember which sealed tables they change."""

    @sa.event.listens_for(engine, "before_execute")
    def see(connection: sa.Connection, statement: Any, *_: Any) -> None:
        table = getattr(statement, "table", None)
        if table is None or not statement.is_dml or "proof" not in table.c or table not in SEALED:
            return
        if statement.get_execution_options().get(KEEPS_SEAL):
            return
        changed = connection.info.setdefault(CHANGED, Changed())
        if table.name not in changed.unsealed:
            unsealed = sa.select(key_of(table)).where(table.c.proof.is_(None))
            changed.unsealed[table.name] = set(connection.execute(unsealed).scalars())
        if isinstance(statement, sa.Delete):
            gone = sa.select(key_of(table)).where(*statement._where_criteria)
            changed.deleted += [(table.name, key) for key in connection.execute(gone).scalars()]


def keeping_seal(statement: Statement) -> Statement:
    """The statement, which changes only what is not sealed."""
    return statement.values(proof=statement.table.c.proof).execution_options(**{KEEPS_SEAL: True})


def seal_changes(connection: sa.Connection) -> None:
    """Seal what this transaction changed; what was changed behind the service's back stays without a seal."""
    changed: Changed | None = connection.info.pop(CHANGED, None)
    if changed is None:
        return
    lines = [_line(name, key, DELETED) for name, key in changed.deleted]
    for name, foreign in changed.unsealed.items():
        table = metadata.tables[name]
        rows = connection.execute(sa.select(table).where(table.c.proof.is_(None))).mappings().all()
        lines += [_sealed(connection, table, row) for row in rows if row[key_of(table)] not in foreign]
    if lines:
        add_lines(connection, lines)


def _sealed(connection: sa.Connection, table: sa.Table, row: sa.RowMapping) -> Line:
    proof, key = secrets.token_hex(16), row[key_of(table)]
    salted = sa.update(table).where(key_of(table) == key).values(proof=proof).execution_options(**{KEEPS_SEAL: True})
    connection.execute(salted)
    return _line(table.name, key, hash_of(table, {**row, "proof": proof}))


def _line(table: str, key: Any, hash: str) -> Line:
    return Line("service", SEAL, f"{table} {key} {hash}", None)


def key_of(table: sa.Table) -> sa.Column[Any]:
    """The column by which a row of a sealed table is known."""
    (key,) = table.primary_key.columns
    return key


def hash_of(table: sa.Table, row: Mapping[Any, Any]) -> str:
    """The hash of a row, salt included."""
    left_out = UNSEALED.get(table.name, set())
    if table is jobs and row["state"] in UNDER_WAY:
        left_out = left_out | OF_ENDED
    content = [row[name] for name in table.columns.keys() if name not in left_out]  # noqa: SIM118
    return hashlib.sha256(json.dumps(content, default=bytes.hex).encode()).hexdigest()
