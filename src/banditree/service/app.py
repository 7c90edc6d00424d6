"""The application: routes, errors in one shape, health, and what is opened and closed with it."""

import logging
import math
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from banditree.errors import InvalidInput
from banditree.service.cases import routes as case_routes
from banditree.service.cases.desk import Desk
from banditree.service.edge.admission import Guard
from banditree.service.edge.description import describe
from banditree.service.edge.life import Life
from banditree.service.edge.models import Answer, Done
from banditree.service.edge.reading_turns import Readers
from banditree.service.edge.replies import ERRORS, reply
from banditree.service.edge.requests import Edge, Metrics
from banditree.service.field import routes as field_routes
from banditree.service.field.watch import Watch
from banditree.service.jobs import file_routes
from banditree.service.jobs import routes as job_routes
from banditree.service.jobs.worker import Workers
from banditree.service.pages import (
    case_pages,
    field_pages,
    job_pages,
    people_pages,
    plan_pages,
    rendering,
    sign_on_pages,
    sign_pages,
    split_pages,
    start_pages,
)
from banditree.service.pages.studio import kinds, know, plan, sign, start, trust
from banditree.service.people import routes as people_routes
from banditree.service.people.noted_reads import Witness
from banditree.service.people.senders import Door, Viewer
from banditree.service.people.sign_on import Provider
from banditree.service.plans import routes as plan_routes
from banditree.service.plans import split_routes
from banditree.service.plans.uploads import Reader
from banditree.service.point_of_care import routes as point_of_care
from banditree.service.point_of_care.systems import Systems
from banditree.service.problems import Refused, Unavailable, body, problem
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.jobs import unfinished
from banditree.service.store.people import has_admin
from banditree.version import __version__

CODES = {400: "invalid", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}
DESCRIPTION = """Follow exploration plans for many cases. Put a plan on record, start a case, ask what to do next, tell
what happened. Every answered report is on disk. Success is `{"data": ...}`,
an error `{"error": {"code", "message"}}`."""

# The routes over cases come first: they are asked for most, and routes are tried in order.
ROOMS = (
    case_routes,
    plan_routes,
    field_routes,
    split_routes,
    job_routes,
    file_routes,
    people_routes,
    point_of_care,
    case_pages,
    plan_pages,
    field_pages,
    split_pages,
    sign_pages,
    job_pages,
    start_pages,
    people_pages,
    sign_on_pages,
    start,
    know,
    kinds,
    plan,
    trust,
    sign,
    rendering,
)

EXPORTERS = 2  # This many exports are written at the same time, one per person.

log = logging.getLogger("banditree.service")


def create_app(settings: Settings) -> FastAPI:
    """The service as an ASGI application. The database is opened and brought up to date here."""
    database = Database(settings)
    _check_that_somebody_can_log_in(settings, database)
    desk = Desk(database, cached_rounds=settings.cached_rounds, waiting=settings.waiting_commands)

    workers, reader, witness, life = Workers(settings), Reader(), Witness(desk), Life()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.open(partial(life.lose, "writer"))
        with database.read() as connection:
            for lane in unfinished(connection):
                workers.wake(lane)
        life.start("witness", witness.run())
        life.start("workers", workers.run())
        if settings.workers or settings.webhook_url or settings.mail_server:
            life.start("watch", Watch(desk, workers, settings).run())
        yield
        reader.close()
        life.end()
        await witness.write()
        await run_in_threadpool(workers.close)
        await run_in_threadpool(desk.close)
        database.close()

    app = FastAPI(
        title="banditree",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=lambda route: route.name,  # which generated clients call their functions by
    )
    metrics = Metrics()
    app.state.settings, app.state.desk, app.state.metrics, app.state.life = settings, desk, metrics, life
    app.state.workers, app.state.reader, app.state.streams = workers, reader, Counter()
    app.state.readers, app.state.exporters = Readers(settings.readers), Readers(EXPORTERS)
    app.state.systems = systems = Systems(settings.cds_clients, settings.public_url) if settings.cds_clients else None
    app.state.door = Door(database, settings.authentication, systems)
    app.state.provider = Provider(settings) if settings.oidc_issuer else None
    for room in ROOMS:
        app.include_router(room.router)
    _add_operations(app, desk, metrics, life)
    _add_description(app, settings)
    _add_error_handlers(app)
    described = cache(partial(describe, app, settings))
    app.openapi = described  # type: ignore[method-assign]
    app.add_middleware(Guard, settings=settings, door=app.state.door, refuse=refuse)
    may_send = {} if systems is None else {"may_send": systems.is_page_of_a_system}
    app.add_middleware(Edge, settings=settings, metrics=metrics, see=witness.see, refuse=refuse, **may_send)
    return app


def _check_that_somebody_can_log_in(settings: Settings, database: Database) -> None:
    with database.read() as connection:
        if settings.authentication and not settings.oidc_issuer and not has_admin(connection):
            raise InvalidInput("Nobody can log in yet. Make the first admin: banditree db add-user NAME --role admin")


def _add_operations(app: FastAPI, desk: Desk, metrics: Metrics, life: Life) -> None:
    @app.get("/health", response_model=Answer[Done], tags=["operations"], responses=ERRORS)
    async def health() -> Response:
        """The process is alive, with everything it lives by."""
        life.check()
        return reply(Done(done=True))

    @app.get("/ready", response_model=Answer[Done], tags=["operations"], responses=ERRORS)
    async def ready() -> Response:
        """The database can be written and has the right version: requests can come in."""
        life.check()
        await run_in_threadpool(desk.database.check)
        return reply(Done(done=True))

    @app.get("/metrics", response_class=PlainTextResponse, tags=["operations"], responses=ERRORS)
    async def show_metrics(person: Viewer) -> str:
        """Counts and times in the format of Prometheus."""
        return metrics.text(
            {
                "transactions_total": desk.n_transactions,
                "commands_total": desk.n_commands,
                "events_total": desk.n_events,
                "waiting_commands": desk.n_waiting,
                "cached_cases": desk.n_cached,
            }
        )


def _add_description(app: FastAPI, settings: Settings) -> None:
    @app.get("/api/v1/openapi.json", include_in_schema=False)
    async def description(request: Request) -> Response:
        if not settings.open_description:
            await app.state.door.person(request)
        return JSONResponse(app.openapi())


def _add_error_handlers(app: FastAPI) -> None:
    async def refused(request: Request, error: Exception) -> Response:
        return refuse(request, error)

    async def refuse_body(request: Request, error: Any) -> Response:
        return answer(request, 422, body("invalid", sentence(error)))

    async def refuse_route(request: Request, error: Any) -> Response:
        content = body(CODES.get(error.status_code, "invalid"), f"{str(error.detail).rstrip('.')}.")
        return answer(request, error.status_code, content, error.headers)

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(InvalidInput, refused)
    app.add_exception_handler(RequestValidationError, refuse_body)
    app.add_exception_handler(HTTPException, refuse_route)


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that is refused. Strangers are not told what is wrong with the database."""
    status, content = problem(error)
    if isinstance(error, Unavailable):
        fields = {"id": request.scope.get("state", {}).get("id"), "reason": error.message}
        log.error("unavailable", extra={"fields": fields})
        if getattr(request.state, "person", None) is None:
            content = body(error.code, "The service cannot be used now. What was confirmed is safe; try again later.")
    wait = getattr(error, "retry_after", None)
    headers = None if wait is None else {"retry-after": str(max(math.ceil(wait), 1))}
    return answer(request, status, content, headers)


def answer(
    request: Request, status: int, content: dict[str, dict[str, str]], headers: Mapping[str, str] | None = None
) -> Response:
    """An error in its one shape, or as a page for a person with a browser."""
    if rendering.wants_page(request):
        return rendering.problem_page(request, status, content["error"]["message"])
    return JSONResponse(content, status, headers)


def sentence(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request, where it is, and how many more there are."""
    problems = error.errors()
    place = ".".join(str(part) for part in problems[0]["loc"][1:]) or "the body"
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    said = problems[0]["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{place[:200]}: {said[:300]}.{more}"
