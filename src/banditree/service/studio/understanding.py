"""How a table that people typed is read: its header, numbers, percentages and dates, and what has to be asked.

Nothing is guessed where two readings are possible: then there is a question, and nothing goes on before its answer.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from banditree.languages.language import message
from banditree.service.problems import Refused
from banditree.service.studio.content import Question, Reading
from banditree.service.studio.tables import AS_TYPED, NO_ROWS, SHEET, check_names, opened

if TYPE_CHECKING:
    import pyarrow as pa

LOOKED_FOR_HEADER = 30  # The header is among this many rows that are not empty.
MOST = 0.75  # A column is one of numbers or dates if this share of its cells are.
NARROW = 0.5  # A title has fewer than this share of the cells of the widest row.
BLANKS = "\u00a0\u202f\u2009 '’"  # What stands between thousands besides a comma or point.
SPACED = re.compile(rf"[+-]?\d{{1,3}}([{BLANKS}]\d{{3}})+([.,]\d+)?")
DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:[ T](\d{1,2}:\d{2}(?::\d{2})?))?")
# A number that can be read in one way only, by its decimal mark: two marks, or no group of three digits.
ONLY_COMMA = re.compile(r"[+-]?(\d*,(\d{1,2}|\d{4,})|0,\d+|\d{4,},\d+|\d{1,3}(\.\d{3})+,\d*|\d{1,3}(\.\d{3}){2,})")
ONLY_POINT = re.compile(r"[+-]?(\d*\.(\d{1,2}|\d{4,})|0?\.\d+|\d{4,}\.\d+|\d{1,3}(,\d{3})+\.\d*|\d{1,3}(,\d{3}){2,})")
EITHER = re.compile(r"[+-]?\d{1,3}[.,]\d{3}")
WHOLE = re.compile(r"[+-]?\d+")

Cells = Sequence[str | None]


class Understood(NamedTuple):
    """A table as it is read. numbers: those of its rows in the file. header: the number of that row, 0 for none.

    notes: what was understood, in sentences. questions: what must be answered first.
    """

    table: "pa.Table"
    numbers: Sequence[int]
    sheets: list[str]
    sheet: str
    header: int
    notes: list[str]
    questions: list[Question]


def understood(content: bytes, reading: Reading) -> Understood:
    """The table that was kept, as it is to be read."""
    kept = opened(content)
    if AS_TYPED not in (kept.schema.metadata or {}):
        return Understood(kept, range(1, kept.num_rows + 1), [], "", 0, [], [])
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = _cells_of(kept)
    sheet = reading.sheet if reading.sheet in cells else max(cells, key=lambda name: cells[name])
    only = kept.filter(pc.equal(kept[SHEET], sheet)).drop_columns([SHEET])
    rows = list(zip(*(column.to_pylist() for column in only.columns), strict=True))
    header, columns, numbers = _under_header(rows, reading.header)
    note = kept.schema.metadata[AS_TYPED].decode()
    read = _Read(reading, [note] if note else [])
    if len(cells) > 1:
        read.notes.append(message(f"Sheet {sheet!r} of {', '.join(map(repr, cells))} is read."))
    if header > 1:
        read.notes.append(message(f"Row {header} is the header; the rows above it are not read."))
    plain = read.columns({name: [cell for cell in dict.fromkeys(cells) if cell] for name, cells in columns.items()})
    for name, written in plain.items():
        columns[name] = [None if cell is None else written.get(cell, cell) for cell in columns[name]]
    table = pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})
    return Understood(table, numbers, list(cells), sheet, header, read.notes, read.questions)


def _cells_of(kept: "pa.Table") -> dict[str, int]:
    """How many cells of each sheet are not empty; those of none are omitted."""
    import numpy as np

    names = np.asarray(kept[SHEET].to_pylist(), dtype=object)
    filled = np.zeros(kept.num_rows, int)
    for column in kept.columns[1:]:
        filled += np.asarray(column.is_valid())
    counts = {str(name): int(filled[names == name].sum()) for name in dict.fromkeys(names)}
    return {name: n for name, n in counts.items() if n}


def _under_header(rows: Sequence[Cells], chosen: int | None) -> tuple[int, dict[str, list[str | None]], list[int]]:
    """(row number of the header, columns by name, row numbers) of a sheet."""
    full = [number for number, row in enumerate(rows, 1) if any(row)]
    header = chosen if chosen in full else _header(rows, full)
    names = [cell or "" for cell in rows[header - 1]]
    while names and not names[-1]:
        names.pop()  # spreadsheets leave empty columns at the right
    check_names(names)
    numbers = [number for number in full if number > header]
    if not numbers:
        raise Refused(NO_ROWS)
    for number in numbers:
        if any(rows[number - 1][len(names) :]):
            n_cells = max(place for place, cell in enumerate(rows[number - 1], 1) if cell)
            raise Refused(
                f"Row {number} has {n_cells} cells, and the header {len(names)}. Quote cells with commas in them."
            )
    columns = {name: [rows[number - 1][place] for number in numbers] for place, name in enumerate(names)}
    return header, columns, numbers


def _header(rows: Sequence[Cells], full: Sequence[int]) -> int:
    """The first row that is as wide as a table and has names: titles above it are narrower."""
    first = full[:LOOKED_FOR_HEADER]
    widest = max(sum(map(bool, rows[number - 1])) for number in first)
    wide = [number for number in first if sum(map(bool, rows[number - 1])) >= NARROW * widest]
    return wide[0]


class _Read:
    """Reads the different texts of columns, with what was understood on the way."""

    def __init__(self, reading: Reading, notes: list[str]) -> None:
        self.reading, self.notes, self.questions = reading, notes, list[Question]()

    def columns(self, columns: dict[str, list[str]]) -> dict[str, dict[str, str]]:
        """For the columns of numbers and dates, each text as programs write it."""
        dates = {name: cells for name, cells in columns.items() if _most(cells, DATE.fullmatch)}
        numbers = {name: cells for name, cells in columns.items() if name not in dates and _most(cells, _written)}
        return {**self._dates(dates), **self._numbers(numbers)}

    def _dates(self, columns: dict[str, list[str]]) -> dict[str, dict[str, str]]:
        if not columns:
            return {}
        found = [match for cells in columns.values() for cell in cells if (match := DATE.fullmatch(cell))]
        day_first = any(match[2] == "." or int(match[1]) > 12 for match in found)
        month_first = any(match[2] != "." and int(match[3]) > 12 for match in found)
        order = self.reading.dates
        if order is None and day_first != month_first:
            order = "day first" if day_first else "month first"
        if order is None:
            self.questions.append(_question_of_dates(next(iter(columns)), found[0][0]))
            return {}
        first = found[0][0]
        self.notes.append(message(f"Dates in {', '.join(columns)}: {first} is {_in_words(_date(first, order))}."))
        return {name: {cell: _date(cell, order) for cell in cells} for name, cells in columns.items()}

    def _numbers(self, columns: dict[str, list[str]]) -> dict[str, dict[str, str]]:
        marks = {name: {_written(cell) or "" for cell in cells} for name, cells in columns.items()}
        everywhere = set().union(*marks.values()) & {",", "."}
        read = dict[str, dict[str, str]]()
        for name, cells in columns.items():
            known = marks[name] & {",", "."} or (everywhere if len(everywhere) == 1 else set())
            mark = self.reading.decimals or (min(known) if len(known) == 1 else None)
            if mark is None and "?" in marks[name]:
                example = next(cell for cell in cells if _written(cell) == "?")
                if "," in example or "," in known:
                    self.questions.append(_question_of_decimals(name, example))
                    continue
            read[name] = {cell: _number(cell, mark or ".") for cell in cells if _written(cell) is not None}
        changed = [
            (cell, number, name) for name, pairs in read.items() for cell, number in pairs.items() if cell != number
        ]
        if first := next((one for one in changed if "%" in one[0]), None):
            self.notes.append(message(f"Percentages: {first[0]} is {first[1]} (column {first[2]})."))
        if first := next((one for one in changed if "," in one[0]), None):
            self.notes.append(message(f"Decimal commas: {first[0]} is {first[1]} (column {first[2]})."))
        return read


def _most(cells: Sequence[str], fits: Callable[[str], object]) -> bool:
    """Whether most texts fit; the others are shown as rows that cannot be used."""
    return bool(cells) and sum(fits(cell) is not None for cell in cells) >= MOST * len(cells)


def _written(cell: str) -> str | None:
    """The decimal mark of a number, "?" where it may be either, "" for a whole number; None for no number."""
    bare = _bare(cell)
    marks = {",": ONLY_COMMA, ".": ONLY_POINT, "?": EITHER, "": WHOLE}
    return next((mark for mark, fits in marks.items() if fits.fullmatch(bare)), None)


def _bare(cell: str) -> str:
    """A cell without its percent sign and what stands between thousands."""
    text = cell.replace("−", "-").strip().removesuffix("%").strip()
    return re.sub(f"[{BLANKS}]", "", text) if SPACED.fullmatch(text) else text


def _number(cell: str, mark: str) -> str:
    """A number as programs write it.

    >>> _number("1.234,5", ","), _number("1,234.5", "."), _number("85 %", "."), _number("31,5", ",")
    ('1234.5', '1234.5', '0.85', '31.5')
    """
    other = "." if mark == "," else ","
    plain = _bare(cell).replace(other, "").replace(mark, ".")
    return f"{float(plain) / 100:.12g}" if "%" in cell else plain


def _date(cell: str, order: str) -> str:
    """A date as programs write it; the text itself where it is none.

    >>> _date("3.4.2026", "day first"), _date("3/4/26 9:30", "month first"), _date("31/2/2026", "day first")
    ('2026-04-03', '2026-03-04T09:30', '31/2/2026')
    """
    match = DATE.fullmatch(cell)
    if match is None:
        return cell
    first, second, year = int(match[1]), int(match[3]), int(match[4]) + (2000 if len(match[4]) == 2 else 0)
    day, month = (first, second) if order == "day first" else (second, first)
    written = f"{year:04d}-{month:02d}-{day:02d}" + (f"T{match[5]:0>5}" if match[5] else "")
    return written if _is_day(written) else cell


def _in_words(date: str) -> str:
    """A date with the name of its month."""
    if not _is_day(date):
        return message("no date")
    day = datetime.fromisoformat(date)
    return f"{day.day} {day:%B} {day.year}"


def _is_day(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _question_of_dates(column: str, example: str) -> Question:
    match = DATE.fullmatch(example)
    assert match is not None
    choices = [
        (order, message(f"{match[1] if order[0] == 'd' else match[3]} is the day"))
        for order in ("day first", "month first")
    ]
    return Question(
        name="dates",
        text=message(f"Is {example} in column {column!r} written with the day or the month first?"),
        choices=choices,
    )


def _question_of_decimals(column: str, example: str) -> Question:
    choices = [(mark, message(f"{example} means {_number(example, mark)}")) for mark in (",", ".")]
    return Question(name="decimals", text=message(f"What is {example} in column {column!r}?"), choices=choices)
