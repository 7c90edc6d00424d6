"""Signing a plan keeps the proof of its numbers, which the checker takes as the API answers it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from running_service import CLINIC, client_of, clinic_plan

from banditree.tasks.collection import Collection

CHECKER = Path(__file__).parents[3] / "conformance" / "check_proof.py"
FOUR = {"arms": CLINIC.arms, "tasks": CLINIC.tasks, "radius": 0.01}


def settled(http, path):
    """What a path answers once the job behind it has ended."""
    while (found := http.get(path)).status_code == 202:
        time.sleep(0.2)
    return found


@pytest.mark.slow
def test_a_signed_plan_keeps_its_proof(service, tmp_path):
    http, client = service[1], client_of(service[1])
    known = client.add_collection(CLINIC, "clinic")
    id = client.add_plan(clinic_plan(61), "proven", known, sign="Checked.")
    jobs = http.get("/api/v1/jobs", params={"subject": id}).json()["data"]
    assert [job["kind"] for job in jobs] == ["certificate"]  # nobody but the signature asked for it
    files = []
    for path in (f"plans/{id}", f"collections/{known}", f"plans/{id}/proof"):
        files.append(tmp_path / f"{len(files)}.json")
        files[-1].write_bytes(settled(http, f"/api/v1/{path}").content)
    said = subprocess.run([sys.executable, CHECKER, *files], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    assert "regret of 'severe' is at most" in said.stdout
    assert f'href="/api/v1/plans/{id}/proof"' in http.get(f"/plans/{id}").text


@pytest.mark.slow
def test_why_there_is_no_proof(service):
    http, client = service[1], client_of(service[1])
    estimated = client.add_collection(Collection.bernoulli(CLINIC.means, **FOUR), "estimated")
    id = client.add_plan(clinic_plan(62), "estimated", estimated, sign="Checked.")
    answer = settled(http, f"/api/v1/plans/{id}/proof")
    assert answer.status_code == 422
    assert "Proofs are for known rates." in answer.json()["error"]["message"]
    assert "proof" not in http.get(f"/plans/{id}").text
