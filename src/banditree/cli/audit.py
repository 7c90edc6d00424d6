"""`banditree audit verify`: whether everything on record is as the service wrote it."""

from typing import Annotated, Literal

import typer

from banditree.cli.options import AsJson
from banditree.cli.serve import Database, needs_extra, refusals_as_one_line
from banditree.nouns import counted


def audit(
    what: Annotated[Literal["verify"], typer.Argument(help="verify: check every line, event and row.")],
    database: Database = "banditree.db",
    expect: Annotated[
        str | None, typer.Option(help="A last line that was printed earlier, as number:hash; it must still be there.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Find what was changed, added or deleted behind the service's back; the exit status is 1 if anything was.

    Example: banditree audit verify --database clinic.db
    """
    needs_extra()
    import json as writer

    from banditree.service.settings import Settings
    from banditree.service.store.audit import verify
    from banditree.service.store.database import Database as Opened

    with refusals_as_one_line():
        opened = Opened(Settings(database=database), migrates=False)
        with opened.snapshot() as connection:
            found = verify(connection, expect)
        opened.close()
    if json:
        typer.echo(writer.dumps(found._asdict(), indent=2))
    else:
        typer.echo("\n".join(found.problems) or _sentence(found.lines, found.events, found.rows))
        typer.echo(f"Last line: {found.head}")
    if found.problems:
        raise typer.Exit(1)


def _sentence(lines: int, events: int, rows: int) -> str:
    what = f"{counted(lines, 'line')}, {counted(events, 'event')} and {counted(rows, 'sealed row')}"
    return f"Everything is as the service wrote it: {what}."
