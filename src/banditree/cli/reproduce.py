"""`banditree lab reproduce` and `banditree lab experiment`: the paper's figure, and experiments of one's own."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson
from banditree.cli.progress import progress
from banditree.simulation.settings import Device

INTERRUPTED = 130


def reproduce(
    folder: Annotated[Path, typer.Option(help="Where the figure, the numbers and the claims go.")] = Path("reproduced"),
    full: Annotated[
        bool,
        typer.Option("--full", help="Also our own experiments: other policies, contexts, estimates, sweeps, alarms."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the runs: a first look, with wider bands.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Run the four panels of the paper's figure and judge every claim that Section 5 makes about them.

    What is finished is kept in the folder: interrupt with Ctrl-C, and the same command goes on.

    Example: banditree lab reproduce --folder reproduced
    """
    from banditree.experiments.running import Stopped
    from banditree.reports.reproduce import reproduce_panels

    try:
        with progress("Simulating", visible=not json) as on_progress:
            verdicts, summary = reproduce_panels(folder, full=full, quick=quick, on_progress=on_progress)
    except Stopped:
        raise _stopped(folder) from None
    if json:
        rows = [
            {"claim": v.claim, "measured": v.measured, "reproduced": v.reproduced, "holds": v.holds} for v in verdicts
        ]
        typer.echo(json_module.dumps({"folder": str(folder), "claims": rows}))
        return
    for verdict in verdicts:
        typer.echo(f"reproduced: {verdict.answer:<10}  {verdict.claim}")
        typer.echo(f"                {verdict.measured}")
    typer.echo(f"\n{summary}\nThe figure, the numbers and the table of claims are in {folder}.")


def experiment(
    file: Annotated[Path, typer.Argument(help="The experiment: a .toml file.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where the results go. [default: the name of the file without .toml]")
    ] = None,
    device: Annotated[
        Device, typer.Option(help="Where to simulate; auto: on a GPU where there is one and it pays.")
    ] = Device.CPU,
    json: AsJson = False,
) -> None:
    """Run an experiment of your own: a collection, policies, a horizon, runs and a seed in one file.

    What is finished is kept in the folder: interrupt with Ctrl-C, and the same command goes on.

    Example: banditree lab experiment my.toml --folder my-results
    """
    from banditree.experiments.experiment import load_experiment
    from banditree.experiments.running import Stopped
    from banditree.reports.reproduce import run_and_write

    chosen = folder or file.with_suffix("")
    loaded = load_experiment(file)
    try:
        with progress("Simulating", visible=not json) as on_progress:
            summary = run_and_write(loaded, file.stem, chosen, on_progress, device)
    except Stopped:
        raise _stopped(chosen) from None
    if json:
        typer.echo(json_module.dumps({"folder": str(chosen), "title": loaded.title}))
        return
    typer.echo(f"{loaded.title}\n\n{summary}\nThe figure and the numbers are in {chosen}.")


def _stopped(folder: Path) -> typer.Exit:
    typer.echo(f"Stopped. What is finished is kept in {folder}; the same command goes on.", err=True)
    return typer.Exit(INTERRUPTED)
