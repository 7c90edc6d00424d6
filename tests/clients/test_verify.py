"""Proofs are checked in JavaScript as `conformance/check_proof.py` checks them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from banditree.files.proofs import stamp

HERE = Path(__file__).parents[2]
SCRIPT = """
import { readFileSync } from "node:fs";
import { readExactly, verify } from "%s";
const said = [];
for (const documents of JSON.parse(readFileSync(0, "utf8")))
  said.push(await verify(...documents.map(readExactly)).catch((problem) => problem.message));
console.log(JSON.stringify(said));
"""


@pytest.fixture(scope="module")
def made():
    """The module of `tests/files/test_proofs.py`, which makes plans and their proofs."""
    sys.path.insert(0, str(HERE / "tests" / "files"))
    import test_proofs

    yield test_proofs
    sys.path.remove(str(HERE / "tests" / "files"))


def verified(work):
    if shutil.which("node") is None:
        if os.environ.get("CI"):
            pytest.fail("node is missing: run .ci/tools")
        pytest.skip("node is missing: run .ci/tools")
    script = SCRIPT % (HERE / "clients" / "javascript" / "verify.js")
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, input=json.dumps(work), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_what_is_proven_is_what_certify_says(count, made):
    cases = list(made.cases(count))
    for (plan, collection, certificate), said in zip(
        cases, verified([texts(made, *one) for one in cases]), strict=True
    ):
        assert isinstance(said, list), said
        assert len(said) == collection.n_tasks * (2 + (collection.harm is not None))
        for part in said:
            number = getattr(certificate, part["what"])[collection.tasks.index(part["task"])]
            assert part["least"] - 1e-12 <= number <= part["most"] + 1e-12
            assert part["most"] - part["least"] <= 1e-6 * plan.horizon * 100  # worth counts in units of up to 100


def test_what_was_changed_is_refused(made):
    plan, collection, proof = texts(made, *next(made.cases(1)))
    changed = json.loads(proof, parse_float=str)
    changed["tasks"][0]["regret"] = str(float(changed["tasks"][0]["regret"]) * 1.001 + 1)
    unsealed = json.dumps(changed)
    del changed["seal"]
    sealed = json.dumps({**changed, "seal": stamp(json.dumps(changed))})
    work = [[plan, collection, unsealed], [plan, collection, sealed]]
    work += [
        [plan.replace('"horizon": ', '"horizon": 1'), collection, proof],
        [plan, f'{collection[:-3]} , "x": 1}}', proof],
    ]
    says = ["The proof was changed", "it lies near", "another plan", "another collection"]
    for part, said in zip(says, verified(work), strict=True):
        assert part in said


def texts(made, plan, collection, certificate):
    document = made.dump(made.collection_document(collection))
    return [made.plan_json(plan), document, made.proof_json(plan, collection, certificate)]
