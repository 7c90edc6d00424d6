import json

import jsonschema
import numpy as np
import pytest
from pyarrow.parquet import ParquetFile

from banditree.errors import InvalidInput
from banditree.files.results import check_results_name, load_results, save_results
from banditree.files.schemas import json_schema
from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand


@pytest.fixture(scope="module")
def results():
    found = simulate(rand(3, 4, 0.3), ["uniform", "dt-ece"], horizon=900, runs=4, seed=8, rounds=[1, 50, 900])
    found.regret[0, 1, 2] = np.nan  # as if it had been interrupted
    return found


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_results_come_back_as_they_were(results, tmp_path, ending):
    path = tmp_path / f"results{ending}"
    save_results(results, path)
    back = load_results(path)
    finished = results.finished
    assert np.array_equal(back.finished, finished)
    for name in ("regret", "arm", "phase", "committed", "alarmed", "task_right", "arm_right"):
        assert np.array_equal(getattr(back, name)[finished], getattr(results, name)[finished]), name
        assert getattr(back, name).dtype == getattr(results, name).dtype
    for name in ("policies", "tasks", "arms", "settings", "versions"):
        assert getattr(back, name) == getattr(results, name)
    assert back.rounds.tolist() == results.rounds.tolist()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_json_file_fits_its_schema(results, tmp_path):
    save_results(results, tmp_path / "results.json")
    jsonschema.validate(json.loads((tmp_path / "results.json").read_text()), json_schema("results"))


def test_the_parquet_file_is_a_tidy_table_for_anyone(results, tmp_path):
    import pandas as pd

    save_results(results, tmp_path / "results.parquet")
    frame = pd.read_parquet(tmp_path / "results.parquet")
    assert len(frame) == (2 * 3 * 4 - 1) * 3
    last = frame[(frame.policy == "dt-ece") & (frame["round"] == 900)]
    assert (last.phase == "exploit").all()
    assert last.task_right.all()
    assert frame[frame.policy == "uniform"].committed.isna().all()


def test_names_are_checked_before_anything_is_simulated(tmp_path):
    with pytest.raises(InvalidInput, match=r"written as \.parquet or \.json"):
        check_results_name(tmp_path / "results.csv")
    with pytest.raises(InvalidInput, match="there is no folder"):
        check_results_name(tmp_path / "nowhere" / "results.json")


def test_files_that_are_no_results(results, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    with pytest.raises(InvalidInput, match="no such file"):
        load_results(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(InvalidInput, match="is not a Parquet file"):
        load_results(tmp_path / "text.parquet")
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match="no results of banditree"):
        load_results(tmp_path / "other.parquet")
    save_results(results, tmp_path / "results.json")
    data = json.loads((tmp_path / "results.json").read_text())
    data["played"][0]["arm"][0] = "nothing"
    (tmp_path / "results.json").write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match="a run does not fit"):
        load_results(tmp_path / "results.json")


def test_parquet_is_written_a_few_runs_at_a_time_and_reads_back_the_same(results, tmp_path, monkeypatch):
    save_results(results, tmp_path / "whole.parquet")
    monkeypatch.setattr("banditree.files.results.ROWS_AT_A_TIME", 3 * len(results.rounds))
    save_results(results, tmp_path / "parts.parquet")
    assert ParquetFile(tmp_path / "parts.parquet").num_row_groups == 8  # 23 finished runs, 3 at a time
    whole, parts = load_results(tmp_path / "whole.parquet"), load_results(tmp_path / "parts.parquet")
    for name in ("regret", "arm", "phase", "committed", "task_right", "arm_right", "alarmed"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name), equal_nan=name == "regret")
