"""Plans as DMN, CQL and FHIR, followed by engines that we did not write, decide as the session does."""

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from boxes import renamed
from engine_plans import cases_of, random_plans
from random_plans import HOSTILE

from banditree import Collection, Give, InvalidInput, Line, Watch, make_plan, save_plan
from banditree.cli import main
from banditree.files.cql import cql_text
from banditree.files.dmn import dmn_text
from banditree.files.fhir import fhir_json
from banditree.plans.points import ByOutcome

HERE = Path(__file__).parent
CONFORMANCE = HERE.parents[1] / "conformance"
FORMS = ("dmn", "cql")
SEPARATOR = "\u2028"  # ends a line for dmn-eval-js, which then finds no end of the string; for FEEL it does not
TEXTS = {"dmn": dmn_text, "cql": cql_text}


def ran(program, work, tmp_path):
    """What a program of this folder prints about some work."""
    if not (HERE / "node_modules").is_dir():
        if os.environ.get("CI"):
            pytest.fail("the engines are missing: run .ci/tools")
        pytest.skip("the engines are missing: run .ci/tools")
    (tmp_path / "work.json").write_text(json.dumps(work))
    found = subprocess.run(
        ["node", HERE / f"{program}.mjs", tmp_path / "work.json"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


def follow(form, plans, tmp_path, count):
    """Follow cases of all plans by an engine; how many decisions it made, every one of them the session's."""
    work = [
        {form: TEXTS[form](plan), "arms": plan.arms, "cases": cases_of(plan, number, count)}
        for number, plan in enumerate(plans)
    ]
    answers = json.loads(ran(form, work, tmp_path))
    decisions = 0
    for part, answered in zip(work, answers, strict=True):
        for case, given in zip(part["cases"], answered, strict=True):
            assert [one[:4] for one in given] == [one[:4] for one in case["given"]], part["arms"]
            assert [one[4] for one in given] == pytest.approx([one[4] for one in case["given"]], abs=1e-9)
            decisions += len(given)
    return decisions


@pytest.fixture(scope="module")
def known_plans():
    """The plans of the conformance file, by what they show."""
    sys.path.insert(0, str(CONFORMANCE))
    from plans import plans

    yield dict(plans())
    sys.path.remove(str(CONFORMANCE))


def shown(*arguments):
    """How `banditree show` ends."""
    with pytest.raises(SystemExit) as ended:
        main(["show", *map(str, arguments)])
    return ended.value.code


def expressible(plans):
    found = []
    for plan in plans:
        try:
            dmn_text(plan)
        except InvalidInput:
            continue
        found.append(plan)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("form", "plans", "cases"), [("dmn", 20, 3), ("cql", 10, 3)])
def test_random_plans_are_followed_as_by_a_session(form, plans, cases, tmp_path):
    assert follow(form, random_plans(7, plans), tmp_path, cases) > 30 * plans


@pytest.mark.soak
@pytest.mark.parametrize("form", FORMS)
def test_a_thousand_random_plans_are_followed_as_by_a_session(form, tmp_path):
    assert follow(form, random_plans(1, 1000), tmp_path, 3) > 50_000


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_plans_of_the_conformance_file_are_followed(form, known_plans, tmp_path):
    plans = expressible(known_plans.values())
    assert len(plans) == 14
    if form == "dmn":
        plans = [plan for plan in plans if not any(SEPARATOR in arm for arm in plan.arms)]
    assert follow(form, plans, tmp_path, 1) > 200


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_names_are_only_names(form, known_plans, tmp_path):
    """Each option has a name of its own that looks like a part of what is around it."""
    names = [*HOSTILE, "a]]>b", "&amp;", "<b>", "*/", "${x}", "x\\", "'", '"', "''", "tab\tbed"]
    if form == "dmn":
        names = [name for name in names if SEPARATOR not in name]
    plan = known_plans["fixed numbers of rounds"]
    by_four = [tuple(names[at : at + 4]) for at in range(0, len(names) - 3, 4)]
    assert follow(form, [renamed(plan, four) for four in by_four], tmp_path, 1) > 100


@pytest.mark.parametrize(
    ("text", "wrong"), [("&lt;= -", "&lt;= -1"), ("rounds + 1</text>", "rounds</text>"), ("&gt;= ", "&gt;= 1")]
)
def test_a_changed_table_is_noticed(text, wrong, tmp_path, monkeypatch):
    plans = random_plans(7, 12)
    monkeypatch.setitem(TEXTS, "dmn", lambda plan: dmn_text(plan).replace(text, wrong))
    with pytest.raises(AssertionError):
        follow("dmn", plans, tmp_path, 2)


def test_dmn_is_read_as_version_1_3(known_plans, tmp_path):
    work = [{"dmn": dmn_text(plan)} for plan in expressible(known_plans.values())]
    assert ran("moddle", work, tmp_path).split("\n")[:-1] == ["4 0 warnings"] * len(work)


def test_fhir_resources_are_valid(known_plans, tmp_path):
    bundles = [json.loads(fhir_json(plan)) for plan in expressible(known_plans.values())[:4]]
    said = ran("fhir", bundles, tmp_path).split("\n")[:-1]
    assert len(said) == 4
    assert all("; 0 wrong" in line for line in said), said
    del bundles[0]["entry"][-1]["resource"]["status"]
    bundles[0]["entry"][0]["resource"]["colour"] = "red"
    assert "; 2 wrong" in ran("fhir", bundles[:1], tmp_path)


def test_a_bundle_has_the_library_and_an_activity_for_each_option(known_plans):
    plan = known_plans["pages, and what did harm is not given again"]
    resources = [entry["resource"] for entry in json.loads(fhir_json(plan))["entry"]]
    kinds = [one["resourceType"] for one in resources]
    assert kinds == ["Library", *["ActivityDefinition"] * 4, "PlanDefinition"]
    assert base64.b64decode(resources[0]["content"][0]["data"]).decode() == cql_text(plan)
    by_url = {f"{one['url']}|{one['version']}": one for one in resources}
    actions = resources[-1]["action"]
    assert [by_url[one["definitionCanonical"]]["code"]["text"] for one in actions[:-1]] == list(plan.arms)
    assert resources[-1]["library"] == [f"{resources[0]['url']}|1.0.0"]
    for action in actions[:-1]:
        assert f"define {action['condition'][0]['expression']['expression']}:" in cql_text(plan)


@pytest.mark.slow
@pytest.mark.parametrize("form", [*FORMS, "fhir"])
def test_what_no_engine_can_express_is_refused(form, known_plans, tmp_path, capsys):
    refused = [plan for plan in known_plans.values() if plan.theta is not None or plan.outcomes_choose]
    assert len(refused) == 10
    for plan in refused:
        save_plan(plan, tmp_path / "plan.json")
        ending = "fhir.json" if form == "fhir" else form
        assert shown(tmp_path / "plan.json", "-o", tmp_path / f"plan.{ending}") == 2
        said = capsys.readouterr().err
        assert "cannot be written as" in said
        assert "--format machine" in said
        assert not (tmp_path / f"plan.{ending}").exists()


def test_names_and_cuts_that_a_form_cannot_hold_are_refused():
    two = Collection.gaussian([[0.5, 0.0], [0.0, 0.5]], 1.0, arms=["A\x01", "B"])
    lines = [Line(Give("B"), Watch(ByOutcome((-1, 1), (0.1234567891,)), 3), below=Line(Give("A\x01")))]
    with pytest.raises(InvalidInput, match="letters that DMN can hold"):
        dmn_text(make_plan(lines, two, 10))
    plain = renamed(make_plan(lines, two, 10), ("A", "B"))
    assert "0.1234567891" in dmn_text(plain)
    with pytest.raises(InvalidInput, match="at most 8 decimals"):
        cql_text(plain)


def test_files_are_written_by_their_ending(known_plans, tmp_path, capsys):
    save_plan(known_plans["grades"], tmp_path / "plan.json")
    for ending, begins in (("dmn", "<?xml"), ("cql", "library Bandit"), ("fhir.json", '{\n  "resourceType": "Bundle"')):
        assert shown(tmp_path / "plan.json", "-o", tmp_path / f"plan.{ending}") == 0
        assert (tmp_path / f"plan.{ending}").read_text().startswith(begins)
    assert shown(tmp_path / "plan.json", "-o", tmp_path / "plan.doc") == 2


@pytest.mark.parametrize(("number", "says"), [(1, "A Give A"), (2, "A")])
def test_the_page_shows_what_works(number, says, known_plans, tmp_path):
    """The programs of docs/travel.md, as they stand there."""
    page = (HERE.parents[1] / "docs" / "travel.md").read_text()
    program = re.findall(r"^``` js\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[number]
    plan = known_plans["pages, and what did harm is not given again"]
    (tmp_path / "plan.dmn").write_text(dmn_text(plan))
    (tmp_path / "plan.cql").write_text(cql_text(plan))
    named = HERE / "node_modules" / f".page-{number}.mjs"  # packages are looked for beside a program
    if not named.parent.is_dir():
        ran("moddle", [], tmp_path)
    named.write_text(program + ("console.log(option, says, next);" if number == 1 else ""))
    found = subprocess.run(["node", named], cwd=tmp_path, capture_output=True, text=True, check=False)
    named.unlink()
    assert found.stdout.startswith(says), found.stderr
