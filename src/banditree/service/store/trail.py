"""The audit trail: who changed, read or was refused what, in lines chained by hashes, so that tampering is noticed.

Each line's hash covers the line and the hash before it; one row, the head, says where the chain ends. What happens to
cases is in their events: the transaction that adds events also adds a line with a hash over them. An event goes into
that hash by a salted digest of its content; erasing keeps the digest and destroys the salt, so that the chain still
holds and the content cannot be guessed. Writers take the head's lock, so lines of several servers have one order.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import sqlalchemy as sa

from banditree.service.cases.case import utc_now
from banditree.service.store.schema import audit, cases, events, trail

WRITTEN = "write events"  # The action of a line that covers events.
ERASED_PROOF = 64  # The proof of an erased event is a digest of so many characters; a salt has 32.
SHOWN_PROBLEMS = 20  # At most so many problems are put into words; the others are counted.
BEGINNING = hashlib.sha256(b"banditree trail").hexdigest()  # What the first line follows.
HEAD = 1  # The key of the one row that says where the chain ends.


class Line(NamedTuple):
    """A line of the trail, before it has its number, time and hash."""

    actor: str
    action: str
    subject: str | None
    address: str | None


class Verified(NamedTuple):
    """What a look at the whole trail found. head: number and hash of the last line, to be kept elsewhere."""

    lines: int
    events: int
    head: str
    problems: list[str]


def note_action(connection: sa.Connection, actor: str, action: str, subject: str | None, address: str | None) -> None:
    """Add one line."""
    add_lines(connection, [Line(actor, action, subject, address)])


def list_lines(connection: sa.Connection, after: int, limit: int) -> Sequence[sa.RowMapping]:
    """Lines of the trail in their order, after the line of a number."""
    page = sa.select(audit).where(audit.c.number > after).order_by(audit.c.number).limit(limit)
    return connection.execute(page).mappings().all()


def latest_lines(connection: sa.Connection, limit: int) -> Sequence[sa.RowMapping]:
    """What people did, the latest first; the lines that only cover events are not among them."""
    of_people = sa.select(audit).where(audit.c.action != WRITTEN)
    return connection.execute(of_people.order_by(audit.c.number.desc()).limit(limit)).mappings().all()


def add_lines(connection: sa.Connection, lines: Sequence[Line]) -> int:
    """Add lines at the end of the chain; the number of the last one."""
    number, link = _head(connection)
    rows, at = [], utc_now()
    for number, line in enumerate(lines, number + 1):  # noqa: B020
        row = {"number": number, "at": at, **line._asdict()}
        link = _link(link, row)
        rows.append({**row, "chain": link})
    connection.execute(sa.insert(audit), rows)
    connection.execute(sa.update(trail).where(trail.c.id == HEAD).values(number=number, chain=link))
    return number


def _head(connection: sa.Connection) -> tuple[int, str]:
    """(number, hash) of the last line, which nobody else may follow until this transaction ends."""
    query = sa.select(trail.c.number, trail.c.chain).where(trail.c.id == HEAD).with_for_update()
    found = connection.execute(query).first()
    if found is not None:
        return int(found[0]), str(found[1])
    connection.execute(sa.insert(trail), {"id": HEAD, "number": 0, "chain": BEGINNING})
    return 0, BEGINNING


def _link(before: str, line: Mapping[str, Any] | sa.RowMapping) -> str:
    return _hash([before, *(line[name] for name in ("number", "at", "actor", "action", "subject", "address"))])


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def cover(connection: sa.Connection, rows: Sequence[dict[str, Any]], names: Mapping[int, tuple[str, str]]) -> None:
    """Give new rows of events their salts and the line that covers them. names: (id, plan) of each case."""
    for row in rows:
        row["proof"] = secrets.token_hex(16)
    leaves = [_leaf(*names[row["case"]], row) for row in sorted(rows, key=lambda row: (row["case"], row["seq"]))]
    line = add_lines(connection, [Line("service", WRITTEN, _cover_text(leaves), None)])
    for row in rows:
        row["line"] = line


def _cover_text(leaves: Sequence[str]) -> str:
    return f"{len(leaves)} {_hash(leaves)}"


def _leaf(case: str, plan: str, event: Mapping[str, Any] | sa.RowMapping) -> str:
    """The hash of an event: of which case, and everything that stays, and the digest of what can be erased."""
    stays = [event[name] for name in ("seq", "kind", "round", "at", "actor")]
    digest = event["proof"] if len(event["proof"]) == ERASED_PROOF else content_digest(event)
    return _hash([case, plan, *stays, digest])


def content_digest(event: Mapping[str, Any] | sa.RowMapping) -> str:
    """The salted digest of what erasing removes from an event; its proof before that is the salt."""
    reward = None if event["reward"] is None else float(event["reward"])
    return _hash([event["proof"], event["arm"], reward, event["details"]])


def verify(connection: sa.Connection, expected: str | None = None) -> Verified:
    """Look at every line and every event. expected: a head that was printed before, which must still be there."""
    end = connection.execute(sa.select(trail.c.number, trail.c.chain).where(trail.c.id == HEAD)).first()
    problems = _Problems()
    walk = _Walk(connection, problems, expected)
    for line in _streamed(connection, sa.select(audit).order_by(audit.c.number)):
        walk.step(line)
    if walk.covered is not None:
        problems.add("There are events of lines that are not there.")
    number, chain = (0, BEGINNING) if end is None else end
    if (number, chain) != (walk.number, walk.link):
        problems.add(f"The trail should end with line {number}, and ends with line {walk.number}.")
    if expected is not None and not walk.met:
        problems.add(f"The trail does not have the line {expected}.")
    _check_erased(connection, problems)
    return Verified(walk.n_lines, walk.n_events, walk.head, problems.shown)


class _Walk:
    """A walk along the lines, with the events that each covers."""

    def __init__(self, connection: sa.Connection, problems: "_Problems", expected: str | None) -> None:
        self.problems, self.expected = problems, expected
        self.number, self.link = 0, BEGINNING
        self.n_lines = self.n_events = 0
        self.met = self.head == expected
        self._all_covered = _covered(connection)
        self.covered = next(self._all_covered, None)

    @property
    def head(self) -> str:
        """The line reached, as it is printed."""
        return f"{self.number}:{self.link}"

    def step(self, line: sa.RowMapping) -> None:
        """Check the next line; what follows is checked against its own hash, so that one change is told once."""
        if line["number"] != self.number + 1:
            self.problems.add(f"Lines {self.number + 1} to {line['number'] - 1} are missing.")
        elif _link(self.link, line) != line["chain"]:
            self.problems.add(f"Line {line['number']} was changed.")
        self.number, self.link, self.n_lines = line["number"], line["chain"], self.n_lines + 1
        self.met = self.met or self.head == self.expected
        leaves = self._events_here()
        if line["action"] == WRITTEN and line["subject"] != _cover_text(leaves):
            self.problems.add(f"Events of line {self.number} were changed, added or deleted.")
        elif line["action"] != WRITTEN and leaves:
            self.problems.add(f"There are events of line {self.number}, which covers none.")

    def _events_here(self) -> list[str]:
        leaves: list[str] = []
        while self.covered is not None and self.covered[0] <= self.number:
            of, found = self.covered
            if of == self.number:
                leaves = found
            else:
                self.problems.add(f"There are events of line {of}, which is not there.")
            self.n_events += len(found)
            self.covered = next(self._all_covered, None)
        return leaves


class _Problems:
    """What is wrong, the first of it in words."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def add(self, problem: str) -> None:
        if len(self.shown) < SHOWN_PROBLEMS:
            self.shown.append(problem)


def _streamed(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[sa.RowMapping]:
    return iter(connection.execution_options(stream_results=True).execute(query).mappings().yield_per(1000))


def _covered(connection: sa.Connection) -> Iterator[tuple[int, list[str]]]:
    """(line, hashes of its events), in the order of the lines."""
    query = (
        sa.select(events, cases.c.id.label("of"), cases.c.plan.label("plan"))
        .join(cases, cases.c.number == events.c.case)
        .order_by(events.c.line, events.c.case, events.c.seq)
    )
    for line, rows in groupby(_streamed(connection, query), key=lambda row: int(row["line"])):
        yield line, [_leaf(row["of"], row["plan"], row) for row in rows]


def _check_erased(connection: sa.Connection, problems: _Problems) -> None:
    """Check that only events of erased cases are without content, and that these are."""
    blanked = sa.func.length(events.c.proof) == ERASED_PROOF
    left = sa.or_(events.c.arm.is_not(None), events.c.reward.is_not(None), events.c.details.is_not(None))
    if connection.execute(sa.select(events.c.case).where(blanked, left).limit(1)).first() is not None:
        problems.add("Events that were erased have content again.")
    ended = events.alias()
    erased = sa.exists().where(ended.c.case == events.c.case, ended.c.kind == "erased")
    numbers = sa.select(events.c.case).where(blanked, ~erased).distinct().limit(SHOWN_PROBLEMS)
    for (number,) in connection.execute(numbers):
        problems.add(f"Events of case number {number} were blanked, and it was never erased.")
