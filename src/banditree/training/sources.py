"""Logs of any kind as one kind of table: an Ibis expression, evaluated where the data is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from banditree.errors import InvalidInput, invalid

if TYPE_CHECKING:
    import ibis.expr.types as ir

EXTRA = 'pip install "banditree[logs]"'
CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt")
PARQUET = (".parquet", ".pq")
DATABASES = (".duckdb", ".ddb", ".db")


class Log(NamedTuple):
    """A log as a table; `types` are those of its columns as a person would see them.

    ordered: whether rows have numbers. as_text: whether every value is read as text, so that what is no number can
    be counted and shown instead of ending the reading.
    """

    table: "ir.Table"
    types: dict[str, Any]
    ordered: bool
    as_text: bool
    name: str


def open_log(source: Any, table: str | None = None) -> Log:
    """The log in a CSV or Parquet file (or a pattern such as `visits/*.parquet`), a database, a frame or an Ibis table.

    source: a path; a database file or address with the name of its `table` (visits.duckdb,
    postgresql://user@host/clinic); a pandas or polars frame, an Arrow table; or any Ibis table, on any engine.
    """
    try:
        import ibis
        import ibis.expr.types as ir
    except ImportError:
        raise InvalidInput(f"Reading logs needs more than the bare installation. Run: {EXTRA}") from None
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
    return Log(table, dict(table.schema().items()), ordered, False, name)


def _open_path(source: str, table: str | None) -> Log:
    import ibis

    lowered = source.lower()
    is_file = lowered.endswith(CSV + PARQUET)
    if not is_file and not lowered.endswith(DATABASES) and "://" not in source:
        raise invalid(
            "a log",
            "a .csv or .parquet file, a .duckdb file or an address such as postgresql://host/database",
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
        raise InvalidInput(f"{source} cannot be read: {first_line(problem)}") from None


def _absolute(pattern: str) -> Any:
    path = Path(pattern)
    return Path(path.anchor).glob(str(path.relative_to(path.anchor)))


def _open_file(source: str) -> Log:
    import ibis

    engine = ibis.duckdb.connect()
    if source.lower().endswith(PARQUET):
        return _log(engine.read_parquet(source), ordered=True, name=Path(source).name)
    guessed = engine.read_csv(source)
    text = engine.read_csv(source, all_varchar=True)
    return Log(text, dict(guessed.schema().items()), True, True, Path(source).name)


def first_line(problem: Exception) -> str:
    """The first line of an engine's message, which is the one for people."""
    return str(problem).strip().split("\n")[0] or type(problem).__name__
