"""Harm on a collection: checks in sentences, files and tables, and what other rooms make of it."""

import numpy as np
import pytest

from banditree import Collection, InvalidInput, load_collection, save_collection
from banditree.tasks.cases import case_collection
from banditree.tasks.changes import trust_estimates, with_parameters
from banditree.tasks.harm import with_harm
from banditree.training.merging import merge

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], tasks=["mild", "severe"], arms=["A", "B"])
HARM = {"A": [0.01, 0.02], "B": 0.03}


@pytest.mark.parametrize(
    ("rates", "within", "sentence"),
    [
        ({"A": 1.2, "B": 0}, 0, "harm must be a rate in [0, 1]. Got 1.2 for task 'mild', arm 'A'."),
        ({"A": -0.1, "B": 0}, 0, "Got -0.1 for task 'mild', arm 'A'."),
        ({"A": 0.1}, 0, "The harm of 'B' is missing."),
        ({"A": 0.1, "B": 0, "C": 0}, 0, "A harm is given for 'C', which is no arm."),
        ({"A": [0.1, 0.2, 0.3], "B": 0}, 0, "the harm of 'A' must be a rate, or 2 of them."),
        ([[0.1, 0.2]], 0, "harm must be of shape (2, 2), a rate for each task and arm."),
        ([[0.1, 0.2], [0.1]], 0, "harm must be a rectangular array"),
        (HARM, -0.1, "the margin of harm must be finite and at least 0 everywhere. Got -0.1."),
        (HARM, [0.1, 0.2, 0.3], "the margin of harm must be a number or an array of shape (2, 2)"),
        ({"A": float("nan"), "B": 0}, 0, "harm must be finite everywhere. Got nan at row 1, column 1."),
    ],
)
def test_wrong_harm_is_refused_with_a_sentence(rates, within, sentence):
    with pytest.raises(InvalidInput) as refusal:
        with_harm(TWO, rates, within)
    assert sentence in str(refusal.value)


def test_a_file_brings_harm_back(tmp_path):
    for within in (0.0, 0.005, [[0.001, 0.002], [0.003, 0.004]]):
        known = with_harm(TWO, HARM, within)
        save_collection(known, tmp_path / "known.json")
        found = load_collection(tmp_path / "known.json")
        np.testing.assert_array_equal(found.harm.rates, known.harm.rates)
        np.testing.assert_array_equal(found.harm.within, known.harm.within)


def test_a_file_without_harm_says_nothing_of_it(tmp_path):
    save_collection(TWO, tmp_path / "known.json")
    assert "harm" not in (tmp_path / "known.json").read_text()
    assert load_collection(tmp_path / "known.json").harm is None


RATES = "task,A,B\nmild,.7,.2\nsevere,.3,.6\n"


def test_rows_of_a_table_are_harms(tmp_path):
    table = tmp_path / "rates.csv"
    table.write_text(f"{RATES}harm,.01,.03\nHarm of severe,.02,.04\nprice per round,1,2\n")
    found = load_collection(table)
    np.testing.assert_array_equal(found.harm.rates, [[0.01, 0.03], [0.02, 0.04]])
    assert found.tasks == ("mild", "severe")
    assert found.worth is not None


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("harm,.01,\n", "line 4, arm 'B': the rate of harm is missing. Fill it in, 0 where there is none."),
        ("harm,.01,1.2\n", "rates.csv: harm must be a rate in [0, 1]. Got 1.2 for task 'mild', arm 'B'."),
        ("harm of mild,.01,.1\n", "there is no row 'harm of severe'. Add it, or a row 'harm' for all."),
        ("harm of cold,.01,.1\n", "line 4: 'cold' is no task. Tasks are 'mild', 'severe'."),
        ("harm,0,0\nharm,0,0\n", "line 5: there are two rows 'harm'. Remove one."),
    ],
)
def test_wrong_rows_are_refused_with_a_sentence(tmp_path, rows, sentence):
    (tmp_path / "rates.csv").write_text(RATES + rows)
    with pytest.raises(InvalidInput) as refusal:
        load_collection(tmp_path / "rates.csv")
    assert sentence in str(refusal.value)


def test_harm_goes_where_its_tasks_go():
    known = with_harm(TWO, HARM, 0.002)
    cases = case_collection(known, 3)
    np.testing.assert_array_equal(cases.harm.rates, known.harm.rates)  # cases of one kind are alike here
    assert with_parameters(known, known.parameters).harm is not None
    assert with_parameters(known, known.parameters[:1].repeat(2, axis=0), tasks=("x", "y")).harm is None
    assert not trust_estimates(known).harm.is_estimated
    three = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6], [0.31, 0.61]])
    three = with_harm(three, [[0.0, 0.1], [0.1, 0.2], [0.3, 0.2]], 0.01)
    merged = merge(three, 0.1).collection.harm
    np.testing.assert_allclose(merged.rates, [[0.0, 0.1], [0.2, 0.2]])
    np.testing.assert_allclose(merged.within, [[0.01, 0.01], [0.11, 0.01]])
