import duckdb
import ibis
import numpy as np
import polars as pl
import pytest
from logs_to_read import ROLES, sklearn_theta, visits

from banditree.errors import InvalidInput
from banditree.tasks.contexts import encode
from banditree.tasks.rewards import Bernoulli, Bounded, Family
from banditree.training.collection import to_collection
from banditree.training.estimates import estimate
from banditree.training.logs import read_log
from banditree.training.statistics import merge_statistics

FRAME = visits()
GAUSSIAN = {"rewards": Family.GAUSSIAN, **ROLES}


def duckdb_file(folder):
    frame = FRAME.to_arrow()
    with duckdb.connect(folder / "clinic.duckdb") as engine:
        engine.register("frame", frame)
        engine.execute("CREATE TABLE visits AS SELECT * FROM frame")
    return folder / "clinic.duckdb"


def parts(folder):
    for number, part in enumerate(FRAME.iter_slices(1000)):
        part.write_parquet(folder / f"part{number}.parquet")
    return folder / "*.parquet"


def written(folder, name, write):
    getattr(FRAME, write)(folder / name)
    return folder / name


SOURCES = {
    "polars": lambda folder: FRAME,
    "pandas": lambda folder: FRAME.to_pandas(),
    "arrow": lambda folder: FRAME.to_arrow(),
    "ibis": lambda folder: ibis.memtable(FRAME),
    "parquet": lambda folder: written(folder, "visits.parquet", "write_parquet"),
    "parts": parts,
    "csv": lambda folder: written(folder, "visits.csv", "write_csv"),
    "duckdb": duckdb_file,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_log_gives_the_thetas_of_scikit_learn(kind, tmp_path):
    reading = read_log(SOURCES[kind](tmp_path), table="visits", context=["far", "near", "sex"], **GAUSSIAN)
    found = estimate(reading.statistics, Family.GAUSSIAN)
    features = [str(feature) for feature in found.contexts.features]
    often = FRAME["sex"].mode()[0]
    others = [level for level in ("f", "m", "x") if level != often]
    assert features == ["(intercept)", "far", "near", *(f"sex={level}" for level in others)]
    expected = sklearn_theta(FRAME, ["far", "near", *(("sex", level) for level in others)], True)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-9)
    assert reading.n_rows == reading.statistics.n_rows == FRAME.height
    assert (reading.statistics.tasks, reading.statistics.arms) == (("mild", "severe"), ("0", "1", "2"))


def test_without_an_intercept_too():
    found = estimate(read_log(FRAME, context=["near", "sex"], **GAUSSIAN).statistics, Family.GAUSSIAN, intercept=False)
    expected = sklearn_theta(FRAME, ["near", ("sex", "f"), ("sex", "m"), ("sex", "x")], False)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-9)


def test_tomorrow_adds_to_yesterday():
    yesterday, tomorrow = FRAME[:1000], FRAME[1000:]
    options = {"context": ["far", "near", "sex"], **GAUSSIAN}
    both = merge_statistics(read_log(yesterday, **options).statistics, read_log(tomorrow, **options).statistics)
    whole = read_log(FRAME, **options).statistics
    np.testing.assert_allclose(estimate(both, Family.GAUSSIAN).theta, estimate(whole, Family.GAUSSIAN).theta, rtol=1e-9)


def test_levels_are_part_of_the_collection():
    reading = read_log(FRAME, context=["sex"], **GAUSSIAN)
    collection = to_collection(estimate(reading.statistics, Family.GAUSSIAN), reading.statistics)
    features = collection.contexts.features
    assert features[1].levels == ("f", "m", "x")
    vectors = {level: encode(features, {"sex": level}).tolist() for level in "fmx"}
    assert sorted(vectors.values()) == [[1, 0, 0], [1, 0, 1], [1, 1, 0]]
    with pytest.raises(InvalidInput, match="sex must be one of f, m, x. Got 'q'"):
        encode(features, {"sex": "q"})


def test_a_number_may_be_a_category_and_a_truth_value_a_number():
    frame = FRAME.with_columns(ward=pl.col("treatment") % 2, smoker=pl.col("near") > 0)
    reading = read_log(frame, context=["ward", "smoker"], categorical=["ward"], **GAUSSIAN)
    assert [str(feature) for feature in reading.statistics.features] == ["smoker", "ward=0", "ward=1"]


BAD = {
    "recovered missing": {"recovered": None},
    "recovered infinite or not a number": {"recovered": float("inf")},
    "sex missing": {"sex": None},
    "near infinite or not a number": {"near": float("nan")},
    "patient_group missing": {"patient_group": None},
    "treatment missing": {"treatment": None},
}


def spoiled(changes):
    number = pl.int_range(FRAME.height)
    frame = FRAME
    for row, change in changes.items():
        for name, value in change.items():
            frame = frame.with_columns(pl.when(number == row).then(pl.lit(value)).otherwise(pl.col(name)).alias(name))
    return frame


@pytest.mark.parametrize("problem", BAD)
@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_bad_rows_are_counted_shown_and_refused(problem, kind, tmp_path):
    source = spoiled({10: BAD[problem], 2000: BAD[problem]})
    if kind == "csv":
        source.write_csv(tmp_path / "log.csv")
        source = tmp_path / "log.csv"
    options = {"context": ["near", "sex"], **GAUSSIAN}
    with pytest.raises(InvalidInput, match=rf"2 bad rows \({problem}: 2\). First at row 11, 2001.*drop_bad_rows=True"):
        read_log(source, **options)
    reading = read_log(source, drop_bad_rows=True, **options)
    assert reading.bad.n_rows == 2
    assert reading.n_rows == FRAME.height
    kept = FRAME.filter(~pl.int_range(FRAME.height).is_in([10, 2000]))
    clean = read_log(kept, **options)
    np.testing.assert_allclose(
        estimate(reading.statistics, Family.GAUSSIAN).theta, estimate(clean.statistics, Family.GAUSSIAN).theta
    )


def test_text_that_is_no_number_is_a_bad_row_and_not_the_end(tmp_path):
    lines = ["task,arm,reward", *(f"a,{n % 2},{n % 7}.25" for n in range(4000)), "a,1,oops"]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInput, match=r"1 bad row \(reward not a number: 1\). First at row 4001"):
        read_log(tmp_path / "log.csv", rewards=Family.GAUSSIAN)


@pytest.mark.parametrize(
    ("family", "value", "words"),
    [
        (Bernoulli(), 0.5, 'reward not 0 or 1: 1.*rewards="bounded" or rewards="gaussian"'),
        (Bernoulli(), 2.0, "reward not 0 or 1: 1"),
        (Bounded(low=-1, high=1), 1.5, r"reward outside \[-1, 1\]: 1"),
    ],
)
def test_rewards_outside_the_declared_range_are_bad(family, value, words):
    frame = pl.DataFrame({"task": ["a"] * 3, "arm": ["x"] * 3, "reward": [0.0, 1.0, value]})
    with pytest.raises(InvalidInput, match=words):
        read_log(frame, rewards=family)
    assert read_log(frame, rewards=family, drop_bad_rows=True).statistics.n_rows == 2
    assert read_log(frame[:2], rewards=family).bad.n_rows == 0


def test_propensities_are_summed_and_checked():
    frame = pl.DataFrame(
        {"task": ["a"] * 4, "arm": ["x", "x", "y", "y"], "click": [1, 0, 1, 1], "pscore": [0.5, 0.25, 1.0, 0.5]}
    )
    reading = read_log(frame)
    assert reading.columns.propensity == "pscore"
    assert reading.statistics.weighted.tolist() == [[6, 20, 2, 4, 4], [3, 5, 3, 5, 5]]
    for wrong in (0.0, 1.5, -0.1, None):
        bad = frame.with_columns(pscore=pl.Series([wrong, 0.25, 1.0, 0.5]))
        with pytest.raises(InvalidInput, match="1 bad row"):
            read_log(bad)
        assert read_log(bad, drop_bad_rows=True).statistics.n_rows == 3


def test_a_sample_of_contexts_on_request():
    reading = read_log(FRAME, context=["near", "sex"], sample_size=200, **GAUSSIAN)
    assert 100 <= len(reading.sample) <= 200
    assert (reading.sample[:, 1:].sum(axis=1) == 1).all()
    found = estimate(reading.statistics, Family.GAUSSIAN, sample=reading.sample)
    assert len(found.contexts.rows) == len(reading.sample)
    assert set(reading.sample[:, 0]) <= set(FRAME["near"])
    by_moments = estimate(reading.statistics, Family.GAUSSIAN)
    np.testing.assert_array_equal(found.contexts.mean, by_moments.contexts.mean)  # moments are those of all rows
    np.testing.assert_array_equal(found.radius, by_moments.radius)


def test_nothing_of_an_individual_is_in_a_collection():
    reading = read_log(FRAME, context=["near", "sex"], **GAUSSIAN)
    collection = to_collection(estimate(reading.statistics, Family.GAUSSIAN), reading.statistics)
    assert collection.contexts.rows is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nothing.csv", "no such file"),
        ("log.xlsx", "a log must be a .csv, .parquet, .jsonl or .feather file"),
        (42, "a log must be a path"),
    ],
)
def test_what_is_no_log_is_refused(source, words):
    with pytest.raises(InvalidInput, match=words):
        read_log(source)


def test_engines_say_in_one_line_what_is_wrong(tmp_path):
    (tmp_path / "broken.parquet").write_text("not parquet")
    with pytest.raises(InvalidInput, match=r"broken.parquet cannot be read: [^\n]*$"):
        read_log(tmp_path / "broken.parquet")
    with pytest.raises(InvalidInput, match="which of its tables is the log"):
        read_log(duckdb_file(tmp_path))
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_log(tmp_path / "clinic.duckdb", table="nonsense")


def test_columns_of_the_wrong_type_or_with_too_many_levels_are_refused():
    frame = FRAME.with_columns(when=pl.lit("2026-01-01").str.to_date(), code=pl.int_range(FRAME.height).cast(pl.String))
    with pytest.raises(InvalidInput, match="'when' must be numbers. Got date"):
        read_log(frame, context=["when"], **GAUSSIAN)
    with pytest.raises(InvalidInput, match='at most 100 values to be a category. Got 3,000.*numeric="code"'):
        read_log(frame, context=["code"], **GAUSSIAN)
    assert read_log(frame, context=["code"], numeric=["code"], **GAUSSIAN).bad.n_rows == 0
    huge = FRAME.with_columns(near=pl.col("near") * 1e200)
    with pytest.raises(InvalidInput, match="too large to be squared"):
        read_log(huge, context=["near"], **GAUSSIAN)


def test_names_are_in_the_order_a_person_would_give():
    frame = pl.DataFrame({"task": ["t10", "t2", "t1"], "arm": [10, 9, 9], "reward": [1, 0, 1]})
    reading = read_log(frame)
    assert reading.statistics.tasks == ("t1", "t2", "t10")
    assert reading.statistics.arms == ("9", "10")


def test_whole_numbers_stored_with_a_point_are_named_without_and_nan_is_nobody(tmp_path):
    frame = pl.DataFrame({"task": [1.0, 2.0, float("nan")], "arm": [1.5, 2.0, 2.0], "reward": [1, 0, 1]})
    frame.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(InvalidInput, match=r"1 bad row \(task missing: 1\). First at row 3"):
        read_log(tmp_path / "log.parquet")
    reading = read_log(tmp_path / "log.parquet", drop_bad_rows=True)
    assert reading.statistics.tasks == ("1", "2")
    assert reading.statistics.arms == ("1.5", "2")


def test_a_sample_is_the_same_for_the_same_seed(tmp_path):
    FRAME.write_parquet(tmp_path / "log.parquet", row_group_size=200)
    first, again = (read_log(tmp_path / "log.parquet", context=["near"], sample_size=300, **GAUSSIAN) for _ in range(2))
    assert (first.sample == again.sample).all()


def test_categories_of_pandas_are_categories():
    frame = FRAME.to_pandas()
    frame["sex"], frame["patient_group"] = frame["sex"].astype("category"), frame["patient_group"].astype("category")
    reading = read_log(frame, context=["sex"], **GAUSSIAN)
    assert [str(feature) for feature in reading.statistics.features] == ["sex=f", "sex=m", "sex=x"]
    assert reading.statistics.tasks == ("mild", "severe")
