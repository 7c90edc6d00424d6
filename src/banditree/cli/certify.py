"""`banditree certify`: the exact numbers of a plan."""

from typing import Annotated

import typer

from banditree.cli.options import (
    AsJson,
    CollectionFile,
    LimitSeconds,
    PlanFile,
    Shares,
    TrustEstimates,
    known_collection,
)


def certify(
    plan: PlanFile,
    collection: CollectionFile,
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds of one case. [default: the plan's]")] = None,
    allow: Annotated[float, typer.Option(min=0, max=1, help="Also for cases whose rates are off by up to this.")] = 0.0,
    unknown: Annotated[
        float, typer.Option(min=0, max=1, help="Also with this share of cases that belong to none of the tasks.")
    ] = 0.0,
    late: Annotated[int, typer.Option(min=0, help="Also for outcomes that come this many rounds late.")] = 0,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Also for outcomes that come in batches of this many rounds.")
    ] = None,
    shares: Shares = "",
    trust_estimates: TrustEstimates = False,
    limit_seconds: LimitSeconds = 2.0,
    json: AsJson = False,
) -> None:
    """Compute, without simulation, what a plan loses in each task, how often it errs and how long it takes.

    Example: banditree certify plan.json means.csv --horizon 10000
    """
    import json as json_module

    from banditree.files.plans import load_plan
    from banditree.reports.certify import certificate_document, certificate_report, certificate_text
    from banditree.reports.field import Questions
    from banditree.reports.limits import A_SECOND

    known = known_collection(collection, shares, trust_estimates)
    asked = Questions(allow, unknown, late, batch or 0)
    effort = int(limit_seconds * A_SECOND)
    report = certificate_report(load_plan(plan), known, horizon, effort=effort, asked=asked, by_line=True)
    typer.echo(json_module.dumps(certificate_document(report)) if json else certificate_text(report))
