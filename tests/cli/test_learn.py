"""`banditree learn` from a file to a plan."""

import json

import numpy as np
import polars as pl
import pytest

from banditree.cli import main
from banditree.files.collections import load_collection
from banditree.tasks.instances import rand


@pytest.fixture
def log(tmp_path):
    collection, rng, n = rand(3, 4, 0.4, seed=1), np.random.default_rng(0), 8000
    who, arm = rng.integers(0, 60, n), rng.integers(0, 4, n)
    frame = pl.DataFrame(
        {
            "patient_group": np.array(["mild", "moderate", "severe"])[who % 3],
            "patient_id": who,
            "treatment": np.array(["A", "B", "C", "D"])[arm],
            "recovered": (rng.random(n) < collection.means[who % 3, arm]).astype(int),
            "age": rng.normal(50, 10, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    frame.write_parquet(tmp_path / "visits.parquet")
    return tmp_path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code, *capsys.readouterr()


ROLES = ("--arm", "treatment", "--reward", "recovered")


@pytest.mark.slow
def test_a_log_becomes_a_collection_that_can_be_planned_on(capsys, log):
    code, out, _ = run(
        capsys, "learn", log / "visits.parquet", "--task", "patient_group", *ROLES, "-o", log / "tasks.json"
    )
    assert code == 0
    assert "Read 8,000 rows of visits.parquet: task is 'patient_group'" in out
    assert load_collection(log / "tasks.json").tasks == ("mild", "moderate", "severe")
    code, out, _ = run(capsys, "plan", log / "tasks.json", "--horizon", 10_000, "--steps", 300)
    assert code == 0
    assert "taken as estimates" in out
    assert "estimated from visits.parquet, 8,000 rows" in out


def test_contexts_reach_the_collection(capsys, log):
    arguments = ("--task", "patient_group", *ROLES, "--context", "age, sex", "--json", "-o", log / "tasks.json")
    code, out, _ = run(capsys, "learn", log / "visits.parquet", *arguments)
    assert code == 0
    assert json.loads(out)["bad_rows"]["rows"] == 0
    collection = load_collection(log / "tasks.json")
    assert [feature.name for feature in collection.contexts.features] == ["(intercept)", "age", "sex"]
    assert collection.contexts.features[2].levels == ("f", "m")


def test_individuals_become_classes(capsys, log):
    code, out, _ = run(capsys, "learn", log / "visits.parquet", "--individual", "patient_id", *ROLES)
    assert code == 0
    assert "Found 3 kinds among 60 individuals" in out


def test_shares_of_kinds_are_kept_and_can_be_set(capsys, log):
    arguments = ("learn", log / "visits.parquet", "--individual", "patient_id", *ROLES, "-o", log / "tasks.json")
    run(capsys, *arguments)
    assert load_collection(log / "tasks.json").shares.tolist() == pytest.approx([1 / 3] * 3)
    run(capsys, *arguments, "--shares", "kind 3=0.5, kind 1=0.3, kind 2=0.2")
    assert load_collection(log / "tasks.json").shares.tolist() == pytest.approx([0.3, 0.2, 0.5])
    assert run(capsys, *arguments, "--shares", "half")[0] == 2
    code, _, err = run(capsys, *arguments, "--shares", "0.5,0.5")
    assert (code, "shares must be 3 numbers, one per task" in err) == (2, True)


def test_statistics_are_saved_and_added_to(capsys, log):
    roles = ("--task", "patient_group", *ROLES)
    run(capsys, "learn", log / "visits.parquet", *roles, "--save-statistics", log / "s.json")
    code, out, _ = run(capsys, "learn", log / "visits.parquet", *roles, "--add-to", log / "s.json", "--merge", 0.2)
    assert code == 0
    assert "Added to the statistics of 8,000 earlier rows" in out
    assert "Merged nothing" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.csv",), "no such file"),
        (("visits.parquet",), "Say which one it is: --reward NAME"),
        (("visits.parquet", "--task", "patient_group", "--reward", "age"), "--rewards bounded or --rewards gaussian"),
        (("visits.parquet", "--task", "sex", *ROLES, "--rewards", "nonsense"), "'nonsense' is not one of"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(capsys, log, monkeypatch, arguments, words):
    monkeypatch.chdir(log)
    code, out, err = run(capsys, "learn", *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_estimates_taken_at_their_word_are_marked_everywhere(capsys, log, monkeypatch):
    monkeypatch.chdir(log)
    run(capsys, "learn", "visits.parquet", "--task", "patient_group", *ROLES, "-o", "tasks.json")
    arguments = ("plan", "tasks.json", "--horizon", 200, "--method", "tree", "--trust-estimates", "-o", "plan.json")
    code, out, _ = run(capsys, *arguments)
    assert (code, "estimates taken at their word" in out) == (0, True)
    assert "estimates taken at their word" in (log / "plan.json").read_text()
    assert "Made from estimates taken at their word." in " ".join(run(capsys, "show", "plan.json")[1].split())
    front = ("plan", "tasks.json", "--horizon", 200, "--pareto", "--steps", 50, "--trust-estimates", "-o", "front.json")
    assert run(capsys, *front)[0] == 0
    assert all("estimates taken at their word" in path.read_text() for path in log.glob("front-*.json"))
    _, out, _ = run(capsys, "certify", "plan.json", "tasks.json")
    assert "This rests on estimates taken at their word" in out
    code, _, err = run(capsys, "learn", "visits.parquet", "--task", "patient_group", "--reward", "age", "--arm", "sex")
    assert (code, "--low " in err, "--high " in err) == (2, True, True)
