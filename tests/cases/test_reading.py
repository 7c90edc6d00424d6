import numpy as np
import pandas
import pytest

from banditree.cases.columns import find_columns
from banditree.cases.reading import read_cases
from banditree.cases.table import cases_of, only_cases, shuffled, with_arms
from banditree.errors import InvalidInput
from banditree.tasks.rewards import BERNOULLI

ROWS = pandas.DataFrame(
    {
        "household": [2, 2, 2, 2, 1, 1],
        "visit": [7, 7, 9, 9, 7, 7],
        "brand": ["x", "y", "x", "y", "y", "x"],
        "bought": [1, 0, 0, 1, 0, 1],
    }
)
ROLES = {"individual": "household", "arm": "brand", "reward": "bought"}


def read(frame, **more):
    return read_cases(frame, rewards=BERNOULLI, **{**ROLES, **more})


def test_rows_of_one_round_are_one_decision():
    history = read(ROWS)
    assert history.cases == ("1", "2")
    assert history.arms == ("x", "y")
    assert history.n_rounds.tolist() == [1, 2]
    assert history.outcomes.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert history.is_full


def test_rounds_come_in_the_order_of_the_rows_or_of_the_time():
    backwards = ROWS.iloc[::-1]
    assert read(backwards).outcomes.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert read(backwards.assign(time=[2.5, 2.5, 10.0, 10.0, 9.5, 9.5])).outcomes.tolist() == [[1, 0], [1, 0], [0, 1]]


def test_a_melted_table_is_understood():
    """One block of rows per option, as pandas.melt gives it."""
    assert read(ROWS.sort_values("brand", kind="stable")).outcomes.tolist() == [[1, 0], [1, 0], [0, 1]]


def test_without_a_round_column_blocks_and_times_are_recognised():
    bare = ROWS.drop(columns="visit").iloc[[0, 1, 2, 3, 5, 4]]
    assert read(bare).outcomes.tolist() == [[1, 0], [1, 0], [0, 1]]
    timed = bare.assign(date=["2024-03-01"] * 2 + ["2024-02-01"] * 2 + ["2024-01-01"] * 2).sample(
        frac=1, random_state=0
    )
    assert read(timed).outcomes.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_an_option_twice_at_one_time_means_that_every_row_is_a_round():
    timed = ROWS.drop(columns="visit").assign(brand=["x", "x", "x", "y", "y", "x"], date=[2, 2, 1, 1, 1, 1])
    history = read(timed)
    assert history.n_rounds.tolist() == [2, 4]
    assert history.arm.tolist() == [1, 0, 0, 1, 0, 0]
    assert "several times at one time" in history.notes[0]


def test_otherwise_every_row_is_a_round():
    history = read(ROWS.drop(columns="visit").iloc[[0, 2, 3, 4]])
    assert not history.is_full
    assert history.arm.tolist() == [1, 0, 0, 1]


def test_text_files_are_read_as_frames_are(tmp_path):
    ROWS.to_csv(tmp_path / "log.csv", index=False)
    assert read(str(tmp_path / "log.csv")).outcomes.tolist() == read(ROWS).outcomes.tolist()


def test_an_option_twice_in_a_round_is_refused():
    with pytest.raises(InvalidInput, match="'visit' must name one decision.*2 rows with option 'x'"):
        read(ROWS.assign(brand=["x", "x", "x", "y", "y", "x"]))


def test_rounds_that_contradict_themselves_may_be_left_out():
    rows = [("u", 0, "A", 1), ("u", 0, "B", 0), ("u", 1, "A", 1), ("u", 1, "A", 0), ("u", 1, "B", 1), ("v", 0, "A", 0)]
    log = pandas.DataFrame(rows, columns=["individual", "round", "arm", "reward"])
    with pytest.raises(InvalidInput, match="or leave such rounds out: drop_bad_rows=True"):
        read_cases(log)
    found = read_cases(log, drop_bad_rows=True)
    assert found.n_rounds.tolist() == [1, 1]
    assert "Dropped 1 round with different outcomes of the same option." in found.notes


def test_rows_that_say_the_same_again_count_once():
    history = read(pandas.concat([ROWS, ROWS.iloc[[1]], ROWS.iloc[[4]]]))
    assert history.outcomes.tolist() == read(ROWS).outcomes.tolist()
    assert any("2 of 8 rows say the same again" in note for note in history.notes)


def test_a_balanced_crossover_is_no_full_information():
    """Half of the cases have A first, the others B: one outcome per round, and neither column says so."""
    brands = [["x", "y"], ["y", "x"]] * 5
    rows = pandas.DataFrame(
        {"household": np.repeat(np.arange(10), 2), "brand": np.concatenate(brands), "bought": [1, 0] * 10}
    )
    history = read(rows)
    assert not history.is_full
    assert history.n_rounds.tolist() == [2] * 10
    assert any("as in a crossover" in note for note in history.notes)
    assert not read(rows.assign(period=[1, 2] * 10)).is_full
    assert read(rows.sort_values(["household", "brand"])).is_full


def test_bad_rows_are_refused_or_dropped():
    bad = ROWS.assign(bought=[1, 0, 0, 1, 0, 3])
    with pytest.raises(InvalidInput, match="1 bad row .bought not 0 or 1: 1"):
        read(bad)
    assert np.isnan(read(bad, drop_bad_rows=True).outcomes[0, 0])


def test_columns_must_exist_and_be_used_once():
    with pytest.raises(InvalidInput, match="a column must be one of"):
        find_columns(list(ROWS), by_case=True, individual="home")
    with pytest.raises(InvalidInput, match="used for one thing each"):
        find_columns(list(ROWS), by_case=True, individual="brand", arm="brand")
    with pytest.raises(InvalidInput, match='individual="NAME"'):
        find_columns(list(ROWS), by_case=True, arm="brand", reward="bought")


def test_cases_can_be_chosen_and_shuffled():
    history = cases_of(["a"] * 30 + ["b"] * 40, ["x"], np.arange(70.0)[:, None])
    other = shuffled(history, 3)
    assert other.outcomes.tolist() != history.outcomes.tolist()
    assert sorted(other.outcomes[:30, 0]) == list(range(30))
    assert only_cases(history, np.array([1, 0])).outcomes[:, 0].tolist() == [*range(30, 70), *range(30)]


def test_arms_are_matched_by_name():
    history = with_arms(read(ROWS), ("y", "z", "x"))
    assert history.outcomes[0, 2] == 1
    assert np.isnan(history.outcomes[:, 1]).all()
    with pytest.raises(InvalidInput, match="'x', which the plan does not know"):
        with_arms(read(ROWS), ("y", "z"))


VISITS = {"individual": [1, 1, 2, 2] * 5, "arm": ["A", "B"] * 10, "reward": [1, 0, 0, 1] * 5}


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("True", "False"), (" true", "FALSE ")])
def test_words_for_truth_are_rewards(words):
    rows = VISITS | {"reward": [words[1 - reward] for reward in VISITS["reward"]]}
    assert read_cases(pandas.DataFrame(rows), rewards=BERNOULLI).outcomes.sum() == 10


def test_spaces_around_names_are_taken_off_with_a_note():
    history = read_cases(pandas.DataFrame(VISITS | {"arm": ["A", "B", "A ", "B"] * 5}), rewards=BERNOULLI)
    assert history.arms == ("A", "B")
    assert "Spaces around names in column 'arm' were removed, as in 'A '." in history.notes


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (VISITS | {"reward": ["good", "poor"] * 10}, "No row is left. reward has 'good', 'poor': write numbers"),
        (VISITS | {"arm": [None] * 20}, "No row is left, so some column is not what it is taken for"),
        (VISITS | {"reward": [5, 3] * 10}, "not 0 or 1: 20.*Try stars"),
        (VISITS | {"reward": [None, 1] * 10}, "Correct them, or drop them"),
        ({name: values[:0] for name, values in VISITS.items()}, "a header and no rows"),
    ],
)
def test_what_to_do_about_bad_rows_depends_on_what_is_wrong(rows, words):
    with pytest.raises(InvalidInput, match=words):
        read_cases(pandas.DataFrame(rows), rewards=BERNOULLI, hint="Try stars.")
