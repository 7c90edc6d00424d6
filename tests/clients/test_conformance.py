"""The conformance file is what this banditree does, and every follower in `clients/` does the same."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from random_plans import protocols

from banditree.policies.snapshots import state_to_json
from banditree.policies.starting import resume_session

HERE = Path(__file__).parents[2]
FOLLOWING, JAVASCRIPT, R = (
    HERE / "conformance" / "following.json",
    HERE / "clients" / "javascript",
    HERE / "clients" / "r",
)
MOST_LINES = 400


@pytest.fixture(scope="module")
def maker():
    sys.path.insert(0, str(HERE / "conformance"))
    spec = importlib.util.spec_from_file_location("conformance_make", HERE / "conformance" / "make.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["conformance_make"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(HERE / "conformance"))


def needed(*programs):
    """Skip where a program is not to be had; in CI it must be."""
    for program in programs:
        if shutil.which(program) is None:
            if os.environ.get("CI"):
                pytest.fail(f"{program} is missing: run .ci/tools")
            pytest.skip(f"{program} is missing: run .ci/tools")


def ran(*command, **more):
    found = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    return found.returncode, found.stdout + found.stderr


@pytest.fixture(scope="module")
def in_node():
    needed("node")
    return lambda *files: ran("node", JAVASCRIPT / "check.mjs", *files)


@pytest.fixture(scope="module")
def in_r(tmp_path_factory):
    needed("Rscript")
    library = tmp_path_factory.mktemp("r")
    code, said = ran("R", "CMD", "INSTALL", f"--library={library}", R)
    assert code == 0, said
    return lambda *files: ran("Rscript", R / "inst" / "check.R", *files, env={**os.environ, "R_LIBS": str(library)})


@pytest.fixture(params=["node", "r"])
def follow_all(request):
    """Follows all cases of a file; keeps them in another one where that is named."""
    return request.getfixturevalue(f"in_{request.param}")


def test_the_file_is_what_this_banditree_does(maker):
    """Out of date? python conformance/make.py"""
    for name, text in maker.texts().items():
        assert (HERE / "conformance" / name).read_text(encoding="utf-8") == text, name


def test_the_file_fits_its_schema_and_has_every_kind_of_line():
    whole = json.loads(FOLLOWING.read_text())
    jsonschema.validate(whole, json.loads(FOLLOWING.with_suffix(".schema.json").read_text()))
    rows = [row for part in whole["plans"] for page in part["machine"]["pages"] for row in page["rows"]]
    assert {row["gives"]["kind"] for row in rows} == {"give", "treat as", "best of", "hand over"}
    assert {row["counts"]["kind"] for row in rows} == {"for good", "rounds", "score", "watch"}
    events = [event for part in whole["plans"] for case in part["cases"] for event in case["events"]]
    outcomes = {step.get("outcome") for event in events for step in event.get("steps", ())}
    assert outcomes >= {None, "arm_not_available", "no_arm_available", "context_needed", "person_needed"}
    stood = {
        (part["about"], *event["at"][:2])
        for part in whole["plans"]
        for case in part["cases"]
        for event in case["events"]
    }
    assert len(stood) >= 0.85 * len(rows)


@pytest.mark.slow
def test_every_follower_answers_all_of_it(follow_all, tmp_path):
    code, said = follow_all(FOLLOWING, tmp_path / "kept.json")
    assert code == 0, said[-2000:]
    assert int(re.search(r"(\d+) events, 0 wrong", said)[1]) > 5000
    assert_cases_go_on(json.loads((tmp_path / "kept.json").read_text()))


def assert_cases_go_on(kept):
    """What a follower keeps of its cases is what the session of the same events keeps."""
    from plans import plans

    whole, made = json.loads(FOLLOWING.read_text()), dict(plans())
    cases = [(part, case) for part in whole["plans"] for case in part["cases"]]
    for (part, case), session in zip(cases, kept, strict=True):
        resumed = resume_session(made[part["about"]], session)
        assert resumed.explain().box == case["events"][-1]["at"][1]
        fresh = resume_session(made[part["about"]], session)
        fresh._play_again()
        assert flat(session["state"]) == pytest.approx(flat(state_to_json(fresh.state)), abs=1e-9)


def flat(state):
    return np.concatenate([flat(part) if isinstance(part, dict) else np.ravel(part) for part in state.values()])


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.soak)])
def test_random_plans_are_followed_alike(follow_all, maker, tmp_path, n):
    found = []

    @settings(max_examples=n, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(protocols())
    def collect(plan):
        found.append(plan)

    collect()
    whole = maker.conformance(((f"random {n}", plan) for n, plan in enumerate(found)), n_events=40)
    (tmp_path / "random.json").write_text(whole.model_dump_json(by_alias=True, exclude_none=True))
    code, said = follow_all(tmp_path / "random.json")
    assert code == 0, said[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "break_it"), [("node", "floor"), ("node", "points"), ("node", "cap"), ("node", "pages"), ("r", "floor")]
)
def test_a_changed_plan_is_noticed(request, program, break_it, tmp_path):
    whole = json.loads(FOLLOWING.read_text())
    for part in whole["plans"]:
        for row in (row for page in part["machine"]["pages"] for row in page["rows"]):
            counts = row["counts"]
            if break_it in ("floor", "cap") and counts.get(break_it):
                counts[break_it] += 1
            elif break_it == "points" and "points" in counts and counts["points"]["kind"] == "outcome":
                counts["points"]["points"][0] -= 1
        if break_it == "pages":
            part["machine"]["pages"] = part["machine"]["pages"][:2]
    (tmp_path / "broken.json").write_text(json.dumps(whole))
    code, said = request.getfixturevalue(f"in_{program}")(tmp_path / "broken.json")
    assert code == 1
    assert " wrong" in said or "no page" in said


def test_followers_are_short():
    for path in (JAVASCRIPT / "follower.js", R / "R" / "follower.R"):
        assert len(path.read_text().splitlines()) <= MOST_LINES


@pytest.mark.slow
def test_the_package_for_node_is_packed_and_used(tmp_path):
    needed("npm", "node")
    code, said = ran("npm", "pack", "--silent", "--pack-destination", tmp_path, cwd=JAVASCRIPT)
    assert code == 0, said
    (packed,) = tmp_path.glob("*.tgz")
    shutil.unpack_archive(packed, tmp_path)
    home = tmp_path / "node_modules" / "banditree-follower"
    home.parent.mkdir()
    (tmp_path / "package").rename(home)
    assert {path.name for path in home.iterdir()} == {
        *("follower.js", "follower.d.ts", "verify.js", "verify.d.ts", "package.json", "README.md")
    }
    first = json.loads(FOLLOWING.read_text())["plans"][0]["machine"]
    (tmp_path / "plan.json").write_text(json.dumps(first))
    (tmp_path / "use.mjs").write_text(
        'import { readFileSync } from "node:fs";\nimport { Follower } from "banditree-follower";\n'
        'const follower = new Follower(JSON.parse(readFileSync("plan.json")));\nconsole.log(follower.ask()[0].arm);'
    )
    assert ran("node", "use.mjs", cwd=tmp_path) == (0, "D\n")


def test_a_plan_of_a_newer_form_is_refused(tmp_path):
    needed("node")
    (tmp_path / "use.mjs").write_text(
        f'import {{ Follower }} from "{JAVASCRIPT / "follower.js"}";\n'
        'try { new Follower({ schema: "banditree/machine/9", pages: [] }); }\n'
        "catch (problem) { console.log(problem.message); }"
    )
    code, said = ran("node", tmp_path / "use.mjs")
    assert code == 0
    assert "banditree/machine/9" in said
