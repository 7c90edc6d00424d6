"""The cases of a log that is larger than what is read of it: whole cases, drawn by the seed on the engine."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from banditree.cases.view import LogView


class Drawn(NamedTuple):
    """What was drawn: the view of these cases, and how large the log is of which they are a part."""

    view: LogView
    n_cases: int
    of_cases: int
    of_rows: int
    of_bad: int

    @property
    def note(self) -> str:
        """For people."""
        return (
            f"The log has {self.of_rows:,} rows: {self.n_cases:,} of its {self.of_cases:,} cases are used, drawn by "
            "the seed. For more, raise most_rows."
        )


def drawn_cases(view: LogView, most_rows: int, seed: int) -> Drawn | None:
    """As many whole cases as have `most_rows` rows together; None where all of them have fewer.

    The engine adds up the rows of every case and finds those of the cases drawn; no other row leaves it. Which cases
    are drawn follows from the seed and their names alone, so it is the same on every engine.
    """
    import ibis
    import pyarrow as pa

    table = view.table
    if table.count().to_pyarrow().as_py() <= most_rows:
        return None
    sizes = table.group_by("unit").agg(n=table.count(), bad=table["bad"].sum()).to_pyarrow()
    n_rows, n_bad = (int(np.sum(sizes[name].to_numpy())) for name in ("n", "bad"))
    sizes = sizes.filter(sizes["unit"].is_valid()).sort_by("unit")
    order = np.random.default_rng([seed, 5]).permutation(len(sizes))
    rows = np.cumsum(sizes["n"].to_numpy()[order])
    kept = np.sort(order[: max(1, int(np.searchsorted(rows, most_rows, side="right")))])
    if view.log.ordered:
        table = table.mutate(row=ibis.row_number())
    chosen = ibis.memtable(pa.table({"unit": sizes["unit"].take(pa.array(kept))}))
    return Drawn(replace(view, table=table.semi_join(chosen, "unit")), len(kept), len(sizes), n_rows, n_bad)
