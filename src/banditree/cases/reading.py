"""A log as one table of cases: which rows are one round, in which order, and whose."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.cases.columns import Columns, unknown_column
from banditree.cases.drawing import drawn_cases
from banditree.cases.table import Cases
from banditree.cases.values import days_in, numbered, padded_note
from banditree.cases.view import LogView, engine_in_words, open_view
from banditree.errors import InvalidInput
from banditree.nouns import counted
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.tasks.rewards import BERNOULLI, Rewards

if TYPE_CHECKING:
    import pyarrow as pa


def read_cases(
    source: Any,
    *,
    rewards: Rewards = BERNOULLI,
    table: str | None = None,
    drop_bad_rows: bool = False,
    features: Sequence[Feature] = (),
    context: Sequence[str] = (),
    categorical: Sequence[str] = (),
    hint: str | None = None,
    followed: bool = False,
    by_row: bool = False,
    plan: str | None = None,
    labels: Sequence[str] = (),
    most_rows: int | None = None,
    seed: int = 0,
    **roles: Any,
) -> Cases:
    """The cases of a log that has one row per decision, or one row per option of every decision.

    source, table: as in `open_log`. roles: individual, arm, reward, round, time, propensity, or their usual names.
    hint: what to try when rewards are not of the family.
    Rows of the same case and round are one decision whose outcomes are all known. Without a round column they are those
    of the same time, or every K consecutive rows that have every arm once. Rounds are in the order of `time`, else in
    that of the rows. features: of the contexts, whose columns have these names and one value in all rows of a decision;
    or context: the columns alone, whose features are an intercept, numbers, and a feature per category but the first;
    categorical: those that look like numbers.
    followed: the cases follow a plan, as the service exports them. Then every row is a round, in the order of the round
    column, else of time, which must be known; a missing reward is an outcome that will not be known. by_row: the same,
    for logs of other origin: times may be unknown, and a round comes once. plan: take only
    the cases of the plan with this id, where a column `plan` says it. labels: columns by which cases can be told apart.
    most_rows: of a log with more rows, read only whole cases that have about as many together, drawn by `seed`.

    >>> import polars
    >>> rows = {"individual": [1, 1, 1, 1], "arm": ["A", "B", "A", "B"], "reward": [1, 0, 0, 1]}
    >>> read_cases(polars.DataFrame(rows)).outcomes.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    asked = {f.name: f.level is not None for f in features if f.name != INTERCEPT}
    about: dict[str, Any] = {
        "table": table,
        "plan": plan,
        "by_case": True,
        "unknown": followed or by_row,
        "labels": labels,
    }
    about |= {"context": [*asked, *context], "numeric": [name for name in asked if not asked[name]]}
    about |= {"categorical": [*(name for name in asked if asked[name]), *categorical]}
    view = open_view(source, rewards, **about, **roles)
    with engine_in_words(view.log.name):
        drawn = None if most_rows is None else drawn_cases(view, most_rows, seed)
        rows = (view if drawn is None else drawn.view).table.to_pyarrow()
    if drawn is not None and view.log.ordered:
        rows = rows.sort_by("row")
    if plan is not None and not len(rows):
        raise InvalidInput("The table has no outcomes of this plan. Check that it is the plan these cases followed.")
    good = rows["bad"].to_numpy() == 0
    size = (len(good), int((~good).sum())) if drawn is None else (drawn.of_rows, drawn.of_bad)
    view.bad_rows(*size, drop=drop_bad_rows, hint=hint)
    columns = view.columns
    if followed and columns.time is None:
        raise unknown_column("time", list(view.log.types))
    if not view.log.ordered and columns.time is None and columns.round is None:
        raise InvalidInput(f'The rows of {view.log.name} have no order. Say which column gives it: time="NAME".')
    features = view.features(rows.filter(good)) if context else features
    how: dict[str, Any] = {"by_row": by_row, "drop": drop_bad_rows}
    read = replace(_tabulate(rows.filter(good), view, features, followed, **how), features=tuple(features))
    return read if drawn is None else replace(read, notes=(*read.notes, drawn.note))


def _tabulate(
    rows: "pa.Table", view: LogView, features: Sequence[Feature], followed: bool, *, by_row: bool, drop: bool
) -> Cases:
    columns = view.columns
    rows, repeated = _without_repeats(rows, columns, followed)
    if drop and columns.round is not None and not followed:
        rows, contradicted = _without_contradictions(rows)
        repeated += contradicted
    named = set(rows.column_names)
    cases, case = numbered(rows["unit"])
    arms, arm = numbered(rows["arm"])
    key, time, how = _rounds(rows, case, arm, len(arms), columns, followed or by_row)
    if by_row and (columns.round or columns.time) is not None:
        _check_once(columns, cases, case, time)
    keys, begins, number = np.unique(key, return_index=True, return_inverse=True)
    if len(np.unique(number * len(arms) + arm)) < len(arm):
        raise _repeated(columns, arms, number, arm)
    order = np.lexsort((begins if view.log.ordered else keys, time[begins], case[begins]))
    place = np.argsort(order)[number]  # the round of every row

    def by_round(values: Any, kind: type = float) -> Any:
        found = np.empty((len(begins), *np.shape(values)[1:]), kind)
        found[place] = values
        return found

    outcomes = np.full((len(begins), len(arms)), np.nan)
    outcomes[place, arm] = rows["r"].to_numpy().astype(float)
    more: dict[str, Any] = {"at": by_round(_days(rows["t"], followed))} if "t" in named else {}
    if len(begins) == len(arm):
        more |= {"arm": by_round(arm, np.int64), "chances": by_round(rows["p"].to_numpy()) if "p" in named else None}
    if "v" in named:
        more["overridden"] = by_round(rows["v"].to_numpy() == 1, bool)
    if features:
        each = view.contexts(rows, features)
        more["contexts"] = by_round(each)
        if (differs := (more["contexts"][place] != each).any(axis=0)).any():
            name = features[int(differs.argmax())].name
            raise InvalidInput(f"Context column {name!r} must be the same in all rows of one decision, and is not.")
    if followed:  # exports put a quote mark before names that a spreadsheet would compute
        cases, arms = (tuple(name.removeprefix("'") for name in names) for names in (cases, arms))
    return Cases(
        cases,
        arms,
        np.concatenate([[0], np.cumsum(np.bincount(case[begins], minlength=len(cases)))]),
        outcomes,
        labels={name: _texts(rows[f"l{index}"], case) for index, name in enumerate(columns.labels)},
        notes=(how, *repeated, *padded_note(rows["unit"], columns.unit), *padded_note(rows["arm"], columns.arm)),
        **more,
    )


def _check_once(columns: Columns, cases: tuple[str, ...], case: IntArray, order: IntArray) -> None:
    """Every case has one row per round."""
    found, count = np.unique(case * (order.max(initial=0) + 1) + order, return_counts=True)
    if (again := np.flatnonzero(count > 1)).size:
        name = cases[int(found[again[0]] // (order.max(initial=0) + 1))]
        column = columns.round or columns.time
        raise InvalidInput(
            f"Column {column!r} must be different in all rows of a case. Case {name!r} has {count[again[0]]} rows with "
            "the same value. Correct it, or omit the column if rows are in order."
        )


def _rounds(
    rows: "pa.Table", case: IntArray, arm: IntArray, n_arms: int, columns: Columns, followed: bool
) -> tuple[IntArray, IntArray, str]:
    """A number for the case and round of every row, what rounds of a case are sorted by, and how rounds were found."""
    time = np.zeros(len(case), np.int64) if columns.time is None else numbered(rows["t"])[1]
    occasion = None if columns.round is None else numbered(rows["o"])[1]
    if followed:
        return np.arange(len(case)), time if occasion is None else occasion, "Every row is one round."
    if occasion is not None:
        found, how = occasion, f"Rounds are the values of {columns.round!r}."
    else:
        found, how = _guessed_rounds(case, arm, time, n_arms, timed=columns.time is not None)
    return case * (found.max(initial=0) + 1) + found, time, how


def _without_repeats(rows: "pa.Table", columns: Columns, followed: bool) -> tuple["pa.Table", tuple[str, ...]]:
    """The rows of a log with a round column without those that say the same again, and a note how many these are."""
    if followed or columns.round is None:
        return rows, ()
    keys = [name for name in ("unit", "o", "t", "arm", "r") if name in rows.column_names]
    place = np.lexsort([numbered(rows[name])[1] for name in keys])
    codes = np.column_stack([numbered(rows[name])[1] for name in keys])[place]
    again = np.append(False, (codes[1:] == codes[:-1]).all(axis=1))
    if not again.any():
        return rows, ()
    first = np.ones(len(place), bool)
    first[place[again]] = False
    note = f"{int(again.sum()):,} of {len(place):,} rows say the same again of one option in one round, and count once."
    return rows.filter(first), (note,)


def _without_contradictions(rows: "pa.Table") -> tuple["pa.Table", tuple[str, ...]]:
    """The rows of rounds in which no option comes twice, and a note how many rounds these are not."""
    place = numbered(rows["unit"])[1].astype(np.int64)
    for name in ("o", "t") if "t" in rows.column_names else ("o",):
        _, place = np.unique(np.column_stack([place, numbered(rows[name])[1]]), axis=0, return_inverse=True)
    place = place.ravel()
    found, n = np.unique(np.column_stack([place, numbered(rows["arm"])[1]]), axis=0, return_counts=True)
    twice = np.unique(found[n > 1, 0])
    if not len(twice):
        return rows, ()
    note = f"Dropped {counted(len(twice), 'round')} with different outcomes of the same option."
    return rows.filter(~np.isin(place, twice)), (note,)


def _days(column: "pa.ChunkedArray", needed: bool) -> FloatArray:
    """The days of a column of times; NaN where it only says what came first, unless days are needed."""
    try:
        return days_in(column)
    except InvalidInput:
        if needed:
            raise
        return np.full(len(column), np.nan)


def _texts(column: "pa.ChunkedArray", case: IntArray) -> tuple[str, ...]:
    """The label of every case: that of its last row."""
    found = dict(zip(case.tolist(), column.to_pylist(), strict=True))
    return tuple(str(found[u] or "") for u in sorted(found))


def _guessed_rounds(case: IntArray, arm: IntArray, time: IntArray, n_arms: int, *, timed: bool) -> tuple[IntArray, str]:
    """The round of every row where no column says it, and how it was found."""
    if timed:
        place = case * (time.max(initial=0) + 1) + time
        if len(np.unique(place * n_arms + arm)) < len(case):
            return np.arange(len(case)), "Every row is one round: an option comes several times at one time of a case."
        if len(np.unique(place)) < len(case):
            return time, "Rows of one case at one time are one round."
    if _comes_in_blocks(case, arm, n_arms):
        if (arm.reshape(-1, n_arms) == arm[:n_arms]).all():
            return np.arange(len(case)) // n_arms, f"Every {n_arms} consecutive rows, one per option, are one round."
        return np.arange(len(case)), (
            "Every row is one round, as in a crossover: cases have every option, in different orders. If rows are "
            'outcomes of one decision instead, name its column: round="NAME".'
        )
    return np.arange(len(case)), "Every row is one round."


def _comes_in_blocks(case: IntArray, arm: IntArray, n_arms: int) -> bool:
    """Whether every `n_arms` consecutive rows belong to one case and have every arm once, hardly ever by chance."""
    if n_arms < 2 or len(case) % n_arms or len(case) < 2 * n_arms:
        return False
    cases, arms = case.reshape(-1, n_arms), np.sort(arm.reshape(-1, n_arms), axis=1)
    return bool((cases == cases[:, :1]).all() and (arms == np.arange(n_arms)).all())


def _repeated(columns: Columns, arms: tuple[str, ...], number: IntArray, arm: IntArray) -> InvalidInput:
    values, counts = np.unique(number * len(arms) + arm, return_counts=True)
    name = arms[int(values[counts.argmax()] % len(arms))]
    column = columns.round or columns.time
    return InvalidInput(
        f"Column {column!r} must name one decision of one case, with one row per option. Got {int(counts.max())} rows "
        f'with option {name!r} in one. Say which column does: round="NAME"; or leave such rounds out: '
        "drop_bad_rows=True."
    )
