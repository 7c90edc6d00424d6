"""Opening, migrating and watching the database: SQLite in WAL mode with full sync, or PostgreSQL."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from banditree.service.problems import Unavailable
from banditree.service.settings import Settings

MIGRATION_LOCK = 0x62616E64  # any number, the same in every replica
POSTGRES = {
    "connect_timeout": 3,
    "tcp_user_timeout": 10_000,
    "options": "-c statement_timeout=10000 -c lock_timeout=5000 -c timezone=UTC",
}


class Database:
    """One database: `read` and `write` give connections inside a transaction, and name every failure `Unavailable`.

    A write is on disk when the `with` block ends without an error. migrates: bring the tables up to date first.
    """

    def __init__(self, settings: Settings, *, migrates: bool = True) -> None:
        self.engine = open_engine(settings.url)
        self._writes = self.engine.execution_options(writes=True)
        name = self.engine.url.database
        self._file = Path(name) if self.engine.dialect.name == "sqlite" and name else None
        if migrates:
            with naming_failures(), self._writes.begin() as connection:
                migrate(connection)
        self._identity = self._file_identity()

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection that sees what is committed."""
        with naming_failures(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A connection whose changes are all on disk afterwards, or none is."""
        with naming_failures(), self._writes.begin() as connection:
            yield connection
            self._check_file()

    def check(self) -> None:
        """Raise `Unavailable` unless the database answers and has this version's tables."""
        with self.read() as connection:
            found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
        self._check_file()
        if found != newest_version():
            raise Unavailable(f"The database is at version {found}, and this service needs {newest_version()}.")

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()

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
    except DBAPIError as error:
        text = str(error.orig).splitlines()[0] if str(error.orig) else type(error.orig).__name__
        raise Unavailable(
            f"The database cannot be used now ({text}). What was confirmed is safe; send the request again later."
        ) from error
    except (SQLAlchemyError, OSError) as error:
        raise Unavailable("The database cannot be used now. What was confirmed is safe; try again later.") from error


def open_engine(url: str) -> sa.Engine:
    """The engine of a database URL, with transactions begun explicitly and synced in full."""
    if not url.startswith("sqlite"):
        return sa.create_engine(
            url, pool_size=8, max_overflow=8, pool_timeout=5, pool_pre_ping=True, connect_args=POSTGRES
        )
    engine = sa.create_engine(url, pool_size=8, pool_timeout=5, connect_args={"timeout": 5})

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # BEGIN is ours, below
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=8000"):
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
    command.upgrade(config, "head")


def alembic_config() -> Config:
    """Alembic's settings, which are only where the migrations are."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


@cache
def newest_version() -> str:
    """The version of the tables that this code works with."""
    return str(ScriptDirectory.from_config(alembic_config()).get_current_head())
