"""The CSV matrix of means: a header of arm names, optionally the tasks' names in the first column, one row per task."""

import csv
import io
import re
from pathlib import Path

from banditree.errors import InvalidInput
from banditree.files.documents import read_text

HINT = "Write a header of arm names, one row per task, commas between fields and points in numbers, as in 0.25."


def read_matrix(path: Path) -> tuple[list[str] | None, list[str], list[list[float]]]:
    """(task names or None, arm names, means) of a CSV file; every way in which it is not one is named."""
    text = read_text(path)
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if any(field.strip() for field in row)]
    except csv.Error as problem:
        raise InvalidInput(f"{path} is not a table of means: {problem}. {HINT}") from None
    if not rows:
        raise InvalidInput(f"{path} is empty. {HINT}")
    _check_separators(path, text)
    header = [field.strip() for field in rows[0]]
    if all(_is_number(field) for field in header):
        raise InvalidInput(f"{path}: the first line must be a header of arm names. Got numbers. {HINT}")
    has_tasks = header[0].lower() == "task" or _holds_names([row[0] for row in rows[1:]])
    arms = header[1:] if has_tasks else header
    if len(rows) == 1:
        raise InvalidInput(f"{path} has a header and no tasks. {HINT}")
    tasks, means = [], []
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise InvalidInput(f"{path}, line {number}: {len(row)} fields where the header has {len(header)}. {HINT}")
        if has_tasks:
            tasks.append(row[0].strip())
        fields = row[1:] if has_tasks else row
        means.append([_number(path, number, arm, field) for arm, field in zip(arms, fields, strict=True)])
    return (tasks if has_tasks else None), arms, means


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


def _number(path: Path, line: int, arm: str, field: str) -> float:
    if _is_number(field):
        return float(field)
    place = f"{path}, line {line}, arm {arm!r}"
    if not field.strip():
        raise InvalidInput(f"{place}: the mean is missing. Fill it in, or remove the arm or the task.")
    if re.fullmatch(r"\s*-?\d+,\d+\s*", field):
        raise InvalidInput(f"{place}: {field!r} has a decimal comma. {HINT}")
    raise InvalidInput(f"{place}: {field!r} is not a number. {HINT}")
