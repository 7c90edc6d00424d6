"""Opening, migrating and watching the database: SQLite in WAL mode with full sync, or PostgreSQL."""

import errno
import math
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from banditree.service.problems import Refused, TooSlow, Unavailable
from banditree.service.settings import Settings
from banditree.service.store.seals import CHANGED, seal_changes, watch_changes

Connection = sa.Connection  # What every function of the store takes first: a connection inside a transaction.
Clash = IntegrityError  # Somebody else took the same number or name a moment before; decide again.
READ_SECONDS = 5.0  # One read may take so long, lest it keep others waiting.
WRITERS, READERS = 4, 8  # Connections of one server: for the desk and a few other writers, and for those who only read.
LONG = 4  # Connections for what is read without a time limit, so that nobody else waits for exports.
PAGES = ("wal_autocheckpoint=8000", "secure_delete=ON")  # What is erased is overwritten.
MIGRATION_LOCK = 0x62616E64  # Any number will do, as long as it is the same in every replica.
POSTGRES = {
    "connect_timeout": 3,
    "tcp_user_timeout": 10_000,
    "options": "-c statement_timeout=10000 -c lock_timeout=5000 -c timezone=UTC",
}


class Database:
    """One database: `read` and `write` give connections inside a transaction, and name every failure `Unavailable`.

    A write is on disk when the `with` block ends without an error. migrates: bring the tables up to date first. Without
    that, a file that this process may not change, on a medium that is read-only perhaps, is opened to be read.
    """

    def __init__(self, settings: Settings, *, migrates: bool = True) -> None:
        self.settings, given = settings, sa.make_url(settings.url)
        self._file = Path(given.database) if given.drivername == "sqlite" and given.database else None
        url, self.only_reads = settings.url, False
        if self._file is not None:
            if not migrates and not self._file.exists():
                raise Unavailable(f"{self._file}: no such database. Check the name and the folder.")
            if not migrates and (mode := mode_to_read(self._file)) is not None:
                url, self.only_reads = f"sqlite:///file:{quote(str(self._file.absolute()))}?{mode}&uri=true", True
            else:
                make_private(self._file)
        self.engine = open_engine(url, most=WRITERS)
        watch_changes(self.engine)
        self.n_opened = 0  # connections for writing so far, each perhaps to another server
        sa.event.listen(self.engine, "connect", self._count)
        self._readers = open_engine(url, most=READERS)  # so that those who write never wait for those
        self._long = open_engine(url, most=LONG)
        self._writes = self.engine.execution_options(writes=True)
        if migrates:
            with naming_failures(), self._writes.begin() as connection:
                migrate(connection)
            self.scrub()  # moves the new tables into the file itself
        self._identity, self._checked = self._file_identity(), -math.inf

    @contextmanager
    def read(self, seconds: float | None = READ_SECONDS) -> Iterator[sa.Connection]:
        """A connection that sees what is committed, for at most some seconds; None: however long it takes."""
        engine = self._long if seconds is None else self._readers
        with naming_failures(), engine.begin() as connection, time_limit(connection, seconds):
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """A connection that sees one moment throughout, however long it takes."""
        with naming_failures(), self._long.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin(), time_limit(connection, None):
                yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A connection whose changes are all on disk afterwards, or none is."""
        with naming_failures(), self._writes.begin() as connection:
            connection.info.pop(CHANGED, None)  # of a transaction that failed
            yield connection
            seal_changes(connection)
            self._check_file()

    def check(self) -> None:
        """Raise `Unavailable` unless the database has this version's tables and can be written; tried each second.

        One that is opened only to be read need not be writable.
        """
        if time.monotonic() - self._checked < 1.0:
            return
        with self.read() if self.only_reads else self.write() as connection:
            found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
            if not self.only_reads:
                connection.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))
        if found != newest_version():
            raise Unavailable(f"The database is at version {found}, and this service needs {newest_version()}.")
        self._checked = time.monotonic()

    def scrub(self) -> bool:
        """Leave nothing of what was erased outside the tables; False if somebody still reads an older state.

        SQLite keeps former pages in its write-ahead log until that is emptied. PostgreSQL is for its administrator.
        """
        if self._file is None:
            return True
        with naming_failures(), self.engine.connect() as connection:
            found = connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return bool(found[0] == 0)

    def close(self) -> None:
        """Let go of every connection."""
        for engine in (self.engine, self._readers, self._long):
            engine.dispose()

    def _count(self, *_: Any) -> None:
        self.n_opened += 1

    def _file_identity(self) -> tuple[int, int] | None:
        if self._file is None:
            return None
        try:
            found = os.stat(self._file)
        except OSError:
            return (0, 0)
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """SQLite would go on writing into a file that was deleted or replaced; then nothing may be promised."""
        if self._file_identity() != self._identity:
            raise Unavailable(f"The database file {self._file} was moved or replaced. Put it back and restart.")


@contextmanager
def naming_failures() -> Iterator[None]:
    """Let constraint violations through, and turn every other failure of the database into `Unavailable`."""
    try:
        yield
    except IntegrityError:
        raise
    except (DataError, UnicodeEncodeError, OverflowError) as error:
        raise Refused("A text or number in this request cannot be stored in the database. Change it.") from error
    except DBAPIError as error:
        if is_time_limit(error):
            raise TooSlow(f"This takes longer than {READ_SECONDS} seconds. Ask for less at a time.") from error
        text = str(error.orig).splitlines()[0] if str(error.orig) else type(error.orig).__name__
        raise Unavailable(
            f"The database cannot be used now ({text}). What was confirmed is safe; send the request again later."
        ) from error
    except sqlite3.Error as error:  # of a statement that goes past SQLAlchemy
        raise Unavailable(f"The database cannot be used now ({error}). What was confirmed is safe.") from error
    except (SQLAlchemyError, OSError) as error:
        raise Unavailable("The database cannot be used now. What was confirmed is safe; try again later.") from error


def make_private(file: Path) -> None:
    """A database file, made where there is none, that only its owner can read; SQLite's other files follow it."""
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        file.chmod(0o600)
    except OSError as problem:
        raise Unavailable(f"The database file {file} cannot be used: {problem.strerror}.") from None


def mode_to_read(file: Path) -> str | None:
    """How SQLite is to open a file that this process may not change; None if it may.

    Beside one on a read-only medium SQLite cannot put the files that it uses to see who else writes: nobody does. If a
    write-ahead log was copied there too, it is read with the file.
    """
    try:
        os.close(os.open(file, os.O_RDWR))
    except OSError as problem:
        if problem.errno not in (errno.EROFS, errno.EACCES):
            return None  # whoever opens it next says what is wrong
        log = Path(f"{file}-wal")
        if problem.errno == errno.EACCES or (log.exists() and log.stat().st_size):
            _check_log(log)
            return "mode=ro"
        return "mode=ro&immutable=1"
    return None


def _check_log(log: Path) -> None:
    if log.exists() and not Path(f"{str(log).removesuffix('-wal')}-shm").exists():
        raise Unavailable(f"{log} cannot be read without the file that ends in -shm. Copy both to where you may write.")


@contextmanager
def time_limit(connection: sa.Connection, seconds: float | None) -> Iterator[None]:
    """End a query that takes longer; SQLite asks now and then, PostgreSQL knows by itself."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(1000 * (seconds or 0))}")
        yield
        return
    raw = connection.connection.driver_connection
    until = math.inf if seconds is None else time.monotonic() + seconds
    raw.set_progress_handler(lambda: time.monotonic() > until, 20_000)  # type: ignore[union-attr]
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)  # type: ignore[union-attr]


def is_time_limit(error: DBAPIError) -> bool:
    """Whether the database ended a query because it took too long."""
    return isinstance(error, OperationalError) and (
        str(error.orig) == "interrupted" or getattr(error.orig, "sqlstate", None) == "57014"
    )


def open_engine(url: str, most: int, *, wal: bool = True) -> sa.Engine:
    """The engine of a database URL, with transactions begun explicitly and synced in full; most: its connections.

    wal: with a write-ahead log, as a file that is being served needs it, and one that is sent elsewhere must not.
    """
    if not url.startswith("sqlite"):
        return sa.create_engine(
            url, pool_size=most, max_overflow=0, pool_timeout=5, pool_pre_ping=True, connect_args=POSTGRES
        )
    engine = sa.create_engine(url, pool_size=most, max_overflow=0, pool_timeout=5, connect_args={"timeout": 5})

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # BEGIN is ours, below
        journal = () if "?mode=ro" in url else ("journal_mode=WAL",) if wal else ("journal_mode=DELETE",)
        for pragma in (*journal, "synchronous=FULL", "foreign_keys=ON", *PAGES):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def migrate(connection: sa.Connection) -> None:
    """Bring the tables to the newest version; replicas that start together wait for each other."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
        connection.execute(sa.text("SET LOCAL lock_timeout = 0"))
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
    config = alembic_config()
    config.attributes["connection"] = connection
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known_versions():
        raise Unavailable(
            f"The database has tables of version {found}, which this banditree does not know (its own is "
            f"{newest_version()}): another version made it. Serve it with that version, or export its decisions there, "
            "learn from them here, and give a new database."
        )
    command.upgrade(config, "head")


def alembic_config() -> Config:
    """Alembic's settings, which are only where the migrations are."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


@cache
def known_versions() -> frozenset[str]:
    """Every version of the tables that this code can bring up to date."""
    scripts = ScriptDirectory.from_config(alembic_config()).walk_revisions()
    return frozenset(script.revision for script in scripts)


@cache
def newest_version() -> str:
    """The version of the tables that this code works with."""
    return str(ScriptDirectory.from_config(alembic_config()).get_current_head())
