"""The contexts of the rows of a log, as the features of a plan ask for them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.training.cells import name_of
from banditree.training.sources import Log

if TYPE_CHECKING:
    import pyarrow as pa

CONTEXT = "context "  # The names of context columns begin with this among the columns that are read.


def context_names(features: Sequence[Feature], log: Log) -> dict[str, bool]:
    """The columns that the features need, and whether each is a category; refused where the log lacks one."""
    asked = {f.name: f.level is not None for f in features if f.name != INTERCEPT}
    if missing := [name for name in asked if name not in log.types]:
        names = ", ".join(map(repr, missing))
        raise invalid("the log", f"one with the context columns of the plan ({', '.join(asked)})", f"no {names}")
    return asked


def contexts_of(rows: "pa.Table", features: Sequence[Feature]) -> FloatArray:
    """The contexts (n, d) of rows that were read with `context_names`."""
    columns = []
    for feature in features:
        if feature.name == INTERCEPT:
            columns.append(np.ones(len(rows)))
        elif feature.level is None:
            columns.append(rows[CONTEXT + feature.name].to_numpy().astype(float))
        else:
            columns.append(_is_level(rows, feature))
    return np.column_stack(columns)


def _is_level(rows: "pa.Table", feature: Feature) -> FloatArray:
    names = [name_of(value) for value in rows[CONTEXT + feature.name].to_pylist()]
    if strange := sorted(set(names) - set(feature.levels)) if feature.levels else []:
        raise InvalidInput(
            f"Column {feature.name!r} must be one of {', '.join(feature.levels)}, as the plan knows it. Got "
            f"{', '.join(map(repr, strange[:5]))}."
        )
    return np.array([name == feature.level for name in names], dtype=float)
