"""What people read when a log is not as it should be, and the kinds of files that are read."""

import numpy as np
import polars as pl
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.rewards import Bernoulli, Family
from banditree.training.classes import _fewest_within_one_error
from banditree.training.learning import learn
from banditree.training.logs import read_log
from banditree.training.settings import LearnSettings

FRAME = pl.DataFrame({"task": ["a", "b"] * 60, "arm": ["x", "x", "y", "y"] * 30, "reward": [1, 0, 1] * 40})


def refused(source, words, **options):
    with pytest.raises(InvalidInput, match=words):
        read_log(source, **options)


def test_truth_values_in_text_are_rewards(tmp_path):
    FRAME.with_columns(reward=pl.col("reward") == 1).write_csv(tmp_path / "log.csv")
    assert read_log(tmp_path / "log.csv").statistics.sums.sum() == 80
    words = FRAME.with_columns(reward=pl.Series([" True", "FALSE", "true "] * 40))
    assert read_log(words).statistics.sums.sum() == 80


def test_other_kinds_of_files(tmp_path):
    FRAME.write_ndjson(tmp_path / "log.jsonl")
    FRAME.write_ipc(tmp_path / "log.feather", compression="uncompressed")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(FRAME.iter_slices(50)):
        part.write_parquet(tmp_path / "parts" / f"{number}.parquet")
    for name in ("log.jsonl", "log.feather", "parts"):
        assert read_log(tmp_path / name).statistics.n_rows == 120, name
    (tmp_path / "nothing").mkdir()
    refused(tmp_path / "nothing", "a folder without Parquet files")


def test_files_that_are_not_what_they_should_be_are_named_as_such(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("")
    refused(path, "is empty. Check that it is the right file")
    path.write_text("task,arm,reward\n")
    refused(path, "has a header and no rows")
    path.write_bytes("task,arm,reward\nm\u00fcde,x,1\n".encode("latin-1") * 50)
    refused(path, "not text in UTF-8")
    path.write_text("task,arm,reward\n" + "a,x,1\n" * 50 + "a,x,1,extra,fields\n" + "b,y,0\n" * 50)
    refused(path, "do not have as many fields as its header")


def test_when_every_row_is_bad_dropping_them_is_not_the_advice():
    words = FRAME.with_columns(reward=pl.lit("n/a"))
    for drop in (False, True):
        refused(words, "No row is left. reward has 'n/a': write numbers", drop_bad_rows=drop)
        nobody = FRAME.with_columns(arm=pl.lit(None))
        refused(nobody, 'No row is left, so some column is not what it is.*reward="reward"', drop_bad_rows=drop)


def test_ratings_out_of_range_name_the_range():
    stars = FRAME.with_columns(reward=pl.col("reward") * 4 + 1)
    refused(stars, 'rewards="bounded", low=1, high=5')
    refused(stars, "low=1, high=5", rewards=Family.BOUNDED)


def test_spaces_around_names_are_taken_off_with_a_note():
    padded = FRAME.with_columns(arm=pl.when(pl.int_range(120) < 20).then(pl.lit("x ")).otherwise(pl.col("arm")))
    reading = read_log(padded)
    assert reading.statistics.arms == ("x", "y")
    assert reading.notes == ("Spaces around names in column 'arm' were removed, as in 'x '.",)


def test_held_out_likelihood_takes_the_fewest_within_one_standard_error():
    rng = np.random.default_rng(0)
    best = rng.normal(0, 1, 100)
    close, far = best + rng.normal(0.02, 1, 100), best + 1
    assert _fewest_within_one_error([far, close, best]) == 1
    assert _fewest_within_one_error([np.array([3.0]), np.array([1.0]), np.array([1.1])]) == 1


def test_kinds_that_nobody_tried_an_option_for_give_no_warning():
    learn(FRAME, task="task")


def test_settings_and_columns_are_keywords_alike_and_what_is_neither_is_refused():
    assert learn(FRAME, task="task", rewards="gaussian").collection.rewards.family == "gaussian"
    with pytest.raises(InvalidInput, match="There is no setting 'tusk'"):
        learn(FRAME, tusk="task")
    with pytest.raises(InvalidInput, match="rewards must be the name of a family with low"):
        learn(FRAME, rewards=Bernoulli(), low=0.0)


@pytest.mark.parametrize("grades", [[1.0, 0.0, 0.5], {"full": 1.0, "none": 0.0, "partial": 0.5}])
def test_grades_are_sorted_with_their_names(grades):
    family = LearnSettings(rewards="graded", grades=grades).family
    assert family.values == (0.0, 0.5, 1.0)
    assert family.names == (("none", "partial", "full") if isinstance(grades, dict) else ())
