"""`banditree monitor`: is a plan doing what it promised?"""

import json as json_module
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cases.settings import CaseSettings
from banditree.cli.options import AsJson, CollectionFile, PlanFile
from banditree.cli.serve import needs_extra
from banditree.errors import InvalidInput
from banditree.monitoring.settings import MonitorSettings
from banditree.service.settings import Settings

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


def monitor(
    plan: PlanFile,
    collection: CollectionFile,
    settings: MonitorSettings,
    columns: CaseSettings,
    cases: Export = None,
    database: Annotated[
        str | None, typer.Option(help="In place of CASES: the database of a service, a file or postgresql://...")
    ] = None,
    digest: Annotated[
        Path | None, typer.Option(help="Also write the weekly digest: .md for people, .json for programs.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare what a plan promised with what its cases show, with alarms that may be looked at every day.

    The exit status is 1 if there is an alarm, so that a nightly job can tell.

    Example: banditree monitor plan.json tasks.json decisions.csv --by site --digest week.md
    """
    from banditree.cases.reading import read_cases
    from banditree.files.collections import load_collection
    from banditree.files.documents import write_text
    from banditree.files.plans import fingerprint, load_plan
    from banditree.monitoring.following import observe
    from banditree.monitoring.monitor import monitor as monitor_cases
    from banditree.reports.monitor import monitor_document, monitor_markdown, monitor_text
    from banditree.tasks.rewards import BERNOULLI

    known = load_plan(plan)
    if (cases is None) == (database is None):
        raise InvalidInput("The cases are missing. Give a table, the address of a service, or --database.")
    how: dict[str, Any] = {"rewards": known.rewards, "followed": True, "labels": [settings.by] if settings.by else []}
    if database is not None:
        seen = from_database(database, known)
    elif cases is not None and cases.startswith(("http://", "https://")):
        with downloaded(cases, fingerprint(known)) as export:
            seen = read_cases(export, **how)
    else:
        seen = read_cases(cases, plan=fingerprint(known), **how, **columns.reading)
    observed, harmed = observe(known, seen), None
    if settings.harm is not None:
        if cases is None or cases.startswith(("http://", "https://")):
            raise InvalidInput("--harm needs a table of cases with a column of harm. Give one in place of the service.")
        as_harm = {**columns.reading, "reward": settings.harm}
        harmed = read_cases(cases, plan=fingerprint(known), **{**how, "rewards": BERNOULLI}, **as_harm)
    found = monitor_cases(known, load_collection(collection), observed, harmed, **dict(settings))
    document = json_module.dumps(monitor_document(known, found))
    if digest is not None:
        write_text(digest, document if digest.suffix == ".json" else monitor_markdown(known, found))
    typer.echo(document if json else monitor_text(known, found))
    if found.alarms or found.harm:
        raise typer.Exit(1)


def from_database(database: str, plan: "Plan") -> "Cases":
    """What is on record of the plan's cases in the database of a service."""
    needs_extra()
    from banditree.files.plans import fingerprint
    from banditree.service.field.monitoring import cases_of_plan
    from banditree.service.store.database import Database

    if "://" not in database and not Path(database).is_file():
        raise InvalidInput(f"{database}: no such file. Check the name and the folder.")
    with Database(Settings(database=database), migrates=False).read(seconds=None) as connection:
        return cases_of_plan(connection, fingerprint(plan), plan.arms)


@contextmanager
def downloaded(address: str, plan: str) -> Iterator[str]:
    """The decisions of a plan's cases as a file, from the service at an address."""
    needs_extra()
    import httpx

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
