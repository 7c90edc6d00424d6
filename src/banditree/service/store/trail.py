"""The audit trail: who changed, read or was refused what, in lines chained by hashes, so that tampering is noticed.

Each line's hash covers the line and the hash before it; one row, the head, says where the chain ends. What happens to
cases is in their events: the transaction that adds events also adds a line with a hash over them. An event goes into
that hash by a salted digest of its content; erasing keeps the digest and destroys the salt, so that the chain still
holds and the content cannot be guessed. Writers take the head's lock, so lines of several servers have one order.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from banditree.service.cases.case import utc_now
from banditree.service.store.schema import audit, trail

SEAL = "seal"  # The action of a line that seals a row; its subject is the table, the key and the hash.
WRITTEN = "write events"  # The action of a line that covers events.
ERASED_PROOF = 64  # The proof of an erased event is a digest of this many characters; a salt has 32.
BEGINNING = hashlib.sha256(b"banditree trail").hexdigest()  # What the first line follows.
HEAD = 1  # The key of the one row that says where the chain ends.


class Line(NamedTuple):
    """A line of the trail, before it has its number, time and hash."""

    actor: str
    action: str
    subject: str | None
    address: str | None


def note_action(connection: sa.Connection, actor: str, action: str, subject: str | None, address: str | None) -> None:
    """Add one line."""
    add_lines(connection, [Line(actor, action, subject, address)])


def list_lines(connection: sa.Connection, after: int, limit: int) -> Sequence[sa.RowMapping]:
    """Lines of the trail in their order, after the line of a number."""
    page = sa.select(audit).where(audit.c.number > after).order_by(audit.c.number).limit(limit)
    return connection.execute(page).mappings().all()


def latest_lines(connection: sa.Connection, limit: int) -> Sequence[sa.RowMapping]:
    """What people did, the latest first; the lines that only cover events and rows are not among them."""
    of_people = sa.select(audit).where(audit.c.action.not_in((WRITTEN, SEAL)))
    return connection.execute(of_people.order_by(audit.c.number.desc()).limit(limit)).mappings().all()


def lines_of(connection: sa.Connection, action: str) -> Sequence[sa.RowMapping]:
    """Every line of an action, in order."""
    return (
        connection.execute(sa.select(audit).where(audit.c.action == action).order_by(audit.c.number)).mappings().all()
    )


def add_lines(connection: sa.Connection, lines: Sequence[Line]) -> int:
    """Add lines at the end of the chain; the number of the last one."""
    number, chain = _head(connection)
    rows, at = [], utc_now()
    for number, line in enumerate(lines, number + 1):  # noqa: B020
        row = {"number": number, "at": at, **line._asdict()}
        chain = link(chain, row)
        rows.append({**row, "chain": chain})
    connection.execute(sa.insert(audit), rows)
    connection.execute(sa.update(trail).where(trail.c.id == HEAD).values(number=number, chain=chain))
    return number


def _head(connection: sa.Connection) -> tuple[int, str]:
    """(number, hash) of the last line, which nobody else may follow until this transaction ends."""
    query = sa.select(trail.c.number, trail.c.chain).where(trail.c.id == HEAD).with_for_update()
    found = connection.execute(query).first()
    if found is not None:
        return int(found[0]), str(found[1])
    connection.execute(sa.insert(trail), {"id": HEAD, "number": 0, "chain": BEGINNING})
    return 0, BEGINNING


def link(before: str, line: Mapping[str, Any] | sa.RowMapping) -> str:
    """The hash of a line that follows the line of another hash."""
    return _hash([before, *(line[name] for name in ("number", "at", "actor", "action", "subject", "address"))])


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def cover(connection: sa.Connection, rows: Sequence[dict[str, Any]], names: Mapping[int, tuple[str, str]]) -> None:
    """Give new rows of events their salts and the line that covers them. names: (id, plan) of each case."""
    for row in rows:
        row["proof"] = secrets.token_hex(16)
    leaves = [leaf(*names[row["case"]], row) for row in sorted(rows, key=lambda row: (row["case"], row["seq"]))]
    line = add_lines(connection, [Line("service", WRITTEN, cover_text(leaves), None)])
    for row in rows:
        row["line"] = line


def cover_text(leaves: Sequence[str]) -> str:
    """What a line says that covers events of these hashes."""
    return f"{len(leaves)} {_hash(leaves)}"


def leaf(case: str, plan: str, event: Mapping[str, Any] | sa.RowMapping) -> str:
    """The hash of an event: of which case, and everything that stays, and the digest of what can be erased."""
    stays = [event[name] for name in ("seq", "kind", "round", "at", "actor")]
    digest = event["proof"] if len(event["proof"]) == ERASED_PROOF else content_digest(event)
    return _hash([case, plan, *stays, digest])


def content_digest(event: Mapping[str, Any] | sa.RowMapping) -> str:
    """The salted digest of what erasing removes from an event; its proof before that is the salt."""
    reward = None if event["reward"] is None else float(event["reward"])
    return _hash([event["proof"], event["arm"], reward, event["details"]])
