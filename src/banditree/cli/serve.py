"""`banditree serve`: the service."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from banditree.errors import InvalidInput, lacking
from banditree.service.settings import Settings


def serve(
    settings: Settings,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve invented plans and cases to click through; nothing is kept.")
    ] = False,
) -> None:
    """Serve plans and cases: web pages for people, and an HTTP API, described at /api/v1/openapi.json.

    Every option is also read from the environment, as in BANDITREE_DATABASE.

    Example: banditree serve --database clinic.db
    """
    needs_extra()
    if demo:
        with TemporaryDirectory(prefix="banditree-demo-") as folder:
            kept = settings.model_dump(include={"host", "port", "log_level"})
            return serve_demo(Settings(database=str(Path(folder) / "demo.db"), **kept))
    from banditree.service.server import serve as run

    database = settings.database
    if "://" not in database and not Path(database).resolve().parent.is_dir():
        raise InvalidInput(f"{database} cannot be created: its folder does not exist. Make the folder first.")
    address = f"http://{settings.host}:{settings.port}"
    typer.echo(f"Open {address} in a browser (Ctrl-C stops). Serving {settings.shown_database}.", err=True)
    with refusals_as_one_line():
        run(settings)


def serve_demo(settings: Settings) -> None:
    """Serve an invented clinic and shop."""
    from banditree.service.demo import fill
    from banditree.service.server import serve as run

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the folder is removed
    fill(settings)
    address = f"http://{settings.host}:{settings.port}"
    typer.echo(f"Open {address} in a browser (Ctrl-C stops, and the demo is gone).", err=True)
    with refusals_as_one_line():
        run(settings)


@contextmanager
def refusals_as_one_line() -> Iterator[None]:
    """Refusals of the service become errors of the command line."""
    from banditree.service.problems import Refused

    try:
        yield
    except Refused as problem:
        raise InvalidInput(problem.message) from None


def needs_extra() -> None:
    """Say what to install where the service's libraries are missing."""
    try:
        for name in ("alembic", "argon2", "authlib", "fastapi", "jinja2", "python_multipart", "sqlalchemy", "uvicorn"):
            import_module(name)
    except ImportError as missing:
        raise lacking(f"The service needs {missing.name}", "service") from None
