"""What a plan's cases changed: rates and shares before and after, and the old plan beside the new one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.plans.changes import Kind, changed_lines
from banditree.plans.plan import Plan
from banditree.plans.wording import numbered_lines
from banditree.plans.words import counted
from banditree.progress import OnProgress
from banditree.reports.certify import table_lines
from banditree.reports.promise import lost_word
from banditree.scores.build import METHODS, build_plan
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.training.relearning import Relearned


@dataclass(frozen=True, eq=False)
class Succession:
    """An old plan and the new one that may follow it, both certified at the rates as estimated now."""

    old: Plan
    new: Plan
    old_certificate: Certificate
    new_certificate: Certificate


def succeed(old: Plan, collection: Collection, on_progress: OnProgress | None = None, **options: Any) -> Succession:
    """The plan that may follow `old`: made in the same way and words, for the same rounds, from the new collection."""
    method = old.method if old.method in {known.name for known in METHODS} else None
    options = {"vocabulary": old.vocabulary, "on_progress": on_progress, **options}
    new = build_plan(collection, old.horizon, method, **options)
    known = trust_estimates(collection)
    certificates = [certify(plan, known, must_rest=False) for plan in (old, new)]
    return Succession(old, new, *certificates)


def relearned_text(found: Relearned) -> str:
    """The rates and shares before and after, for people."""
    n = len(found.chances)
    lines = [f"From {counted(n, 'case')} and what was known before. Rates that changed, with their margins:", ""]
    return "\n".join([*lines, *table_lines(*rate_table(found)), "", *table_lines(*share_table(found)), *_kept(found)])


def rate_table(found: Relearned) -> tuple[list[str], list[list[str]]]:
    """The rates about which the cases say something."""
    before, now = found.before, found.collection
    head = ["kind", "option", "outcomes", "before", "within", "now", "within"]
    rows = [
        [
            now.tasks[i],
            now.arms[k],
            f"{found.rows[i, k]:,.0f}",
            f"{before.means[i, k]:.3f}",
            f"{before.radius[i, k]:.3f}",
            f"{now.means[i, k]:.3f}",
            f"{now.radius[i, k]:.3f}",
        ]
        for i, k in np.argwhere(~found.kept).tolist()
    ]
    return head, rows


def share_table(found: Relearned) -> tuple[list[str], list[list[str]]]:
    """The shares of the kinds."""
    before = [""] * found.before.n_tasks if found.before.shares is None else [f"{w:.1%}" for w in found.before.shares]
    rows = [list(row) for row in zip(found.collection.tasks, before, _percents(found.collection.weights), strict=True)]
    return ["kind", "share before", "now"], rows


def _percents(shares: Any) -> list[str]:
    return [f"{share:.1%}" for share in shares]


def _kept(found: Relearned) -> list[str]:
    n = int(found.kept.sum())
    return (
        []
        if not n
        else ["", f"{counted(n, 'rate')} that the plan never tries {'stays' if n == 1 else 'stay'} as before."]
    )


def succession_text(found: Succession) -> str:
    """The old plan and the new one, what changed, and what each loses at the rates as estimated now."""
    lines = ["What changes in the plan (- as it was, + as it would be):", "", *marked_lines(found), ""]
    return "\n".join([*lines, *loss_lines(found)])


MARKS = {Kind.SAME: " ", Kind.GONE: "-", Kind.NEW: "+"}


def marked_lines(found: Succession) -> list[str]:
    """The lines of both plans, marked by what stays, goes and comes."""
    return [f"{MARKS[one.kind]} {one.text}".rstrip() for one in changed_lines(found.old, found.new)]


def loss_lines(found: Succession) -> list[str]:
    """What each of the two loses."""
    lost, rounds = lost_word(found.old), counted(found.old.horizon, "round")
    lines = [
        f"The {word} plan loses {c.mean_regret:.2f} {lost} per case over {rounds} on average, and {c.worst_regret:.2f} "
        f"in its worst {found.old.vocabulary.task} ({c.worst_task}), at the rates as estimated now."
        for word, c in (("old", found.old_certificate), ("new", found.new_certificate))
    ]
    return lines if is_better(found) else [*lines, "So the new plan is no better at these rates: keep the old one."]


def is_better(found: Succession) -> bool:
    """Whether the new plan loses less than the old one, on average or in the worst task, at the estimated rates."""
    old, new = found.old_certificate, found.new_certificate
    return bool(new.mean_regret < old.mean_regret or new.worst_regret < old.worst_regret)


def relearned_document(found: Relearned, following: Succession | None = None) -> dict[str, Any]:
    """The same as JSON."""
    before, now = found.before, found.collection
    document: dict[str, Any] = {
        "cases": len(found.chances),
        "rates": [
            {
                "task": now.tasks[i],
                "arm": now.arms[k],
                "outcomes": float(found.rows[i, k]),
                "before": float(before.means[i, k]),
                "before_within": float(before.radius[i, k]),
                "now": float(now.means[i, k]),
                "now_within": float(now.radius[i, k]),
                "kept": bool(found.kept[i, k]),
            }
            for i in range(now.n_tasks)
            for k in range(now.n_arms)
        ],
        "shares": dict(zip(now.tasks, now.weights.tolist(), strict=True)),
        "shares_before": None
        if before.shares is None
        else dict(zip(before.tasks, before.shares.tolist(), strict=True)),
    }
    if following is not None:
        document["plans"] = {
            word: {"lines": numbered_lines(plan), "mean_loss": c.mean_regret, "worst_loss": c.worst_regret}
            for word, plan, c in (
                ("old", following.old, following.old_certificate),
                ("new", following.new, following.new_certificate),
            )
        }
        document["changes"] = marked_lines(following)
        document["new_is_better"] = is_better(following)
    return document
