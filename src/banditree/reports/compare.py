"""What `banditree compare` shows."""

from dataclasses import asdict
from typing import Any

from banditree.monitoring.comparison import Comparison
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.reports.promise import lost_word


def comparison_text(plan: Plan, found: Comparison, seed: int | None, strays: int | None) -> str:
    """Which plan gives more, for people. seed: None where it must not be shown yet. strays: None where nobody knows."""
    more, what = found.difference, lost_word(plan)
    split = "" if seed is None else f", split by seed {seed}"
    word = "gives more than" if more.low > 0 else "gives less than" if more.high < 0 else "is not shown to differ from"
    holds = "holds at every look" if plan.rewards.has_range else "holds approximately at every look"
    lines = [
        f"The new plan {word} the old one: {found.new:.2f} {what} per case over {counted(found.rounds, 'round')}, "
        f"against {found.old:.2f}: a difference of {more.value:+.2f} ({more.low:+.2f} to {more.high:+.2f}).",
        f"{counted(found.old_cases, 'case')} of the old plan and {found.new_cases:,} of the new one have had that many "
        f"rounds{split}. The interval {holds}.",
    ]
    if found.ended_early:
        lines.append(f"Not counted: {counted(found.ended_early, 'case')} that ended before that many rounds.")
    if found.behind:
        lines.append(f"Not counted yet: {counted(found.behind, 'case')} begun after one that is still running.")
    if strays is None:
        lines.append("The table has no column plan, so each case is taken to have followed the plan the seed gave it.")
    if strays:
        lines.append(f"Not counted: {counted(strays, 'case')} that followed another plan than the seed gave them.")
    return "\n".join(lines)


def comparison_document(found: Comparison, seed: int, share: float, strays: int | None) -> dict[str, Any]:
    """The same as JSON."""
    return {**asdict(found), "seed": seed, "share": share, "left_out": strays}
