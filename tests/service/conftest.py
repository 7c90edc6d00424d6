import pytest
from running_service import in_thread, local


@pytest.fixture
def service(tmp_path):
    """An open service on SQLite: (application, HTTP client)."""
    with in_thread(local(tmp_path / "cases.db")) as running:
        yield running
