"""`banditree show`: a plan as text."""

import typer

from banditree.cli.options import AsJson, PlanFile


def show(plan: PlanFile, json: AsJson = False) -> None:
    """Print a plan, box by box.

    Example: banditree show plan.json
    """
    from banditree.files.plans import load_plan, plan_json

    loaded = load_plan(plan)
    typer.echo(plan_json(loaded) if json else str(loaded), nl=not json)
