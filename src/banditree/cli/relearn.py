"""`banditree relearn`: a new collection, and a new plan, from a plan's own cases."""

import json as json_module
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson, CollectionFile
from banditree.cli.progress import progress
from banditree.errors import InvalidInput
from banditree.training.settings import RelearnSettings


def relearn(
    collection: CollectionFile,
    cases: Annotated[
        list[str],
        typer.Argument(help="All cases so far, of every plan made from this collection: exports of `decisions`."),
    ],
    settings: RelearnSettings,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the new collection (.json).")],
    plan: Annotated[Path | None, typer.Option(help="The plan in use: also make the one that may follow it.")] = None,
    new_plan: Annotated[Path | None, typer.Option(help="Where to write the new plan.")] = None,
    since: Annotated[str | None, typer.Option(help="Only outcomes from this day on, where rates have changed.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the search for the new plan.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.001, help="Seconds for it, instead of steps.")] = None,
    json: AsJson = False,
) -> None:
    """Learn from a plan's own cases, and show what changes.

    It uses the likelihood of whole histories, since averages over cases that a plan steered are biased. Every time,
    give the collection that was learned from the log, and all cases since then.

    Example: banditree relearn tasks.json decisions.csv --plan plan.json --new-plan plan-2.json -o tasks-2.json
    """
    from banditree.cases.reading import read_cases
    from banditree.evaluation.succession import judge_succession
    from banditree.files.collections import load_collection, save_collection
    from banditree.files.plans import load_plan, save_plan
    from banditree.reports.relearn import relearned_document, relearned_text, succeed, succession_text
    from banditree.training.relearning import case_statistics
    from banditree.training.relearning import relearn as relearn_from

    if (plan is None) != (new_plan is None):
        raise InvalidInput("--plan and --new-plan go together: the plan in use, and where to write the next one.")
    known = load_collection(collection)
    tables = [read_cases(source, rewards=known.rewards, followed=True) for source in cases]
    sums = case_statistics(tables, known.rewards, since)
    found = relearn_from(known, sums, **dict(settings))
    save_collection(found.collection, output)
    following = None
    if plan is not None and new_plan is not None:
        with progress("Searching", visible=not json) as on_progress:
            old = load_plan(plan)
            judge = partial(judge_succession, old, known, sums, **dict(settings))
            following = succeed(old, found.collection, on_progress, judge, steps=steps, seconds=seconds)
        save_plan(following.new, new_plan)
    if json:
        typer.echo(json_module.dumps(relearned_document(found, following)))
    else:
        typer.echo(relearned_text(found) + ("" if following is None else "\n\n" + succession_text(following)))
