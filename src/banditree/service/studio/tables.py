"""Tables that people bring: CSV, Parquet or Excel, checked before anything is kept of them.

What cannot be used is refused with a sentence. These functions are run in a process of their own with limits of time
and memory (`uploads.Reader`), since a small file may unpack to a large one.
"""

import codecs
import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from banditree.errors import how_to_install
from banditree.languages.language import message
from banditree.service.problems import Refused

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 1_000_000  # A table may have this many rows ...
MOST_COLUMNS = 200  # ... and this many columns.
MOST_NAME = 100  # The name of a column may have this many characters.
MOST_UNPACKED = 300_000_000  # A workbook or a Parquet file may unpack to this many bytes.
FIRST_ROWS = 8  # A person is shown this many rows.
MOST_SHOWN = 60  # This many characters of a cell are shown.
PARQUET, ZIP = b"PAR1", b"PK\x03\x04"  # Files of these kinds begin with these bytes.
OTHERS = {
    b"\xd0\xcf\x11\xe0": message("an old Excel workbook (.xls)"),
    b"%PDF": message("a PDF, whatever its name says"),
    b"{\\rtf": message("a text document (RTF)"),
    b"<!DOCTYPE": message("a web page"),
    b"<html": message("a web page"),
}
SHEET, AS_TYPED = "sheet", b"as typed"  # Of what people typed: the column with the sheet, and the mark of such a table.
NO_ROWS = message("The file has a header and no rows. Check that it is the right one.")
# What a spreadsheet would compute: "=1+1", and "+cmd|..." or "@SUM(...)"; a number with a sign is no formula.
FORMULA = r"^\s*(=|[+@-].*[(|!])"


class File(NamedTuple):
    """What is in a file: the rows of each sheet as they are written, none omitted, and a note on how it was read."""

    sheets: dict[str, list[list[str]]]
    note: str = ""


def read_table(content: bytes) -> bytes:
    """The table in a file, whatever the file is called, as it is kept; refuses what is none.

    What people typed is kept as it stands in the file; `understanding` says how it is read.
    """
    if content[:4] == PARQUET:
        table = _parquet(content)
        _refuse_formulas(table)
        return written(table)
    if content[:4] == ZIP:
        return _kept(_excel(content))
    for beginning, what in OTHERS.items():
        if content.startswith(beginning):
            raise Refused(f"This is {what}. Save the table in it as .xlsx or as CSV, and choose that file.")
    return _kept(_csv(content))


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
        if not about.num_rows:
            raise Refused(NO_ROWS)
        check_size(about.num_rows, len(file.schema_arrow.names))
        check_names(file.schema_arrow.names)
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


def _csv(content: bytes) -> File:
    text, note = _decoded(content)
    head = text.lstrip().partition("\n")[0]
    mark = max(",;\t", key=head.count)  # commas where none of them is there
    try:
        return File({"": list(csv.reader(io.StringIO(text), delimiter=mark))}, note)
    except csv.Error as problem:
        raise Refused(f"The file is not a table: {problem}.") from None


def _decoded(content: bytes) -> tuple[str, str]:
    """The text of a file, and a note where it is not in UTF-8."""
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encodings = {"utf-16": message("The text is in UTF-16.")}
    elif b"\x00" in content[:100_000]:
        raise Refused("This is not a table: it must be a CSV, Parquet or Excel (.xlsx) file.")
    else:
        encodings = {"utf-8-sig": "", "cp1252": message("The text is in Windows-1252, as Excel saves CSV files.")}
    for encoding, note in encodings.items():
        with suppress(UnicodeDecodeError):
            return content.decode(encoding), note
    raise Refused('The file is not text that can be read. In Excel choose "CSV UTF-8" when you save it.')


def _excel(content: bytes) -> File:
    _check_workbook(content)
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise Refused(
            f"Reading Excel files needs an extra. {how_to_install('excel')} Or save the table as CSV."
        ) from None
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except (CalamineError, OSError, ValueError) as problem:
        raise Refused(f"The workbook cannot be read: {_first_line(problem)}. Save it again, or as CSV.") from None
    return File({name: [[_plain(cell) for cell in row] for row in rows] for name, rows in sheets.items()})


def _check_workbook(content: bytes) -> None:
    """Refuse what has macros, unpacks to too much, or is another kind of archive; by its list of contents."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        _check_parts(archive.infolist())
        for name in archive.namelist():
            if re.match("xl/worksheets/[^/]+[.]xml$", name):
                _check_formulas(archive.read(name))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
        NotImplementedError,
        OSError,
        ValueError,
    ) as problem:
        raise Refused(f"The file cannot be unpacked: {problem}. Save it again, or as CSV.") from None


def _check_parts(parts: Sequence[zipfile.ZipInfo]) -> None:
    names = [part.filename.lower() for part in parts]
    if any("vbaproject" in name or "/macrosheets/" in name for name in names):
        raise Refused("The workbook has macros. Save it without macros (.xlsx) or as CSV, and choose that file.")
    if (size := sum(part.file_size for part in parts)) > MOST_UNPACKED:
        raise Refused(_too_large(size))
    if "xl/workbook.xml" not in names:
        raise Refused("The file is an archive and no Excel workbook (.xlsx). Unpack it, and choose the table in it.")


def _check_formulas(sheet: bytes) -> None:
    """Refuse a sheet with formulas whose values were not saved: their cells would be read as empty."""
    for cell in re.finditer(rb"<c\b[^>]*>(?:(?!</c>).)*?<f\b(?:(?!</c>).)*", sheet, re.DOTALL):
        if b"<v" not in cell.group() and b"<is" not in cell.group():
            place = re.search(rb'\br="([A-Z]+[0-9]+)"', cell.group())
            where = f" in cell {place[1].decode()}" if place else ""
            raise Refused(
                f"The workbook has a formula without its value{where}. Open it in Excel, save it, and try again."
            )


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


def _kept(file: File) -> bytes:
    """The rows of all sheets as they are kept: columns of text without names, empty cells missing."""
    import pyarrow as pa

    rows = [(name, [cell.strip() or None for cell in row]) for name, sheet in file.sheets.items() for row in sheet]
    if not any(cell for _, row in rows for cell in row):
        raise Refused("The file is empty. Choose one with a header and a row per line.")
    width = max(max((place for place, cell in enumerate(row, 1) if cell), default=0) for _, row in rows)
    check_size(len(rows), width)
    columns = {SHEET: pa.array([name for name, _ in rows]).dictionary_encode()}
    for place in range(width):
        columns[str(place)] = pa.array([row[place] if place < len(row) else None for _, row in rows], pa.string())
    table = pa.table(columns).replace_schema_metadata({AS_TYPED: file.note})
    _refuse_formulas(table.drop_columns([SHEET]))
    return written(table)


def check_size(n_rows: int, n_columns: int) -> None:
    """Refuse a table that is too large for the browser."""
    if n_rows > MOST_ROWS or n_columns > MOST_COLUMNS:
        most = message(f"at most {MOST_ROWS:,} rows and {MOST_COLUMNS} columns")
        raise Refused(f"A table may have {most}. Got {n_rows:,} and {n_columns:,}. Use the command line for more.")


def check_names(names: Sequence[str]) -> None:
    """Refuse a header that does not name every column."""
    if empty := [str(number) for number, name in enumerate(names, 1) if not name.strip()]:
        raise Refused(f"Every column must have a name in its header. Column {', '.join(empty[:5])} has none.")
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
                raise Refused(f"Row {found + 1} has a formula: {shown!r}. Save values, not formulas.")


def _too_large(size: int) -> str:
    return message(f"The file unpacks to {size:,} bytes, more than the {MOST_UNPACKED:,} that are read.")


def _first_line(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0].rstrip(".")[:200] if str(problem).strip() else type(problem).__name__
