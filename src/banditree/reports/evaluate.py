"""What `banditree evaluate` shows."""

from dataclasses import asdict
from typing import Any

from banditree.evaluation.evaluate import PLAN, Evaluation, Row
from banditree.evaluation.intervals import Estimate
from banditree.evaluation.judging import LEAST_CASES
from banditree.evaluation.sensitivity import MOST
from banditree.languages.language import message
from banditree.nouns import counted
from banditree.plans.words import capital
from banditree.reports.certify import table_lines


def evaluation_text(found: Evaluation) -> str:
    """The evaluation for people: the verdict, the table, and what to know about it."""
    rounds = f"the first {counted(found.counted, 'round')} of each" if not found.is_full else "known outcomes"
    lines = [
        verdict(found),
        f"The log: {found.design}.",
        *selection_lines(found),
        "",
        f"Reward per round on {counted(found.n_cases, 'case')} ({counted(found.n_rounds, 'round')}, {rounds}); "
        "intervals are by case:",
        "",
        *value_table(found),
    ]
    return "\n".join([*lines, *_weighing_lines(found), *(f"Note: {note}" for note in found.notes)])


def verdict(found: Evaluation) -> str:
    """Whether the plan beats the best single option, in one sentence."""
    plan, single = found.rows[0], found.rows[1]
    gain = single.gain
    assert gain is not None
    if found.refusal:
        return f"{found.refusal[0].upper()}{found.refusal[1:]}."
    which = about_rounds(found)
    word = "gives more than" if gain.low > 0 else "gives less than" if gain.high < 0 else "is not shown to beat"
    return (
        f"{capital(which) + ', the' if which else 'The'} plan {word} {single.name}: {plan.value.value:.3f} per round "
        f"against {single.value.value:.3f}, a difference of {shown_signed(gain)}."
    )


def about_rounds(found: Evaluation) -> str:
    """Which rounds a verdict is about, or told by what, where the log does not show all; else ""."""
    shown, known = found.shown, found.counted
    if shown < known:
        first, rest = _rounds(1, shown), _rounds(shown + 1, known)
        return message(f"by the log for {first} of {found.horizon} and by the kinds for {rest}")
    return "" if known >= found.horizon else message(f"for the first {known} of {found.horizon} rounds")


def _rounds(first: int, last: int) -> str:
    return message(f"rounds {first} to {last}") if last > first else message(f"round {first}")


def selection_lines(found: Evaluation) -> list[str]:
    """How strong unseen selection would have to be until the plan no longer beats the single option."""
    if found.selection is None or found.refusal:
        return []
    odds = message(f"more than {found.selection:.0f}") if found.selection >= MOST else f"{found.selection:.2f}"
    return [
        message(
            "Unseen selection: something that is not in the log would have to change the odds of an option by a "
            f"factor of {odds} in every round until the plan is no longer shown to beat {found.rows[1].name}."
        )
    ]


def shown_signed(gain: Estimate) -> str:
    """A difference with its interval: "+0.161 (+0.042 to +0.280)"."""
    return f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"


def value_table(found: Evaluation) -> list[str]:
    """The lines of the table: what could be done, its reward per round, and by how much the plan gives more."""
    within = f"{found.confidence:.0%} interval"
    head = ["what", "per round", within, "plan gives more by", within, "rests on"]
    rows = [
        [
            row.name,
            f"{row.value.value:.3f}",
            f"{row.value.low:.3f} to {row.value.high:.3f}",
            "" if row.gain is None else f"{row.gain.value:+.3f}",
            "" if row.gain is None else f"{row.gain.low:+.3f} to {row.gain.high:+.3f}",
            counted(row.rests_on, "case"),
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
    rounds, last = counted(found.weighed, "round"), f"{found.effective:.1f}"
    about = (
        f"Estimators that follow a case while the log gives what the plan gives, for {rounds}, to which at least "
        f"{LEAST_CASES} effective cases come ({last} to the last of these rounds):"
    )
    return ["", about, "", *table_lines(head, rows), ""]


def evaluation_document(found: Evaluation) -> dict[str, Any]:
    """The same as JSON, unrounded."""
    return {
        "plan": PLAN,
        "rows": [_row(row) for row in found.rows],
        "horizon": found.horizon,
        "rounds_shown": found.shown,
        "rounds_judged": found.counted,
        "cases": found.n_cases,
        "rounds": found.n_rounds,
        "every_outcome_known": found.is_full,
        "design": found.design.design,
        "design_evidence": found.design.evidence,
        "chances_estimated": found.design.is_estimated,
        "unseen_selection": found.selection,
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
    gain = None if row.gain is None else asdict(row.gain)
    return {"name": row.name, **asdict(row.value), "plan_gives_more": gain, "rests_on_cases": row.rests_on or None}
