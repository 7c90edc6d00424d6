"""The single decisions of a log: what a fit needs that sums of the log do not tell."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from banditree.cases.values import names_in
from banditree.cases.view import LogView
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.training.statistics import Statistics

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DECISIONS = 500_000  # The most rows of a log that are looked at one by one; of a longer log, this many are drawn.


@dataclass(frozen=True, eq=False)
class Decisions:
    """n rows of a log: unit (n,) and arm (n,), as numbered by the statistics, contexts (n, d) and reward (n,)."""

    unit: IntArray
    arm: IntArray
    contexts: FloatArray
    reward: FloatArray


def read_decisions(view: LogView, statistics: Statistics, seed: int) -> Decisions:
    """The decisions of a log, or MOST_DECISIONS of them; of the same statistics, without bad rows."""
    rows = drawn_rows(view, MOST_DECISIONS, seed)
    places = {name: number for number, name in enumerate(statistics.tasks)}
    units, arms = names_in(rows["unit"]).tolist(), names_in(rows["arm"]).tolist()
    if view.labelled:  # one individual of several kinds counts once for each, under a name that says so
        both = [f"{unit} ({kind})" for unit, kind in zip(units, names_in(rows["task"]), strict=True)]
        units = [name if name in places else unit for name, unit in zip(both, units, strict=True)]
    arm_places = {name: number for number, name in enumerate(statistics.arms)}
    return Decisions(
        np.array([places[unit] for unit in units], dtype=np.int64),
        np.array([arm_places[arm] for arm in arms], dtype=np.int64),
        view.contexts(rows, statistics.features),
        rows["r"].to_numpy().astype(float),
    )


def drawn_rows(view: LogView, most: int, seed: int) -> "pa.Table":
    """At most `most` rows of a log. DuckDB draws by the seed; engines that take no seed draw other rows every time."""
    from ibis import IbisError

    n = max(int(view.table.count().to_pyarrow().as_py()), 1)
    share = min(1.0, 1.2 * most / n)
    try:
        return view.table.sample(share, seed=seed).limit(most).to_pyarrow()
    except IbisError:
        return view.table.sample(share).limit(most).to_pyarrow()
