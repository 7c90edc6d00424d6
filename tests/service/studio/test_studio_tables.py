"""Tables that people bring are read as they are meant, or refused with a sentence."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables_to_bring import BAD, LOG, RATES, bomb, workbook

from banditree.service.problems import Refused
from banditree.service.studio import tables
from banditree.service.studio.content import Log, Rates
from banditree.service.studio.example import example_log
from banditree.service.studio.looking import first_look, guess_roles, look
from banditree.service.studio.rates import collection_of_rates, rates_in, resized
from banditree.service.studio.splitting import held_without, split
from banditree.service.studio.tables import opened, read_table


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def log_of(content, name="visits.csv"):
    table = read_table(content)
    log = Log(file=name, columns=table.columns, n_rows=table.n_rows, first=table.first)
    return table.content, first_look(table.content, log)


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_with_a_sentence(what):
    content, sentence = BAD[what]
    with pytest.raises(Refused) as refused:
        read_table(content)
    assert sentence in refused.value.message
    assert refused.value.message.endswith((".", "..."))


def test_a_zip_bomb_is_refused_by_its_list_of_contents(monkeypatch):
    monkeypatch.setattr(tables, "MOST_UNPACKED", 1_000_000)
    content = bomb(2)
    assert len(content) < 10_000
    with pytest.raises(Refused, match="unpacks to 2,0"):
        read_table(content)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_mangled_file_is_read_or_refused(kind):
    rows = [["patient", "arm", "reward"], *[["a", "x", 1], ["b", "y", 0]] * 3]
    good = {"csv": LOG[:600], "xlsx": workbook(rows), "parquet": parquet(arm=["x", "y"] * 9, reward=[1, 0] * 9)}[kind]
    rng = random.Random(20)
    sentences = []
    for _ in range(150):
        content = bytearray(good)
        for _ in range(rng.randint(1, 5)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        cut = rng.choice([None, None, rng.randrange(len(content))])
        try:
            read_table(bytes(content[:cut]))
        except Refused as refused:
            sentences.append(refused.message)
    assert sentences
    assert all(sentence.endswith((".", "...")) for sentence in sentences)


def test_the_same_table_in_every_format():
    header, *rows = [line.split(",") for line in LOG.decode().splitlines()]
    cells = [[*row[:2], int(row[2])] for row in rows]
    columns = {name: [row[place] for row in cells] for place, name in enumerate(header)}
    semicolons = LOG.replace(b",", b";")
    files = (LOG, b"\xef\xbb\xbf" + LOG, semicolons, LOG.replace(b",", b"\t"), workbook([header, *cells]))
    read = [read_table(content) for content in (*files, parquet(**columns))]
    assert all(one[1:] == read[0][1:] for one in read)
    assert read[0].n_rows == 240
    assert read[0].first[0] == ["P0", "A", "0"]


def test_decimal_commas_come_with_semicolons():
    assert read_table(b"kind;A;B\nmild;0,9;0,2\n").first == [["mild", "0.9", "0.2"]]


def test_a_parquet_file_that_is_too_long_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 10)
    with pytest.raises(Refused, match="at most 10 rows"):
        read_table(parquet(arm=["A"] * 11))
    with pytest.raises(Refused, match="one number or text per row"):
        read_table(parquet(arm=[["A"]]))


def test_without_the_extra_the_sentence_says_which_one(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(Refused, match=r"banditree\[excel\]"):
        read_table(workbook([["a"], [1]]))


def test_columns_are_recognised_and_outcomes_in_words_too():
    assert guess_roles(["user_id", "item_id", "click", "pscore"]).propensity == "pscore"
    content, log = log_of(example_log(), "clinic.csv")
    assert (log.roles.individual, log.roles.arm, log.roles.reward) == ("patient", "treatment", "recovered")
    assert (log.outcomes, log.success, log.seen.problem) == ("yes or no", "yes", "")
    assert log.seen.n_individuals == 300
    by_hand = opened(content).to_pylist()
    alpha = [row["recovered"] == "yes" for row in by_hand if row["treatment"] == "Alpha"]
    assert log.seen.options[0].rows == len(alpha)
    assert log.seen.options[0].mean == pytest.approx(sum(alpha) / len(alpha))
    swapped = look(content, log.model_copy(update={"success": "no"}))
    assert swapped.seen.options[0].mean == pytest.approx(1 - sum(alpha) / len(alpha))


def test_truth_as_spreadsheets_write_it():
    written = LOG.replace(b",0\n", b",FALSE\n").replace(b",1\n", b",TRUE\n")
    _, log = log_of(written)
    assert (log.seen.problem, log.seen.n_bad, log.success) == ("", 0, "")
    assert [option.mean for option in log.seen.options] == [option.mean for option in log_of(LOG)[1].seen.options]


def test_what_is_wrong_with_which_rows():
    _, log = log_of(LOG + b"P1,A,\nP2,,1\nP3,B,often\n")
    assert log.seen.n_bad == 3
    assert log.seen.bad_rows == [241, 242, 243]
    assert log.seen.bad_cells == [["P1", "A", ""], ["P2", "", "1"], ["P3", "B", "often"]]
    assert dict(log.seen.bad) == {"treatment missing": 1, "recovered missing": 1, "recovered not a number": 1}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"arm": None}, "Say which column is the option"),
        ({"individual": None}, "Say which column tells cases apart"),
        ({"task": "treatment"}, "chosen for two things"),
        ({"reward": "patient", "individual": "recovered"}, "another kind of outcome"),
        ({"reward": "visit"}, "There is no column 'visit'"),
    ],
)
def test_wrong_columns_give_a_sentence(said, sentence):
    content, log = log_of(LOG)
    roles = log.roles.model_copy(update=said)
    assert sentence in look(content, log.model_copy(update={"roles": roles})).seen.problem


def test_grades_and_numbers_are_recognised():
    stars = b"user,option,outcome\n" + b"".join(b"u%d,%s,%d\n" % (n % 9, b"AB"[n % 2 :][:1], n % 5) for n in range(90))
    _, log = log_of(stars)
    assert (log.outcomes, log.seen.values, log.seen.problem) == ("grades", ["0", "1", "2", "3", "4"], "")
    minutes = b"user,option,outcome\n" + b"".join(b"u%d,%s,%d\n" % (n % 9, b"AB"[n % 2 :][:1], n) for n in range(90))
    assert log_of(minutes)[1].outcomes == "number"


def test_a_table_of_rates_becomes_the_grid_and_a_log_does_not():
    rates = rates_in(read_table(RATES).content, "rates.csv")
    collection = collection_of_rates(rates)
    assert collection.means.tolist() == [[0.9, 0.2], [0.2, 0.8]]
    assert collection.tasks == ("mild", "severe")
    assert collection.shares.tolist() == pytest.approx([0.7, 0.3])
    assert rates_in(read_table(LOG).content, "visits.csv") is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cells": [["0.9", ""], ["0.2", "0.8"]]}, "kind 1, B: a rate must be a number from 0 to 1"),
        ({"cells": [["0.9", "two"], ["0.2", "0.8"]]}, "Got 'two'"),
        ({"cells": [["0.9", "7"], ["0.2", "0.8"]]}, "Got '7'"),
        ({"options": ["A", ""]}, "Option 2 has no name"),
        ({"options": ["A", "A"]}, "A"),
        ({"shares": ["0", "0"]}, "must not all be 0"),
        ({"margin": "a lot"}, "How far rates may be off"),
    ],
)
def test_what_is_wrong_with_rates_is_said_with_its_place(changes, sentence):
    good = {"options": ["A", "B"], "kinds": ["", ""], "cells": [["0.9", "0.2"], ["0.2", "0.8"]], "shares": ["", ""]}
    assert collection_of_rates(Rates(**good)).n_tasks == 2
    with pytest.raises(Refused, match=sentence.replace("(", r"\(")):
        collection_of_rates(Rates(**{**good, **changes}))


def test_the_grid_grows_and_shrinks_with_what_was_typed():
    grid = Rates(options=["A", "B"], kinds=["x", "y"], cells=[["1", "2"], ["3", "4"]], shares=["", ""])
    larger = resized(grid, 3, 3)
    assert (larger.options, larger.kinds) == (["A", "B", "C"], ["x", "y", ""])
    assert larger.cells == [["1", "2", ""], ["3", "4", ""], ["", "", ""]]
    assert resized(larger, 2, 2).cells == grid.cells
    assert len(resized(grid, 99, 1).kinds) == 30


def test_cases_are_held_out_and_nothing_but_the_columns_in_use_is_kept():
    content, log = log_of(LOG.replace(b"patient,", b"name,patient,", 1).replace(b"\nP", b"\nAda,P"))
    parts = split(content, log)
    learn, held = opened(parts.learn), opened(parts.held)
    assert (parts.n_learn, parts.n_held) == (27, 13)
    assert set(learn.column_names) == {"patient", "treatment", "recovered"}
    assert not set(learn["patient"].to_pylist()) & set(held["patient"].to_pylist())
    assert learn.num_rows + held.num_rows == 240
    assert split(content, log) == parts
    assert set(opened(held_without(content, log, ["A"]))["treatment"].to_pylist()) == {"B"}
    few, log = log_of(LOG[: LOG.index(b"P9,")])
    assert split(few, log).held is None
