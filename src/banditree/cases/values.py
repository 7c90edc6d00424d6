"""The values of a column as names, numbers and days, as a person would read them."""

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

YES, NO = ("true", "yes", "y", "t"), ("false", "no", "n", "f")  # How programs and people write truth values in text.
READ = 10_000  # With more values than this, nobody reads their order.
DAY = 86_400.0  # Seconds of a day.


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


def name_of(value: Any) -> str:
    """The value as a name, without spaces around it; a whole number that is stored with a point has none."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def natural(name: str) -> list[tuple[int, Any]]:
    """A key that sorts "task 2" before "task 10"."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", name) if part]


def numbered(column: "pa.ChunkedArray") -> tuple[tuple[str, ...], IntArray]:
    """The different values as names, in the order a person would give them, and the number of each row's."""
    encoded = column.unify_dictionaries().combine_chunks().dictionary_encode()
    if len(encoded.dictionary) > READ:
        return _many_numbered(encoded)
    values = encoded.dictionary.to_pylist()
    by_name = {name_of(value): value for value in values}
    is_text = any(isinstance(value, str) for value in values)
    order = sorted(by_name, key=natural if is_text else by_name.__getitem__)
    place = {name: number for number, name in enumerate(order)}
    numbers = np.array([place[name_of(value)] for value in values], np.int64)
    return tuple(order), numbers[encoded.indices.to_numpy().astype(np.int64)]


def _many_numbered(encoded: "pa.DictionaryArray") -> tuple[tuple[str, ...], IntArray]:
    """The same for more names than anybody reads, in the order in which a computer sorts them."""
    values = encoded.dictionary.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "iu":
        values = np.array([name_of(value) for value in values])
    present, place = np.unique(values, return_inverse=True)
    return tuple(map(str, present.tolist())), place.astype(np.int64)[encoded.indices.to_numpy()]


def names_in(column: "pa.ChunkedArray") -> "np.ndarray[Any, np.dtype[Any]]":
    """The names (n,) in a column, row by row."""
    names, number = numbered(column)
    return np.array(names, str)[number]


def padded_note(values: "pa.ChunkedArray", column: str) -> list[str]:
    """The sentence for one column, if spaces were removed from a name in it."""
    padded = [value for value in values.unique().to_pylist() if isinstance(value, str) and value != value.strip()]
    return [f"Spaces around names in column {column!r} were removed, as in {padded[0]!r}."] if padded else []


def days_in(column: "pa.ChunkedArray") -> FloatArray:
    """The days (n,) of a column of times."""
    encoded = column.unify_dictionaries().combine_chunks().dictionary_encode()
    days = np.array([day_of(value) for value in encoded.dictionary.to_pylist()], float)
    return np.asarray(days[encoded.indices.to_numpy().astype(np.int64)])


def day_of(time: Any) -> float:
    """Days since 1970 (UTC) of a date, a time, or its text in ISO 8601; numbers are days already.

    >>> day_of("1970-01-02T12:00:00Z"), day_of(3)
    (1.5, 3.0)
    """
    if isinstance(time, int | float):
        return float(time)
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            raise invalid("at", "a time such as 2026-05-31T08:00:00Z", time) from None
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime):
        raise invalid("at", "a time such as 2026-05-31T08:00:00Z", time)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() / DAY


def date_of(day: float) -> date:
    """The date (UTC) of a number of days since 1970.

    >>> str(date_of(20_000.5))
    '2024-10-04'
    """
    return datetime.fromtimestamp(day * DAY, UTC).date()
