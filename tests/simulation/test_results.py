import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.simulation.engine import simulate
from banditree.simulation.frames import as_pandas, as_polars, columns
from banditree.simulation.results import BandKind, mean_band, summaries, worst_band
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand


@pytest.fixture(scope="module")
def results():
    return simulate(rand(4, 5, 0.5), ["uniform", "dt-ece"], horizon=600, runs=30, seed=1, rounds=[1, 100, 600])


def unfinished(results, policy, task, run):
    """A copy in which one run was not played."""
    regret = results.regret.copy()
    regret[policy, task, run] = np.nan
    return type(results)(**{**vars(results), "regret": regret})


def test_normal_bands_are_those_of_run_averages(results):
    band = mean_band(results, "uniform")
    by_run = results.regret[0].mean(axis=0)
    np.testing.assert_allclose(band.mean, by_run.mean(axis=0))
    half = 1.959964 * by_run.std(axis=0, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(band.high - band.mean, half, rtol=1e-6)
    np.testing.assert_allclose(band.mean - band.low, half, rtol=1e-6)


def test_the_worst_task_is_the_worst(results):
    band = worst_band(results, "uniform")
    by_task = results.regret[0].mean(axis=1)
    np.testing.assert_allclose(band.mean, by_task.max(axis=0))
    assert band.task.tolist() == by_task.argmax(axis=0).tolist()


@pytest.mark.parametrize("band_of", [mean_band, worst_band])
def test_bootstrap_and_normal_bands_are_about_as_wide(results, band_of):
    normal, bootstrap = (band_of(results, "uniform", kind) for kind in BandKind)
    ratio = (bootstrap.high - bootstrap.low)[1:] / (normal.high - normal.low)[1:]
    assert ((ratio > 0.6) & (ratio < 1.5)).all()
    assert ((bootstrap.low <= bootstrap.mean) & (bootstrap.mean <= bootstrap.high)).all()
    again = band_of(results, "uniform", BandKind.BOOTSTRAP)
    assert np.array_equal(again.low, bootstrap.low)


def test_summaries_say_when_and_whether_rightly(results):
    uniform, tree = summaries(results)
    assert (uniform.committed, uniform.task_right) == (None, None)
    assert tree.committed == 1.0
    assert tree.task_right == 1.0
    assert tree.committed_at == np.median(results.committed[1])
    assert tree.mean_low <= tree.mean <= tree.mean_high
    assert tree.worst_task in results.tasks


def test_unfinished_runs_are_left_out(results):
    partial = unfinished(results, 0, 2, 7)
    whole = np.delete(results.regret[0], 7, axis=1)
    np.testing.assert_allclose(mean_band(partial, "uniform").mean, whole.mean(axis=(0, 1)))
    assert len(columns(partial)["run"]) == len(columns(results)["run"]) - 3
    nothing = unfinished(results, 0, 0, slice(None))
    with pytest.raises(InvalidInput, match="No run of uniform is finished on every task"):
        mean_band(nothing, "uniform")
    assert [summary.policy for summary in summaries(nothing)] == ["dt-ece"]


def test_one_run_has_no_band():
    one = simulate(Collection.bernoulli([[0.1, 0.9], [0.9, 0.1]]), ["uniform"], horizon=10, runs=1)
    assert np.isinf(mean_band(one, "uniform").high).all()


def test_bad_names_and_levels(results):
    with pytest.raises(InvalidInput, match="policy must be one of uniform, dt-ece"):
        mean_band(results, "mts")
    with pytest.raises(InvalidInput, match="level must be between 0 and 1"):
        mean_band(results, "uniform", level=95)


def test_pandas_and_polars_frames_have_the_same_tidy_rows(results):
    pandas, polars = as_pandas(results), as_polars(results)
    assert len(pandas) == len(polars) == 2 * 4 * 30 * 3
    assert list(pandas.columns) == polars.columns
    assert list(pandas.columns[:7]) == ["policy", "task", "run", "round", "regret", "arm", "phase"]
    last = pandas[(pandas.policy == "dt-ece") & (pandas.task == "task 3") & (pandas["run"] == 4)].iloc[-1]
    assert last["round"] == 600
    assert last.regret == results.regret[1, 2, 4, -1]
    assert last.phase == "exploit"
    assert last.committed == results.committed[1, 2, 4]
    assert bool(last.task_right)
    assert polars["regret"].to_list() == pandas.regret.tolist()
    assert polars["arm"].to_list() == pandas.arm.tolist()
    assert pandas[pandas.policy == "uniform"].committed.isna().all()
    assert polars["committed"].null_count() == pandas.committed.isna().sum()
    assert polars["task_right"].null_count() == pandas.task_right.isna().sum()
