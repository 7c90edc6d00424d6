"""`banditree serve` and `banditree add-user`: the service, and the first people who may use it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.cli.options import AsJson
from banditree.errors import InvalidInput, lacking
from banditree.nouns import counted

if TYPE_CHECKING:
    from banditree.service.store.backup import Content

Database = Annotated[
    str,
    typer.Option(help="A file (SQLite), or a URL such as postgresql://user@host/name.", envvar="BANDITREE_DATABASE"),
]


def serve(
    database: Database = "banditree.db",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8000,
    authentication: Annotated[
        bool, typer.Option("--authentication", help="People log in. Needed on any address other than this computer's.")
    ] = False,
    allowed_hosts: Annotated[
        str, typer.Option(help="Host names that the service answers to, separated by commas.")
    ] = "",
    insecure_cookies: Annotated[
        bool, typer.Option("--insecure-cookies", help="Let people log in without HTTPS, for a trial on this computer.")
    ] = False,
    session_hours: Annotated[int, typer.Option(min=1, help="How long a log-in lasts.")] = 12,
    login_attempts: Annotated[int, typer.Option(min=1, help="Wrong passwords before a wait.")] = 5,
    login_window: Annotated[int, typer.Option(min=1, help="Seconds of that wait.")] = 300,
    max_body: Annotated[int, typer.Option(min=1000, help="Most bytes of a request.")] = 1_000_000,
    max_upload: Annotated[int, typer.Option(min=1000, help="Most bytes of a plan or collection.")] = 32_000_000,
    cached_rounds: Annotated[int, typer.Option(min=0, help="Rounds kept in memory, over all cases.")] = 500_000,
    waiting_commands: Annotated[int, typer.Option(min=1, help="Requests that may wait; others get 503.")] = 10_000,
    readers: Annotated[
        int, typer.Option(min=1, help="Lists and pages that are read at the same time, one per person.")
    ] = 2,
    workers: Annotated[int, typer.Option(min=0, help="Processes for long work, such as certificates.")] = 1,
    job_seconds: Annotated[int, typer.Option(min=1, help="Seconds that one piece of long work may take.")] = 120,
    job_memory: Annotated[int, typer.Option(min=100, help="Megabytes that it may take.")] = 2_000,
    rate_limit: Annotated[int, typer.Option(min=1, help="Requests per second of one person.")] = 200,
    connections_per_address: Annotated[int, typer.Option(min=1, help="Open connections per address.")] = 256,
    trusted_proxies: Annotated[
        str, typer.Option(help="Addresses of proxies whose X-Forwarded-For is trusted, separated by commas.")
    ] = "",
    public_url: Annotated[
        str, typer.Option(help="The address at which people reach the service, such as https://plans.clinic.example.")
    ] = "",
    oidc_issuer: Annotated[str, typer.Option(help="Single sign-on: the address of the OpenID Connect provider.")] = "",
    oidc_client: Annotated[str, typer.Option(help="The client ID of the service at that provider.")] = "",
    oidc_secret: Annotated[
        str, typer.Option(envvar="BANDITREE_OIDC_SECRET", help="The client secret; better given in the environment.")
    ] = "",
    oidc_roles: Annotated[
        str, typer.Option(help="Roles of groups, as in ward-leads=admin,nurses=operator; * stands for everybody.")
    ] = "",
    oidc_sites: Annotated[str, typer.Option(help="Sites of groups, as in ward-3=north,ward-4=south.")] = "",
    oidc_groups: Annotated[str, typer.Option(help="The claim with a person's groups.")] = "groups",
    oidc_name: Annotated[str, typer.Option(help="The claim with a person's name.")] = "preferred_username",
    webhook_url: Annotated[
        str, typer.Option(help="The address that every alarm about a plan's cases is sent to, once.")
    ] = "",
    webhook_secret: Annotated[
        str,
        typer.Option(
            envvar="BANDITREE_WEBHOOK_SECRET", help="The secret that signs alarms; better given in the environment."
        ),
    ] = "",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve invented plans and cases to click through; nothing is kept.")
    ] = False,
) -> None:
    """Serve plans and cases: web pages for people, and an HTTP API, described at /api/v1/openapi.json.

    Example: banditree serve --database clinic.db
    """
    needs_extra()
    if demo:
        with TemporaryDirectory(prefix="banditree-demo-") as folder:
            return serve_demo(str(Path(folder) / "demo.db"), host, port, log_level)
    from banditree.service.server import serve as run
    from banditree.service.settings import Settings

    settings = Settings(
        database=database,
        host=host,
        port=port,
        authentication=authentication,
        allowed_hosts=_listed(allowed_hosts),
        secure_cookies=not insecure_cookies,
        session_hours=session_hours,
        login_attempts=login_attempts,
        login_window=login_window,
        max_body=max_body,
        max_upload=max_upload,
        cached_rounds=cached_rounds,
        waiting_commands=waiting_commands,
        readers=readers,
        workers=workers,
        job_seconds=job_seconds,
        job_memory=job_memory,
        rate_limit=rate_limit,
        connections_per_address=connections_per_address,
        trusted_proxies=_listed(trusted_proxies),
        public_url=public_url,
        oidc_issuer=oidc_issuer,
        oidc_client=oidc_client,
        oidc_secret=oidc_secret,
        oidc_roles=pairs("--oidc-roles", oidc_roles),
        oidc_sites=pairs("--oidc-sites", oidc_sites),
        oidc_groups=oidc_groups,
        oidc_name=oidc_name,
        webhook_url=webhook_url,
        webhook_secret=webhook_secret,
        log_level=log_level,
    )
    if log_level not in ("debug", "info", "warning", "error"):
        raise InvalidInput(f"--log-level must be debug, info, warning or error. Got {log_level!r}.")
    if "://" not in database and not Path(database).resolve().parent.is_dir():
        raise InvalidInput(f"{database} cannot be created: its folder does not exist. Make the folder first.")
    typer.echo(f"Open http://{host}:{port} in a browser (Ctrl-C stops). Serving {settings.shown_database}.", err=True)
    with refusals_as_one_line():
        run(settings)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def pairs(option: str, given: str) -> tuple[tuple[str, str], ...]:
    """The pairs of `name=value,name=value`.

    >>> pairs("--oidc-roles", "nurses=operator, *=viewer")
    (('nurses', 'operator'), ('*', 'viewer'))
    """
    found = [part.strip().rpartition("=") for part in given.split(",") if part.strip()]
    if not all(name and value for name, _, value in found):
        raise InvalidInput(f"{option} must be pairs such as nurses=operator, separated by commas. Got {given!r}.")
    return tuple((name.strip(), value.strip()) for name, _, value in found)


def serve_demo(database: str, host: str, port: int, log_level: str) -> None:
    """Serve an invented clinic and shop."""
    from banditree.service.demo import fill
    from banditree.service.server import serve as run
    from banditree.service.settings import Settings

    settings = Settings(database=database, host=host, port=port, log_level=log_level)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the folder is removed
    fill(settings)
    typer.echo(f"Open http://{host}:{port} in a browser (Ctrl-C stops, and the demo is gone).", err=True)
    with refusals_as_one_line():
        run(settings)


def add_user(
    name: Annotated[str, typer.Argument(help="The name to log in with.")],
    role: Annotated[str, typer.Option(help="viewer, operator, signer or admin.")] = "operator",
    site: Annotated[str | None, typer.Option(help="The site whose cases the user sees. [default: every site]")] = None,
    database: Database = "banditree.db",
) -> None:
    """Add a user: asks for a password of at least 10 characters, or reads it from standard input.

    Example: banditree add-user ada --role admin --database clinic.db
    """
    needs_extra()
    from banditree.service.settings import Settings
    from banditree.service.store.database import Database as Opened
    from banditree.service.store.people import Role, hashed
    from banditree.service.store.people import add_user as add

    asks = sys.stdin.isatty()
    password = typer.prompt("Password", hide_input=True) if asks else sys.stdin.readline().rstrip("\r\n")
    with refusals_as_one_line():
        opened = Opened(Settings(database=database))
        with opened.write() as connection:
            add(connection, "command line", name, Role.named(role), hashed(password), site)
    typer.echo(f"{name} can log in as {role}.")


def backup(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the backup.")],
    database: Database = "banditree.db",
    json: AsJson = False,
) -> None:
    """Write everything on record, as of one moment, to one file, and verify it; the service may keep running.

    Example: banditree backup --database clinic.db -o clinic-monday.backup
    """
    needs_extra()
    from banditree.service.settings import Settings
    from banditree.service.store.backup import back_up

    with refusals_as_one_line():
        found = back_up(Settings(database=database), output)
    _say(
        json,
        found,
        f"{counted(sum(one.rows for one in found), 'row')} in {output}, verified. Keep it as safe as the database.",
    )


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `banditree backup` wrote.")],
    database: Annotated[
        str | None, typer.Option(help="An empty database to restore it into; omit it to verify the file only.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Verify a backup and restore it into an empty database: a file or PostgreSQL, wherever it came from.

    Example: banditree restore clinic-monday.backup --database clinic-again.db
    """
    needs_extra()
    from banditree.service.settings import Settings
    from banditree.service.store.backup import restore as bring_back
    from banditree.service.store.backup import verify

    with refusals_as_one_line():
        found = verify(file) if database is None else bring_back(file, Settings(database=database))
    rows = sum(one.rows for one in found)
    done = "The file is whole" if database is None else "Restored and compared"
    _say(json, found, f"{done}: {counted(rows, 'row')} in {counted(len(found), 'table')}.")


def _say(json: bool, found: "list[Content]", sentence: str) -> None:
    typer.echo(dumps([one._asdict() for one in found]) if json else sentence)


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
