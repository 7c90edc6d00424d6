"""Requests that may be sent again: with an `Idempotency-Key`, or from a form of our pages, each is carried out once."""

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any, get_type_hints

from fastapi import Request
from pydantic import TypeAdapter

from banditree.service.cases.desk import Transaction
from banditree.service.edge.models import KEY
from banditree.service.edge.requests import SAFE_METHODS
from banditree.service.people.senders import sender
from banditree.service.problems import Refused
from banditree.service.store.answers import keep_answer, kept_answer

FIELD = "once"  # The field of a form that says which form it is, among all that were ever shown.
MAY_BE = re.compile(r"[\x21-\x7e]{1,255}")

Act = Callable[[Transaction], Any]


def new_key() -> str:
    """A key for one request or form."""
    return secrets.token_hex(16)


def once(request: Request, act: Act, cases: tuple[str, ...] | None, promise: Callable[..., Any]) -> Act:
    """What to run in place of `act`: what it answered before, if the request was sent and carried out before.

    promise: the function whose annotation says what `act` returns.
    """
    if not hasattr(request.state, "commands"):
        request.state.commands = Counter[str]()
    asked, key = asked_with(request, promise, request.state.commands[promise.__qualname__] + 1)
    if key is None:
        return act
    request.state.commands[promise.__qualname__] += 1
    shape = TypeAdapter[Any](get_type_hints(promise).get("return", Any))

    def act_once(transaction: Transaction) -> Any:
        kept = kept_answer(transaction.connection, key, asked)
        if kept is not None:
            return shape.validate_json(kept)
        answer = act(transaction)
        keep_answer(transaction.connection, key, asked, cases or (), shape.dump_json(answer).decode())
        return answer

    return act_once


def asked_with(request: Request, promise: Callable[..., Any], number: int) -> tuple[str, str | None]:
    """(a digest of what a request asks for, the key of its command of this number with this function).

    Commands are numbered for each function alone, since a request that is sent again may not need all of them.
    """
    asked = _digest(request.method, str(request.url), request.state.body.hexdigest())
    return asked, _key(request, asked, f"{promise.__qualname__} {number}")


def _key(request: Request, asked: str, command: str) -> str | None:
    """The key of one command of a request, which differs between people; None if it may be carried out every time."""
    given = request.headers.get(KEY)
    if request.method in SAFE_METHODS or getattr(request.state, "person", None) is None:
        return None
    if given is not None and not MAY_BE.fullmatch(given):
        raise Refused(f"{KEY} must be 1 to 255 visible characters of ASCII. Got {given[:50]!r}.")
    if given is None:
        form = getattr(request.state, FIELD, None)
        if form is None:
            return None
        given = f"{form} {asked}"  # the same form may be filled in anew, after going back in the browser
    return _digest(sender(request), given, command)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
