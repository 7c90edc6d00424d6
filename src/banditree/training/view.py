"""The columns of a log that are used, in the form in which they are used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from banditree.errors import InvalidInput
from banditree.training.columns import Columns
from banditree.training.sources import Log

if TYPE_CHECKING:
    import ibis.expr.types as ir


YES, NO = ("true", "yes", "y", "t"), ("false", "no", "n", "f")  # How programs and people write truth values in text.


@dataclass(frozen=True)
class LogView:
    """The columns that are used, as they are used: `table` has unit, arm, category c0, c1.., number x0, x1.. and r.

    Its column `bad` says whether the row cannot be used. labelled: whether it has `task` besides the individual.
    """

    table: "ir.Table"
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    weighted: bool
    labelled: bool = False

    @classmethod
    def of(cls, log: Log, columns: Columns, categorical: Sequence[str], bad: Any) -> "LogView":
        """The view of a log; numbers are doubles, and what cannot be one is missing. bad: the test of a bad row."""
        numeric = tuple(name for name in columns.context if name not in categorical)
        table = log.table
        used = {"unit": as_key(table[columns.unit]), "arm": as_key(table[columns.arm])}
        labelled = columns.individual is not None and columns.task is not None
        if labelled:
            used["task"] = as_key(table[columns.task])
        used |= {f"c{index}": as_key(table[name]) for index, name in enumerate(categorical)}
        used |= {f"x{index}": as_number(table[name]) for index, name in enumerate(numeric)}
        used["r"] = as_number(table[columns.reward])
        if columns.propensity is not None:
            used["w"] = 1.0 / as_number(table[columns.propensity])
        view = table.select(**used, bad=bad.cast("int32"))
        return cls(view, numeric, tuple(categorical), columns.propensity is not None, labelled)

    def only_good(self) -> "LogView":
        """The view without its bad rows."""
        return replace(self, table=self.table.filter(self.table["bad"] == 0))

    @property
    def numbers(self) -> list[str]:
        """The numeric columns of the view, the reward last."""
        return [*(f"x{index}" for index in range(len(self.numeric))), "r"]

    @property
    def keys(self) -> list[str]:
        """The columns by which rows are grouped."""
        named = ["task", "unit", "arm"] if self.labelled else ["unit", "arm"]
        return [*named, *(f"c{index}" for index in range(len(self.categorical)))]


def as_key(column: Any) -> Any:
    """A column to group by; NaN and infinity are nobody's name and become missing."""
    if not column.type().is_floating():
        return column
    return (column - column == 0).ifelse(column, None)


def as_number(column: Any) -> Any:
    """A column as doubles; words such as "true" and "no" are 1 and 0, and other text that is no number is missing."""
    kind = column.type()
    if kind.is_string():
        # Stripped not only of spaces: DuckDB turns a bare TRY_CAST over a CSV file into a cast that fails.
        text = column.strip()
        truth = text.lower()
        return truth.isin(YES).ifelse(1.0, truth.isin(NO).ifelse(0.0, text.try_cast("float64")))
    if kind.is_boolean():
        return column.cast("int32").cast("float64")
    if not kind.is_numeric():
        raise InvalidInput(
            f"Column {column.get_name()!r} must be numbers. Got {kind}. Turn it into numbers, or omit it."
        )
    return column if kind.is_float64() else column.cast("float64")


def categories(log: Log, columns: Columns) -> tuple[str, ...]:
    """The context columns that are categories: those said to be, and text."""
    text = {name for name in columns.context if log.types[name].is_string()}
    return tuple(name for name in columns.context if name in (columns.categorical | text) - columns.numeric)
