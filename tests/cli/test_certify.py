"""`banditree certify` from files."""

import json

import pytest

from banditree.cli import main
from banditree.files.plans import save_plan
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree


@pytest.fixture
def files(tmp_path):
    means = tmp_path / "means.csv"
    means.write_text("task,A,B\nmild,0.7,0.2\nsevere,0.3,0.6\n")
    collection = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    save_plan(build_tree(collection, 1000), tmp_path / "plan.json")
    return str(tmp_path / "plan.json"), str(means)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return end.value.code, *capsys.readouterr()


def test_table(capsys, files):
    code, out, _err = run(capsys, "certify", *files)
    assert code == 0
    assert "28.804 in the worst (severe)" in out


def test_json_with_another_horizon(capsys, files):
    code, out, _err = run(capsys, "certify", *files, "--horizon", "10000", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["horizon"] == 10_000
    assert document["claim"] == "exact"


def test_a_missing_file_is_one_line(capsys, files):
    code, _out, err = run(capsys, "certify", "nowhere.json", files[1])
    assert code == 2
    assert len(err.strip().splitlines()) == 1
