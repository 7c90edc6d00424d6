"""Plans of growing size and what each costs, for a person to choose from."""

from typing import Any

from banditree.certificates.certify import certify
from banditree.plans.plan import Plan
from banditree.reports.certify import shown_chance, table_lines
from banditree.tasks.collection import Collection


def front_rows(plans: list[Plan], collection: Collection) -> list[dict[str, Any]]:
    """For each plan: boxes, tests, most tests one after the other, worst and mean regret, chance of a wrong arm."""
    rows = []
    for plan in plans:
        certificate = certify(plan, collection)
        rows.append(
            {
                "boxes": plan.n_boxes,
                "tests": plan.n_tests,
                "longest_path": plan.depth,
                "worst_regret": certificate.worst_regret,
                "mean_regret": certificate.mean_regret,
                "wrong_arm": float(certificate.wrong_arm.max()),
                "rounds_of_testing": float(certificate.pulls.mean()),
            }
        )
    return rows


def front_text(rows: list[dict[str, Any]]) -> str:
    """The table of `front_rows` for people."""
    head = ["boxes", "longest path", "worst regret", "mean regret", "wrong arm", "rounds of testing"]
    cells = [
        [
            str(row["boxes"]),
            str(row["longest_path"]),
            f"{row['worst_regret']:,.2f}",
            f"{row['mean_regret']:,.2f}",
            shown_chance(row["wrong_arm"]),
            f"{row['rounds_of_testing']:,.1f}",
        ]
        for row in rows
    ]
    return "\n".join(table_lines(head, cells))
