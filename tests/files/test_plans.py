import json
import os

import jsonschema
import numpy as np
import pytest
from example_plans import binned_plan, binned_protocol, protocol, score_plan

from banditree.errors import InvalidInput
from banditree.files.plans import fingerprint, load_plan, plan_json, save_plan
from banditree.files.schemas import json_schema
from banditree.files.sessions import load_session, save_session
from banditree.policies.rounds import MISSING
from banditree.policies.starting import start_session
from banditree.tasks.instances import linear, rand
from banditree.trees.tree import build_tree, lazy_tree

PLANS = {
    "tree": lambda: build_tree(rand(10, 20, 0.4), 1000, 0.4),
    "linear": lambda: build_tree(linear(4, 5, 3, 0.2), 5000, 0.2),
    "score": score_plan,
    "binned": binned_plan,
    "protocol": protocol,
    "binned protocol": binned_protocol,
}


@pytest.mark.parametrize("name", PLANS)
def test_round_trip(name, tmp_path):
    plan, path = PLANS[name](), tmp_path / "plan.json"
    save_plan(plan, path)
    jsonschema.validate(json.loads(path.read_text()), json_schema("plan"))
    again = load_plan(path)
    for field, value in vars(plan).items():
        same = (
            np.array_equal(getattr(again, field), value)
            if isinstance(value, np.ndarray)
            else getattr(again, field) == value
        )
        assert same, field
    assert plan_json(again) == plan_json(plan)
    assert fingerprint(again) == fingerprint(plan)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_an_older_version_is_refused_in_a_sentence(version, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(plan_json(protocol()).replace("banditree/plan/4", f"banditree/plan/{version}"))
    with pytest.raises(InvalidInput, match=r"written by an older banditree .* Make it again with this one\.$"):
        load_plan(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["lines"][1].update(above=3), "where a line leads above must be omitted"),
        (lambda d: d["lines"][2]["counts"].update(cap=-1), "the cap of a score must be"),
        (lambda d: d["lines"][0]["counts"].update(ceil="high"), "lines.0.counts.score.ceil"),
        (lambda d: d["lines"][0]["counts"]["points"].update(points=[]), "points must be of both signs"),
        (lambda d: d["lines"][0].update(above=0), "Line 1 of the plan leads to 0, which does not exist"),
        (lambda d: d["lines"][0]["gives"].update(kind="maybe"), "lines.0.gives"),
        (lambda d: d["lines"][0]["gives"].update(dose="high"), "lines.0.gives.give.dose"),
        (lambda d: d["rule"].update(points=[1, 2]), "points must be of both signs"),
        (lambda d: d["rule"].update(cuts=[]), "cuts must be 1 increasing"),
        (lambda d: d.update(form="poem"), "form"),
    ],
)
def test_a_wrong_protocol_is_named(change, message, tmp_path):
    data = json.loads(plan_json(protocol()))
    change(data)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match=message):
        load_plan(path)


def test_files_are_as_readable_as_other_files(tmp_path):
    path = tmp_path / "plan.json"
    save_plan(score_plan(), path)
    (tmp_path / "plain").write_text("")
    assert os.stat(path).st_mode == os.stat(tmp_path / "plain").st_mode


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["lines"].pop(), "Box 3 of the plan leads to 6, which does not exist"),
        (lambda d: d["lines"][0]["gives"].update(arm="Z"), "Box 1 of the plan names the arm 'Z'"),
        (lambda d: d["lines"][0]["counts"]["points"].update(points=[-1, 2, 3]), "cuts must be 2 increasing"),
        (lambda d: d.update(schema="banditree/plan/9"), "newer banditree"),
        (lambda d: d.update(horizon=0), "horizon must be at least 1"),
        (lambda d: d.update(arms=["A", "A", "C"]), "arms must have different names"),
        (lambda d: d.pop("tasks"), "tasks: Field required"),
    ],
)
def test_a_wrong_plan_is_named(change, message, tmp_path):
    data = json.loads(plan_json(score_plan()))
    change(data)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match=message) as problem:
        load_plan(path)
    assert str(problem.value).startswith(str(path))


def test_a_case_goes_on_from_its_file_with_its_own_plan(tmp_path):
    plan, path = score_plan(), tmp_path / "case.json"
    case = start_session(plan, seed=3, case=9)
    for reward in (1, 0, MISSING, 1):
        case.tell(reward, case.ask().round)
    case.ask()
    save_session(case, path)
    jsonschema.validate(json.loads(path.read_text()), json_schema("case"))
    assert load_session(plan, path).snapshot() == case.snapshot()
    with pytest.raises(InvalidInput, match="is a case of another plan"):
        load_session(binned_plan(), path)
    with pytest.raises(InvalidInput, match="Only sessions that follow a Plan"):
        save_session(start_session(lazy_tree(rand(4, 5, 0.3), 100)), path)
