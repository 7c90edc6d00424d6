import json

import pytest

from banditree.cli import main
from banditree.files.collections import save_collection
from banditree.files.plans import save_plan
from banditree.files.results import save_results
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])
    save_collection(two, "tasks.json")
    save_plan(build_tree(two, 100), "plan.json")
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code or 0


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("p.txt", b"Plan for 2 tasks"),
        ("p.svg", b"<svg "),
        ("p.pdf", b"%PDF"),
        ("p.mmd", b"flowchart TD"),
        ("p.dot", b"digraph plan {"),
        ("p.html", b"<!DOCTYPE html>"),
    ],
)
def test_the_name_of_the_output_says_the_format(name, start, folder, capsys):
    assert run("show", "plan.json", "-o", name) == 0
    assert (folder / name).read_bytes().startswith(start)
    assert capsys.readouterr().out == f"Written to {name}.\n"


@pytest.mark.parametrize("chosen", ["text", "svg", "mermaid", "dot", "html"])
def test_what_is_printed_is_what_is_written(chosen, folder, capsys):
    run("show", "plan.json", "--format", chosen)
    printed = capsys.readouterr().out
    run("show", "plan.json", "--format", chosen, "-o", "p.any")
    assert printed.encode() == (folder / "p.any").read_bytes()
    assert "\x1b" not in printed


def test_a_terminal_gets_colour_unless_it_asks_for_none(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    run("show", "plan.json")
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    run("show", "plan.json")
    assert "\x1b[" not in capsys.readouterr().out


def test_html_has_numbers_with_the_tasks_and_says_so_without(folder):
    run("show", "plan.json", "-o", "p.html", "--tasks", "tasks.json")
    assert '"chance":[[1.0,' in (folder / "p.html").read_text()
    assert " in the worst task." in (folder / "p.html").read_text()
    run("show", "plan.json", "-o", "q.html")
    assert "shown with --tasks" in (folder / "q.html").read_text()


def test_an_app_is_one_page_and_a_machine_is_for_programs(folder, capsys):
    assert run("show", "plan.json", "--app", "-o", "app.html") == 0
    assert "class Follower" in (folder / "app.html").read_text()
    assert run("show", "plan.json", "--format", "machine", "-o", "machine.json") == 0
    assert json.loads((folder / "machine.json").read_text())["schema"] == "banditree/machine/1"
    assert run("show", "plan.json", "--app", "-o", "app.pdf") == 2
    assert "An app is html. Got 'pdf'." in capsys.readouterr().err
    assert run("show", "plan.json", "--app", "--card", "-o", "app.html") == 2
    assert "not both" in capsys.readouterr().err


def test_a_card_is_a_sheet_or_a_page_and_promises_what_was_computed(folder, capsys):
    assert run("show", "plan.json", "--card", "-o", "card.pdf", "--paper", "letter") == 0
    assert b"612 792" in (folder / "card.pdf").read_bytes()
    assert run("show", "plan.json", "--card", "-o", "card.html", "--tasks", "tasks.json") == 0
    page = (folder / "card.html").read_text()
    assert "What the words mean" in page
    assert "In the worst task (severe) it loses" in page
    assert " in the worst task." in page
    assert run("show", "plan.json", "--card") == 2
    assert "A card is a pdf or html" in capsys.readouterr().err


@pytest.mark.slow
def test_report_with_a_simulation(folder, capsys):
    two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])
    save_results(simulate(two, ["uniform"], horizon=100, runs=5), "results.json")
    assert run("report", "tasks.json", "plan.json", "-o", "r.html", "--results", "results.json") == 0
    page = (folder / "r.html").read_text()
    assert "uniform" in page
    assert "5 runs" in page
    assert run("report", "tasks.json", "plan.json", "-o", "r.pdf") == 0
    assert (folder / "r.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "plan.json", "--format", "pdf"], "A PDF is not text"),
        (["show", "plan.json", "-o", "plan.xyz"], "--output must end in one of"),
        (["show", "plan.json", "--format", "gif"], "'gif'"),
        (["show", "plan.json", "-o", "no/where.svg"], "cannot be written"),
        (["report", "tasks.json", "plan.json", "-o", "report.doc"], "ends in .html or .pdf"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments, message, folder, capsys):
    before = sorted(path.name for path in folder.iterdir())
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before
