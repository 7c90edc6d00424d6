"""`banditree db ...`: who may use a database of the service, its backups, and whether it is as the service wrote it."""

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.cli.options import AsJson
from banditree.cli.serve import needs_extra, refusals_as_one_line
from banditree.nouns import counted
from banditree.service.settings import Settings

if TYPE_CHECKING:
    from banditree.service.store.backup import Content

Database = Annotated[
    str,
    typer.Option(help="A file (SQLite), or a URL such as postgresql://user@host/name.", envvar="BANDITREE_DATABASE"),
]


def add_user(
    name: Annotated[str, typer.Argument(help="The name to log in with.")],
    role: Annotated[str, typer.Option(help="viewer, operator, signer or admin.")] = "operator",
    site: Annotated[str | None, typer.Option(help="The site whose cases the user sees. [default: every site]")] = None,
    database: Database = "banditree.db",
) -> None:
    """Add a user: asks for a password of at least 10 characters, or reads it from standard input.

    Example: banditree db add-user ada --role admin --database clinic.db
    """
    needs_extra()
    from banditree.service.store.database import Database as Opened
    from banditree.service.store.people import Role, hashed
    from banditree.service.store.people import add_user as add

    asks = sys.stdin.isatty()
    password = (
        typer.prompt("Password", hide_input=True, confirmation_prompt="The same again")
        if asks
        else sys.stdin.readline().rstrip("\r\n")
    )
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

    Example: banditree db backup --database clinic.db -o clinic-monday.backup
    """
    needs_extra()
    from banditree.service.store.backup import back_up

    with refusals_as_one_line():
        found = back_up(Settings(database=database), output)
    rows = counted(sum(one.rows for one in found), "row")
    _say(json, found, f"{rows} in {output}, verified. Keep it as safe as the database.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `banditree db backup` wrote.")],
    database: Annotated[
        str | None, typer.Option(help="An empty database to restore it into; omit it to verify the file only.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Verify a backup and restore it into an empty database: a file or PostgreSQL, wherever it came from.

    Example: banditree db restore clinic-monday.backup --database clinic-again.db
    """
    needs_extra()
    from banditree.service.store.backup import restore as bring_back
    from banditree.service.store.backup import verify

    with refusals_as_one_line():
        found = verify(file) if database is None else bring_back(file, Settings(database=database))
    rows = sum(one.rows for one in found)
    done = "The file is whole" if database is None else "Restored and compared"
    _say(json, found, f"{done}: {counted(rows, 'row')} in {counted(len(found), 'table')}.")


def _say(json: bool, found: "list[Content]", sentence: str) -> None:
    typer.echo(dumps([one._asdict() for one in found]) if json else sentence)


def audit(
    database: Database = "banditree.db",
    expect: Annotated[
        str | None, typer.Option(help="A last line that was printed earlier, as number:hash; it must still be there.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Find what was changed, added or deleted behind the service's back; the exit status is 1 if anything was.

    Example: banditree db audit --database clinic.db
    """
    needs_extra()
    from banditree.service.store.audit import verify
    from banditree.service.store.database import Database as Opened

    with refusals_as_one_line():
        opened = Opened(Settings(database=database), migrates=False)
        with opened.snapshot() as connection:
            found = verify(connection, expect)
        opened.close()
    if json:
        typer.echo(dumps(found._asdict(), indent=2))
    else:
        what = (
            f"{counted(found.lines, 'line')}, {counted(found.events, 'event')} and {counted(found.rows, 'sealed row')}"
        )
        typer.echo("\n".join(found.problems) or f"Everything is as the service wrote it: {what}.")
        typer.echo(f"Last line: {found.head}")
    if found.problems:
        raise typer.Exit(1)
