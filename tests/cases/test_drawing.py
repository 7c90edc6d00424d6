"""Of a large log whole cases are used, drawn by the seed: the same on every engine, in the order of the log."""

import numpy as np
import polars
import pytest

from banditree.cases.reading import read_cases
from banditree.cases.table import only_cases
from banditree.errors import InvalidInput

N_CASES, N_ROWS = 300, 6000


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    who, arm = rng.integers(0, N_CASES, N_ROWS), rng.integers(0, 3, N_ROWS)
    names = np.char.mod("p%d", who)
    return {"individual": names, "arm": np.array(["A", "B", "C"])[arm], "reward": rng.integers(0, 2, N_ROWS)}


def test_cases_that_are_drawn_are_whole_and_in_order(rows):
    everything = read_cases(polars.DataFrame(rows))
    drawn = read_cases(polars.DataFrame(rows), most_rows=2000, seed=3)
    assert 1500 < len(drawn.outcomes) <= 2000
    same = only_cases(everything, [everything.cases.index(name) for name in drawn.cases])
    np.testing.assert_array_equal(drawn.outcomes, same.outcomes)
    assert drawn.first.tolist() == same.first.tolist()
    assert f"{drawn.n_cases} of its 300 cases" in drawn.notes[-1]


def test_the_same_cases_are_drawn_on_every_engine_and_others_by_another_seed(rows, tmp_path):
    polars.DataFrame(rows).write_csv(tmp_path / "log.csv")
    polars.DataFrame(rows).write_parquet(tmp_path / "log.parquet")
    sources = [polars.DataFrame(rows), tmp_path / "log.csv", tmp_path / "log.parquet"]
    found = [read_cases(source, most_rows=1000, seed=1) for source in sources]
    assert found[0].cases == found[1].cases == found[2].cases
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].outcomes, other.outcomes)
    assert read_cases(sources[0], most_rows=1000, seed=2).cases != found[0].cases


def test_bad_rows_are_counted_in_the_whole_log(rows):
    arms = [None, *rows["arm"][1:].tolist()]
    with pytest.raises(InvalidInput, match="1 bad row"):
        read_cases(polars.DataFrame(rows | {"arm": arms}), most_rows=1000)
    kept = read_cases(polars.DataFrame(rows | {"arm": arms}), most_rows=1000, drop_bad_rows=True)
    assert kept.n_cases < N_CASES


def test_a_log_that_is_small_enough_is_read_as_it_is(rows):
    few = read_cases(polars.DataFrame(rows), most_rows=N_ROWS)
    assert few.n_cases == N_CASES
    assert not any("drawn" in note for note in few.notes)
