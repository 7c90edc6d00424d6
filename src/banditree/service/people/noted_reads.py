"""Reads and refusals, noted in the audit trail a moment later: many at once, so that reading costs no write each.

What a refused address has in place of an id is noted only if something on record has that id: it may be a name.
"""

import asyncio
from collections import Counter
from collections.abc import Set

from starlette.types import Scope

from banditree.service.cases.desk import Desk, Transaction
from banditree.service.problems import Refused
from banditree.service.store.records import on_record
from banditree.service.store.trail import Line, add_lines

PAUSE = 1.0  # Seconds between two writings of what was seen.
MOST_LINES = 10_000  # Lines that are kept in memory while the database cannot be written; the rest is only counted.
LONGEST = 200  # This many characters of a path are noted.
LOGIN = ("/login", "/api/v1/login")  # Refusals of these are noted where the password is checked.
QUIET = {*LOGIN, "/", "/health", "/ready", "/metrics", "/static/{name}", "/api/v1/me", "/api/v1/openapi.json"}
REFUSED = (401, 403, 429)

Typed = tuple[tuple[str, str], ...]  # What an address has in place of each id of its route.


class Witness:
    """Sees every answer; `write` puts what was seen into the trail, the same of one second in one line."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._seen: Counter[tuple[Line, Typed]] = Counter()

    def see(self, scope: Scope, route: str, status: int) -> None:
        """Remember an answer if it is a read by somebody, or a refusal. Strangers are noted by route, not by path."""
        user = scope["state"].get("user")
        method, known = scope["method"], user is not None
        what = f"{method} {scope['path'][:LONGEST]}"
        address = (scope.get("client") or ("unknown",))[0]
        if status in REFUSED or (status == 404 and known and route != "other"):
            if route not in LOGIN:
                typed = tuple((name, str(value)) for name, value in scope.get("path_params", {}).items())
                self._add(
                    Line(user or "nobody", "refused", f"{status} {method} {route}", address), typed if known else ()
                )
        elif status < 300 and known and (subject := scope["state"].get("read")) is not None:
            self._add(Line(user, "read", f"{what}: {subject[:LONGEST]}", address))
        elif method == "GET" and status < 300 and known and route not in QUIET:
            self._add(Line(user, "read", what, address))

    def _add(self, line: Line, typed: Typed = ()) -> None:
        full = len(self._seen) >= MOST_LINES and (line, typed) not in self._seen
        self._seen[(Line("service", "too much to note", None, None), ()) if full else (line, typed)] += 1

    async def run(self) -> None:
        """Write what was seen, every second, until cancelled."""
        while True:
            await asyncio.sleep(PAUSE)
            await self.write()

    async def write(self) -> None:
        """Put what was seen into the trail; it is kept where that cannot be done now."""
        if not self._seen:
            return
        seen, self._seen = self._seen, Counter()

        def act(transaction: Transaction) -> None:
            known = on_record(transaction.connection, {id for _, typed in seen for _, id in typed})
            lines = Counter[Line]()
            for (line, typed), n in seen.items():
                lines[_with_ids(line, typed, known)] += n
            add_lines(transaction.connection, [_counted(line, n) for line, n in lines.items()])

        try:
            await self.desk.submit(act, None)
        except Refused:
            self._seen.update(seen)


def _with_ids(line: Line, typed: Typed, known: Set[str]) -> Line:
    subject = line.subject or ""
    for name, id in typed:
        subject = subject.replace(f"{{{name}}}", id) if id in known else subject
    return line._replace(subject=subject)


def _counted(line: Line, n: int) -> Line:
    clean = (line.subject or "").encode("utf-8", "replace").decode().replace("\x00", "?")
    return line._replace(subject=f"{clean} ({n} times)" if n > 1 else clean or None)
