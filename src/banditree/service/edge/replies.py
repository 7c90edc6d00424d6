"""How answers are put together: one shape for success, one for errors, many commands in one call."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from banditree.service.cases.desk import Desk, Transaction
from banditree.service.edge.models import Answer, Failure, Problem
from banditree.service.edge.once import Act, asked_with, once
from banditree.service.edge.reading_turns import Readers
from banditree.service.people.senders import sender, site_of_sender
from banditree.service.problems import problem
from banditree.service.store.answers import kept_answer
from banditree.service.store.database import Database
from banditree.service.store.sites import limited

ERRORS: dict[int | str, dict[str, Any]] = {"4XX": {"model": Failure}, "503": {"model": Failure}}


def desk_of(request: Request) -> Desk:
    """The desk of the service that got this request."""
    desk: Desk = request.app.state.desk
    return desk


def reply(data: BaseModel | Sequence[BaseModel], status: int = 200) -> Response:
    """{"data": ...}, written by pydantic without checking again what was just built."""
    content = Answer[Any].model_construct(data=data).model_dump_json()
    return Response(content, status, media_type="application/json")


async def read(request: Request, query: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a function of `records` or `people` reads, over a connection of its own."""
    database: Database = desk_of(request).database
    readers: Readers = request.app.state.readers
    site = site_of_sender(request)

    def inside() -> Any:
        with database.read() as connection:
            return query(limited(connection, site), *arguments, **options)

    return await readers.run(sender(request), inside)


async def write(request: Request, change: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of `records` or `people` returns after its change is on disk; once, if the request has a key."""

    def act(transaction: Transaction) -> Any:
        return change(transaction.connection, *arguments)

    return await _enqueue(request, once(request, act, None, change), None)


async def was_made(request: Request, change: Callable[..., Any]) -> bool:
    """Whether a request wrote this change when it came before, with its key."""
    asked, key = asked_with(request, change, 1)
    return key is not None and await read(request, kept_answer, key, asked) is not None


async def write_anew(request: Request, change: Callable[..., Any], *arguments: Any) -> Any:
    """The same for what may be done again: a log-in, whose secret is never kept, or what changes nothing then."""
    return await _enqueue(request, lambda transaction: change(transaction.connection, *arguments), None)


def decide(request: Request, act: Act, cases: tuple[str, ...] | None) -> "asyncio.Future[Any]":
    """A future with what `act` returns, on behalf of whoever sent the request, done once it is on disk."""
    return _enqueue(request, once(request, act, cases, act), cases)


def look(request: Request, act: Act, cases: tuple[str, ...]) -> "asyncio.Future[Any]":
    """The same for what changes nothing: it is never kept, also where the request changes something besides."""
    return _enqueue(request, act, cases)


def _enqueue(request: Request, act: Act, cases: tuple[str, ...] | None) -> "asyncio.Future[Any]":
    return desk_of(request).enqueue(act, cases, site_of_sender(request))


async def many(answers: Iterable[Awaitable[Any]]) -> Response:
    """One answer for many commands: for each its data or its error, in order; those refused changed nothing."""
    results = await asyncio.gather(*answers, return_exceptions=True)
    return reply([_item(result) for result in results])


def _item(result: Any) -> BaseModel:
    if not isinstance(result, BaseException):
        return Answer[Any].model_construct(data=result)
    if not isinstance(result, Exception):
        raise result
    return Failure(error=Problem(**problem(result)[1]["error"]))
