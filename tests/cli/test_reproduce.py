import json

import pytest

from banditree.cli import main

EXPERIMENT = """
title = "mine"
horizon = 40
runs = 2
[collection]
file = "tasks.csv"
[[policies]]
policy = "mts"
[[policies]]
policy = "dt-ece"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.csv").write_text("A,B\n0.95,0.05\n0.05,0.9\n")
    (tmp_path / "my.toml").write_text(EXPERIMENT)
    return tmp_path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


@pytest.mark.slow
def test_an_experiment_of_ones_own(folder, capsys):
    code, out, _ = run(capsys, "lab", "experiment", "my.toml")
    assert code == 0
    assert "| mine | dt-ece |" in out
    assert sorted(path.name for path in (folder / "my").iterdir()) == ["my.csv", "my.md", "my.pdf", "my.png", "runs"]
    code, out, _ = run(capsys, "lab", "experiment", "my.toml", "--json")
    assert json.loads(out) == {"folder": "my", "title": "mine"}


def test_wrong_files_write_nothing(folder, capsys):
    (folder / "bad.toml").write_text("title = 3")
    code, out, err = run(capsys, "lab", "experiment", "bad.toml")
    assert (code, out) == (2, "")
    assert err.startswith("banditree: bad.toml: ")
    assert not (folder / "bad").exists()
    code, _, err = run(capsys, "lab", "experiment", "none.toml")
    assert (code, err) == (2, "banditree: none.toml: no such file. Check the name and the folder.\n")


def test_the_folder_of_results_must_be_one(folder, capsys):
    (folder / "taken").write_text("")
    code, _, err = run(capsys, "lab", "experiment", "my.toml", "--folder", "taken")
    assert code == 2
    assert "taken cannot be made a folder" in err


@pytest.mark.parametrize("command", ["reproduce", "experiment"])
def test_help_has_an_example(command, capsys):
    code, out, _ = run(capsys, "lab", command, "--help")
    assert code == 0
    assert f"Example: banditree lab {command}" in out
