"""What `/api/v1/openapi.json` says besides what the routes say about themselves: how to prove who sends a request."""

from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from banditree.service.edge.models import KEY
from banditree.service.edge.requests import SAFE_METHODS
from banditree.service.people.senders import COOKIE, CSRF_HEADER, role_needed
from banditree.service.settings import Settings

SCHEMES = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API token, made under Tokens or with POST /api/v1/tokens.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "The cookie that a log-in or a sign-on sets.",
    },
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "With the cookie, on every change: the csrf_token of the log-in or of GET /api/v1/me.",
    },
}
REPEATABLE = {
    "name": KEY,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "A key of your own for this request, which is carried out once, however often it is sent in a day.",
}
assert SCHEMES["csrf"]["name"].lower() == CSRF_HEADER


COMPONENT = "#/components/schemas/{model}"  # Where the shapes of a description stand.


def describe(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """The OpenAPI document; where people log in, each operation says what it must carry and which role it needs."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
    )
    for path in document["paths"].values():
        for method in path.keys() - {name.lower() for name in SAFE_METHODS}:
            path[method].setdefault("parameters", []).append(REPEATABLE)
            body = path[method].get("requestBody", {}).get("content", {}).get("application/json", {})
            _share_shapes(body, document["components"]["schemas"])
    if not settings.authentication:
        return document
    document["components"]["securitySchemes"] = SCHEMES
    for route in all_routes(app):
        role = role_needed(_calls(route.dependant))
        for method in (route.methods or set()) & {name.upper() for name in document["paths"].get(route.path, ())}:
            operation = document["paths"][route.path][method.lower()]
            cookie: dict[str, list[str]] = {"session": []} if method in SAFE_METHODS else {"session": [], "csrf": []}
            operation["security"] = [] if role is None else [{"token": []}, cookie]
            if role is not None:
                operation["x-role"] = role.word
    return document


def _share_shapes(body: dict[str, Any], shared: dict[str, Any]) -> None:
    """Put the shapes of a body that its route reads by itself among those of all others."""
    shape = body.get("schema", {})
    shared |= shape.pop("$defs", {})
    if "properties" in shape:
        shared[shape["title"]] = shape
        body["schema"] = {"$ref": COMPONENT.format(model=shape["title"])}


def all_routes(app: FastAPI) -> list[APIRoute]:
    """Every route of the API, of whichever router."""
    found, todo = [], list(app.routes)
    while todo:
        route: Any = todo.pop()
        if isinstance(route, APIRoute):
            found.append(route)
        elif not hasattr(route, "methods"):
            todo += list(getattr(route, "routes", ())) or list(route.original_router.routes)
    return found


def _calls(dependant: Dependant) -> list[Any]:
    return [dependant.call, *(call for needed in dependant.dependencies for call in _calls(needed))]
