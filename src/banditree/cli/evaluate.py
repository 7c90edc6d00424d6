"""`banditree evaluate`: what a plan would have earned on the cases of a log."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.flags import flags_of, in_flags
from banditree.cli.options import AsJson, LogFile, PlanFile
from banditree.evaluation.settings import EvaluateSettings


def evaluate(
    plan: PlanFile,
    log: LogFile,
    settings: EvaluateSettings,
    collection: Annotated[
        Path | None,
        typer.Option(
            help="The collection (.json or .csv) that mTS and mIDS know, and by which the single option is chosen."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Evaluate a plan on a log of cases that it was not made from.

    Where a log has the outcome of every option, the plan is replayed. From other logs it uses the decisions that
    agree with the plan, and a log without any is refused.

    Example: banditree evaluate plan.json visits.csv --individual household --round visit --collection tasks.json
    """
    from banditree.evaluation.evaluate import evaluate as evaluate_on
    from banditree.files.collections import load_collection
    from banditree.files.plans import load_plan
    from banditree.reports.evaluate import evaluation_document, evaluation_text

    known = None if collection is None else load_collection(collection)
    found = evaluate_on(load_plan(plan), log, collection=known, **dict(settings))
    text = in_flags(evaluation_text(found), flags_of(EvaluateSettings))
    typer.echo(json_module.dumps(evaluation_document(found)) if json else text)
