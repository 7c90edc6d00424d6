"""The CSV matrix of means: a header of arm names, optionally the tasks' names in the first column, one row per task.

Rows on what outcomes are worth and on harm may follow: see `files.worth` and `files.harm`.
"""

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from banditree.errors import InvalidInput
from banditree.files.documents import read_text

HINT = "Write a header of arm names, one row per task, commas between fields and points in numbers, as in 0.25."

# The rows below the tasks that say what outcomes are worth.
PRICE, VALUE, CHANGE, UNIT = "price per round", "value of ", "cost of a change", "unit"
HARM = "harm"  # So the names of the rows begin that say how often options do harm.


class Row(NamedTuple):
    """A row of a table as it is written, and where that is: "rates.csv, line 3"."""

    place: str
    fields: list[str]


def read_matrix(path: Path) -> tuple[list[str] | None, list[str], list[list[float]], list[Row]]:
    """(task names or None, arm names, means, rows on worth and harm) of a CSV file, or how it is not one."""
    header, rows = read_rows(path)
    if all(_is_number(field) for field in header):
        raise InvalidInput(f"{path}: the first line must be a header of arm names. Got numbers. {HINT}")
    has_tasks = header[0].lower() == "task" or _holds_names([row.fields[0] for row in rows])
    arms = header[1:] if has_tasks else header
    if len(rows) == 0:
        raise InvalidInput(f"{path} has a header and no tasks. {HINT}")
    more = [row for row in rows if has_tasks and (is_about_worth(row.fields[0]) or is_about_harm(row.fields[0]))]
    rows = [row for row in rows if row not in more]
    means = [numbers(row, arms, "mean", "Fill it in, or remove the arm or the task.") for row in rows]
    return [row.fields[0] for row in rows] if has_tasks else None, arms, means, more


def read_rows(path: Path, hint: str = HINT) -> tuple[list[str], list[Row]]:
    """(header, rows) of a CSV file; every row has as many fields as the header. hint: what belongs in it."""
    text = read_text(path)
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if any(field.strip() for field in row)]
    except csv.Error as problem:
        raise InvalidInput(f"{path} is not a table: {problem}. {hint}") from None
    if not rows:
        raise InvalidInput(f"{path} is empty. {hint}")
    _check_separators(path, text)
    header, *rows = [[field.strip() for field in row] for row in rows]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise InvalidInput(f"{path}, line {number}: {len(row)} fields where the header has {len(header)}. {hint}")
    return header, [Row(f"{path}, line {number}", row) for number, row in enumerate(rows, 2)]


def is_about_worth(name: str) -> bool:
    """Whether a row of this name says what something is worth, and is no task.

    >>> is_about_worth("Value of full"), is_about_worth("value shoppers")
    (True, False)
    """
    lowered = name.lower()
    return lowered in (PRICE, CHANGE, UNIT) or lowered.startswith(VALUE)


def is_about_harm(name: str) -> bool:
    """Whether a row of this name says how often options do harm, and is no task.

    >>> is_about_harm("harm of severe"), is_about_harm("Harm"), is_about_harm("harmless")
    (True, True, False)
    """
    return name.lower() == HARM or name.lower().startswith(f"{HARM} of ")


def numbers(row: Row, arms: list[str], what: str, hint: str) -> list[float]:
    """The numbers of a row, one per arm. what: what they are; hint: what to do about one that is missing."""
    return [
        _number(f"{row.place}, arm {arm!r}", field, what, hint)
        for arm, field in zip(arms, row.fields[-len(arms) :], strict=True)
    ]


def _check_separators(path: Path, text: str) -> None:
    header, _, body = text.strip().partition("\n")
    if ";" in header and "," not in header:
        also = ", and numbers have decimal commas" if re.search(r"\d,\d", body) else ""
        raise InvalidInput(f"{path}: fields are separated by semicolons{also}. {HINT}")
    if "\t" in header and "," not in header:
        raise InvalidInput(f"{path}: fields are separated by tabs. {HINT}")


def _holds_names(column: list[str]) -> bool:
    """Whether a column has a name in every row: letters first, so that neither 0,5 nor a missing mean counts as one."""
    return bool(column) and all(field.strip()[:1].isalpha() and not _is_number(field) for field in column)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _number(place: str, field: str, what: str, hint: str) -> float:
    if _is_number(field):
        return float(field)
    if not field:
        raise InvalidInput(f"{place}: the {what} is missing. {hint}")
    if re.fullmatch(r"-?\d+,\d+", field):
        raise InvalidInput(f"{place}: {field!r} has a decimal comma. {HINT}")
    raise InvalidInput(f"{place}: {field!r} is not a number. {HINT}")
