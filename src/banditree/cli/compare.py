"""`banditree compare`: two plans on cases that were split between them at random."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from banditree.cli.options import AsJson
from banditree.monitoring.settings import CompareSettings


def compare(
    old: Annotated[Path, typer.Argument(help="The old plan: a .json file.")],
    new: Annotated[Path, typer.Argument(help="The new plan: a .json file.")],
    cases: Annotated[str, typer.Argument(help="The cases of both plans: `decisions` as the service exports them.")],
    settings: CompareSettings,
    json: AsJson = False,
) -> None:
    """Compare two plans on new cases that a recorded seed split between them; look as often as you like.

    Cases that did not follow the plan that the seed gave them are not counted; their number is reported.

    Example: banditree compare plan.json plan-2.json decisions.csv --seed 7 --rounds 50
    """
    from banditree.cases.reading import read_cases
    from banditree.files.plans import fingerprint, load_plan
    from banditree.monitoring.comparison import compare_plans, split_cases
    from banditree.monitoring.following import observe
    from banditree.reports.compare import comparison_document, comparison_text

    plans, seed, share = (load_plan(old), load_plan(new)), settings.seed, settings.share
    tables = [read_cases(cases, rewards=plan.rewards, followed=True, plan=fingerprint(plan)) for plan in plans]
    seen = [observe(plan, table) for plan, table in zip(plans, tables, strict=True)]
    (before, strays), (after, more_strays) = (
        split_cases(one, seed, share, is_new=bool(side)) for side, one in enumerate(seen)
    )
    compared = settings.rounds or min(plan.horizon for plan in plans)
    found = compare_plans(before, after, compared, share=share, rewards=plans[0].rewards)
    # A table that does not name the plans has the same cases for both.
    left_out = None if seen[0].cases == seen[1].cases else strays + more_strays
    document = comparison_document(found, seed, share, left_out)
    typer.echo(json_module.dumps(document) if json else comparison_text(plans[0], found, seed, left_out))
