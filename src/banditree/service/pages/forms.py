"""Forms of the pages, put into the shapes of the API."""

import math
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile

from banditree.languages.language import message
from banditree.plans.plan import Plan
from banditree.policies.known import STATE
from banditree.service.edge import once
from banditree.service.people.senders import CSRF_FIELD
from banditree.service.problems import Refused
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import Feature, asked_names

Shaped = TypeVar("Shaped", bound=BaseModel)
CONTEXT = "context-"  # The names of the fields of a context begin with this.


async def fields(request: Request) -> dict[str, str]:
    """What was filled in: text, without the empty fields, the token and the key, which is remembered."""
    form = await request.form()
    filled = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    request.state.once = filled.pop(once.FIELD, None)
    return {name: value for name, value in filled.items() if value and name != CSRF_FIELD}


async def uploaded(request: Request, name: str) -> bytes:
    """The content of a file."""
    given = (await request.form()).get(name)
    if not isinstance(given, UploadFile):
        raise Refused("Choose a file.")
    return await given.read()


def shaped(shape: type[Shaped], given: dict[str, Any]) -> Shaped:
    """A body of the API from what was filled in.

    >>> from banditree.service.cases.models import Note
    >>> shaped(Note, {"text": "felt better"}).text
    'felt better'
    """
    try:
        return shape(**given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the form"
        raise Refused(f"{place}: {first['msg'][:300]}.") from None


def whole(given: dict[str, str], name: str) -> int | None:
    """A field with a whole number, or None."""
    text = given.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 10:
        raise Refused(f"{name} must be a whole number. Got {text[:50]!r}.")
    return int(text)


def reward_of(given: dict[str, str]) -> float | str:
    """The outcome: a number, or "missing"."""
    text = given.get("reward", "")
    return text if text == "missing" else decimal(text, message("The outcome"))


def decimal(text: str, name: str) -> float:
    """A number with a decimal point or a decimal comma; refuses what can be read in two ways.

    >>> decimal("31,5", "The outcome"), decimal("-1.25", "The outcome")
    (31.5, -1.25)
    """
    compact = text.replace("\u00a0", "").replace("\u202f", "").replace("−", "-").strip()
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+", compact):
        point, none = compact.replace(",", "."), compact.replace(",", "")
        raise Refused(f"{name}: {text[:50]!r} could be {point} or {none}. Write it in one of these ways.")
    try:
        found = float(compact.replace(",", ".") if compact.count(",") == 1 and "." not in compact else compact)
    except ValueError:
        raise Refused(f"{name} must be a number. Got {text[:50]!r}.") from None
    if not math.isfinite(found):
        raise Refused(f"{name} must be a number. Got {text[:50]!r}.")
    return found


def context_of(given: dict[str, str], numbers: set[str]) -> dict[str, float | str] | None:
    """The context that was filled in, or None; numbers: the features that are numbers."""
    found: dict[str, float | str] = {}
    for field, text in given.items():
        if field.startswith(CONTEXT):
            name = field.removeprefix(CONTEXT)
            found[name] = decimal(text, name) if name in numbers else text
    return found or None


def context_fields(features: Sequence[Feature], known: FloatArray | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """(name, levels) for each thing to fill in; no levels for a number. known: an earlier context of the case."""
    asked, found = asked_names(features, known), dict[str, tuple[str, ...]]()
    for feature in features:
        if feature.name not in asked:
            continue
        levels = feature.levels or found.get(feature.name, ())
        if feature.level is not None and feature.level not in levels:
            levels = (*levels, feature.level)
        found[feature.name] = levels
    return list(found.items())


def asked_fields(plan: Plan, known: FloatArray | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """(name, levels) for each thing to fill in before a round: the state, or the features of a context."""
    return [(STATE, plan.states)] if plan.states else context_fields(plan.features, known)


def to(path: str) -> RedirectResponse:
    """Go on at a page of ours."""
    return RedirectResponse(path, 303)


def local_path(given: str) -> str:
    """A path on this server, whatever was given: never another site.

    >>> local_path("/cases/7"), local_path("//evil.example"), local_path("https://evil.example")
    ('/cases/7', '/', '/')
    """
    safe = given.startswith("/") and not given.startswith("//") and "\\" not in given and given.isprintable()
    return given if safe else "/"
