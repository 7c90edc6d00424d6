"""`banditree certify`: the exact numbers of a plan."""

import json as json_module

import typer

from banditree.cli.options import AsJson, CollectionFile, PlanFile, Shares, TrustEstimates, Worth, known_collection
from banditree.reports.settings import CertifySettings


def certify(
    plan: PlanFile,
    collection: CollectionFile,
    settings: CertifySettings,
    shares: Shares = "",
    worth: Worth = None,
    trust_estimates: TrustEstimates = False,
    json: AsJson = False,
) -> None:
    """Compute, without simulation, what a plan loses in each task, how often it errs and how long it takes.

    Example: banditree certify plan.json means.csv --horizon 10000
    """
    from banditree.files.plans import load_plan
    from banditree.reports.certify import certificate_document, certificate_report, certificate_text

    known = known_collection(collection, shares, trust_estimates, worth)
    report = certificate_report(load_plan(plan), known, by_line=True, **dict(settings))
    typer.echo(json_module.dumps(certificate_document(report)) if json else certificate_text(report))
