"""Tables that people bring: CSV, Parquet or Excel, checked before anything is kept of them.

What cannot be used is refused with a sentence. These functions are run in a process of their own with limits of time
and memory (`uploads.Reader`), since a small file may unpack to a large one.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from banditree.errors import how_to_install
from banditree.service.problems import Refused

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 1_000_000  # A table may have this many rows ...
MOST_COLUMNS = 200  # ... and this many columns.
MOST_NAME = 100  # The name of a column may have this many characters.
MOST_UNPACKED = 300_000_000  # A workbook or a Parquet file may unpack to this many bytes.
FIRST_ROWS = 8  # A person is shown this many rows.
MOST_SHOWN = 60  # This many characters of a cell are shown.
PARQUET, ZIP, OLD_OFFICE = b"PAR1", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # Files of these kinds begin with these bytes.
# What a spreadsheet would compute: "=1+1", and "+cmd|..." or "@SUM(...)"; a number with a sign is no formula.
FORMULA = r"^\s*(=|[+@-].*[(|!])"


class Table(NamedTuple):
    """A table as it is kept: Parquet with flat columns, and what a person sees of it at once."""

    content: bytes
    columns: list[str]
    n_rows: int
    first: list[list[str]]


def read_table(content: bytes) -> Table:
    """The table in a file, whatever the file is called; refuses what is none."""
    if content[:4] == PARQUET:
        table = _parquet(content)
    elif content[:4] == ZIP:
        table = _as_text(_excel_rows(content))
    elif content[:4] == OLD_OFFICE:
        raise Refused("This is an old Excel workbook (.xls). Save it as .xlsx or as CSV, and choose that file.")
    else:
        table = _as_text(_csv_rows(content))
    _refuse_formulas(table)
    return Table(written(table), list(table.column_names), table.num_rows, shown_rows(table, range(FIRST_ROWS)))


def opened(content: bytes) -> "pa.Table":
    """A table that was kept."""
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(content))


def shown_rows(table: "pa.Table", numbers: Iterable[int]) -> list[list[str]]:
    """Some rows of a table as short texts; those that are not there are skipped."""
    kept = [number for number in numbers if number < table.num_rows]
    rows = table.take(kept).to_pylist() if kept else []
    return [["" if cell is None else _plain(cell)[:MOST_SHOWN] for cell in row.values()] for row in rows]


def written(table: "pa.Table") -> bytes:
    """A table as it is kept."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _parquet(content: bytes) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(content))
        about = file.metadata
        size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        _check_size(about.num_rows, file.schema_arrow.names)
        if size > MOST_UNPACKED:
            raise Refused(_too_large(size))
        table = file.read()
    except (pa.ArrowException, OSError) as problem:
        raise Refused(f"This is not a Parquet file that can be read: {_first_line(problem)}.") from None
    return pa.table({name: _flat(name, table[name]) for name in table.column_names})


def _flat(name: str, column: Any) -> Any:
    """A column as numbers, truth or text; lists and records are refused."""
    import pyarrow as pa

    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise Refused(f"Column {name!r} must hold one number or text per row. Got {column.type}. Remove it.")
    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)
    return column if plain else column.cast(pa.string())


def _csv_rows(content: bytes) -> list[list[str]]:
    if b"\x00" in content[:100_000]:
        raise Refused("This is not a table: it must be a CSV, Parquet or Excel (.xlsx) file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused('The file is not text in UTF-8. In Excel choose "CSV UTF-8" when you save it.') from None
    head = text.lstrip().partition("\n")[0]
    mark = max(",;\t", key=head.count)  # commas where none of them is there
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=mark) if any(cell.strip() for cell in row)]
    except csv.Error as problem:
        raise Refused(f"The file is not a table: {problem}.") from None
    return [[_decimal_point(cell) for cell in row] for row in rows] if mark == ";" else rows


def _decimal_point(cell: str) -> str:
    """A number with a decimal comma, which comes with semicolons between cells, with a point.

    >>> _decimal_point("0,25"), _decimal_point("A, B")
    ('0.25', 'A, B')
    """
    return cell.replace(",", ".") if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", cell) else cell


def _excel_rows(content: bytes) -> list[list[str]]:
    """The first sheet that has anything in it."""
    _check_workbook(content)
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise Refused(
            f"Reading Excel files needs an extra. {how_to_install('excel')} Or save the table as CSV."
        ) from None
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        for name in book.sheet_names:
            rows = [[_plain(cell) for cell in row] for row in book.get_sheet_by_name(name).to_python()]
            if rows := [row for row in rows if any(cell.strip() for cell in row)]:
                return rows
    except (CalamineError, OSError, ValueError) as problem:
        raise Refused(f"The workbook cannot be read: {_first_line(problem)}. Save it again, or as CSV.") from None
    return []


def _check_workbook(content: bytes) -> None:
    """Refuse what has macros, unpacks to too much, or is another kind of archive; by its list of contents."""
    try:
        parts = zipfile.ZipFile(io.BytesIO(content)).infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as problem:
        raise Refused(f"The file cannot be unpacked: {problem}. Save it again, or as CSV.") from None
    names = [part.filename.lower() for part in parts]
    if any("vbaproject" in name or "/macrosheets/" in name for name in names):
        raise Refused("The workbook has macros. Save it without macros (.xlsx) or as CSV, and choose that file.")
    if (size := sum(part.file_size for part in parts)) > MOST_UNPACKED:
        raise Refused(_too_large(size))
    if "xl/workbook.xml" not in names:
        raise Refused("The file is an archive and no Excel workbook (.xlsx). Unpack it, and choose the table in it.")


def _plain(cell: Any) -> str:
    """A cell as text: whole numbers without a point, times as in ISO 8601.

    >>> _plain(3.0), _plain(0.25), _plain(True), _plain(" A ")
    ('3', '0.25', 'true', 'A')
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return cell.isoformat() if isinstance(cell, date | datetime) else str(cell).strip()


def _as_text(rows: Sequence[Sequence[str]]) -> "pa.Table":
    """Rows under a header as columns of text, in which empty cells are missing."""
    import pyarrow as pa

    if not rows:
        raise Refused("The file is empty. Choose one with a header and a row per line.")
    names = [cell.strip() for cell in rows[0]]
    while names and not names[-1]:
        names.pop()  # spreadsheets leave empty columns at the right
    _check_size(len(rows) - 1, names)
    cells = [_row(number, row, len(names)) for number, row in enumerate(rows[1:], 1)]
    columns = zip(*cells, strict=True) if cells else ([] for _ in names)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})


def _row(number: int, row: Sequence[str], width: int) -> list[str | None]:
    if any(cell.strip() for cell in row[width:]):
        raise Refused(f"Row {number} has {len(row)} cells, and the header {width}. Quote cells with commas in them.")
    cells = [cell.strip() or None for cell in row[:width]]
    return cells + [None] * (width - len(cells))


def _check_size(n_rows: int, names: Sequence[str]) -> None:
    if not n_rows:
        raise Refused("The file has a header and no rows. Check that it is the right one.")
    if n_rows > MOST_ROWS or len(names) > MOST_COLUMNS:
        most = f"at most {MOST_ROWS:,} rows and {MOST_COLUMNS} columns"
        raise Refused(f"A table may have {most}. Got {n_rows:,} and {len(names):,}. Use the command line for more.")
    if empty := [str(number) for number, name in enumerate(names, 1) if not name.strip()]:
        raise Refused(f"Every column must have a name in the first row. Column {', '.join(empty[:5])} has none.")
    if twice := sorted({name for name in names if list(names).count(name) > 1}):
        raise Refused(f"Every column must have a name of its own. Got {twice[0][:MOST_NAME]!r} twice.")
    if long := [name for name in names if len(name) > MOST_NAME]:
        raise Refused(f"The name of a column has at most {MOST_NAME} characters. Got {long[0][:MOST_NAME]!r}...")
    if all(re.fullmatch(r"[+-]?\d+([.,]\d+)?", name) for name in names):
        raise Refused("The first row must be a header with the names of the columns. Got numbers.")


def _refuse_formulas(table: "pa.Table") -> None:
    """Refuse text that a spreadsheet would compute: whoever opens an export of it would run what a stranger wrote."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in table.column_names:
        if re.search(FORMULA, name):
            raise Refused(f"The name of a column is a formula: {name[:MOST_SHOWN]!r}. Give it another name.")
        if pa.types.is_string(table[name].type):
            found = pc.index(pc.fill_null(pc.match_substring_regex(table[name], FORMULA), False), True).as_py()
            if found >= 0:
                shown = table[name][found].as_py()[:MOST_SHOWN]
                raise Refused(f"Row {found + 1} of column {name!r} is a formula: {shown!r}. Save values, not formulas.")


def _too_large(size: int) -> str:
    return f"The file unpacks to {size:,} bytes, more than the {MOST_UNPACKED:,} that are read."


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0].rstrip(".")[:200] if str(problem).strip() else type(problem).__name__
