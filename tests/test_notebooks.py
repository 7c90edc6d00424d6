"""The notebooks of the examples run from top to bottom, as a reader would run them."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"


def cells(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("name", ["clinic", "researcher", pytest.param("panel", marks=pytest.mark.slow)])
def test_a_notebook_runs(name, monkeypatch):
    monkeypatch.setattr("banditree.evaluation.promise.DRAWS", 100)
    monkeypatch.setattr("banditree.evaluation.promise.LEAST_DRAWS", 20)
    known = {"__name__": "notebook"}
    for number, cell in enumerate(cells(name)):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), known)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ipynb")))
def test_notebooks_are_kept_without_what_they_printed(name):
    code = [cell for cell in cells(name) if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
