"""The two addresses of single sign-on: where it begins, and where the provider sends people back to."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from banditree.service.edge.replies import write
from banditree.service.pages.forms import local_path
from banditree.service.pages.rendering import SEE_OTHER, page
from banditree.service.people import routes as people_routes
from banditree.service.people.sign_on import Begun, Provider
from banditree.service.problems import NotFound, Refused
from banditree.service.settings import Settings, is_loopback
from banditree.service.store.people import Role, admit

COOKIE = "banditree_sign_on"
BACK = "/sign-on/back"
MINUTES = 10  # A person has this many minutes at the provider.

router = APIRouter(include_in_schema=False)


@router.get("/sign-on")
async def begin(request: Request, next: str = "/") -> Response:
    """Go to the provider."""
    url, begun = await _provider(request).begin(local_path(next), _our_address(request))
    going = RedirectResponse(url, SEE_OTHER)
    secure = request.app.state.settings.secure_cookies
    # "lax", since the browser comes back from another site
    going.set_cookie(COOKIE, begun.text, 60 * MINUTES, path="/sign-on", httponly=True, secure=secure, samesite="lax")
    return going


@router.get(BACK)
async def finish(request: Request) -> Response:
    """Come back from the provider, and in."""
    provider = _provider(request)
    begun = Begun.of(request.cookies.get(COOKIE, ""))
    known = await provider.finish(begun, request.query_params, _our_address(request))
    address = request.client.host if request.client else "unknown"
    name = await write(request, admit, known, address)
    if isinstance(name, Refused):
        raise name
    answer = await people_routes.let_in(request, name, known.role or Role.VIEWER)
    # A page that goes on by itself: a redirect would still count as coming from the provider's site, and browsers
    # keep the cookie of the log-in from such requests.
    shown = page(request, "signed_on.html", name=name, goal=local_path(begun.goal))
    shown.headers.append("set-cookie", answer.headers["set-cookie"])
    shown.delete_cookie(COOKIE, path="/sign-on")
    return shown


def _provider(request: Request) -> Provider:
    provider: Provider | None = request.app.state.provider
    if provider is None:
        raise NotFound("This service has no single sign-on.")
    return provider


def _our_address(request: Request) -> str:
    """Where the provider sends the browser back to: never to a name that only the request says is ours."""
    settings: Settings = request.app.state.settings
    if not settings.public_url and not settings.hosts and not is_loopback(request.url.hostname or ""):
        raise Refused("A sign-on needs the service's own address. Set public_url, and begin again.")
    return (settings.public_url or str(request.base_url)).rstrip("/") + BACK
