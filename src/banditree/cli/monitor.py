"""`banditree monitor`: is a plan doing what it promised?"""

from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson, CollectionFile, PlanFile

Export = Annotated[
    str,
    typer.Argument(help="The cases: `decisions` as the service exports them, or any table with one row per outcome."),
]
Column = Annotated[str | None, typer.Option(help="Column, where it has another name than this option.")]


def monitor(
    plan: PlanFile,
    collection: CollectionFile,
    cases: Export,
    by: Annotated[str | None, typer.Option(help="Also for each value of this column, such as site.")] = None,
    every: Annotated[float, typer.Option(min=0.01, help="Days between two looks.")] = 7.0,
    level: Annotated[float, typer.Option(help="Chance of any false alarm of the plan in a year.")] = 0.05,
    block: Annotated[
        int, typer.Option(min=1, help="Cases in a row that come from one mixture of kinds; 1: kinds in any order.")
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

    Exit status 1 where there is an alarm, so that a nightly job can tell.

    Example: banditree monitor plan.json tasks.json decisions.csv --by site --digest week.md
    """
    import json as json_module

    from banditree.files.collections import load_collection
    from banditree.files.documents import write_text
    from banditree.files.plans import fingerprint, load_plan
    from banditree.monitoring.monitor import monitor as monitor_cases
    from banditree.monitoring.reading import day_of, read_cases
    from banditree.reports.monitor import monitor_document, monitor_markdown, monitor_text

    known = load_plan(plan)
    columns = {"case": case, "round": round, "arm": arm, "reward": reward, "at": at}
    labels = [] if by is None else [by]
    observed = read_cases(cases, known, plan_id=fingerprint(known), labels=labels, table=table, **columns)
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
