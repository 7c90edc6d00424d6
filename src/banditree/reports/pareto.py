"""Protocols beside each other and what each loses, for a person to choose from."""

from typing import Any

from banditree.certificates.certify import Certificate, certify
from banditree.certificates.outcomes import Claim
from banditree.certificates.varying import VaryingCertificate, certify_cases
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load
from banditree.protocols.judging import Judged, lost
from banditree.protocols.objectives import Objective, objective_named
from banditree.protocols.variants import Variant
from banditree.reports.certify import shown_chance, table_lines
from banditree.tasks.collection import Collection

VARYING = "over cases that vary"  # Stands above numbers that are averages over drawn cases.


def front_rows(plans: list[Plan], collection: Collection) -> list[dict[str, Any]]:
    """For each plan: lines, the longest path, reading load, worst and mean regret, what 1 of 100 cases loses in the
    worst task (None if that is not computed), chance of a wrong arm.

    Where cases vary these numbers are of a case at its task's own rates, and over_cases has the same numbers over
    drawn cases, by which plans are compared; otherwise it is None.
    """
    return [
        {
            "lines": max(plan.n_tests, 1),
            "longest_path": max(plan.depth, 1),
            "reading_load": reading_load(plan),
            **_numbers(certificate := certify(plan, collection)),
            "claim": certificate.claim,
            "over_cases": _over_cases(certify_cases(plan, collection)) if collection.varies else None,
        }
        for plan in plans
    ]


def _numbers(certificate: Certificate) -> dict[str, float | None]:
    return {
        "worst_regret": certificate.worst_regret,
        "mean_regret": certificate.mean_regret,
        "unlucky": None if certificate.unlucky is None else float(certificate.unlucky.at_most[:, 1].max()),
        "wrong_arm": float(certificate.wrong_arm.max()),
        "rounds_of_testing": float(certificate.pulls.mean()),
    }


def _over_cases(certificate: VaryingCertificate) -> dict[str, float]:
    return {
        "worst_regret": certificate.worst_regret,
        "mean_regret": certificate.mean_regret,
        "wrong_arm": float(certificate.wrong_arm.by_task.max()),
        "rounds_of_testing": float(certificate.pulls.by_task.mean()),
        "draws_per_task": certificate.draws,
        "seed": certificate.seed,
    }


def front_text(rows: list[dict[str, Any]]) -> str:
    """The table of `front_rows` for people; where cases vary, over these."""
    head = ["lines", "longest path", "reading load", "worst regret", "mean regret", "1 of 100 loses", "wrong arm"]
    head.append("rounds of testing")
    shown = [(row, row["over_cases"] or row) for row in rows]
    cells = [
        [
            str(row["lines"]),
            str(row["longest_path"]),
            f"{row['reading_load']:.1f}",
            f"{numbers['worst_regret']:,.2f}",
            f"{numbers['mean_regret']:,.2f}",
            "-" if row["unlucky"] is None else f"{row['unlucky']:,.1f}",
            shown_chance(numbers["wrong_arm"]),
            f"{numbers['rounds_of_testing']:,.1f}",
        ]
        for row, numbers in shown
    ]
    over = [f"Regret, wrong arm and rounds of testing: averages {VARYING}.", ""] if rows[0]["over_cases"] else []
    if claims := list(dict.fromkeys(row["claim"] for row in rows if row["claim"] != Claim.EXACT)):
        over = [*over[:1], f"Regret: {' or '.join(claims)}.", ""]
    return "\n".join([*over, *table_lines(head, cells)])


def variants_text(found: list[Variant], objective: Objective | str = Objective.WORST) -> str:
    """What a plan and others near it would lose, as a short table."""
    told = objective_named(objective).told
    over = f" {VARYING}" if isinstance(found[0].certificate, VaryingCertificate) else ""
    head = ["", "lines", "reading load", f"loses {told.words}{over}", "1 of 100 loses"]
    cells = [
        [name, str(one.n_tests), f"{reading_load(one):.1f}", f"{lost(judged, told):,.2f}", _one_in_100(judged)]
        for name, one, judged in found
    ]
    if all(row[-1] == "-" for row in cells):
        head, cells = head[:-1], [row[:-1] for row in cells]
    return "\n".join(table_lines(head, cells))


def _one_in_100(judged: Judged) -> str:
    """What 1 of 100 cases loses in the worst task; "-" where that is not computed."""
    if not isinstance(judged, Certificate) or judged.unlucky is None:
        return "-"
    return f"{judged.unlucky.at_most[:, 1].max():,.1f}"
