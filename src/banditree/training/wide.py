"""Rows of individuals added up with one result per individual, its options side by side: what many individuals need.

An engine holds one group for each individual, instead of one for each individual and option, and no name of an option
is repeated a million times.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.cases.values import numbered, padded_note
from banditree.cases.view import LogView
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.training.statistics import Statistics

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ARMS = 16  # With more options, most groups of individual and option have no row, and are better not held.


def suits_wide(view: LogView) -> bool:
    """Whether the rows of individuals are all that is added up: without kinds, contexts, propensities or grades."""
    named = view.columns
    alone = named.task is None and not named.context and named.propensity is None and not view.categorical
    return named.individual is not None and alone


def wide_statistics(view: LogView, arms: "pa.Table", shift: FloatArray) -> tuple[Statistics, tuple[str, ...]] | None:
    """The statistics of individuals over the options in the column `arm`, and notes about their names.

    None where options are many, or where names differ by spaces alone, so that groups must be put together.
    """
    names, number = numbered(arms["arm"])
    if len(arms) > MOST_ARMS or len(names) < len(arms):
        return None
    table, values = view.table, arms["arm"].to_pylist()
    shifted = table["r"] - shift[-1] if shift[-1] else table["r"]
    sums: dict[str, Any] = {}
    for k, value in zip(number.tolist(), values, strict=True):
        here = table["arm"] == value
        sums[f"n{k}"] = table.count(where=here)
        if view.rewards.counts:  # engines hold counts in half the memory of sums
            sums[f"s{k}"] = table.count(where=here & (table["r"] == 1))
        else:
            sums |= {f"s{k}": shifted.sum(where=here), f"p{k}": (shifted * shifted).sum(where=here)}
    found = table.group_by("unit").agg(**sums).to_pyarrow()
    units, unit = numbered(found["unit"])
    if len(units) < len(found):
        return None
    notes = (*padded_note(found["unit"], view.columns.unit), *padded_note(arms["arm"], view.columns.arm))
    order = np.argsort(unit)
    count = _side_by_side(found, "n", len(names), order, np.int64)
    task, arm = np.nonzero(count)
    total = _side_by_side(found, "s", len(names), order, np.float64)[task, arm]
    squares = total
    if not view.rewards.counts:
        squares = _side_by_side(found, "p", len(names), order, np.float64)[task, arm]
    sums_of_rows = (count[task, arm], total[:, None], squares[:, None, None])
    return Statistics(units, names, (), task, arm, *sums_of_rows, shift), notes


def _side_by_side(found: "pa.Table", name: str, n_arms: int, order: IntArray, kind: type) -> Any:
    """The numbers (U, K) of one name, of individuals in the order of their names."""
    values: Any = np.empty((len(order), n_arms), kind)
    for k in range(n_arms):
        values[:, k] = np.nan_to_num(found[f"{name}{k}"].to_numpy())[order]
    return values
