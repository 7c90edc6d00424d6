"""`banditree demo`: the main job end to end on a small invented clinic."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from banditree.cli.options import AsJson, program

if TYPE_CHECKING:
    from banditree.plans.plan import Plan
    from banditree.policies.session import Session
    from banditree.tasks.collection import Collection

LINES = 5  # The plan has one line per patient group.
SEED = 1  # The seed of the search.


def demo_plan(clinic: "Collection") -> "Plan":
    """The protocol of the demo, as the pages of the project show it."""
    from banditree.files.clinic import HORIZON, WORDS
    from banditree.protocols.build import build_plan

    return build_plan(clinic, HORIZON, "protocol", lines=LINES, seed=SEED, vocabulary=WORDS)


def simulated_patient(clinic: "Collection", plan: "Plan", seed: int) -> "tuple[Session, int, int]":
    """(case, group, recoveries) of a patient of a random group who is treated by the plan to the end."""
    from banditree.policies.starting import start_session

    rng = np.random.default_rng(seed)
    group = int(rng.integers(clinic.n_tasks))
    case = start_session(plan, seed=seed)
    recoveries = 0
    while (step := case.ask()).arm is not None:
        outcome = int(rng.random() < clinic.means[group, step.arm])
        case.tell(outcome, step.round)
        recoveries += outcome
    return case, group, recoveries


def demo(
    folder: Annotated[Path, typer.Option(help="Where the results go.")] = Path("banditree-demo"),
    seed: Annotated[int, typer.Option(help="Seed of the simulated patient.")] = 0,
    json: AsJson = False,
) -> None:
    """Build a plan for an invented clinic, follow it for one simulated patient, and keep everything in a folder.

    Example: banditree demo --folder banditree-demo
    """
    import json as json_module

    from banditree.certificates.certify import certify
    from banditree.files.clinic import clinic_table
    from banditree.files.collections import load_collection
    from banditree.files.documents import write_bytes, write_text
    from banditree.files.plans import save_plan
    from banditree.files.sessions import save_session
    from banditree.reports.beside import beside_sentence
    from banditree.reports.promise import promise_sentences
    from banditree.reports.report import write_report

    folder.mkdir(parents=True, exist_ok=True)
    means = folder / "treatments.csv"
    write_text(means, clinic_table())
    clinic = load_collection(means)
    plan = demo_plan(clinic)
    certificate = certify(plan, clinic)
    promise = [*promise_sentences(plan, certificate), beside_sentence(plan, clinic)]
    save_plan(plan, folder / "plan.json")
    write_text(folder / "plan.txt", f"{plan}\n")
    page = folder / "report.html"
    write_bytes(page, write_report(plan, clinic, page.suffix))
    case, group, recoveries = simulated_patient(clinic, plan, seed)
    save_session(case, folder / "patient.case.json")
    settled = clinic.arms[case.explain().arm or 0]
    if json:
        result = {
            "folder": str(folder),
            "lines": plan.n_tests,
            "worst_regret": certificate.worst_regret,
            "beside": promise[-1],
            "group": clinic.tasks[group],
            "settled": settled,
            "recoveries": recoveries,
            "report": str(page),
        }
        typer.echo(json_module.dumps(result))
        return
    typer.echo(f"{clinic}\n\n{plan}\n\n{chr(10).join(promise)}\n")
    _say(clinic, group, case, recoveries)
    typer.echo(
        f"Results are in {folder}: treatments.csv (what was known), plan.json and plan.txt (the plan), "
        "patient.case.json (the case), report.html (all of it to look at).\n"
        f"A card to work with: {program()} show {folder / 'plan.json'} --tasks {means} --card -o card.html\n"
        f"Look at the plan: {program()} show {folder / 'plan.json'}\n"
        f"Follow it yourself: {program()} run {folder / 'plan.json'} --case my.case.json\n"
        f"Follow cases in the browser: {program()} serve --demo (with the extra banditree[service])\n"
        f"Open in a browser: {page.resolve()}"
    )


def _say(clinic: "Collection", group: int, case: "Session", recoveries: int) -> None:
    """How the plan went for the simulated patient."""
    settled = clinic.arms[case.explain().arm or 0]
    typer.echo(
        f"One simulated patient, of the group {clinic.tasks[group]!r} (which nobody told the plan): over "
        f"{case.horizon:,} rounds the plan settled on treatment {settled}, with {recoveries} recoveries. Knowing "
        f"the group from the start would give {case.horizon * clinic.values[group]:.0f} on average.\n"
        f"{case.describe()}\n"
    )
