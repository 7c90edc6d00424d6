"""`banditree plan`: a collection in, a plan out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson, CollectionFile, Words, program, vocabulary

LONG = 60  # boxes from which a plan is summed up in the terminal rather than printed whole


class Method(StrEnum):
    """How the plan is found."""

    TREE = "tree"
    OPTIMAL = "optimal"


def plan(
    collection: CollectionFile,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of one case.")],
    separation: Annotated[
        float | None, typer.Option(help="By how much some arm must tell any two tasks apart; the collection's own.")
    ] = None,
    method: Annotated[
        Method,
        typer.Option(help="tree: DT-ECE, fixed-size tests in a decision tree. optimal: the same with fewest tests."),
    ] = Method.TREE,
    stop_early: Annotated[
        bool, typer.Option("--stop-early", help="Stop testing once one arm is best for all tasks left.")
    ] = False,
    words: Words = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the plan (.json).")] = None,
    json: AsJson = False,
) -> None:
    """Build the plan of a collection.

    Example: banditree plan means.csv --horizon 10000 -o plan.json
    """
    from banditree.files.collections import load_collection
    from banditree.files.plans import plan_json, save_plan
    from banditree.plans.optimal import build_optimal
    from banditree.plans.tree import build_tree
    from banditree.plans.wording import heading

    known = load_collection(collection)
    build = build_optimal if method is Method.OPTIMAL else build_tree
    built = build(known, horizon, separation, stop_early=stop_early, vocabulary=vocabulary(words))
    if output is not None:
        save_plan(built, output)
    if json:
        typer.echo(plan_json(built), nl=False)
        return
    typer.echo(str(built) if built.n_boxes <= LONG else heading(built))
    typer.echo(f"\n{_what_was_known(known.radius.max(), known.provenance)}")
    if output is not None:
        typer.echo(f"Written to {output}. Look at it: {program()} show {output}. Follow it: {program()} run {output}")
        typer.echo(f"All about it in one file: {program()} report {collection} {output} -o report.html")


def _what_was_known(radius: float, provenance: str) -> str:
    if radius == 0:
        return f"The means were taken as known exactly ({provenance})."
    return f"The means were taken as estimates, each within {radius:.3g} of the truth ({provenance})."
