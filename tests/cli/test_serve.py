import subprocess
import sys

import httpx
import pytest
from running_service import free_port, local, start_process

from banditree.errors import how_to_install
from banditree.service.store.database import Database
from banditree.service.store.people import Role, password_of, verified


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_adding_a_user(cli):
    code, out, _ = cli(
        "db", "add-user", "ada", "--role", "admin", "--database", "x.db", answers="correct horse battery\n"
    )
    assert code == 0
    assert out.endswith("ada can log in as admin.\n")
    database = Database(local("x.db"))
    with database.read() as connection:
        hash, role = password_of(connection, "ada")
    assert role is Role.ADMIN
    assert verified(hash, "correct horse battery")
    database.close()
    code, _, err = cli("db", "add-user", "ada", "--database", "x.db", answers="correct horse battery\n")
    assert code == 2
    assert err.endswith("banditree: There is already a user 'ada'.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--host", "0.0.0.0"], "Add --authentication, or omit the host."),
        (["serve", "--database", "no/such/folder.db"], "its folder does not exist"),
        (["serve", "--port", "0"], "--port must be at least 1"),
        (["serve", "--log-level", "loud"], "'loud' is not one of 'debug', 'info', 'warning', 'error'"),
        (["serve", "--authentication"], "Make the first admin: banditree db add-user NAME --role admin"),
        (["serve", "--database", "postgresql://nobody@127.0.0.1:1/none"], "The database cannot be used now"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(cli, arguments, message):
    code, _, err = cli(*arguments)
    assert code == 2
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["serve", "db add-user", "db audit"])
def test_help_has_an_example(cli, command):
    code, out, _ = cli(*command.split(), "--help")
    assert code == 0
    assert f"Example: banditree {command}" in out


def test_without_the_extra_it_says_what_to_install(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "argon2", None)
    code, _, err = cli("serve")
    assert (code, err) == (2, f"banditree: The service needs argon2. {how_to_install('service')}\n")


@pytest.mark.slow
def test_serving_and_stopping(tmp_path):
    port = free_port()
    process = start_process(tmp_path / "cases.db", port)
    try:
        assert httpx.get(f"http://127.0.0.1:{port}/api/v1/cases").json() == {"data": []}
        process.terminate()
        assert process.wait(timeout=600) in (0, -15)
    finally:
        process.kill()
        process.wait()


def test_commands_that_do_not_serve_do_not_load_the_service():
    heavy = ("fastapi", "sqlalchemy", "httpx")
    code = f"import sys; import banditree.cli.app; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_demo_serves_pages_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    port = free_port()
    process = start_process(tmp_path / "not-used.db", port, "--demo")
    try:
        page = httpx.get(f"http://127.0.0.1:{port}/", headers={"accept": "text/html"}, follow_redirects=True)
        assert "bed 1, just started" in page.text
        process.terminate()
        assert process.wait(timeout=600) in (0, -15)
    finally:
        process.kill()
        process.wait()
    assert list(tmp_path.iterdir()) == []
