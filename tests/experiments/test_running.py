import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.experiments.experiment import parse_experiment
from banditree.experiments.running import RUNS, Stopped, run_experiment, setting_name
from banditree.experiments.slopes import fit_line, fit_slopes
from banditree.simulation import engine

SWEEP = """
title = "small"
horizon = 60
runs = 2
[collection]
generator = "rand"
n_tasks = 3
n_arms = 4
separation = 0.3
[[policies]]
policy = "uniform"
[sweep]
parameter = "horizon"
values = [20, 40, 80]
"""


def test_what_is_finished_is_never_done_again(tmp_path, monkeypatch):
    experiment = parse_experiment(SWEEP, "x")
    seen = []

    def stop_at_the_second(progress):
        seen.append(progress.text)
        return progress.text != "small, horizon 40"

    with pytest.raises(Stopped):
        run_experiment(experiment, tmp_path, stop_at_the_second)
    kept = {path.name: path.read_bytes() for path in (tmp_path / RUNS).iterdir()}
    assert len(kept) == 1
    first = run_experiment(experiment, tmp_path)
    assert all((tmp_path / RUNS / name).read_bytes() == content for name, content in kept.items())
    monkeypatch.setattr(engine, "open_arena", None)  # nothing may be simulated any more
    again = run_experiment(experiment, tmp_path)
    for (_, one), (_, other) in zip(first, again, strict=True):
        assert np.array_equal(one.regret, other.regret)


def test_the_name_of_a_setting_changes_with_what_its_results_depend_on(tmp_path):
    experiment = parse_experiment(SWEEP, "x")
    names = {setting_name(setting) for setting in experiment.settings()}
    names.add(setting_name(experiment.model_copy(update={"seed": 1})))
    assert len(names) == 4
    file = tmp_path / "tasks.csv"
    file.write_text("a,b\n0.1,0.9\n0.8,0.2\n")
    collection = experiment.collection.model_copy(update={"generator": None, "file": str(file)})
    one = setting_name(experiment.model_copy(update={"collection": collection}))
    file.write_text("a,b\n0.1,0.9\n0.8,0.3\n")
    assert setting_name(experiment.model_copy(update={"collection": collection})) != one
    file.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        setting_name(experiment.model_copy(update={"collection": collection}))


def test_uniform_play_pays_in_proportion_to_the_horizon(tmp_path):
    (slope,) = fit_slopes("horizon", run_experiment(parse_experiment(SWEEP, "x"), tmp_path))
    assert slope.exponent == pytest.approx(1.0, abs=0.15)
    with pytest.raises(InvalidInput, match="at least 3 values"):
        fit_slopes("horizon", run_experiment(parse_experiment(SWEEP, "x"), tmp_path)[:2])


def test_a_line_is_fitted_as_numpy_does():
    x, y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.5, 3.0, 2.0])
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    assert fit_line(x, y) == pytest.approx((slope, np.sqrt(covariance[0, 0])))
