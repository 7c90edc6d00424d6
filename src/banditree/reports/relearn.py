"""What a plan's cases changed: rates and shares before and after, and the old plan beside the new one."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.errors import TooLong
from banditree.evaluation.succession import HeldOut, MakePlan
from banditree.nouns import counted
from banditree.plans.changes import Kind, changed_lines
from banditree.plans.plan import Plan
from banditree.plans.wording import numbered_lines
from banditree.progress import OnProgress
from banditree.protocols.build import METHODS, build_plan
from banditree.reports.certify import table_lines
from banditree.reports.promise import lost_word
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.training.relearning import Relearned


@dataclass(frozen=True, eq=False)
class Succession:
    """An old plan and the new one that may follow it, both certified at the rates as estimated now.

    at_worst: the certificates of both, old first, with every rate as unfavourable as its margin allows, which is what
    the search looks at; None where rates have no margins, or where that takes too long. held_out: what plans made as
    the new one is gain on cases that they were not made from; None where there are too few, or none were given.
    """

    old: Plan
    new: Plan
    old_certificate: Certificate
    new_certificate: Certificate
    at_worst: tuple[Certificate, Certificate] | None = None
    held_out: HeldOut | None = None


def succeed(
    old: Plan,
    collection: Collection,
    on_progress: OnProgress | None = None,
    judge: Callable[[MakePlan], HeldOut | None] | None = None,
    **options: Any,
) -> Succession:
    """The plan that may follow `old`: made in the same way and words, for the same rounds, from the new collection.

    judge: `judge_succession` with all but the way to make a plan.
    """
    method = old.origin.method if old.origin.method in {known.name for known in METHODS} else None
    options = {"vocabulary": old.vocabulary, "on_progress": on_progress, **options}

    def make(tasks: Collection) -> Plan:
        return build_plan(tasks, old.horizon, method, **options)

    new = make(collection)
    known = trust_estimates(collection)
    before, after = (certify(plan, known, must_rest=False) for plan in (old, new))
    held_out = None if judge is None or new == old else judge(make)
    return Succession(old, new, before, after, _at_worst(old, new, collection), held_out)


def _at_worst(old: Plan, new: Plan, collection: Collection) -> tuple[Certificate, Certificate] | None:
    if not collection.is_estimated:
        return None
    try:
        return certify(old, collection, must_rest=False), certify(new, collection, must_rest=False)
    except TooLong:
        return None


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


WORTH_A_CHANGE = 0.01  # A new plan that loses less by a smaller share is not called better.
MARKS = {Kind.SAME: " ", Kind.GONE: "-", Kind.NEW: "+"}


def marked_lines(found: Succession) -> list[str]:
    """The lines of both plans, marked by what stays, goes and comes."""
    return [f"{MARKS[one.kind]} {one.text}".rstrip() for one in changed_lines(found.old, found.new)]


def loss_lines(found: Succession) -> list[str]:
    """What each of the two loses, at the estimates and at worst, and what that means."""
    words, lost = found.old.vocabulary, lost_word(found.old, found.new_certificate.unit)
    pairs = [("At the rates as estimated now", "", found.old_certificate, found.new_certificate)]
    if found.at_worst is not None:
        pairs.append(("With every rate as bad as its margin allows", "at most ", *found.at_worst))
    lines = [
        f"{when}, the new plan loses {hedge}{new.mean_regret:.2f} {lost} per case over "
        f"{counted(found.old.horizon, 'round')} on average, and the old one {old.mean_regret:.2f}; in the worst "
        f"{words.task} {new.worst_regret:.2f} and {old.worst_regret:.2f}."
        for when, hedge, old, new in pairs
    ]
    return [*lines, *_held_out_lines(found, lost), _verdict(found)]


def _held_out_lines(found: Succession, lost: str) -> list[str]:
    if found.held_out is None:
        return []
    gain, cases = found.held_out.gain, counted(found.held_out.n_cases, "case")
    less, low, high = (gain.value, gain.low, gain.high) if gain.value >= 0 else (-gain.value, -gain.high, -gain.low)
    return [
        f"On cases that they were not made from ({cases}, in three parts), plans made like the new one lose {less:.2f} "
        f"{lost} {'less' if gain.value >= 0 else 'more'} per case than the old one ({low:.2f} to {high:.2f})."
    ]


def _verdict(found: Succession) -> str:
    if found.held_out is not None:
        if found.held_out.is_better:
            return "So the new plan is better."
        if found.held_out.gain.high < 0:
            return "So the new plan is worse: keep the old one."
        return (
            "So the new plan is not shown to be better: keep the old one, or let chance decide which new cases get "
            "which, and compare."
        )
    expected = _is_less(found.old_certificate, found.new_certificate)
    at_worst = expected if found.at_worst is None else _is_less(*found.at_worst)
    if expected and at_worst:
        return "So the new plan is better." if found.at_worst is None else "So the new plan is better either way."
    if at_worst:
        return (
            "So the new plan is the safer one: it loses no less if the estimates are right, and less if they are off."
        )
    if expected:
        return "So the new plan is better if the estimates are right, and loses no less if they are off."
    return "So the new plan is no better at these rates: keep the old one."


def _is_less(old: Certificate, new: Certificate) -> bool:
    """The average and the worst task count alike, so that a plan is not better for gaining a little on one of them."""
    before, after = (one.mean_regret + one.worst_regret for one in (old, new))
    return bool(after < (1 - WORTH_A_CHANGE) * before)


def is_better(found: Succession) -> bool:
    """Whether the new plan is shown to lose less than the old one on cases that it was not made from; or, where that
    was not looked at, whether it loses less at the estimates or with rates as bad as margins allow."""
    if found.held_out is not None:
        return found.held_out.is_better
    at_worst = found.at_worst is not None and _is_less(*found.at_worst)
    return at_worst or _is_less(found.old_certificate, found.new_certificate)


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
        at_worst = following.at_worst or (None, None)
        document["plans"] = {
            word: {
                "lines": numbered_lines(plan),
                "mean_loss": c.mean_regret,
                "worst_loss": c.worst_regret,
                "mean_loss_at_worst": None if worst is None else worst.mean_regret,
                "worst_loss_at_worst": None if worst is None else worst.worst_regret,
            }
            for word, plan, c, worst in (
                ("old", following.old, following.old_certificate, at_worst[0]),
                ("new", following.new, following.new_certificate, at_worst[1]),
            )
        }
        document["verdict"] = _verdict(following)
        document["changes"] = marked_lines(following)
        document["new_is_better"] = is_better(following)
        held_out = following.held_out
        document["held_out"] = None if held_out is None else {**asdict(held_out.gain), "cases": held_out.n_cases}
    return document
