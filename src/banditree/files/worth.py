"""What outcomes are worth, as people write it in a table: a column for every option, a row for every kind of number.

    ,A,B
    price per round,12,30
    value of a success,100,100
    cost of a change,40,
    unit,EUR,

A table of rates may have these rows below its tasks; a table of its own goes with any collection.
"""

from pathlib import Path
from typing import Any

from banditree.errors import InvalidInput
from banditree.files.matrix import CHANGE, PRICE, UNIT, VALUE, Row, is_about_worth, numbers, read_rows
from banditree.tasks.changes import with_worth
from banditree.tasks.collection import Collection


def load_worth(path: str | Path, collection: Collection) -> Collection:
    """The collection with the worth that a CSV table says."""
    (_corner, *arms), rows = read_rows(Path(path), _known())
    if not rows:
        raise InvalidInput(f"{path} has no rows. {_known()}")
    if other := [row for row in rows if not is_about_worth(row.fields[0])]:
        raise InvalidInput(f"{other[0].place}: {other[0].fields[0]!r} says nothing about worth. {_known()}")
    if unknown := [arm for arm in arms if arm not in collection.arms]:
        known = ", ".join(map(repr, collection.arms))
        raise InvalidInput(f"{path}: the column {unknown[0]!r} is no option. Options are {known}.")
    if missing := [arm for arm in collection.arms if arm not in arms]:
        raise InvalidInput(f"{path}: there is no column for the option {missing[0]!r}. Add it.")
    place = [1 + arms.index(arm) for arm in collection.arms]
    return with_rows(collection, [Row(row.place, [row.fields[at] for at in (0, *place)]) for row in rows])


def with_rows(collection: Collection, rows: list[Row]) -> Collection:
    """The collection with the worth in some rows, whose fields are a name and one number per arm, in order."""
    given: dict[str, Any] = {}
    values: dict[str, list[float]] = {}
    for row in rows:
        name = row.fields[0].lower()
        if name in given or row.fields[0][len(VALUE) :] in values:
            raise InvalidInput(f"{row.place}: there are two rows {row.fields[0]!r}. Remove one.")
        if name == UNIT:
            given[UNIT] = _only(row)
        elif name == CHANGE:
            given[CHANGE] = numbers(Row(row.place, [_only(row)]), ["any"], "cost", "Fill it in, or remove the row.")[0]
        else:
            row_numbers = numbers(row, list(collection.arms), "number", "Fill it in: 0 for nothing.")
            if name == PRICE:
                given[PRICE] = row_numbers
            else:
                values[_outcome(row.fields[0])] = row_numbers
    names = {PRICE: "price", CHANGE: "change", UNIT: "unit"}
    worth: dict[str, Any] = {names[name]: value for name, value in given.items()}
    try:
        return with_worth(collection, **worth, **({"value": values} if values else {})) if rows else collection
    except InvalidInput as problem:
        raise InvalidInput(f"{rows[0].place.rpartition(',')[0]}: {problem}") from None


def _outcome(name: str) -> str:
    """The outcome in "value of a success"."""
    return name[len(VALUE) :].strip().removeprefix("a ").removeprefix("an ")


def _only(row: Row) -> str:
    """What a row says once, for all options."""
    said = {field for field in row.fields[1:] if field}
    if len(said) != 1:
        got = ", ".join(repr(one[:50]) for one in sorted(said)) or "nothing"
        raise InvalidInput(f"{row.place}: {row.fields[0]!r} must say one thing. Got {got}.")
    return said.pop()


def _known() -> str:
    return f'Its rows are "{PRICE}", "{VALUE}..." and an outcome, "{CHANGE}" and "{UNIT}".'
