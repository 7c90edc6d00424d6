"""The clients that are made from the description of the API take a case from the upload of its plan to its end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from running_service import clinic_plan, in_thread, local

from banditree.files.plans import plan_json
from banditree.service.client import Client
from banditree.service.store import people
from banditree.service.store.database import Database

CLIENTS = Path(__file__).parents[2] / "clients"


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Both clients, made by their generators without a warning."""
    if shutil.which("npm") is None:
        assert "CI" not in os.environ, "npm is missing: run .ci/tools"
        pytest.skip("npm is missing: run .ci/tools")
    folder = tmp_path_factory.mktemp("clients")
    made = subprocess.run(
        [sys.executable, CLIENTS / "generate.py", folder], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "command"),
    [("typescript", ["node", "dist/example.js"]), ("python", [sys.executable, "-W", "ignore", "example.py"])],
)
def test_a_case_from_upload_to_close(generated, tmp_path, language, command):
    plan = tmp_path / "plan.json"
    plan.write_text(plan_json(clinic_plan()), encoding="utf-8")
    database = Database(local(tmp_path / "cases.db"))
    with database.write() as connection:
        people.add_user(connection, "test", "ada", people.Role.ADMIN, people.hashed("correct horse battery"))
        _, token = people.give_secret(connection, people.TOKEN, "ada", people.Role.ADMIN, "clients", None)
    database.close()
    with in_thread(local(tmp_path / "cases.db", authentication=True, sign_alone=True)) as (_app, http):
        url = str(http.base_url)
        ran = subprocess.run(
            [*command, url, plan, token], cwd=generated / language, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        refused, told = ran.stdout.splitlines()
        assert refused == "409 conflict"
        with Client(url, token) as client:
            (line,) = client.cases()
            assert told == f"{line.id} closed, 4 rounds"
            kinds = [event.kind for event in client.events(line.id)]
    assert kinds == ["asked", "told", "asked", "told", "asked", "missing", "asked", "closed"]
