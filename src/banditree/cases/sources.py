"""Logs of any kind as one kind of table: an Ibis expression, evaluated where the data is."""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from banditree.errors import InvalidInput, invalid, lacking

if TYPE_CHECKING:
    import ibis.expr.types as ir

CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt")
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")
FEATHER = (".feather", ".arrow", ".ipc")
DATABASES = (".duckdb", ".ddb", ".db")


class Log(NamedTuple):
    """A log as a table; `types` are those of its columns as a person would see them.

    ordered: whether rows have numbers.
    """

    table: "ir.Table"
    types: dict[str, Any]
    ordered: bool
    name: str


def open_log(source: Any, table: str | None = None) -> Log:
    """The log in a file (or a folder or pattern of parts), a database, a frame or an Ibis table.

    Files are CSV, Parquet, JSON Lines or Feather.
    source: a path; a database file or address with the name of its `table` (visits.duckdb,
    postgresql://user@host/clinic); a pandas or polars frame, an Arrow table; or any Ibis table, on any engine.
    """
    try:
        import ibis
        import ibis.expr.types as ir
    except ImportError:
        raise lacking("Reading logs needs more than the bare installation", "logs") from None
    if isinstance(source, ir.Table):
        return _log(source, ordered=False, name=table or "table")
    if isinstance(source, str | Path):
        return _open_path(str(source), table)
    try:
        return _log(ibis.memtable(source), ordered=True, name="frame")
    except (TypeError, ValueError, NotImplementedError, ibis.IbisError):
        kinds = "a path, an address, a pandas or polars frame, an Arrow table or an Ibis table"
        raise invalid("a log", kinds, type(source).__name__) from None


def _log(table: "ir.Table", *, ordered: bool, name: str) -> Log:
    return Log(table, dict(table.schema().items()), ordered, name)


def _open_path(source: str, table: str | None) -> Log:
    import ibis

    lowered = source.lower()
    if "://" not in source and Path(source).is_dir():
        source = _parts(Path(source))
        lowered = source.lower()
    is_file = lowered.endswith(CSV + PARQUET + JSON_LINES + FEATHER)
    if not is_file and not lowered.endswith(DATABASES) and "://" not in source:
        raise invalid(
            "a log",
            "a .csv, .parquet, .jsonl or .feather file, a folder of Parquet files, a .duckdb file or an address such "
            "as postgresql://host/database",
            source,
        )
    if "://" not in source and not any(Path().glob(source) if not Path(source).is_absolute() else _absolute(source)):
        raise InvalidInput(f"{source}: no such file. Check the name and the folder.")
    try:
        if is_file:
            return _open_file(source)
        if table is None:
            raise InvalidInput(f'{source} is a database. Say which of its tables is the log: table="NAME".')
        database = ibis.connect(source) if "://" in source else ibis.duckdb.connect(source, read_only=True)
        return _log(database.table(table), ordered=False, name=f"{table} of {Path(source).name}")
    except InvalidInput:
        raise
    except ImportError as problem:
        raise InvalidInput(f"{source} needs a library that is not installed: {problem}.") from None
    except Exception as problem:
        raise InvalidInput(f"{source} cannot be read: {plainly(problem)}") from None


def _parts(folder: Path) -> str:
    """The pattern of the Parquet files in a folder."""
    if not any(folder.glob("*.parquet")):
        raise InvalidInput(f"{folder} is a folder without Parquet files (.parquet). Give a file, or a folder of parts.")
    return str(folder / "*.parquet")


def plainly(problem: Exception) -> str:
    """What an engine says about a file, in words for people if it is one of the usual problems."""
    text = str(problem).lower()
    if "unicode" in text or "utf-8" in text or "utf8" in text or "encoding" in text:
        return "it is not text in UTF-8. Save it as UTF-8, or read it with pandas and give the frame."
    if "expected number of columns" in text or "sniffing" in text:
        line = re.search(r"line:? (\d+)", text)
        where = f" (line {line[1]})" if line else ""
        return f"its rows do not have as many fields as its header{where}. Correct them, and quote fields with commas."
    return first_line(problem)


def _absolute(pattern: str) -> Any:
    path = Path(pattern)
    return Path(path.anchor).glob(str(path.relative_to(path.anchor)))


def _open_file(source: str) -> Log:
    import ibis

    engine = ibis.duckdb.connect()
    if source.lower().endswith(PARQUET):
        return _log(engine.read_parquet(source), ordered=True, name=Path(source).name)
    if source.lower().endswith(JSON_LINES):
        return _log(engine.read_json(source), ordered=True, name=Path(source).name)
    if source.lower().endswith(FEATHER):
        from pyarrow.feather import read_table

        table = read_table(source, use_threads=False)
        table.validate(full=True)  # the lengths and places in a damaged file may lead out of it
        return _log(ibis.memtable(table), ordered=True, name=Path(source).name)
    if Path(source).is_file() and not Path(source).stat().st_size:
        raise InvalidInput(f"{source} is empty. Check that it is the right file.")
    guessed = engine.read_csv(source)
    _require_fields(source, list(guessed.columns))
    # Every value is read as text, so that what is no number can be counted and shown instead of ending the reading.
    text = engine.read_csv(source, all_varchar=True)
    return Log(text, dict(guessed.schema().items()), True, Path(source).name)


def _require_fields(source: str, columns: list[str]) -> None:
    """Refuse a file whose rows have different numbers of fields, which the engine then takes for one column."""
    if len(columns) > 1 or "," not in columns[0] or not Path(source).is_file():
        return
    with Path(source).open(newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.reader(file)
        wanted = len(next(rows))
        line = next((number for number, row in enumerate(rows, 2) if row and len(row) != wanted), None)
    if line is not None:
        raise InvalidInput(
            f"{source}: its rows do not have as many fields as its header (first at line {line}). Correct them, and "
            "quote fields with commas."
        )


def first_line(problem: Exception) -> str:
    """The first line of an engine's message, which is the one for people."""
    return str(problem).strip().split("\n")[0] or type(problem).__name__
