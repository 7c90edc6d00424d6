"""`banditree monitor`: is a plan doing what it promised?"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cli.options import AsJson, CollectionFile, PlanFile

if TYPE_CHECKING:
    from banditree.cases.table import Cases
    from banditree.plans.plan import Plan

Export = Annotated[
    str | None,
    typer.Argument(
        help="The cases: `decisions` as the service exports them, any table with one row per outcome, or the address "
        "of a service (with a token in BANDITREE_TOKEN where people log in)."
    ),
]
Column = Annotated[str | None, typer.Option(help="Column, if its name is not that of this option.")]


def monitor(
    plan: PlanFile,
    collection: CollectionFile,
    cases: Export = None,
    database: Annotated[
        str | None, typer.Option(help="In place of CASES: the database of a service, a file or postgresql://...")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Also monitor each value of this column, such as site.")] = None,
    every: Annotated[float, typer.Option(min=0.01, help="Days between two looks.")] = 7.0,
    level: Annotated[float, typer.Option(help="Chance of any false alarm of the plan in a year.")] = 0.05,
    block: Annotated[
        int, typer.Option(min=1, help="Cases in a row that share one mixture of kinds; 1: kinds may come in any order.")
    ] = 100,
    until: Annotated[str | None, typer.Option(help="The day of the last look. [default: of the last outcome]")] = None,
    digest: Annotated[
        Path | None, typer.Option(help="Also write the weekly digest: .md for people, .json for programs.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table of a database.")] = None,
    case: Column = None,
    round: Column = None,
    arm: Column = None,
    reward: Column = None,
    at: Column = None,
    json: AsJson = False,
) -> None:
    """Compare what a plan promised with what its cases show, with alarms that may be looked at every day.

    The exit status is 1 if there is an alarm, so that a nightly job can tell.

    Example: banditree monitor plan.json tasks.json decisions.csv --by site --digest week.md
    """
    import json as json_module

    from banditree.cases.reading import read_cases
    from banditree.cases.values import day_of
    from banditree.errors import InvalidInput
    from banditree.files.collections import load_collection
    from banditree.files.documents import write_text
    from banditree.files.plans import fingerprint, load_plan
    from banditree.monitoring.following import observe
    from banditree.monitoring.monitor import monitor as monitor_cases
    from banditree.reports.monitor import monitor_document, monitor_markdown, monitor_text

    known = load_plan(plan)
    columns: dict[str, Any] = {"individual": case, "round": round, "arm": arm, "reward": reward, "time": at}
    if (cases is None) == (database is None):
        raise InvalidInput("The cases are missing. Give a table, the address of a service, or --database.")
    how: dict[str, Any] = {"rewards": known.rewards, "followed": True, "labels": [] if by is None else [by]}
    if database is not None:
        seen = from_database(database, known)
    elif cases is not None and cases.startswith(("http://", "https://")):
        with downloaded(cases, fingerprint(known)) as export:
            seen = read_cases(export, **how)
    else:
        seen = read_cases(cases, plan=fingerprint(known), table=table, **how, **columns)
    observed = observe(known, seen)
    last = None if until is None else day_of(until)
    found = monitor_cases(
        known, load_collection(collection), observed, by=by, until=last, every=every, level=level, block=block
    )
    document = json_module.dumps(monitor_document(known, found))
    if digest is not None:
        write_text(digest, document if digest.suffix == ".json" else monitor_markdown(known, found))
    typer.echo(document if json else monitor_text(known, found))
    if found.alarms:
        raise typer.Exit(1)


def from_database(database: str, plan: "Plan") -> "Cases":
    """What is on record of the plan's cases in the database of a service."""
    from banditree.cli.serve import needs_extra

    needs_extra()
    from banditree.errors import InvalidInput
    from banditree.files.plans import fingerprint
    from banditree.service.field.monitoring import cases_of_plan
    from banditree.service.settings import Settings
    from banditree.service.store.database import Database

    if "://" not in database and not Path(database).is_file():
        raise InvalidInput(f"{database}: no such file. Check the name and the folder.")
    with Database(Settings(database=database), migrates=False).read(seconds=None) as connection:
        return cases_of_plan(connection, fingerprint(plan), plan.arms)


@contextmanager
def downloaded(address: str, plan: str) -> Iterator[str]:
    """The decisions of a plan's cases as a file, from the service at an address."""
    from banditree.cli.serve import needs_extra

    needs_extra()
    import httpx

    from banditree.errors import InvalidInput

    token = os.environ.get("BANDITREE_TOKEN")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        url = f"{address.rstrip('/')}/api/v1/export/decisions"
        answer = httpx.get(url, params={"plan": plan, "format": "csv"}, headers=headers, timeout=300)
        answer.raise_for_status()
    except httpx.HTTPError as problem:
        raise InvalidInput(f"No cases came from {address} ({problem}). Check the address and the token.") from None
    with TemporaryDirectory(prefix="banditree-") as folder:
        path = Path(folder, "decisions.csv")
        path.write_bytes(answer.content)
        yield str(path)
