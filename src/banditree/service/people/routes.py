"""The routes over users, log-ins, tokens and the audit trail."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from banditree.service.cases.case import MAX_NUMBER
from banditree.service.edge.models import Answer, Created, Done
from banditree.service.edge.replies import ERRORS, read, reply, write, write_anew
from banditree.service.edge.requests import counted_address
from banditree.service.people.models import (
    AuditLine,
    ChangeUser,
    Login,
    Me,
    NewPassword,
    NewToken,
    NewUser,
    TokenLine,
    TokenOut,
    UserLine,
)
from banditree.service.people.senders import COOKIE, Admin, Door, Viewer
from banditree.service.problems import Conflict, Forbidden, NotLoggedIn
from banditree.service.settings import Settings
from banditree.service.store import people
from banditree.service.store.people import Role
from banditree.service.store.records import on_record
from banditree.service.store.trail import list_lines, note_action

router = APIRouter(prefix="/api/v1", tags=["people"], responses=ERRORS)
UserName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


@router.post("/login", response_model=Answer[Me])
async def log_in(request: Request, body: Login) -> Response:
    """Log in with a name and a password: sets a cookie, and answers the token that every change must carry."""
    settings: Settings = request.app.state.settings
    if not settings.authentication:
        raise Conflict("This service is open: there is no log-in.")
    return await let_in(request, body.name, await _proven(request, body.name, body.password))


async def let_in(request: Request, name: str, role: Role) -> Response:
    """The answer to somebody whose log-in was right: the cookie, and the token that every change must carry."""
    settings: Settings = request.app.state.settings
    lifetime = timedelta(hours=settings.session_hours)
    _id, secret = await write_anew(request, people.give_secret, people.SESSION, name, role, "log-in", lifetime)
    answer = reply(Me(name=name, role=role.word, csrf_token=people.csrf_token(secret)))
    answer.set_cookie(
        COOKIE,
        secret,
        max_age=int(lifetime.total_seconds()),
        httponly=True,
        secure=settings.secure_cookies,
        samesite="strict",
    )
    return answer


async def _proven(request: Request, name: str, password: str) -> Role:
    """The role of a person with this password; the attempt is counted before the password is looked at."""
    address = request.client.host if request.client else "unknown"
    counted = counted_address(request)
    number = await write(request, people.begin_attempt, request.app.state.settings, name, counted)
    hash, role = await read(request, people.password_of, name)
    if not await run_in_threadpool(people.verified, hash, password) or role is None:
        known = await read(request, on_record, [name])  # a password may have been typed in its place
        named = name if known else "an unknown name"
        await write(request, note_action, "nobody", people.LOGIN_FAILED, named, address)
        raise NotLoggedIn("The name or the password is wrong.")
    await write(request, people.end_attempt, number)
    return Role(role)


@router.post("/me/password", response_model=Answer[Done])
async def change_password(request: Request, person: Viewer, body: NewPassword) -> Response:
    """Change your own password; all your log-ins and tokens end, this one too."""
    if person.secret is None:
        raise Conflict("This service is open: there are no passwords.")
    await _proven(request, person.name, body.old)
    hash = await run_in_threadpool(people.hashed, body.new)
    await write(request, people.set_password, person.name, hash)
    _door(request).forget()
    return reply(Done(done=True))


@router.post("/logout", response_model=Answer[Done])
async def log_out(request: Request, person: Viewer) -> Response:
    """End this log-in, or revoke the token that this request carries."""
    if person.secret is not None:
        await write(request, people.revoke_secret, person.name, person.secret)
        _door(request).forget()
    answer = reply(Done(done=person.secret is not None))
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/me", response_model=Answer[Me])
async def who_am_i(request: Request, person: Viewer) -> Response:
    """Who you are here."""
    token = people.csrf_token(person.secret) if person.by_cookie and person.secret else None
    return reply(Me(name=person.name, role=person.role.word, csrf_token=token, site=person.site))


@router.get("/users", response_model=Answer[list[UserLine]])
async def list_users(request: Request, person: Admin) -> Response:
    """Every user."""
    return reply([UserLine(**line) for line in await read(request, people.list_users)])


@router.post("/users", response_model=Answer[Created])
async def add_user(request: Request, person: Admin, body: NewUser) -> Response:
    """Add a user."""
    hash = await run_in_threadpool(people.hashed, body.password)
    await write(request, people.add_user, person.name, body.name, Role.named(body.role), hash, body.site)
    return reply(Created(id=body.name))


@router.patch("/users/{name}", response_model=Answer[Done])
async def change_user(request: Request, person: Admin, name: UserName, body: ChangeUser) -> Response:
    """Change a role or password, or disable a user; their log-ins and tokens end."""
    role = None if body.role is None else Role.named(body.role)
    hash = None if body.password is None else await run_in_threadpool(people.hashed, body.password)
    await write(request, people.change_user, person.name, name, role, hash, body.disabled, body.site)
    _door(request).forget()
    return reply(Done(done=True))


@router.get("/tokens", response_model=Answer[list[TokenLine]])
async def list_tokens(request: Request, person: Viewer) -> Response:
    """Your API tokens; everybody's for an admin."""
    return reply([TokenLine(**line) for line in await read(request, people.list_tokens, person)])


@router.post("/tokens", response_model=Answer[TokenOut])
async def add_token(request: Request, person: Viewer, body: NewToken) -> Response:
    """An API token, shown this once; the same request sent again with its key shows it again."""
    if person.secret is None:
        raise Conflict("This service is open: there are no tokens.")
    role = Role.named(body.role)
    if role > person.role:
        raise Forbidden(f"A token cannot have a higher role than yours, {person.role.word}.")
    lifetime = timedelta(days=body.days)
    id, salt = await write(request, people.add_token, person.name, role, body.name, lifetime, person.secret)
    token = people.token_from(person.secret, salt)
    if not await read(request, people.is_secret_of, id, token):
        raise Conflict(f"This request made token {id} in another log-in, and only there it is shown. Make another one.")
    return reply(TokenOut(id=id, token=token))


@router.delete("/tokens/{id}", response_model=Answer[Done])
async def revoke_token(request: Request, person: Viewer, id: UserName) -> Response:
    """Revoke an API token."""
    await write(request, people.revoke, person, id)
    _door(request).forget()
    return reply(Done(done=True))


@router.get("/audit", response_model=Answer[list[AuditLine]])
async def list_audit(
    request: Request,
    person: Admin,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Who did what, besides the events of cases, which carry their own names."""
    return reply([AuditLine(**line) for line in await read(request, list_lines, after, limit)])


def _door(request: Request) -> Door:
    door: Door = request.app.state.door
    return door
