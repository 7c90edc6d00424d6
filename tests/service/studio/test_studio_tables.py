"""Tables that people bring are read as they are meant, or refused with a sentence."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables_to_bring import BAD, LOG, RATES, bomb, workbook, workbook_of

from banditree.service.problems import Refused
from banditree.service.studio import tables
from banditree.service.studio.content import Log, Rates, Reading
from banditree.service.studio.example import example_log
from banditree.service.studio.looking import first_look, guess_roles, look
from banditree.service.studio.rates import collection_of_rates, rates_in, resized
from banditree.service.studio.splitting import held_without, split
from banditree.service.studio.tables import opened, read_table
from banditree.service.studio.understanding import understood


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def log_of(content, name="visits.csv"):
    table = read_table(content)
    return table, first_look(table, Log(file=name))


def rows_of(content, **said):
    """What is read of a file: names of columns and rows."""
    table = understood(read_table(content), Reading(**said)).table
    return [list(table.column_names), *[[str(cell) for cell in row.values()] for row in table.to_pylist()]]


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_with_a_sentence(what):
    content, sentence = BAD[what]
    with pytest.raises(Refused) as refused:
        understood(read_table(content), Reading())
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
            understood(read_table(bytes(content[:cut])), Reading())
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
    read = [rows_of(content) for content in (*files, parquet(**columns))]
    assert all(one == read[0] for one in read)
    assert len(read[0]) == 241
    assert read[0][1] == ["P0", "A", "0"]


def test_decimal_commas_come_with_semicolons():
    assert rows_of(b"kind;A;B\nmild;0,9;0,2\n")[1:] == [["mild", "0.9", "0.2"]]


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
    by_hand = understood(content, Reading()).table.to_pylist()
    alpha = [row["recovered"] == "yes" for row in by_hand if row["treatment"] == "Alpha"]
    assert log.seen.options[0].rows == len(alpha)
    assert log.seen.options[0].mean == pytest.approx(sum(alpha) / len(alpha))
    swapped = look(content, log.model_copy(update={"success": "no"}), log)
    assert swapped.seen.options[0].mean == pytest.approx(1 - sum(alpha) / len(alpha))


def test_truth_as_spreadsheets_write_it():
    written = LOG.replace(b",0\n", b",FALSE\n").replace(b",1\n", b",TRUE\n")
    _, log = log_of(written)
    assert (log.seen.problem, log.seen.n_bad, log.success) == ("", 0, "")
    assert [option.mean for option in log.seen.options] == [option.mean for option in log_of(LOG)[1].seen.options]


def test_what_is_wrong_with_which_rows():
    _, log = log_of(LOG + b"P1,A,\nP2,,1\nP3,B,often\n")
    assert log.seen.n_bad == 3
    assert log.seen.bad_rows == [242, 243, 244]  # as a spreadsheet numbers them
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
    assert sentence in look(content, log.model_copy(update={"roles": roles}), log).seen.problem


def test_grades_and_numbers_are_recognised():
    stars = b"user,option,outcome\n" + b"".join(b"u%d,%s,%d\n" % (n % 9, b"AB"[n % 2 :][:1], n % 5) for n in range(90))
    _, log = log_of(stars)
    assert (log.outcomes, log.seen.values, log.seen.problem) == ("grades", ["0", "1", "2", "3", "4"], "")
    minutes = b"user,option,outcome\n" + b"".join(b"u%d,%s,%d\n" % (n % 9, b"AB"[n % 2 :][:1], n) for n in range(90))
    assert log_of(minutes)[1].outcomes == "number"


def test_a_table_of_rates_becomes_the_grid_and_a_log_does_not():
    rates = rates_in(read_table(RATES), "rates.csv")
    collection = collection_of_rates(rates)
    assert collection.means.tolist() == [[0.9, 0.2], [0.2, 0.8]]
    assert collection.tasks == ("mild", "severe")
    assert collection.shares.tolist() == pytest.approx([0.7, 0.3])
    assert rates_in(read_table(LOG), "visits.csv") is None


def test_a_row_of_harm_is_no_kind():
    rates = rates_in(read_table(b"kind,A,B\nmild,0.9,0.2\nsevere,0.2,0.8\nharm,0.01,2%\n"), "rates.csv")
    collection = collection_of_rates(rates)
    assert collection.tasks == ("mild", "severe")
    assert collection.harm.rates.tolist() == [[0.01, 0.02], [0.01, 0.02]]
    assert collection_of_rates(resized(rates, 2, 2)).harm is not None
    with pytest.raises(Refused, match="Harm of B: a rate must be a number from 0 to 1"):
        collection_of_rates(rates.model_copy(update={"harm": ["0.01", ""]}))
    with pytest.raises(Refused, match='A table may have one row "harm"'):
        rates_in(read_table(b"kind,A,B\nmild,0.9,0.2\nsevere,0.2,0.8\nharm of mild,0.1,0.2\n"), "rates.csv")


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


GERMAN = """Auswertung der Klinik;;;;
;;;;
Patienten-Nr;Besuch am;Behandlung;Kosten;Geheilt
17;03.04.2026;Wärme;31,5;ja
17;12.04.2026;wärme ;1.250,00;nein
18;05.04.2026;Übung;28;ja
;;;;
18;31.04.2026;Übung;n/a;nein
"""
FRENCH = "Patient,Date,Traitement,Guéri,Part\nA,03/04/2026,Chaud,oui,85 %\nA,05/04/2026,Froid,non,15 %\n"


def test_a_german_file_in_the_encoding_of_excel_is_understood_and_said():
    header, *rows = rows_of(GERMAN.encode("cp1252"))
    assert header == ["Patienten-Nr", "Besuch am", "Behandlung", "Kosten", "Geheilt"]
    assert rows[0] == ["17", "2026-04-03", "Wärme", "31.5", "ja"]
    assert rows[1][3] == "1250.00"
    assert rows[3] == ["18", "31.04.2026", "Übung", "n/a", "nein"]  # no date and no number: shown as they are
    _, log = log_of(GERMAN.encode("cp1252"), "Klinik.csv")
    assert log.roles.model_dump(exclude_none=True) == {
        "individual": "Patienten-Nr",
        "arm": "Behandlung",
        "reward": "Geheilt",
        "time": "Besuch am",
    }
    assert (log.outcomes, log.success, log.header) == ("yes or no", "ja", 3)
    assert log.notes == [
        "The text is in Windows-1252, as Excel saves CSV files.",
        "Row 3 is the header; the rows above it are not read.",
        "Dates in Besuch am: 03.04.2026 is 3 April 2026.",
        "Decimal commas: 31,5 is 31.5 (column Kosten).",
    ]
    assert log.numbers == [4, 5, 6, 8]


def test_dates_that_can_be_read_in_two_ways_are_asked_about_and_nothing_goes_on_before():
    content, log = log_of(FRENCH.encode())
    (question,) = log.questions
    assert question.text == "Is 03/04/2026 in column 'Date' written with the day or the month first?"
    assert dict(question.choices) == {"day first": "03 is the day", "month first": "04 is the day"}
    assert log.seen.problem == question.text
    said = log.model_copy(update={"reading": log.reading.model_copy(update={"dates": "day first"})})
    read = look(content, said, log)
    assert (read.questions, read.seen.problem, read.first[0][1]) == ([], "", "2026-04-03")
    assert "Percentages: 85 % is 0.85 (column Part)." in read.notes
    assert rows_of(FRENCH.replace("05/04", "25/04").encode())[1][1] == "2026-04-03"  # one day can be no month
    assert rows_of(FRENCH.replace("05/04", "04/25").encode())[1][1] == "2026-03-04"


@pytest.mark.parametrize(
    ("cells", "read", "asked"),
    [
        (["1,234", "2,500"], ["1,234", "2,500"], True),
        (["1,234", "2,50"], ["1.234", "2.50"], False),
        (["1,234", "2,500.5"], ["1234", "2500.5"], False),
        (["1.234", "2.500"], ["1.234", "2.500"], False),  # as programs write them
        (["1.234,5", "2.500"], ["1234.5", "2500"], False),
        (["0,125", "0,250"], ["0.125", "0.250"], False),
        (["1 234,5", "12\u202f345,5"], ["1234.5", "12345.5"], False),
        (["1'234.50", "12"], ["1234.50", "12"], False),
        (["001", "017"], ["001", "017"], False),
        (["1.2.3", "1.2.4"], ["1.2.3", "1.2.4"], False),
    ],
)
def test_numbers_of_other_countries(cells, read, asked):
    content = read_table(b"case\tarm\tcost\n" + "".join(f"1\tA\t{cell}\n" for cell in cells).encode())
    found = understood(content, Reading())
    assert found.table["cost"].to_pylist() == read
    assert [question.name for question in found.questions] == (["decimals"] if asked else [])
    if asked:
        assert dict(found.questions[0].choices) == {",": "1,234 means 1.234", ".": "1,234 means 1234"}
        assert understood(content, Reading(decimals=",")).table["cost"].to_pylist() == ["1.234", "2.500"]
        assert understood(content, Reading(decimals=".")).table["cost"].to_pylist() == ["1234", "2500"]


def test_the_sheet_with_the_table_is_read_and_another_can_be_chosen():
    notes, visits = [["About"], ["made in May"]], [["Visits of May"], [], ["patient", "arm", "reward"], ["a", "x", 1]]
    content = read_table(workbook_of({"Info": notes, "Visits": visits, "Empty": []}))
    read = understood(content, Reading())
    assert (read.sheets, read.sheet, read.header, list(read.numbers)) == (["Info", "Visits"], "Visits", 3, [4])
    assert read.notes[0] == "Sheet 'Visits' of 'Info', 'Visits' is read."
    other = understood(content, Reading(sheet="Info", header=1))
    assert (other.table.to_pydict(), list(other.numbers)) == ({"About": ["made in May"]}, [2])


def test_options_that_differ_in_capitals_and_blanks_are_offered_for_merging():
    content, log = log_of(GERMAN.replace("28;ja", "28;ja\n19;06.04.2026;Wärme;30;ja").encode("cp1252"))
    assert log.seen.spellings == [["Wärme", "wärme"]]
    assert [option.name for option in log.seen.options] == ["Wärme", "wärme", "Übung"]
    merged = look(content, log.model_copy(update={"merge": True}), log)
    assert [(option.name, option.rows) for option in merged.seen.options] == [("Wärme", 3), ("Übung", 2)]


def test_another_column_of_outcomes_has_its_own_kind_of_outcome():
    content, log = log_of(
        b"patient,arm,days,cured\n" + b"".join(b"p%d,A,%d,%s\n" % (n, n, b"yn"[n % 2 :][:1]) for n in range(30))
    )
    asked = log.model_copy(update={"roles": log.roles.model_copy(update={"reward": "days"})})
    assert (log.outcomes, look(content, asked, log).outcomes) == ("yes or no", "number")


@pytest.mark.parametrize("name", ["Share of cases", "Anteil", "share", "Anteil der Fälle"])
def test_shares_are_no_treatment(name):
    rates = rates_in(read_table(f"kind,A,B,{name}\nmild,0.9,0.2,0.7\nsevere,0.2,0.8,0.3\n".encode()), "rates.csv")
    assert (rates.options, rates.shares) == (["A", "B"], ["0.7", "0.3"])
