"""`banditree design`: how many cases a study needs."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson, CollectionFile, PlanFile
from banditree.evaluation.settings import StudySettings


def design(
    plan: PlanFile,
    collection: CollectionFile,
    settings: StudySettings,
    figure: Annotated[Path | None, typer.Option(help="Where to draw the chances against the cases (.svg).")] = None,
    json: AsJson = False,
) -> None:
    """Design a study: how many cases and months until kinds can be told, and a plan be shown to beat one option.

    The rates of the collection are what you assume. The study is simulated and judged as `evaluate` would judge it.

    Example: banditree design plan.json tasks.json --give crossover --rounds 12 --cases-per-month 20
    """
    from banditree.evaluation.studies import design as design_of
    from banditree.figures.svg import svg
    from banditree.files.collections import load_collection
    from banditree.files.documents import write_text
    from banditree.files.plans import load_plan
    from banditree.reports.design import design_document, design_text, power_scene

    found = design_of(load_plan(plan), load_collection(collection), **dict(settings))
    if figure is not None:
        write_text(figure, svg(power_scene(found)))
    typer.echo(json_module.dumps(design_document(found)) if json else design_text(found))
