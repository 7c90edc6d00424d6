"""The columns of a log that are used, in the form in which they are used, on the engine that holds the log."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.cases.bad_rows import Problem, advice, any_of, describe_bad_rows, problems_of
from banditree.cases.columns import Columns, find_columns
from banditree.cases.sources import Log, open_log, plainly
from banditree.cases.values import as_key, as_number, names_in, numbered
from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.tasks.rewards import Rewards

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from banditree.cases.bad_rows import BadRows

NO, YES = "0", "1"  # The values of a number that says yes or no, which people read as "is 1", not "above 0".
MOST_LEVELS = 100  # A column of text may have this many values to be a category.


@dataclass(frozen=True, eq=False)
class LogView:
    """A log whose `table` has the columns unit, arm, category c0, c1.., number x0, x1.. and r.

    Where the log has them, also task (besides the individual), p(ropensity), o(ccasion), t(ime), label l0, l1.. and
    v (whether a person overrode the plan). Its column `bad` says whether the row has one of the `problems`.
    """

    log: Log
    columns: Columns
    rewards: Rewards
    table: "ir.Table"
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    problems: tuple[Problem, ...]

    def only_good(self) -> "LogView":
        """The view without its bad rows."""
        return replace(self, table=self.table.filter(self.table["bad"] == 0))

    def bad_rows(self, n_rows: int, n_bad: int, *, drop: bool, hint: str | None = None) -> "BadRows":
        """What is wrong with the bad rows; refused, with what to do, unless they may be dropped and others are left."""
        if not n_rows:
            raise InvalidInput(f"{self.log.name} has a header and no rows. Check that it is the right file.")
        bad = describe_bad_rows(self.log, self.problems if n_bad else ())
        if bad.n_rows and (not drop or bad.n_rows == n_rows):
            what_to_do = advice(self.log, bad, n_rows, self.columns, self.rewards, hint)
            raise InvalidInput(f"{self.log.name} has {bad} {what_to_do}")
        return bad

    @property
    def labelled(self) -> bool:
        """Whether it has `task` besides the individual."""
        return self.columns.individual is not None and self.columns.task is not None

    @property
    def numbers(self) -> list[str]:
        """The numeric columns of the view, the reward last."""
        return [*(f"x{index}" for index in range(len(self.numeric))), "r"]

    @property
    def keys(self) -> list[str]:
        """The columns by which rows are grouped."""
        named = ["task", "unit", "arm"] if self.labelled else ["unit", "arm"]
        return [*named, *(f"c{index}" for index in range(len(self.categorical)))]

    def contexts(self, rows: "pa.Table", features: Sequence[Feature]) -> FloatArray:
        """The contexts (n, d) of rows of the table, as these features."""
        return np.column_stack([self._values(rows, feature) for feature in features])

    def features(self, rows: "pa.Table") -> tuple[Feature, ...]:
        """The features of the context columns of rows of the table: an intercept, numbers, categories but the first."""
        found = [Feature(INTERCEPT)]
        for index, name in enumerate(self.numeric):
            values = np.unique(rows[f"x{index}"].to_numpy())
            found.append(Feature(name, YES, (NO, YES)) if values.tolist() == [0.0, 1.0] else Feature(name))
        for index, name in enumerate(self.categorical):
            levels = numbered(rows[f"c{index}"])[0]
            if len(levels) > MOST_LEVELS:
                raise InvalidInput(
                    f"Column {name!r} must have at most {MOST_LEVELS} values to be a context. Got {len(levels):,}. "
                    "Group its values, or omit it."
                )
            found += [Feature(name, level, levels) for level in levels[1:]]
        return tuple(found)

    def _values(self, rows: "pa.Table", feature: Feature) -> FloatArray:
        if feature.name == INTERCEPT:
            return np.ones(len(rows))
        if feature.name in self.numeric and feature.level is not None:
            return np.asarray(rows[f"x{self.numeric.index(feature.name)}"].to_numpy() == float(feature.level), float)
        if feature.level is None:
            return np.asarray(rows[f"x{self.numeric.index(feature.name)}"].to_numpy(), float)
        names = names_in(rows[f"c{self.categorical.index(feature.name)}"])
        if feature.levels and (strange := sorted({*names.tolist()} - {*feature.levels})):
            raise InvalidInput(
                f"Column {feature.name!r} must be one of {', '.join(feature.levels)}, as the plan knows it. Got "
                f"{', '.join(map(repr, strange[:5]))}."
            )
        return np.asarray(names == feature.level, float)


@contextmanager
def engine_in_words(name: str) -> Iterator[None]:
    """What goes wrong in an engine said in words, and its warnings about its own libraries not at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (InvalidInput, MemoryError):
            raise
        except Exception as problem:
            raise InvalidInput(f"{name} cannot be read: {plainly(problem)}") from None


def open_view(
    source: Any,
    rewards: Rewards,
    *,
    table: str | None = None,
    by_case: bool = False,
    unknown: bool = False,
    plan: str | None = None,
    **names: Any,
) -> LogView:
    """The view of a log; source, table: see `open_log`; by_case, names: see `find_columns`.

    unknown: a missing reward is no bad row, but an outcome that will not be known. plan: take only rows whose column
    `plan` has this id or none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = open_log(source, table)
    columns = find_columns(list(log.types), by_case=by_case, **names)
    text = {name for name in columns.context if log.types[name].is_string()}
    categorical = tuple(name for name in columns.context if name in (columns.categorical | text) - columns.numeric)
    if plan is not None and "plan" in log.types:
        mine = log.table["plan"].isnull() | (log.table["plan"].cast("string") == plan)
        log = log._replace(table=log.table.filter(mine), ordered=False)
    with engine_in_words(log.name):
        problems = problems_of(log, columns, categorical, rewards, unknown=unknown)
        used = _used(log, columns, categorical)
        view = log.table.select(**used, bad=any_of(problems).cast("int32"))
    numeric = tuple(name for name in columns.context if name not in categorical)
    return LogView(log, columns, rewards, view, numeric, categorical, tuple(problems))


def _used(log: Log, columns: Columns, categorical: Sequence[str]) -> dict[str, Any]:
    """The columns of a view; numbers are doubles, and what cannot be one is missing."""
    table = log.table
    numeric = [name for name in columns.context if name not in categorical]
    used = {"unit": as_key(table[columns.unit]), "arm": as_key(table[columns.arm])}
    if columns.individual is not None and columns.task is not None:
        used["task"] = as_key(table[columns.task])
    used |= {f"c{index}": as_key(table[name]) for index, name in enumerate(categorical)}
    used |= {f"x{index}": as_number(table[name]) for index, name in enumerate(numeric)}
    used["r"] = as_number(table[columns.reward])
    if columns.propensity is not None:
        used["p"] = as_number(table[columns.propensity])
    if columns.round is not None:
        used["o"] = as_key(table[columns.round])
    if columns.time is not None:
        time = table[columns.time]
        used["t"] = as_number(time) if log.types[columns.time].is_numeric() else time
    if columns.overridden is not None:
        used["v"] = as_number(table[columns.overridden])
    return used | {f"l{index}": table[name] for index, name in enumerate(columns.labels)}
