"""Who sent a request: the person behind a token or cookie, with the role the route asks for."""

import hmac
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from banditree.service.edge.requests import SAFE_METHODS, counted_address
from banditree.service.point_of_care.systems import Systems, is_point_of_care
from banditree.service.problems import Forbidden, NotLoggedIn
from banditree.service.store import people
from banditree.service.store.answers import is_first_use
from banditree.service.store.database import Database
from banditree.service.store.people import LOCAL, Person, Role, acting_as

COOKIE = "banditree_session"
CSRF_HEADER = "x-csrf-token"
CSRF_FIELD = "csrf_token"
REMEMBERED = 1.0  # A token that was valid is taken as valid for this many seconds.
NO_SECRET = "Log in, or send a token as 'Authorization: Bearer ...'."
MOST_REMEMBERED = 10_000  # At most this many tokens are remembered.


class Door:
    """Knows who is who; remembers each answer for a second, so a revoked token works that much longer at most."""

    def __init__(self, database: Database, authentication: bool, systems: Systems | None = None) -> None:
        self.database, self.authentication, self.systems = database, authentication, systems
        self._seen: dict[tuple[str, bool], tuple[float, Person]] = {}

    async def sender(self, request: Request) -> Person:
        """Whose secret this request carries; looks only at its headers."""
        if not self.authentication:
            return LOCAL
        secret, by_cookie = _secret(request)
        if not secret:
            raise NotLoggedIn(NO_SECRET)
        if self.systems is not None and is_point_of_care(request.url.path):
            signed = self.systems.signed("" if by_cookie else secret, request.url.path)
            if not await request.app.state.desk.submit(lambda now: is_first_use(now.connection, signed.number)):
                raise NotLoggedIn("This token was used before. Sign a new one for each call.")
            return await run_in_threadpool(self._read, acting_as, signed.user)
        return await self._known(secret, by_cookie)

    def has_secret(self, request: Request) -> bool:
        """Whether a request carries a token or the cookie of a log-in."""
        return bool(_secret(request)[0])

    def has_seen(self, request: Request) -> bool:
        """Whether the secret of a request was valid lately."""
        secret, by_cookie = _secret(request)
        return (people.digest(secret), by_cookie) in self._seen

    async def person(self, request: Request) -> Person:
        """Who sent this request; a change sent with a cookie must also carry the CSRF token."""
        if (refused := getattr(request.state, "refused", None)) is not None:
            raise refused
        person: Person = getattr(request.state, "person", None) or await self.sender(request)
        secret = person.secret or ""
        if person.by_cookie and request.method not in SAFE_METHODS:
            sent = request.headers.get(CSRF_HEADER) or await _form_token(request)
            if not hmac.compare_digest(sent.encode(), people.csrf_token(secret).encode()):
                raise Forbidden("The header X-CSRF-Token is missing or wrong. Send the csrf_token of /api/v1/me.")
        return person

    async def _known(self, secret: str, by_cookie: bool) -> Person:
        now, key = time.monotonic(), (people.digest(secret), by_cookie)
        remembered = self._seen.get(key)
        if remembered is not None and now - remembered[0] < REMEMBERED:
            return remembered[1]
        person = await run_in_threadpool(self._read, people.who, secret, by_cookie)
        if len(self._seen) >= MOST_REMEMBERED:
            self._seen.clear()
        self._seen[key] = (now, person)
        return person

    def forget(self) -> None:
        """Look everybody up again."""
        self._seen.clear()

    def _read(self, query: Callable[..., Person], *arguments: Any) -> Person:
        with self.database.read() as connection:
            return query(connection, *arguments)


def sender(request: Request) -> str:
    """Who sent a request: the name of a person, or the address of a stranger."""
    person: Person | None = getattr(request.state, "person", None)
    if person is not None:
        return f"user {person.name}"
    return counted_address(request)


def site_of_sender(request: Request) -> str | None:
    """The site of whoever sent the request; None for whoever sees everything."""
    person: Person | None = getattr(request.state, "person", None)
    return None if person is None else person.site


def _secret(request: Request) -> tuple[str, bool]:
    """(what proves who sends a request, whether that is a cookie)."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    by_cookie = scheme.lower() != "bearer"
    return request.cookies.get(COOKIE, "") if by_cookie else token.strip(), by_cookie


async def _form_token(request: Request) -> str:
    """What a form of our own pages sends in place of the header."""
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return ""
    sent = (await request.form()).get(CSRF_FIELD, "")
    return sent if isinstance(sent, str) else ""


NEEDED: dict[Any, Role] = {}  # the role that each dependency below asks for


def at_least(role: Role) -> Callable[[Request], Awaitable[Person]]:
    """A dependency: the person behind a request, refused if the role is too low."""

    async def allowed(request: Request) -> Person:
        person = await request.app.state.door.person(request)
        request.state.user, request.state.person = person.name, person
        if person.role < role:
            raise Forbidden(f"This needs the role {role.word}, and {person.name} has {person.role.word}.")
        return person  # type: ignore[no-any-return]

    NEEDED[allowed] = role
    return allowed


def role_needed(calls: Iterable[Any]) -> Role | None:
    """The role that a route asks for, by its dependencies; None where anybody may come."""
    return max((NEEDED[call] for call in calls if call in NEEDED), default=None)


Viewer = Annotated[Person, Depends(at_least(Role.VIEWER))]
Operator = Annotated[Person, Depends(at_least(Role.OPERATOR))]
Signer = Annotated[Person, Depends(at_least(Role.SIGNER))]
Admin = Annotated[Person, Depends(at_least(Role.ADMIN))]
