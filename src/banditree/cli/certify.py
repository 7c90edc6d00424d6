"""`banditree certify`: the exact numbers of a plan."""

import json as json_module
import shlex
from pathlib import Path
from typing import Annotated

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
    proof: Annotated[
        Path | None,
        typer.Option(help="Where to write a proof of the numbers, which others can check without banditree."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compute, without simulation, what a plan loses in each task, how often it errs and how long it takes.

    Example: banditree certify plan.json means.csv --horizon 10000
    """
    from banditree.files.plans import load_plan
    from banditree.files.proofs import save_proof
    from banditree.reports.certify import certificate_document, certificate_report, certificate_text

    known, loaded = known_collection(collection, shares, trust_estimates, worth), load_plan(plan)
    report = certificate_report(loaded, known, by_line=True, **dict(settings))
    typer.echo(json_module.dumps(certificate_document(report)) if json else certificate_text(report))
    if proof is not None:
        files = save_proof(loaded, known, report.certificate, proof, [plan, collection])
        typer.echo(f"Written to {proof}. To check it: {_checker(*files, proof)}", err=json)


def _checker(*files: Path) -> str:
    return shlex.join(["python", "conformance/check_proof.py", *map(str, files)])
