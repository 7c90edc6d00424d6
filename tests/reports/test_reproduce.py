import csv
import io
import sys
from pathlib import Path

import pytest

from banditree.errors import InvalidInput
from banditree.experiments.experiment import parse_experiment
from banditree.experiments.running import Stopped
from banditree.reports.reproduce import numbers_csv, reproduce_panels, run_and_write, summary_table
from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand

GOLDEN = Path(__file__).parents[1] / "golden" / "files"


def test_numbers_are_one_row_per_policy_and_round():
    results = simulate(rand(3, 4, 0.3), ["uniform", "mts"], horizon=50, runs=4, rounds=[10, 50])
    rows = list(csv.DictReader(io.StringIO(numbers_csv({"x": results}))))
    assert [(row["policy"], row["round"]) for row in rows] == [
        ("uniform", "10"),
        ("uniform", "50"),
        ("mts", "10"),
        ("mts", "50"),
    ]
    assert float(rows[1]["mean"]) == pytest.approx(results.final("uniform").mean(), rel=1e-5)
    assert "| x | mts |" in summary_table({"x": results})


SWEEP = """
title = "uniform play"
horizon = 100
runs = 3
[collection]
generator = "rand"
n_tasks = 3
n_arms = 4
separation = 0.3
[[policies]]
policy = "uniform"
[sweep]
parameter = "horizon"
values = [20, 80, 320]
"""


@pytest.mark.slow
def test_a_sweep_leaves_its_slopes_as_a_table_and_a_figure(tmp_path):
    summary = run_and_write(parse_experiment(SWEEP, "x"), "mine", tmp_path)
    assert "| uniform | horizon^1.0" in summary or "| uniform | horizon^0.9" in summary
    written = {path.name for path in tmp_path.iterdir()}
    assert {"mine.csv", "mine.md", "mine.pdf", "mine.png", "mine-slopes.pdf", "mine-slopes.png"} <= written


@pytest.mark.parametrize(("package", "extra"), [("pyarrow", "frames"), ("matplotlib", "figures")])
def test_what_is_not_installed_is_said_before_anything_is_done(package, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidInput, match=rf"banditree\[{extra}\]"):
        reproduce_panels(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_quick_look_has_a_tenth_of_the_runs(tmp_path, monkeypatch):
    asked = []

    def stop(experiment, *_):
        asked.append(experiment.runs)
        raise Stopped

    monkeypatch.setattr("banditree.reports.reproduce.run_experiment", stop)
    for quick in (False, True):
        with pytest.raises(Stopped):
            reproduce_panels(tmp_path, quick=quick)
    assert asked == [200, 20]


@pytest.mark.parametrize(
    ("quick", "before"),
    [pytest.param(True, "quick-", marks=pytest.mark.slow), pytest.param(False, "", marks=pytest.mark.soak)],
    ids=["quick", "full"],
)
def test_the_paper_comes_out_as_it_did_before_twice(tmp_path, quick, before):
    """Changed for a reason? banditree lab reproduce, then copy its claims.md and summary.md to tests/golden/files; with
    --quick those of a tenth of the runs, to quick-claims.md and quick-summary.md."""
    for name in ("one", "other"):
        reproduce_panels(tmp_path / name, quick=quick)
    files = {path.name for path in (tmp_path / "one").iterdir() if path.is_file()}
    assert {"figure.pdf", "figure.png", "numbers.csv", "claims.md", "summary.md", "a.toml", "protocol-a.json"} <= files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name
    for name in ("claims.md", "summary.md"):
        assert (tmp_path / "one" / name).read_text() == (GOLDEN / f"{before}{name}").read_text()
