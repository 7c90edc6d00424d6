"""A log, on whatever engine holds it, to statistics: one query, written once."""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import BERNOULLI, Family, Rewards
from banditree.training.cells import WEIGHTED, cell_statistics
from banditree.training.columns import Columns, find_columns
from banditree.training.rows import BadRows, describe_bad_rows, only_good
from banditree.training.sources import Log, first_line, open_log
from banditree.training.statistics import Statistics
from banditree.training.view import LogView

if TYPE_CHECKING:
    import pyarrow as pa

SHIFT_ROWS = 1000  # rows from whose mean the shift is taken


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read of a log: its statistics, its columns, how many rows there were and which were bad."""

    name: str
    statistics: Statistics
    columns: Columns
    n_rows: int
    bad: BadRows
    sample: FloatArray | None = None


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

    source, table: see `open_log`. names: task or individual, arm, reward, context, propensity, categorical, numeric,
    as in `find_columns`. The query runs where the data is; only sums per (task, arm) come back.
    Rows with something missing, infinite, of the wrong type or outside the range of the rewards are counted and
    refused, or dropped with `drop_bad_rows`.
    sample_size: how many contexts to keep besides their moments, drawn by `seed`.

    >>> import polars
    >>> visits = {"task": ["mild", "mild", "severe"], "arm": ["A", "A", "B"], "reward": [1, 0, 1]}
    >>> read_log(polars.DataFrame(visits)).statistics.count.tolist()
    [2, 1]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what engines say of their own libraries is nothing the reader can change
        log = open_log(source, table)
        columns = find_columns(list(log.types), **names)
        law = rewards if isinstance(rewards, Rewards) else _any_law(rewards)
        try:
            reading = _read(log, columns, law, drop_bad_rows)
            if not sample_size or not columns.context:
                return reading
            view = only_good(LogView.of(log, columns), law)
            return replace(reading, sample=_draw_sample(view, reading.statistics.features, sample_size, seed))
        except (InvalidInput, MemoryError):
            raise
        except Exception as problem:
            raise InvalidInput(f"{log.name} cannot be read: {first_line(problem)}") from None


def _any_law(family: Family) -> Rewards:
    return Rewards(family, sigma=1.0) if Family(family) is Family.GAUSSIAN else Rewards(Family(family))


def _read(log: Log, columns: Columns, law: Rewards, drop_bad_rows: bool) -> Reading:
    view = LogView.of(log, columns)
    shift = _find_shift(view, law)
    cells = sum_cells(view, shift, law)
    n_rows = int(np.sum(cells["n"].to_numpy()))
    bad = BadRows(0)
    if not _all_good(cells, view, law):
        bad = describe_bad_rows(log, columns, view.categorical, law)
        if bad.n_rows and not drop_bad_rows:
            raise InvalidInput(f"{log.name} has {bad} {_advice(bad, columns, law)}")
        cells = sum_cells(only_good(view, law), shift, law)
        if not _all_good(cells, view, law):
            raise InvalidInput(f"{log.name} has values too large to be squared and added up. Use larger units.")
    return Reading(log.name, cell_statistics(cells, view, shift), columns, n_rows, bad)


def _advice(bad: BadRows, columns: Columns, law: Rewards) -> str:
    if law.family is Family.BERNOULLI and any(kind == f"{columns.reward} not 0 or 1" for kind, _ in bad.kinds):
        return "If rewards are not 0 or 1, say what they are: --rewards bounded or gaussian."
    return "Correct them, or drop them: --drop-bad-rows."


def _find_shift(view: LogView, law: Rewards) -> FloatArray:
    """A round number near the middle of each column; 0 for rewards in a range, whose sums are then exact counts."""
    first = view.table.select(*view.numbers).limit(SHIFT_ROWS).to_pyarrow()
    shift = np.zeros(len(view.numbers))
    for index, name in enumerate(view.numbers):
        values = first[name].to_numpy().astype(float)
        values = values[np.isfinite(values)]
        if values.size and not (name == "r" and law.family is not Family.GAUSSIAN):
            shift[index] = float(f"{np.median(values):.6g}")
    return shift


def sum_cells(view: LogView, shift: FloatArray, law: Rewards) -> "pa.Table":
    """Per (unit, arm, categories): rows, sums and products of the shifted numbers, and what shows that all are good."""
    table, numbers = view.table, view.numbers
    shifted = {name: table[name] - by if by else table[name] for name, by in zip(numbers, shift, strict=True)}
    whole = table["r"]
    for name in numbers[:-1]:
        whole = whole + table[name]
    keys = {key: table[key] for key in view.keys}
    weight = {"w": table["w"]} if view.weighted else {}
    z = table.select(**keys, **shifted, **weight, whole=whole)
    sums = {f"s_{a}": z[a].sum() for a in numbers}
    products = {f"p_{a}_{b}": (z[a] * z[b]).sum() for i, a in enumerate(numbers) for b in numbers[i:]}
    checks = {"n": z.count(), "whole": z["whole"].count()}
    if law.family is not Family.GAUSSIAN:
        checks |= {"least": z["r"].min(), "most": z["r"].max()}
    if law.family is Family.BERNOULLI:
        checks["between"] = (z["r"] * (1 - z["r"])).sum()
    if view.weighted:
        w, r = z["w"], z["r"]
        sums |= dict(zip(WEIGHTED, (x.sum() for x in (w, w * w, w * r, w * w * r, w * w * r * r)), strict=True))
        checks |= {"n_weights": w.count(), "least_weight": w.min()}
    return z.group_by(view.keys).agg(**checks, **sums, **products).to_pyarrow()


def _all_good(cells: "pa.Table", view: LogView, law: Rewards) -> bool:
    """Whether the sums themselves show that no row was bad, so that rows need not be looked at one by one.

    A missing number is not counted in `whole`, an infinite one makes a sum infinite, a category has a row of its own.
    """
    if any(cells[key].null_count for key in view.keys):
        return False
    column = {name: cells[name].to_numpy() for name in cells.column_names if name not in view.keys}
    if not (column["n"] == column["whole"]).all():
        return False
    if not all(np.isfinite(column[name].astype(float)).all() for name in column):
        return False
    if law.family is not Family.GAUSSIAN and cells.num_rows:
        if not (column["least"].min() >= law.low and column["most"].max() <= law.high):
            return False
        if law.family is Family.BERNOULLI and (column["between"] != 0).any():
            return False
    if view.weighted:
        return bool((column["n_weights"] == column["n"]).all() and (column["least_weight"] >= 1).all())
    return True


def _draw_sample(view: LogView, features: tuple[Feature, ...], sample_size: int, seed: int) -> FloatArray:
    """At most `sample_size` contexts as rows of the statistics' features; nothing else of the log is kept.

    DuckDB draws by the seed; engines that know no seed draw anew every time.
    """
    from ibis import IbisError

    if sample_size < 2:
        raise invalid("sample_size", "at least 2", sample_size)
    n = max(int(view.table.count().to_pyarrow().as_py()), 1)
    share = min(1.0, 1.2 * sample_size / n)
    try:
        rows = view.table.sample(share, seed=seed).limit(sample_size).to_pyarrow()
    except IbisError:
        rows = view.table.sample(share).limit(sample_size).to_pyarrow()
    values = {name: rows[f"x{index}"].to_numpy() for index, name in enumerate(view.numeric)}
    labels = {name: np.array(rows[f"c{index}"].to_pylist(), str) for index, name in enumerate(view.categorical)}
    return np.column_stack(
        [values[f.name] if f.level is None else (labels[f.name] == f.level).astype(float) for f in features]
    )
