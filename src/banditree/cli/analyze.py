"""`banditree analyze`: how hard a collection is."""

import json as json_text
import time
from typing import TYPE_CHECKING, Annotated

import typer

from banditree.cli.options import AsJson, CollectionFile, LimitSeconds
from banditree.errors import InvalidInput

if TYPE_CHECKING:
    from banditree.progress import Progress

# The share of the time allowed by which each part must end; later parts get the time that earlier ones did not need.
ENDS = {"deterministic coefficient": 0.3, "soft coefficient": 0.45, "randomised coefficient": 0.8}


def analyze(
    collection: CollectionFile,
    separation: Annotated[
        float | None,
        typer.Option(help="How far apart any two tasks must be for some arm. [default: as far as they are]"),
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of one case, for the regret bounds.")] = 10_000,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="About how long to try to prove values before settling for bounds.")
    ] = 60.0,
    limit_seconds: LimitSeconds = 10.0,
    json: AsJson = False,
) -> None:
    """How hard is it to tell the tasks of a collection apart?

    Example: banditree analyze means.csv --separation 0.4
    """
    from banditree.files.collections import load_collection
    from banditree.reports.analyze import analyze as work_out
    from banditree.reports.by_state import analyze_states
    from banditree.reports.limits import A_SECOND
    from banditree.tasks.states import StateCollection

    known = load_collection(collection)
    if isinstance(known, StateCollection):
        if separation is not None:
            raise InvalidInput("--separation must be omitted with states.")
        by_state = analyze_states(known, horizon)
        typer.echo(json_text.dumps(by_state.facts, indent=2, ensure_ascii=False) if json else by_state.text)
        return
    start = time.monotonic()
    told: set[str] = set()

    def on_progress(progress: "Progress") -> bool:
        stage = progress.text
        if stage not in told and not json:
            typer.echo(f"Working out the {stage} ...", err=True)
        told.add(stage)
        return time.monotonic() - start <= seconds * ENDS.get(stage, 1.0)

    effort = int(limit_seconds * A_SECOND)
    found = work_out(known, separation, horizon, effort=effort, on_progress=on_progress)
    typer.echo(json_text.dumps(dict(found.facts), indent=2, ensure_ascii=False) if json else found.text)
