"""`banditree analyze`: how hard a collection is."""

import json as json_text
import time
from typing import Annotated

import typer

from banditree.cli.options import AsJson, CollectionFile

PARTS = 4  # parts of an analysis that may each take their share of the time


def analyze(
    collection: CollectionFile,
    separation: Annotated[
        float | None, typer.Option(help="By how much some arm must tell any two tasks apart; the collection's own.")
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of one case, for the regret bounds.")] = 10_000,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="About how long to try to prove values before giving bounds.")
    ] = 60.0,
    json: AsJson = False,
) -> None:
    """How hard is it to tell the tasks of a collection apart?

    Example: banditree analyze means.csv --separation 0.4
    """
    from banditree.files.collections import load_collection
    from banditree.reports.analyze import analyze as work_out

    started: dict[str, float] = {}

    def on_progress(stage: str, _done: int) -> bool:
        if stage not in started and not json:
            typer.echo(f"Working out the {stage} ...", err=True)
        return time.monotonic() - started.setdefault(stage, time.monotonic()) > seconds / PARTS

    found = work_out(load_collection(collection), separation, horizon, on_progress=on_progress)
    typer.echo(json_text.dumps(dict(found.facts), indent=2, ensure_ascii=False) if json else found.text)
