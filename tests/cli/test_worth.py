"""Costs and values from the command line: in the table of rates, or in a table of their own."""

import json

import pytest

from banditree.cli import main
from banditree.files.collections import load_collection, save_collection
from banditree.tasks.changes import with_worth

RATES = "group,A,B,C\nmild,.85,.4,.6\nsevere,.3,.8,.5\nhereditary,.5,.45,.9\n"
PRICES = "price per round,2,30,9\nvalue of a success,100,100,100\ncost of a change,40,,\nunit,EUR,,\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rates.csv").write_text(RATES)
    (tmp_path / "priced.csv").write_text(RATES + PRICES)
    (tmp_path / "prices.csv").write_text(",A,B,C\n" + PRICES)
    return tmp_path


@pytest.fixture
def told(folder, capsys):
    """What a command prints, the errors included."""

    def run(*arguments, code=0):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        said = "".join(capsys.readouterr())
        assert end.value.code == code, said
        return said

    return run


@pytest.mark.slow
def test_losses_are_in_the_unit_and_both_tables_say_the_same(told):
    plan = "--horizon", "300", "--steps", "300", "-o", "plan.json"
    first = told("plan", "priced.csv", *plan)
    assert "EUR in the worst task." in first
    assert "EUR lost on average" in first
    assert (
        told("plan", "rates.csv", "--worth", "prices.csv", *plan).split("The means")[0] == first.split("The means")[0]
    )
    text = told("certify", "plan.json", "priced.csv")
    assert "Exactly this much EUR is lost" in text
    assert "A case is given another arm than before" in text
    assert "each time costs 40 EUR, which is part of what is lost." in text
    assert "DT-ECE" not in text  # its theorem does not know what changes cost
    found = json.loads(told("certify", "plan.json", "priced.csv", "--json"))
    assert found["unit"] == "EUR"
    assert all(row["changes"] > 0 for row in found["tasks"])
    bare = json.loads(told("certify", "plan.json", "rates.csv", "--json"))
    assert "unit" not in bare
    assert "changes" not in bare["tasks"][0]
    assert "EUR" not in told("certify", "plan.json", "rates.csv")


def test_a_learned_collection_keeps_its_worth(folder, told):
    rows = [f"mild,A,{r % 2}\nmild,B,{int(r % 3 == 0)}\nsevere,A,0\nsevere,B,1\n" for r in range(40)]
    (folder / "log.csv").write_text("task,arm,reward\n" + "".join(rows))
    (folder / "two.csv").write_text(",A,B\nprice per round,2,30\nvalue of a success,100,90\nunit,days,\n")
    told("learn", "log.csv", "--worth", "two.csv", "-o", "tasks.json")
    known = load_collection("tasks.json")
    assert known.worth.unit == "days"
    save_collection(with_worth(known, price=[2, 30], value={"success": [100, 90]}, unit="days"), "same.json")
    assert load_collection("same.json").worth == known.worth


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (",A,B\nunit,EUR,\n", "there is no column for the option 'C'"),
        ("", 'is empty. Its rows are "price per round"'),
        (",A,B,D\nunit,EUR,,\n", "the column 'D' is no option"),
        (",A,B,C\nprice per round,2,-30,9\n", "the price of 'B' must be at least 0. Got -30"),
        (",A,B,C\nmild,1,1,1\n", "'mild' says nothing about worth"),
    ],
)
def test_what_is_wrong_is_one_line(folder, told, table, message):
    (folder / "wrong.csv").write_text(table)
    said = told("plan", "rates.csv", "--worth", "wrong.csv", "--horizon", "100", "-o", "no.json", code=2)
    assert message in said
    assert not (folder / "no.json").exists()
