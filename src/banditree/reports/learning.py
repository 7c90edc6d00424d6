"""From a log to a collection, and the report of what was read, kept, dropped and merged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from banditree.errors import InvalidInput
from banditree.plans.wording import counted
from banditree.progress import OnProgress
from banditree.reports.choosing import Choice, choices, choices_text
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import BERNOULLI, Family, Rewards
from banditree.tasks.separation import Separation, least_separation
from banditree.training.classes import Classes, Criterion, find_classes, widen
from banditree.training.collection import Untried, to_collection
from banditree.training.estimates import FAILURE_PROBABILITY, Estimates, estimate
from banditree.training.logs import Reading, read_log
from banditree.training.merging import Merged, merge
from banditree.training.statistics import Statistics, merge_statistics

SHOWN = 5  # names in a list of names


@dataclass(frozen=True)
class Settings:
    """How a log is turned into a collection; see `read_log`, `find_classes`, `estimate`, `to_collection`, `merge`."""

    rewards: Rewards | Family = BERNOULLI
    intercept: bool = True
    ridge: float = 0.0
    failure_probability: float = FAILURE_PROBABILITY
    untried: Untried = Untried.REFUSE
    drop_bad_rows: bool = False
    sample_size: int = 0
    n_classes: int | None = None
    criterion: Criterion = Criterion.BIC
    separation: float | None = None
    horizon: int | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class LearnReport:
    """Everything that `banditree learn` shows; `statistics` are what further rows can be added to."""

    reading: Reading
    statistics: Statistics
    estimates: Estimates
    collection: Collection
    separation: Separation
    classes: Classes | None = None
    merged: Merged | None = None
    table: list[Choice] = field(default_factory=list)
    horizon: int | None = None
    n_added: int = 0


def learn(
    source: Any,
    settings: Settings | None = None,
    *,
    table: str | None = None,
    add_to: Statistics | None = None,
    on_progress: OnProgress | None = None,
    **columns: Any,
) -> LearnReport:
    """The collection that a log tells of, with all that was found on the way.

    source, table, columns: as in `read_log`. add_to: statistics of earlier rows. on_progress: of finding classes.

    >>> import polars
    >>> log = {"task": ["a", "b"] * 200, "arm": ["x", "x", "y", "y"] * 100, "reward": [1, 0, 0, 0] * 100}
    >>> learn(polars.DataFrame(log)).collection.means.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    how = settings or Settings()
    if how.sample_size and add_to is not None:
        raise InvalidInput("A sample of contexts is of the rows that are read: keep none when adding to statistics.")
    reading = read_log(
        source,
        rewards=how.rewards,
        table=table,
        drop_bad_rows=how.drop_bad_rows,
        sample_size=how.sample_size,
        seed=how.seed,
        **columns,
    )
    statistics, classes = reading.statistics, None
    if reading.columns.individual is not None:
        if add_to is not None:
            raise InvalidInput(
                "Classes found anew are not those found before: read all rows of all individuals at once."
            )
        classes = _classes(reading.statistics, how, on_progress)
        statistics = classes.statistics
    n_added = 0 if add_to is None else add_to.n_rows
    if add_to is not None:
        statistics = merge_statistics(add_to, statistics)
    found = estimate(
        statistics,
        how.rewards,
        intercept=how.intercept,
        ridge=how.ridge,
        failure_probability=how.failure_probability,
        sample=reading.sample,
    )
    if classes is not None:
        found = widen(found, classes)
    collection = to_collection(
        found,
        statistics,
        untried=how.untried,
        intercept=how.intercept,
        ridge=how.ridge,
        provenance=_provenance(reading, statistics, classes),
    )
    merged = None if how.separation is None else merge(collection, how.separation)
    rows = [] if how.horizon is None else choices(collection, how.horizon)
    final = collection if merged is None else merged.collection
    apart = least_separation(final)
    return LearnReport(reading, statistics, found, final, apart, classes, merged, rows, how.horizon, n_added)


def _classes(statistics: Statistics, how: Settings, on_progress: OnProgress | None) -> Classes:
    family = how.rewards.family if isinstance(how.rewards, Rewards) else how.rewards
    return find_classes(
        statistics,
        family,
        n_classes=how.n_classes,
        criterion=how.criterion,
        seed=how.seed,
        on_progress=on_progress,
    )


def _provenance(reading: Reading, statistics: Statistics, classes: Classes | None) -> str:
    kinds = "" if classes is None else f", {classes.n_classes} classes found among {len(classes.labels):,} individuals"
    return f"estimated from {reading.name}, {counted(statistics.n_rows, 'row')}{kinds}"


def learn_text(report: LearnReport) -> str:
    """The report for people."""
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
    lines += _class_lines(report.classes) + _missing_lines(report)
    lines += [f"Note: {note}" for note in report.estimates.notes]
    lines += _merge_lines(report.merged) + _known_lines(report)
    if report.table and report.horizon is not None:
        lines += ["", choices_text(report.table, report.horizon)]
    return "\n".join(lines)


def _class_lines(classes: Classes | None) -> list[str]:
    if classes is None:
        return []
    shares = ", ".join(f"{share:.0%}" for share in classes.shares)
    lines = [
        f"Found {classes.n_classes} classes among {counted(len(classes.labels), 'individual')} ({shares}), "
        f"certain of {classes.certainty.mean():.1%} on average.",
        f"  classes  log-likelihood  {classes.criterion}",
    ]
    return lines + [f"  {t.n_classes:>7}  {t.log_likelihood:>14,.1f}  {t.score:,.1f}" for t in classes.trials]


def _missing_lines(report: LearnReport) -> list[str]:
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


def _guessed_best(report: LearnReport) -> list[str]:
    """A warning where the arm to use for good is one that was never seen to work for that task."""
    kept, missing = report.collection, {(task, arm) for task, arm, _ in report.estimates.missing}
    best = [(task, kept.arms[k]) for task, k in zip(kept.tasks, kept.best_arms, strict=True)]
    guessed = [f"{arm!r} for {task!r}" for task, arm in best if (task, arm) in missing]
    if not guessed:
        return []
    return [f"Note: the best arm is a borrowed one, never seen to work there: {', '.join(guessed[:SHOWN])}."]


def _merge_lines(merged: Merged | None) -> list[str]:
    if merged is None:
        return []
    together = [name for name, group in zip(merged.collection.tasks, merged.groups, strict=True) if len(group) > 1]
    if not together:
        return [f"Merged nothing: every two tasks are {merged.separation:g} apart for some arm."]
    return [
        f"Merged at {merged.separation:g} into {merged.collection.n_tasks} tasks: {_listed(together)}. "
        f"This costs a task at most {merged.suboptimality:.4g} per round."
    ]


def _known_lines(report: LearnReport) -> list[str]:
    collection, radius = report.collection, report.collection.radius
    i, k = divmod(int(radius.argmax()), collection.n_arms)
    rows = "" if collection.counts is None else f", {counted(int(collection.counts[i, k]), 'row')}"
    return [
        f"{collection}.",
        f"All means are within their radius with a chance of {1 - report.estimates.failure_probability:.4g}; least "
        f"known is {collection.arms[k]!r} for {collection.tasks[i]!r} (within {radius[i, k]:.3g}{rows}).",
        f"Closest tasks: {report.separation}.",
    ]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


def learn_document(report: LearnReport) -> dict[str, Any]:
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
        "notes": list(report.estimates.notes),
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
        "choices": [vars(row) for row in report.table],
    }
