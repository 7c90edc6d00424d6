import json
import os
import signal
from dataclasses import replace

import pytest

from banditree.cli.app import main
from banditree.files.collections import save_collection
from banditree.files.plans import save_plan
from banditree.files.results import load_results
from banditree.policies.registry import POLICIES
from banditree.simulation import engine
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "tasks.json"
    save_collection(rand(3, 4, 0.3), path)
    return path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_cases_that_differ_are_drawn_and_policies_know_their_tasks_only(tmp_path, capsys):
    """Many cases of the first task have another best arm than the task: a plan that finds the task is wrong there."""
    alike = Collection.bernoulli([[0.6, 0.5], [0.2, 0.85]])
    save_collection(replace(alike, spread=[[0.3, 0.3], [0.01, 0.01]]), tmp_path / "varied.json")
    save_collection(alike, tmp_path / "alike.json")
    save_plan(build_tree(alike, 500), tmp_path / "plan.json")
    given = ("--policies", tmp_path / "plan.json", "--horizon", 500, "--runs", 2, "--json", "--cases", 30)
    code, out, _ = run(capsys, "lab", "simulate", tmp_path / "varied.json", *given)
    document = json.loads(out)
    assert code == 0
    assert "60 cases drawn with seed 0" in document["settings"]["truth"]
    assert 0.6 < document["policies"][0]["arm_right"] < 0.95
    code, _, err = run(capsys, "lab", "simulate", tmp_path / "alike.json", *given)
    assert (code, "The collection has no spread" in err) == (2, True)


def test_policies_and_plans_are_compared(tasks, tmp_path, capsys):
    save_plan(build_tree(rand(3, 4, 0.3), 500), tmp_path / "plan.json")
    output = tmp_path / "regret.parquet"
    policies = f"uniform,{tmp_path / 'plan.json'}"
    code, out, _ = run(
        capsys, "lab", "simulate", tasks, "--policies", policies, "--horizon", 500, "--runs", 5, "-o", output
    )
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["policy", "uniform", "plan"]
    assert "100.00%" in out
    assert load_results(output).finished.all()


def test_json_for_programs(tasks, capsys):
    code, out, _ = run(
        capsys, "lab", "simulate", tasks, "--policies", "uniform", "--horizon", 100, "--runs", 5, "--seed", 3, "--json"
    )
    data = json.loads(out)
    assert code == 0
    assert (data["finished"], data["asked"], data["settings"]["seed"]) == (15, 15, 3)
    assert data["policies"][0]["mean_low"] < data["policies"][0]["mean"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies", "nobody"], "a policy must be one of dt-ece"),
        (["--policies", "uniform,uniform"], "--policies must be of different names"),
        (["--policies", ","], "policies must be at least one"),
        (["--policies", "uniform", "-o", "x.csv"], "results are written as .parquet or .json"),
        (["--policies", "uniform", "--rounds", "a,b"], "--rounds must be made of values that are each a whole number"),
        (["--policies", "uniform", "--rounds", "101"], "rounds must be numbers from 1 to the horizon 100"),
        (["--policies", "uniform", "--believed", "none.json"], "no such file"),
        (["--policies", "no-plan.json"], "no such file"),
    ],
)
def test_bad_input_is_one_line(tasks, capsys, arguments, message):
    code, out, err = run(capsys, "lab", "simulate", tasks, "--horizon", 100, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_the_help_names_every_policy(capsys):
    _, out, _ = run(capsys, "lab", "simulate", "--help")
    words = "".join(out.replace("│", " ").split())  # lines may end within a name
    assert all(f"{name}," in words or f"{name};" in words for name in POLICIES)


def test_interrupting_keeps_what_is_finished(tasks, tmp_path, capsys, monkeypatch):
    """A real Ctrl-C, sent once the third batch is in."""
    put, batches = engine._put, []

    def put_and_interrupt(*arguments):
        put(*arguments)
        batches.append(arguments)
        if len(batches) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(engine, "_put", put_and_interrupt)
    monkeypatch.setattr(engine, "STEPS_PER_BATCH", 10_000)
    output = tmp_path / "regret.json"
    command = ["lab", "simulate", tasks, "--policies", "uniform", "--horizon", 100, "--runs", 2000, "--workers", 1]
    code, out, err = run(capsys, *command, "-o", output)
    assert code == 130
    assert "Stopped early: 300 of 6,000 runs are finished and kept." in err
    assert out.splitlines()[1].startswith("uniform")
    assert load_results(output).finished.sum() == 300
