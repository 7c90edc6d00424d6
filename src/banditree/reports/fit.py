"""What `banditree fit` shows: the verdict first, then how it was reached."""

import csv
import io
from dataclasses import asdict
from typing import Any

from banditree.cases.design import Design
from banditree.evaluation.choice import Candidate
from banditree.evaluation.fit import Fit
from banditree.nouns import counted
from banditree.reports.certify import table_lines
from banditree.reports.evaluate import about_rounds, evaluation_document, selection_lines, shown_signed, value_table


def fit_text(found: Fit) -> str:
    """The whole result for people."""
    judged, n_held = found.evaluation, int(found.is_held_out.sum())
    of_rules = ", and of rules by context the one that earns most" if found.chosen.candidate.rows else ""
    lines = [
        *verdict(found),
        "",
        str(found.plan),
        "",
        f"On the {counted(n_held, 'case')} held out ({counted(judged.n_rounds, 'round')}), reward per round, intervals "
        "by case:",
        "",
        *value_table(judged),
        *promise_lines(found),
        "",
        f"How it was chosen, on the other {counted(len(found.cases) - n_held, 'case')}, by what plans earn on cases "
        f"they were not made from (seed {found.seed}):",
        "",
        *table_lines(*choice_rows(found)),
        "",
        "Among the plans at most one standard error behind the best, the shortest is chosen; of these, the one for the "
        f"fewest kinds{of_rules}.",
    ]
    return "\n".join([*lines, *(f"Note: {note}" for note in (*found.notes, *judged.notes))])


def verdict(found: Fit) -> list[str]:
    """What to do, what it is worth, and what could be had at most: on held-out cases, with intervals."""
    judged = found.evaluation
    plan, single = judged.rows[0], judged.rows[1]
    gain = single.gain
    assert gain is not None
    if not judged.design.shows_plans:
        first = f"Verdict: {_not_shown(found)}"
    elif judged.refusal:
        first = f"Verdict: {judged.refusal}. Give {found.single} to everyone until it can."
    elif found.plan.n_tests == 0 and not found.plan.features:
        first = f"Verdict: give {found.single} to everyone. No plan was found that earns more on other cases."
    elif gain.low > 0:
        what = "follow the plan" if found.chosen.candidate.kinds > 1 else "follow the rule by context"
        first = f"Verdict: {what}. It earns more than one option for everyone."
    elif gain.high < 0:
        first = f"Verdict: give {found.single} to everyone. The plan that was found earns less on the cases held out."
    else:
        first = f"Verdict: the plan may help, but {single.name} is not shown to be worse on the cases held out."
    if which := about_rounds(judged):
        first = f"Verdict, {which}{first.removeprefix('Verdict')}"
    lines = [
        first,
        f"  {single.name} gives {_interval(single.value)} per round.",
        f"  Knowing the kind of each case from the start {_would_add(found)}.",
        f"  The log: {judged.design}.",
        *(f"  {line}" for line in selection_lines(judged)),
    ]
    if judged.rests_on is not None:
        lines.insert(3, f"  It rests on {counted(judged.rests_on, 'case')} that changed over as the plan asks.")
    if found.plan.n_tests > 0 or found.plan.features:
        lines.insert(2, f"  The plan gives {_interval(plan.value)}, a difference of {shown_signed(gain)}.")
    return lines


def _not_shown(found: Fit) -> str:
    """What cannot be shown by a log whose options were not given at random in every round."""
    design = found.evaluation.design
    what = f"the log cannot show what a plan gives: {design}. "
    if design.design is Design.SEEN:
        return what + f"{found.single} has the highest mean, which may be due to who was given it."
    return what + f"{found.single} gives the most of the options that were kept, if it was given at random."


def _would_add(found: Fit) -> str:
    if found.knowing.value > 0:
        return f"would add {shown_signed(found.knowing)}"
    return f"is not shown to add anything: {shown_signed(found.knowing)}"


def promise_lines(found: Fit) -> list[str]:
    """What the plan promised for the cases held out, and whether it was kept."""
    if found.promise is None:
        return []
    promise = found.promise
    kept = "as promised"
    if not promise.is_kept:
        kept = "not as promised: the cases held out differ from the others, or this is the one time in twenty"
    return [
        "",
        f"From the other cases, the plan promised {promise.low:.3f} to {promise.high:.3f} per round on these (95%). "
        f"It gave {promise.came:.3f}, {kept}.",
    ]


def _interval(value: Any) -> str:
    return f"{value.value:.3f} ({value.low:.3f} to {value.high:.3f})"


def choice_rows(found: Fit) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table of candidates."""
    head = ["lines", "kinds", "by context", "per round", "standard error", "behind the best", "standard error", ""]
    rows = [
        [
            f"{trial.candidate.lines}",
            f"{trial.candidate.kinds}",
            _by_context(trial.candidate),
            f"{trial.value.value:.4f}",
            f"{trial.value.error:.4f}",
            f"{trial.behind.value:.4f}",
            f"{trial.behind.error:.4f}",
            "chosen" if trial.is_chosen else "best" if trial.is_best else "",
        ]
        for trial in found.trials
    ]
    if not any(map(_by_context, (trial.candidate for trial in found.trials))):
        head, *rows = ([*row[:2], *row[3:]] for row in (head, *rows))
    return head, rows


def _by_context(candidate: Candidate) -> str:
    """What a candidate makes of contexts: a rule for everyone, or the best option of each kind."""
    if candidate.rows:
        return f"rule of {counted(candidate.rows, 'row')}"
    if candidate.by_context:
        return "for each kind" if candidate.kinds > 1 else "by prediction"
    return ""


def membership_rows(found: Fit) -> list[dict[str, Any]]:
    """Who is of which kind: one row per case, with how certain that is and whether the case was held out."""
    kinds = found.collection.tasks
    return [
        {"individual": case, "kind": kinds[kind], "certainty": round(float(sure), 4), "held_out": int(held)}
        for case, kind, sure, held in zip(found.cases, found.kind, found.certainty, found.is_held_out, strict=True)
    ]


def membership_csv(found: Fit) -> str:
    """The same as a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["individual", "kind", "certainty", "held_out"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(membership_rows(found))
    return text.getvalue()


def fit_document(found: Fit) -> dict[str, Any]:
    """Everything as JSON, unrounded, with the split and the seed."""
    return {
        "verdict": " ".join(line.strip() for line in verdict(found)),
        "plan_lines": found.plan.n_tests,
        "single": found.single,
        "design": found.evaluation.design.design,
        "knowing_the_kind_adds": asdict(found.knowing),
        "held_out": evaluation_document(found.evaluation),
        "promise": found.promise and {**asdict(found.promise), "kept": found.promise.is_kept},
        "trials": [
            {
                "lines": trial.candidate.lines,
                "kinds": trial.candidate.kinds,
                "rule_rows": trial.candidate.rows,
                "by_context": trial.candidate.by_context,
                **asdict(trial.value),
                "behind": asdict(trial.behind),
                "chosen": trial.is_chosen,
                "best": trial.is_best,
            }
            for trial in found.trials
        ],
        "horizon": found.horizon,
        "seed": found.seed,
        "individuals": membership_rows(found),
        "notes": list(found.notes),
    }
