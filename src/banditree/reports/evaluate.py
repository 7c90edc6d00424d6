"""What `banditree evaluate` shows."""

from dataclasses import asdict
from typing import Any

from banditree.evaluation.evaluate import LEAST_CASES, PLAN, Evaluation, Row
from banditree.evaluation.intervals import Estimate
from banditree.nouns import counted
from banditree.reports.certify import table_lines


def evaluation_text(found: Evaluation) -> str:
    """The evaluation for people: the verdict, the table, and what to know about it."""
    rounds = f"the first {counted(found.shown, 'round')} of each" if not found.is_full else "known outcomes"
    lines = [
        verdict(found),
        "",
        f"Reward per round on {counted(found.n_cases, 'case')} ({counted(found.n_rounds, 'round')}, {rounds}); "
        "intervals are by case:",
        "",
        *value_table(found),
        "",
        f"The log: {found.design}.",
    ]
    return "\n".join([*lines, *_weighing_lines(found), *(f"Note: {note}" for note in found.notes)])


def verdict(found: Evaluation) -> str:
    """Whether the plan beats the best single option, in one sentence."""
    plan, single = found.rows[0], found.rows[1]
    gain = single.gain
    assert gain is not None
    if found.refusal:
        return f"{found.refusal[0].upper()}{found.refusal[1:]}."
    word = "gives more than" if gain.low > 0 else "gives less than" if gain.high < 0 else "is not shown to beat"
    return (
        f"The plan {word} {single.name}: {plan.value.value:.3f} per round against {single.value.value:.3f}, a "
        f"difference of {shown_signed(gain)}."
    )


def shown_signed(gain: Estimate) -> str:
    """A difference with its interval: "+0.161 (+0.042 to +0.280)"."""
    return f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"


def value_table(found: Evaluation) -> list[str]:
    """The lines of the table: what could be done, its reward per round, and by how much the plan gives more."""
    within = f"{found.confidence:.0%} interval"
    head = ["what", "per round", within, "plan gives more by", within]
    rows = [
        [
            row.name,
            f"{row.value.value:.3f}",
            f"{row.value.low:.3f} to {row.value.high:.3f}",
            "" if row.gain is None else f"{row.gain.value:+.3f}",
            "" if row.gain is None else f"{row.gain.low:+.3f} to {row.gain.high:+.3f}",
        ]
        for row in found.rows
    ]
    return table_lines(head, rows)


def _weighing_lines(found: Evaluation) -> list[str]:
    if found.is_full:
        return [""]
    if not found.weighings and found.weighed:
        return ["", "By weights: refused, since options were not given with their shares of the log as chances.", ""]
    if not found.weighings:
        return [
            "",
            f"By weights: refused, no support. {found.effective:.1f} effective cases were given what the plan begins "
            f"with, and {LEAST_CASES} are needed.",
            "",
        ]
    head = ["this plan", "per round", f"{found.confidence:.0%} interval"]
    rows = [[r.name, f"{r.value.value:.3f}", f"{r.value.low:.3f} to {r.value.high:.3f}"] for r in found.weighings]
    about = (
        f"Four estimators of the first {counted(found.weighed, 'round')}, for which there are at least {LEAST_CASES} "
        f"effective cases ({found.effective:.1f} in the last of these rounds):"
    )
    return ["", about, "", *table_lines(head, rows), ""]


def evaluation_document(found: Evaluation) -> dict[str, Any]:
    """The same as JSON, unrounded."""
    return {
        "plan": PLAN,
        "rows": [_row(row) for row in found.rows],
        "horizon": found.horizon,
        "rounds_shown": found.shown,
        "cases": found.n_cases,
        "rounds": found.n_rounds,
        "every_outcome_known": found.is_full,
        "design": found.design.design,
        "design_evidence": found.design.evidence,
        "rests_on_cases": found.rests_on,
        "refusal": found.refusal or None,
        "confidence": found.confidence,
        "seed": found.seed,
        "estimators": [_row(row) for row in found.weighings],
        "estimators_rounds": found.weighed,
        "effective_sample_size": found.effective,
        "notes": list(found.notes),
    }


def _row(row: Row) -> dict[str, Any]:
    return {"name": row.name, **asdict(row.value), "plan_gives_more": None if row.gain is None else asdict(row.gain)}
