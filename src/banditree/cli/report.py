"""`banditree report`: everything about a plan in one file."""

from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import CollectionFile, PlanFile, Shares, TrustEstimates, Worth, known_collection


def report(
    collection: CollectionFile,
    plan: PlanFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write it: .html or .pdf.")],
    results: Annotated[
        Path | None, typer.Option(help="Results of `banditree lab simulate` to compare with (.parquet or .json).")
    ] = None,
    shares: Shares = "",
    worth: Worth = None,
    trust_estimates: TrustEstimates = False,
) -> None:
    """Write one file about a plan: what was known, the plan, its certificate, the alternatives, the settings.

    Example: banditree report tasks.json plan.json -o report.html
    """
    from banditree.files.documents import write_bytes
    from banditree.files.plans import load_plan
    from banditree.files.results import load_results
    from banditree.reports.report import write_report

    simulated = None if results is None else load_results(results)
    write_bytes(
        output,
        write_report(
            load_plan(plan), known_collection(collection, shares, trust_estimates, worth), output.suffix, simulated
        ),
    )
    typer.echo(f"Written to {output}.")
