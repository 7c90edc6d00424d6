"""`banditree learn`: a log in, a collection out."""

import json as json_module
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson, Worth
from banditree.cli.progress import progress
from banditree.errors import InvalidInput
from banditree.training.settings import LearnSettings


def learn(
    log: Annotated[
        str,
        typer.Argument(
            help="One row per decision: .csv, .parquet, .jsonl, .feather, a folder of parts, .duckdb, postgresql://..."
        ),
    ],
    settings: LearnSettings,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Rounds of one case: also shows what merging would give, by separation.")
    ] = None,
    add_to: Annotated[Path | None, typer.Option(help="Statistics of earlier rows (.json) to add these to.")] = None,
    save_statistics: Annotated[Path | None, typer.Option(help="Where to write the statistics (.json).")] = None,
    worth: Worth = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the collection (.json).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Learn a collection from a log of what was tried and what happened.

    Example: banditree learn visits.parquet --task group --arm treatment --reward recovered --context age -o tasks.json
    """
    from banditree.files.collections import save_collection
    from banditree.files.statistics import load_statistics
    from banditree.files.statistics import save_statistics as write_statistics
    from banditree.files.worth import load_worth
    from banditree.reports.learning import learn_document, learn_text
    from banditree.reports.separation_table import choices
    from banditree.training.learning import learn as learn_from

    if settings.state is not None:
        refused = {"horizon": horizon, "add_to": add_to, "save_statistics": save_statistics, "worth": worth}
        if others := [name for name, value in refused.items() if value is not None]:
            raise InvalidInput(f"--{others[0].replace('_', '-')} must be omitted with states.")
        _learn_states(log, settings, output, as_json=json)
        return
    earlier = None if add_to is None else load_statistics(add_to)
    with progress("Finding kinds", visible=settings.individual is not None and not json) as on_progress:
        report = learn_from(log, add_to=earlier, on_progress=on_progress, **dict(settings))
    if worth is not None:
        report = replace(report, collection=load_worth(worth, report.collection))
    if save_statistics is not None:
        write_statistics(report.statistics, save_statistics)
    if output is not None:
        save_collection(report.collection, output)
    merging = [] if horizon is None else choices(report.before_merging or report.collection, horizon)
    typer.echo(json_module.dumps(learn_document(report, merging)) if json else learn_text(report, merging, horizon))
    if merging and not json:
        typer.echo("Merge at one of these with --merge SEPARATION.")
    if output is not None and not json:
        typer.echo(f"Written to {output}. Plan on it: banditree plan {output} --horizon ROUNDS")


def _learn_states(log: str, settings: LearnSettings, output: Path | None, *, as_json: bool) -> None:
    from banditree.files.collections import save_collection
    from banditree.reports.by_state import learned_states_document, learned_states_text
    from banditree.training.trajectories import learn_states

    with progress("Finding kinds", visible=settings.task is None and not as_json) as on_progress:
        found = learn_states(log, on_progress=on_progress, **dict(settings))
    if output is not None:
        save_collection(found.collection, output)
    typer.echo(json_module.dumps(learned_states_document(found)) if as_json else learned_states_text(found))
    if output is not None and not as_json:
        typer.echo(f"Written to {output}. Plan on it: banditree plan {output} --horizon ROUNDS")
