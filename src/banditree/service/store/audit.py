"""The audit: whether anything on record was changed behind the service's back, table by table.

Lines of the trail are checked against their chain, events against the lines that cover them, sealed rows against their
last seals, what the lists say about a case against its events, and snapshots against the same events played again.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import sqlalchemy as sa

from banditree.errors import InvalidInput
from banditree.service.cases.case import Case, Followed
from banditree.service.cases.snapshots import is_snapshot
from banditree.service.problems import Refused
from banditree.service.store import records
from banditree.service.store.schema import audit, cases, events, snapshots, trail
from banditree.service.store.seals import DELETED, SEALED, hash_of, key_of
from banditree.service.store.trail import BEGINNING, ERASED_PROOF, HEAD, SEAL, WRITTEN, cover_text, leaf, link

SHOWN_PROBLEMS = 20  # At most this many problems are put into words; the others are counted.


class Verified(NamedTuple):
    """What a look at everything found. head: number and hash of the last line, to be kept elsewhere."""

    lines: int
    events: int
    rows: int
    head: str
    problems: list[str]


def verify(connection: sa.Connection, expected: str | None = None) -> Verified:
    """Look at every line, event and row. expected: a head that was printed before, which must still be there."""
    end = connection.execute(sa.select(trail.c.number, trail.c.chain).where(trail.c.id == HEAD)).first()
    problems = _Problems()
    walk = _Walk(connection, problems, expected)
    for line in _streamed(connection, sa.select(audit).order_by(audit.c.number)):
        walk.step(line)
    if walk.covered is not None:
        problems.add("There are events of lines that are not there.")
    number, chain = (0, BEGINNING) if end is None else end
    if (number, chain) != (walk.number, walk.chain):
        problems.add(f"The trail should end with line {number}, and ends with line {walk.number}.")
    if expected is not None and not walk.met:
        problems.add(f"The trail does not have the line {expected}.")
    _check_erased(connection, problems)
    n_rows = _check_rows(connection, walk.seals, problems)
    _check_cases(connection, problems)
    return Verified(walk.n_lines, walk.n_events, n_rows, walk.head, problems.shown)


class _Walk:
    """A walk along the lines, with the events that each covers."""

    def __init__(self, connection: sa.Connection, problems: "_Problems", expected: str | None) -> None:
        self.problems, self.expected = problems, expected
        self.number, self.chain = 0, BEGINNING
        self.n_lines = self.n_events = 0
        self.seals: dict[tuple[str, str], str] = {}  # the hash that each row of a sealed table has now
        self.met = self.head == expected
        self._all_covered = _covered(connection)
        self.covered = next(self._all_covered, None)

    @property
    def head(self) -> str:
        """The line reached, as it is printed."""
        return f"{self.number}:{self.chain}"

    def step(self, line: sa.RowMapping) -> None:
        """Check the next line; what follows is checked against its own hash, so that one change is told once."""
        if line["number"] != self.number + 1:
            self.problems.add(f"Lines {self.number + 1} to {line['number'] - 1} are missing.")
        elif link(self.chain, line) != line["chain"]:
            self.problems.add(f"Line {line['number']} was changed.")
        self.number, self.chain, self.n_lines = line["number"], line["chain"], self.n_lines + 1
        self.met = self.met or self.head == self.expected
        if line["action"] == SEAL:
            table, _, rest = (line["subject"] or "").partition(" ")
            key, _, hash = rest.rpartition(" ")
            self.seals[table, key] = hash
        leaves = self._events_here()
        if line["action"] == WRITTEN and line["subject"] != cover_text(leaves):
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
        yield line, [leaf(row["of"], row["plan"], row) for row in rows]


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


def _check_rows(connection: sa.Connection, seals: dict[tuple[str, str], str], problems: _Problems) -> int:
    """Check every row of the sealed tables against its last seal; how many there are."""
    n, left = 0, {key: hash for key, hash in seals.items() if hash != DELETED}
    for table in SEALED:
        for row in _streamed(connection, sa.select(table)):
            n, key = n + 1, str(row[key_of(table)])
            if (sealed := left.pop((table.name, key), None)) is None:
                problems.add(f"Table {table.name}: {key} was added behind the service's back.")
            elif sealed != hash_of(table, row):
                problems.add(f"Table {table.name}: {key} was changed behind the service's back.")
    for name, key in left:
        problems.add(f"Table {name}: {key} was deleted behind the service's back.")
    return n


def _check_cases(connection: sa.Connection, problems: _Problems) -> None:
    """Play every case again from its events: what its row and its snapshot say must be what comes out."""
    taken = set(connection.execute(sa.select(snapshots.c.case)).scalars())
    followed: dict[str, Followed | None] = {}
    for row in _streamed(connection, sa.select(cases).order_by(cases.c.number)):
        if row["plan"] not in followed:
            followed[row["plan"]] = _followed(connection, row["plan"], problems)
        if (plan := followed[row["plan"]]) is not None:
            try:
                _check_case(connection, row, plan, row["number"] in taken, problems)
                taken.discard(row["number"])
            except Exception as error:  # whatever was put among the events
                problems.add(f"Case {row['id']} cannot be played again from its events ({type(error).__name__}).")
    for number in taken:
        problems.add(f"There is a snapshot of case number {number}, which cannot be checked.")


def _followed(connection: sa.Connection, plan: str, problems: _Problems) -> Followed | None:
    try:
        return records.followed_of(connection, plan)
    except (Refused, InvalidInput) as problem:
        problems.add(str(problem))
        return None


def _check_case(
    connection: sa.Connection, row: sa.RowMapping, plan: Followed, taken: bool, problems: _Problems
) -> None:
    case = Case(row["number"], row["id"], plan, row["label"], row["at"], row["site"])
    history = records.events_after(connection, case.number, 0)
    snapshot = records.snapshots_of(connection, [case.number]).get(case.number) if taken else None
    seq = len(history) if snapshot is None else snapshot[0]
    case.fold(history[:seq])
    if taken and (snapshot is None or not is_snapshot(case, *snapshot)):
        problems.add(f"The snapshot of case {case.id} is not what its events say.")
    case.fold(history[seq:])
    derived = records.state_of(case)
    if any(row[name] != value for name, value in derived.items() if name != "of"):
        problems.add(f"What the lists say about case {case.id} is not what its events say.")
