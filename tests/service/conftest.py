import pytest
from running_service import in_thread, local, new_database, postgres_server


@pytest.fixture(scope="session")
def postgres():
    with postgres_server() as server:
        yield server


@pytest.fixture
def service(tmp_path):
    """An open service on SQLite: (application, HTTP client)."""
    with in_thread(local(tmp_path / "cases.db")) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path):
    """A new, empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "cases.db")
    return new_database(request.getfixturevalue("postgres"), "under_test")
