"""Protocols beside each other and what each loses, for a person to choose from."""

from typing import Any

from banditree.certificates.certify import certify
from banditree.plans.plan import Plan
from banditree.plans.reading_load import reading_load
from banditree.reports.certify import shown_chance, table_lines
from banditree.scores.objectives import Objective, objective_named
from banditree.scores.variants import Variant, lost
from banditree.tasks.collection import Collection


def front_rows(plans: list[Plan], collection: Collection) -> list[dict[str, Any]]:
    """For each plan: lines, the longest path, reading load, worst and mean regret, chance of a wrong arm."""
    rows = []
    for plan in plans:
        certificate = certify(plan, collection)
        rows.append(
            {
                "lines": max(plan.n_tests, 1),
                "longest_path": max(plan.depth, 1),
                "reading_load": reading_load(plan),
                "worst_regret": certificate.worst_regret,
                "mean_regret": certificate.mean_regret,
                "wrong_arm": float(certificate.wrong_arm.max()),
                "rounds_of_testing": float(certificate.pulls.mean()),
            }
        )
    return rows


def front_text(rows: list[dict[str, Any]]) -> str:
    """The table of `front_rows` for people."""
    head = ["lines", "longest path", "reading load", "worst regret", "mean regret", "wrong arm", "rounds of testing"]
    cells = [
        [
            str(row["lines"]),
            str(row["longest_path"]),
            f"{row['reading_load']:.1f}",
            f"{row['worst_regret']:,.2f}",
            f"{row['mean_regret']:,.2f}",
            shown_chance(row["wrong_arm"]),
            f"{row['rounds_of_testing']:,.1f}",
        ]
        for row in rows
    ]
    return "\n".join(table_lines(head, cells))


def variants_text(
    plan: Plan, collection: Collection, others: list[Variant], objective: Objective | str = Objective.WORST
) -> str:
    """What plans near this one would lose, as a short table."""
    where = "in the worst task" if objective_named(objective) is Objective.WORST else "on average"
    head = ["", "lines", "reading load", f"loses {where}"]
    rated = [("this plan", plan, certify(plan, collection)), *others]
    cells = [
        [name, str(one.n_tests), f"{reading_load(one):.1f}", f"{lost(certificate, objective):,.2f}"]
        for name, one, certificate in rated
    ]
    return "\n".join(table_lines(head, cells))
