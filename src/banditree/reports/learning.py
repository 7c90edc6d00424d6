"""The report of a log that became a collection: what was read, kept, dropped, found and merged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from banditree.nouns import counted
from banditree.reports.certify import table_lines
from banditree.reports.separation_table import Choice, choices_text
from banditree.training.classes import Classes
from banditree.training.learning import Learned
from banditree.training.merging import Merged

NOTHING = 0.5  # A margin of half the range of rewards leaves open nearly every mean.
MOST_ARMS = 10  # A table has at most this many options beside each other.
SHOWN = 5  # A list in a sentence has at most this many names; the rest are counted.


def learn_text(report: Learned, table: Sequence[Choice] = (), horizon: int | None = None) -> str:
    """The report for people; `table` is what merging would give over `horizon` rounds (see `choices`)."""
    used = report.reading.columns
    roles = {
        "task": used.task,
        "individual": used.individual,
        "arm": used.arm,
        "reward": used.reward,
        "propensity": used.propensity,
    }
    columns = ", ".join(f"{role} is {name!r}" for role, name in roles.items() if name is not None)
    context = f"; context: {', '.join(used.context)}" if used.context else ""
    lines = [f"Read {counted(report.reading.n_rows, 'row')} of {report.reading.name}: {columns}{context}."]
    if report.reading.bad.n_rows:
        lines.append(f"Dropped {report.reading.bad}")
    if report.n_added:
        lines.append(f"Added to the statistics of {counted(report.n_added, 'earlier row')}.")
    lines += [] if report.log.design is None else [f"The log: {report.log.design}."]
    lines += _class_lines(report.classes) + _missing_lines(report)
    lines += [f"Note: {note}" for note in (*report.reading.notes, *report.estimates.notes, *report.log.notes)]
    lines += _merge_lines(report.merged) + _rate_lines(report) + _known_lines(report) + _harm_lines(report)
    if table and horizon is not None:
        lines += ["", choices_text(table, horizon)]
    return "\n".join(lines)


def _harm_lines(report: Learned) -> list[str]:
    harm = report.collection.harm
    if harm is None:
        return []
    return [
        f"Harm in one round: from {harm.rates.min():.3g} to {harm.rates.max():.3g}, each within "
        f"{harm.within.max():.3g} of the truth."
    ]


def _class_lines(classes: Classes | None) -> list[str]:
    if classes is None:
        return []
    shares = ", ".join(f"{share:.0%}" for share in classes.shares)
    lines = [
        f"Found {counted(classes.n_classes, 'kind')} among {counted(len(classes.labels), 'individual')} ({shares}), "
        f"with a certainty of {classes.certainty.mean():.1%} on average.",
        f"    kinds  log-likelihood  {classes.criterion}",
    ]
    return lines + [f"  {t.n_classes:>7}  {t.log_likelihood:>14,.1f}  {t.score:,.1f}" for t in classes.trials]


def _missing_lines(report: Learned) -> list[str]:
    missing = report.estimates.missing
    if not missing:
        return []
    kept = report.collection if report.merged is None else None
    gone = [] if kept is None else [name for name in report.estimates.arms if name not in kept.arms]
    gone += [] if kept is None else [name for name in report.estimates.tasks if name not in kept.tasks]
    named = "; ".join(f"{arm!r} for {task!r}: {outcome}" for task, arm, outcome in missing[:SHOWN])
    more = f"; and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    end = f" Dropped: {_listed(gone)}." if gone else " Borrowed from all tasks together, and used in no test."
    return [f"Without an estimate of their own: {named}{more}.{end}", *_guessed_best(report)]


def _guessed_best(report: Learned) -> list[str]:
    """A warning where the best arm of a task was never seen to work for that task."""
    kept, missing = report.collection, {(task, arm) for task, arm, _ in report.estimates.missing}
    best = [(task, kept.arms[k]) for task, k in zip(kept.tasks, kept.best_arms, strict=True)]
    guessed = [f"{arm!r} for {task!r}" for task, arm in best if (task, arm) in missing]
    if not guessed:
        return []
    return [f"Note: the best arm is a borrowed one, never seen to work for its task: {', '.join(guessed[:SHOWN])}."]


def _merge_lines(merged: Merged | None) -> list[str]:
    if merged is None:
        return []
    together = [name for name, group in zip(merged.collection.tasks, merged.groups, strict=True) if len(group) > 1]
    if not together:
        return [f"Merged nothing: every two tasks are {merged.separation:g} apart for some arm."]
    return [
        f"Merged at {merged.separation:g} into {counted(merged.collection.n_tasks, 'task')}: {_listed(together)}. "
        f"This costs a task at most {merged.suboptimality:.4g} per round."
    ]


def _rate_lines(report: Learned) -> list[str]:
    """The rates of kinds that were found, with their margins; of many options the first."""
    known = report.collection
    if report.classes is None:
        return []
    arms = range(min(known.n_arms, MOST_ARMS))
    more = [f"(the first {MOST_ARMS} of {known.n_arms} options)"] if known.n_arms > MOST_ARMS else []
    more += [] if known.theta is None else ["(averages over contexts)"]
    shares = known.shares if known.shares is not None else np.full(known.n_tasks, np.nan)
    head = ["", "of all", *(known.arms[k] for k in arms)]
    rows = [
        [task, f"{shares[i]:.0%}", *(_with_margin(report, i, k) for k in arms)] for i, task in enumerate(known.tasks)
    ]
    return ["", *table_lines(head, rows), *more, ""]


def _with_margin(report: Learned, kind: int, arm: int) -> str:
    mean, margin = report.collection.means[kind, arm], report.collection.radius[kind, arm]
    return "not known" if _says_nothing(report, margin) else f"{mean:.3g} ±{margin:.2g}"


def _says_nothing(report: Learned, margin: float) -> bool:
    """Whether a margin leaves open nearly every mean that rewards can have."""
    family = report.collection.rewards
    return bool(family.has_range and margin >= NOTHING * family.width)


def _known_lines(report: Learned) -> list[str]:
    collection, radius = report.collection, report.collection.radius
    i, k = divmod(int(radius.argmax()), collection.n_arms)
    rows = "" if collection.counts is None else f", {counted(int(collection.counts[i, k]), 'row')}"
    how = "" if report.estimates.individuals is None else " (rows of one individual counted together)"
    which = f"{collection.arms[k]!r} for {collection.tasks[i]!r}"
    least = f"least known is {which} (within {radius[i, k]:.3g}{rows})"
    if _says_nothing(report, float(radius[i, k])):
        least = f"nothing is known about {which}{rows}"
    return [
        f"{collection}.",
        f"With {100 * (1 - report.estimates.failure_probability):.4g}% confidence{how}, every mean is within its "
        f"margin; {least}.",
        f"Closest tasks: {report.separation}.",
    ]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


def learn_document(report: Learned, table: Sequence[Choice] = ()) -> dict[str, Any]:
    """The report as JSON: the same numbers that people see, unrounded."""
    classes, merged, bad = report.classes, report.merged, report.reading.bad
    return {
        "source": report.reading.name,
        "rows": report.reading.n_rows,
        "bad_rows": {"rows": bad.n_rows, "kinds": dict(bad.kinds), "first": list(bad.first)},
        "rows_in_estimates": report.statistics.n_rows,
        "tasks": list(report.collection.tasks),
        "arms": list(report.collection.arms),
        "least_separation": report.separation.value,
        "largest_radius": float(report.collection.radius.max()),
        "failure_probability": report.estimates.failure_probability,
        "missing": [{"task": task, "arm": arm, "outcome": outcome} for task, arm, outcome in report.estimates.missing],
        "notes": [*report.reading.notes, *report.estimates.notes, *report.log.notes],
        "design": report.log.design and report.log.design.design,
        "design_evidence": report.log.design and report.log.design.evidence,
        "classes": None
        if classes is None
        else {
            "shares": classes.shares.tolist(),
            "certainty": float(classes.certainty.mean()),
            "trials": [vars(trial) for trial in classes.trials],
        },
        "merged": None
        if merged is None
        else {"separation": merged.separation, "suboptimality": merged.suboptimality, "groups": merged.groups},
        "harm": None
        if report.collection.harm is None
        else {"rates": report.collection.harm.rates.tolist(), "within": report.collection.harm.within.tolist()},
        "choices": [vars(row) for row in table],
    }
