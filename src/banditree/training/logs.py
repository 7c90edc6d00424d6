"""A log, on whatever engine holds it, to statistics: one query, written once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.cases.bad_rows import BadRows
from banditree.cases.columns import Columns
from banditree.cases.view import LogView, engine_in_words, open_view
from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import BERNOULLI, Family, Link, Rewards, family_named
from banditree.training.cells import WEIGHTED, Labels, cell_statistics, padded_notes
from banditree.training.decisions import Decisions, drawn_rows, read_decisions
from banditree.training.grades import with_outcomes
from banditree.training.statistics import Statistics
from banditree.training.wide import suits_wide, wide_statistics

if TYPE_CHECKING:
    import pyarrow as pa

SHIFT_ROWS = 1000  # The shift is the mean of this many rows.


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read of a log: its statistics, its columns, how many rows there were and which were bad.

    With individuals the tasks of the statistics are the individuals; labels are their kinds, where the log names them.
    decisions: row by row, where predictions lie on a logistic curve, which sums cannot give.
    """

    name: str
    statistics: Statistics
    columns: Columns
    n_rows: int
    bad: BadRows
    sample: FloatArray | None = None
    labels: Labels | None = None
    notes: tuple[str, ...] = ()
    decisions: Decisions | None = None


def read_log(
    source: Any,
    *,
    rewards: Rewards | Family = BERNOULLI,
    table: str | None = None,
    drop_bad_rows: bool = False,
    sample_size: int = 0,
    seed: int = 0,
    **names: Any,
) -> Reading:
    """The statistics of a log of one row per decision.

    source, table: see `open_log`. names: task, individual or both, arm, reward, context, propensity, categorical,
    numeric, as in `find_columns`. The query runs where the data is; only sums per (task, arm) come back.
    Rows with something missing, infinite, of the wrong type or outside the range of the rewards are counted and
    refused, or dropped with `drop_bad_rows`.
    sample_size: how many contexts to keep besides their moments, drawn by `seed`.

    >>> import polars
    >>> visits = {"task": ["mild", "mild", "severe"], "arm": ["A", "A", "B"], "reward": [1, 0, 1]}
    >>> read_log(polars.DataFrame(visits)).statistics.count.tolist()
    [2, 1]
    """
    family = rewards if isinstance(rewards, Rewards) else family_named(rewards).unknown()
    view = open_view(source, family, table=table, **names)
    with engine_in_words(view.log.name):
        return _read(view, drop_bad_rows, sample_size, seed)


def _read(view: LogView, drop_bad_rows: bool, sample_size: int, seed: int) -> Reading:
    log, columns, family = view.log, view.columns, view.rewards
    view = with_outcomes(view) if family.by_chances else view
    shift = _find_shift(view, family)
    statistics, labels, notes, n_rows, bad = _added_up(view, shift, drop_bad_rows)
    view = view.only_good() if bad.n_rows else view
    sample = None
    if sample_size and columns.context:
        sample = _draw_sample(view, statistics.features, sample_size, seed)
    one_by_one = columns.context and family.link is Link.LOGISTIC
    return Reading(
        log.name,
        statistics,
        columns,
        n_rows,
        bad,
        sample,
        labels,
        notes,
        read_decisions(view, statistics, seed) if one_by_one else None,
    )


def _added_up(
    view: LogView, shift: FloatArray, drop_bad_rows: bool
) -> tuple[Statistics, Labels | None, tuple[str, ...], int, BadRows]:
    """The statistics of the good rows, the labels, notes about names, and how many rows there are and which are bad."""
    wide = suits_wide(view)
    cells = _sum_arms(view) if wide else sum_cells(view, shift)
    n_rows, n_bad = (int(np.sum(cells[name].to_numpy())) for name in ("n", "n_bad"))
    bad = view.bad_rows(n_rows, n_bad, drop=drop_bad_rows)
    view = view.only_good() if n_bad else view
    if wide and (found := wide_statistics(view, _sum_arms(view) if n_bad else cells, shift)) is not None:
        statistics, notes = found
        _require_finite(view, statistics.sums, statistics.products)
        return statistics, None, notes, n_rows, bad
    if wide or n_bad:
        cells = sum_cells(view, shift)
    _require_finite(view, *(cells[name].to_numpy() for name in cells.column_names if name not in view.keys))
    return *cell_statistics(cells, view, shift), padded_notes(cells, view), n_rows, bad


def _require_finite(view: LogView, *sums: FloatArray) -> None:
    if not all(np.isfinite(values).all() for values in sums):
        raise InvalidInput(f"{view.log.name} has values too large to be squared and added up. Use larger units.")


def _sum_arms(view: LogView) -> "pa.Table":
    """Rows and bad rows of every option."""
    return view.table.group_by("arm").agg(n=view.table.count(), n_bad=view.table["bad"].sum()).to_pyarrow()


def _find_shift(view: LogView, family: Rewards) -> FloatArray:
    """A round number near the middle of each column; 0 for rewards in a range, whose sums are then exact counts."""
    first = view.table.select(*view.numbers).limit(SHIFT_ROWS).to_pyarrow()
    shift = np.zeros(len(view.numbers))
    for index, name in enumerate(view.numbers):
        values = first[name].to_numpy().astype(float)
        values = values[np.isfinite(values)]
        if values.size and not (name == "r" and family.has_range):
            shift[index] = float(f"{np.median(values):.6g}")
    return shift


def sum_cells(view: LogView, shift: FloatArray) -> "pa.Table":
    """Per (unit, arm, categories): rows, bad rows, and sums and products of the shifted numbers."""
    table, numbers = view.table, view.numbers
    shifted = {name: table[name] - by if by else table[name] for name, by in zip(numbers, shift, strict=True)}
    keys = {key: table[key] for key in view.keys}
    weight = {} if view.columns.propensity is None else {"w": 1.0 / table["p"]}
    z = table.select(**keys, **shifted, **weight, bad=table["bad"])
    sums = {f"s_{a}": z[a].sum() for a in numbers}
    products = {f"p_{a}_{b}": (z[a] * z[b]).sum() for i, a in enumerate(numbers) for b in numbers[i:]}
    if weight:
        w, r = z["w"], z["r"]
        sums |= dict(zip(WEIGHTED, (x.sum() for x in (w, w * w, w * r, w * w * r, w * w * r * r)), strict=True))
    return z.group_by(view.keys).agg(n=z.count(), n_bad=z["bad"].sum(), **sums, **products).to_pyarrow()


def _draw_sample(view: LogView, features: tuple[Feature, ...], sample_size: int, seed: int) -> FloatArray:
    """At most `sample_size` contexts as rows of the statistics' features; nothing else of the log is kept."""
    if sample_size < 2:
        raise invalid("sample_size", "at least 2", sample_size)
    return view.contexts(drawn_rows(view, sample_size, seed), features)
