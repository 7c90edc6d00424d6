"""The pages of log-in, users, tokens and the audit trail."""

import json

from fastapi import APIRouter, Request, Response

from banditree.service.edge.replies import read
from banditree.service.pages.forms import fields, local_path, shaped, to
from banditree.service.pages.rendering import page
from banditree.service.people import routes as people_routes
from banditree.service.people.models import ChangeUser, Login, NewPassword, NewToken, NewUser
from banditree.service.people.routes import UserName
from banditree.service.people.senders import Admin, Viewer
from banditree.service.problems import NotLoggedIn, Refused, TooMany
from banditree.service.store import people
from banditree.service.store.trail import latest_lines

SHOWN_ACTIONS = 200

router = APIRouter(include_in_schema=False)


@router.get("/login")
async def show_login(request: Request, next: str = "/", unsaved: str = "") -> Response:
    """The form to log in with. unsaved: what somebody has just sent was not taken, since the log-in had ended."""
    if not request.app.state.settings.authentication:
        return to(local_path(next))
    return _login_page(request, local_path(next), unsaved=bool(unsaved))


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Log in and go where the person wanted to."""
    given = await fields(request)
    goal = local_path(given.get("next", "/"))
    try:
        body = shaped(Login, {"name": given.get("name", ""), "password": given.get("password", "")})
        answer = await people_routes.log_in(request, body)
    except (NotLoggedIn, TooMany, Refused) as problem:
        return _login_page(request, goal, problem, given.get("name", ""))
    going = to(goal)
    going.headers["set-cookie"] = answer.headers["set-cookie"]
    return going


def _login_page(
    request: Request, goal: str, problem: Refused | None = None, name: str = "", *, unsaved: bool = False
) -> Response:
    shown = {"next": goal, "problem": problem.message if problem else "", "name": name, "unsaved": unsaved}
    sign_on = request.app.state.provider is not None
    return page(request, "login.html", problem.status if problem else 200, sign_on=sign_on, **shown)


@router.post("/logout")
async def log_out(request: Request, person: Viewer) -> Response:
    """End this log-in."""
    answer = await people_routes.log_out(request, person)
    going = to("/login")
    going.headers["set-cookie"] = answer.headers["set-cookie"]
    return going


@router.get("/users")
async def list_users(request: Request, person: Admin) -> Response:
    """Every user, and what can be changed."""
    return page(request, "users.html", users=await read(request, people.list_users))


@router.post("/users")
async def add_user(request: Request, person: Admin) -> Response:
    """Add a user."""
    await people_routes.add_user(request, person, shaped(NewUser, await fields(request)))
    return to("/users")


@router.post("/users/{name}")
async def change_user(request: Request, person: Admin, name: UserName) -> Response:
    """Change a role or password, or disable a user."""
    given: dict[str, object] = dict(await fields(request))
    if "site" in (form := await request.form()):
        given["site"] = str(form["site"]).strip()  # also where it is empty: every site
    if "disabled" in given:
        given["disabled"] = given["disabled"] == "yes"
    await people_routes.change_user(request, person, name, shaped(ChangeUser, given))
    return to("/users")


@router.get("/tokens")
async def list_tokens(request: Request, person: Viewer) -> Response:
    """One's tokens; everybody's for an admin."""
    return page(request, "tokens.html", tokens=await read(request, people.list_tokens, person), new=None)


@router.post("/tokens")
async def add_token(request: Request, person: Viewer) -> Response:
    """A new token, shown this once."""
    answer = await people_routes.add_token(request, person, shaped(NewToken, await fields(request)))
    new = json.loads(bytes(answer.body))["data"]["token"]
    return page(request, "tokens.html", tokens=await read(request, people.list_tokens, person), new=new)


@router.post("/password")
async def change_password(request: Request, person: Viewer) -> Response:
    """Change one's own password, then log in with it."""
    await people_routes.change_password(request, person, shaped(NewPassword, await fields(request)))
    return to("/login")


@router.post("/tokens/{id}/revoke")
async def revoke_token(request: Request, person: Viewer, id: UserName) -> Response:
    """Revoke a token."""
    await people_routes.revoke_token(request, person, id)
    return to("/tokens")


@router.get("/audit")
async def show_audit(request: Request, person: Admin) -> Response:
    """Who did what lately, besides the events of cases."""
    return page(request, "audit.html", lines=await read(request, latest_lines, SHOWN_ACTIONS))
