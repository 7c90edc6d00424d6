"""A log, on whatever engine holds it, to statistics: one query, written once."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import BERNOULLI, Family, Link, Rewards, family_named
from banditree.training.advice import advice
from banditree.training.cells import WEIGHTED, Labels, cell_statistics, padded_notes
from banditree.training.columns import Columns, find_columns
from banditree.training.decisions import Decisions, context_columns, drawn_rows, read_decisions
from banditree.training.grades import with_outcomes
from banditree.training.rows import BadRows, any_of, describe_bad_rows, problems_of
from banditree.training.sources import Log, open_log, plainly
from banditree.training.statistics import Statistics
from banditree.training.view import LogView, categories

if TYPE_CHECKING:
    import pyarrow as pa

SHIFT_ROWS = 1000  # The shift is the mean of so many rows.


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # engines warn about their own libraries, which the user cannot change
        log = open_log(source, table)
        columns = find_columns(list(log.types), **names)
        family = rewards if isinstance(rewards, Rewards) else family_named(rewards).unknown()
        try:
            return _read(log, columns, family, drop_bad_rows, sample_size, seed)
        except (InvalidInput, MemoryError):
            raise
        except Exception as problem:
            raise InvalidInput(f"{log.name} cannot be read: {plainly(problem)}") from None


def _read(log: Log, columns: Columns, family: Rewards, drop_bad_rows: bool, sample_size: int, seed: int) -> Reading:
    categorical = categories(log, columns)
    problems = problems_of(log, columns, categorical, family)
    view = LogView.of(log, columns, categorical, any_of(problems))
    view = with_outcomes(view) if family.by_chances else view
    shift = _find_shift(view, family)
    cells = sum_cells(view, shift)
    n_rows = int(np.sum(cells["n"].to_numpy()))
    if not n_rows:
        raise InvalidInput(f"{log.name} has a header and no rows. Check that it is the right file.")
    bad = BadRows(0)
    if np.sum(cells["n_bad"].to_numpy()):
        bad = describe_bad_rows(log, problems)
        if not drop_bad_rows or bad.n_rows == n_rows:
            raise InvalidInput(f"{log.name} has {bad} {advice(log, bad, n_rows, columns, family)}")
        view = view.only_good()
        cells = sum_cells(view, shift)
    if not all(np.isfinite(cells[name].to_numpy()).all() for name in cells.column_names if name not in view.keys):
        raise InvalidInput(f"{log.name} has values too large to be squared and added up. Use larger units.")
    statistics, labels = cell_statistics(cells, view, shift)
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
        padded_notes(cells, view, columns),
        read_decisions(view, statistics, seed) if one_by_one else None,
    )


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
    weight = {"w": table["w"]} if view.weighted else {}
    z = table.select(**keys, **shifted, **weight, bad=table["bad"])
    sums = {f"s_{a}": z[a].sum() for a in numbers}
    products = {f"p_{a}_{b}": (z[a] * z[b]).sum() for i, a in enumerate(numbers) for b in numbers[i:]}
    if view.weighted:
        w, r = z["w"], z["r"]
        sums |= dict(zip(WEIGHTED, (x.sum() for x in (w, w * w, w * r, w * w * r, w * w * r * r)), strict=True))
    return z.group_by(view.keys).agg(n=z.count(), n_bad=z["bad"].sum(), **sums, **products).to_pyarrow()


def _draw_sample(view: LogView, features: tuple[Feature, ...], sample_size: int, seed: int) -> FloatArray:
    """At most `sample_size` contexts as rows of the statistics' features; nothing else of the log is kept."""
    if sample_size < 2:
        raise invalid("sample_size", "at least 2", sample_size)
    return context_columns(drawn_rows(view, sample_size, seed), view, features)
