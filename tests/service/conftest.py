import pytest
from argon2 import PasswordHasher
from running_service import in_thread, local

from banditree.service.store import people


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """An open service on SQLite, shared by the tests of a module: (application, HTTP client)."""
    with in_thread(local(tmp_path_factory.mktemp("service") / "cases.db")) as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def quick_passwords():
    """Hashes that cost little, so that tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "hasher", PasswordHasher(time_cost=1, memory_cost=1024))
        yield
