"""Shared settings of the tests."""

import io
import shutil
import sys
from pathlib import Path

import httpx
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Test modules share a few readers and loops that live beside them.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples on every machine: a failure here is a failure everywhere.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.load_profile("steady")
# Hypothesis also tries numbers and words of those sources that happen to be imported, which depends on the tests that
# ran before in the same process.
providers._get_local_constants = lambda: providers._local_constants

MOST_EFFORT = 10_000_000  # additions: a fortieth of a second
# What a test waits for comes some day or never: no wait may end only because the machine is slow or busy.
PATIENCE = 600.0  # seconds; httpx gives up after 5 by default
for wait in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, wait, PATIENCE)


@pytest.fixture(scope="session", autouse=True)
def quick_limits():
    """Certificates and analyses look for what no algorithm can beat for an instant, not for the default second; what
    does it in full."""
    from banditree.reports import limits

    thorough = {name: getattr(limits, name) for name in ("limit", "continuations")}

    def brief(function):
        return lambda *given, effort, **more: function(*given, effort=min(effort, MOST_EFFORT), **more)

    with pytest.MonkeyPatch.context() as patch:
        for name, function in thorough.items():
            patch.setattr(limits, name, brief(function))
        yield thorough


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server, one per test process."""
    from running_service import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def tables_in_sqlite(tmp_path_factory):
    """A database with every table and nothing in them, to be copied: making them takes a tenth of a second."""
    return with_tables(tmp_path_factory.mktemp("tables") / "cases.db")


@pytest.fixture(scope="session")
def tables_in_postgres(postgres):
    """The same in PostgreSQL."""
    from running_service import new_database

    with_tables(new_database(postgres, "tables_only"))
    return "tables_only"


def with_tables(database):
    from running_service import local

    from banditree.service.store.database import Database

    Database(local(database)).close()
    return database


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """A new database of each kind the service runs on, without a single case."""
    from running_service import new_database

    if request.param == "sqlite":
        return str(shutil.copy(request.getfixturevalue("tables_in_sqlite"), tmp_path / "cases.db"))
    like = request.getfixturevalue("tables_in_postgres")
    return new_database(request.getfixturevalue("postgres"), "under_test", like)


@pytest.fixture
def database(database_url):
    """That database, open."""
    from running_service import local

    from banditree.service.store.database import Database

    opened = Database(local(database_url))
    yield opened
    opened.close()


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run a command in this process: (exit code, what it printed, what it complained)."""
    from banditree.cli import main

    def run(*arguments, answers=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run
