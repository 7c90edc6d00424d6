"""`banditree lab simulate`: policies compared over many runs on every task of a collection."""

import json as json_module
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditree.cli.options import AsJson, CollectionFile, Shares, TrustEstimates, Worth, known_collection
from banditree.cli.progress import progress
from banditree.errors import InvalidInput, invalid, lacking
from banditree.simulation.settings import SimulateSettings

if TYPE_CHECKING:
    from banditree.simulation.results import Summary
    from banditree.tasks.collection import Collection

INTERRUPTED = 130


def simulate(
    collection: CollectionFile,
    policies: Annotated[
        str,
        typer.Option(
            help="Names separated by commas: dt-ece, ece, random-ece, mts, mmts, mmts-index, mids, mucb, mucb-belief, "
            "ucb1, bernoulli-ts, gaussian-ts, linucb, lints, uniform; any of them with +alarm; or plan files (.json)."
        ),
    ],
    settings: SimulateSettings,
    believed: Annotated[
        Path | None, typer.Option(help="What the policies know, if not the true tasks: an estimated collection.")
    ] = None,
    cases: Annotated[
        int,
        typer.Option(
            min=0, help="Play this many cases of each task, drawn with its spread; the policies know only the tasks."
        ),
    ] = 0,
    shares: Shares = "",
    worth: Worth = None,
    trust_estimates: TrustEstimates = False,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to run on, as in tcp://host:8786.")] = (
        None
    ),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write every run (.parquet or .json).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare policies over many runs on every task: regret with 95% bands, mean over tasks and worst task.

    Interrupting (Ctrl-C) keeps the runs that are finished.

    Example: banditree lab simulate tasks.json --policies mts,mucb,dt-ece --horizon 10000 --runs 100 -o regret.parquet
    """
    from banditree.files.collections import load_collection
    from banditree.files.results import check_results_name, save_results
    from banditree.simulation.engine import simulate as run_simulation
    from banditree.simulation.results import summaries

    if output is not None:
        check_results_name(output)
    known = known_collection(collection, shares, trust_estimates, worth)
    truth = _drawn(known, cases, settings.seed) if cases else known
    knows = known if cases else None
    knows = knows if believed is None else load_collection(believed)
    how = {**dict(settings), **({"workers": "joblib"} if dask else {})}
    with cluster(dask), progress("Simulating", visible=not json) as on_progress:
        results = run_simulation(truth, _contenders(policies), believed=knows, on_progress=on_progress, **how)
    if output is not None:
        save_results(results, output)
    finished, asked = int(results.finished.sum()), results.finished.size
    found = summaries(results, shares=truth.shares)
    if json:
        data = {"finished": finished, "asked": asked, "settings": results.settings, "versions": results.versions}
        typer.echo(json_module.dumps({**data, "policies": [asdict(summary) for summary in found]}))
    else:
        typer.echo(_table(found))
        if output is not None:
            typer.echo(f"\nEvery run is in {output}.")
    if finished < asked:
        typer.echo(f"Stopped early: {finished:,} of {asked:,} runs are finished and kept.", err=True)
        raise typer.Exit(INTERRUPTED)


def _drawn(known: "Collection", cases: int, seed: int) -> "Collection":
    """Cases that differ within their tasks, as a collection of their own."""
    from banditree.tasks.cases import case_collection

    if not known.varies:
        raise InvalidInput(
            "The collection has no spread, so all cases of a task are alike. Omit --cases, or learn the collection "
            "from a log that names individuals."
        )
    return case_collection(known, cases, seed)


def _contenders(policies: str) -> dict[str, Any]:
    """Policies by their names, and plans by those of their files."""
    from banditree.files.plans import load_plan

    found: dict[str, Any] = {}
    for given in (part.strip() for part in policies.split(",") if part.strip()):
        name = Path(given).stem if given.endswith(".json") else given
        if name in found:
            raise invalid("--policies", "of different names", name, "Rename the plan file, or name it once.")
        found[name] = load_plan(given) if given.endswith(".json") else given
    return found


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Send the work to a Dask cluster, if one is named."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
        from joblib import parallel_config
    except ImportError:
        raise lacking("A Dask cluster needs more packages", "cluster") from None
    try:
        client: Any = Client(address, timeout="10s")  # type: ignore[no-untyped-call, unused-ignore]
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"No Dask scheduler answers at {address} ({problem}). Check the address.") from None
    with client, parallel_config(backend="dask"):
        yield


def _table(found: "list[Summary]") -> str:
    """The summaries as text."""
    head = ("policy", "runs", "mean regret", "worst task", "commits at", "rightly", "alarms")
    rows = [head, *(_row(summary) for summary in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _row(summary: "Summary") -> tuple[str, ...]:
    rightly = summary.task_right if summary.task_right is not None else summary.arm_right
    return (
        summary.policy,
        f"{summary.runs:,}",
        f"{summary.mean:,.2f} [{summary.mean_low:,.2f}, {summary.mean_high:,.2f}]",
        f"{summary.worst:,.2f} [{summary.worst_low:,.2f}, {summary.worst_high:,.2f}] {summary.worst_task}",
        "-" if summary.committed_at is None else f"round {summary.committed_at:,.0f}",
        "-" if rightly is None else f"{rightly:.2%}",
        f"{summary.alarmed:.2%}",
    )
