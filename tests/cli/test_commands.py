import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from boxes import Box, assemble

from banditree.files.collections import save_collection
from banditree.files.plans import load_plan, save_plan
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import make_plan
from banditree.tasks.collection import Collection
from banditree.tasks.harm import with_harm

MEANS = "task,A,B\nmild,0.9,0.1\nsevere,0.1,0.8\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "means.csv").write_text(MEANS)
    return tmp_path


def test_plan_show_and_run(folder, cli):
    code, out, _ = cli("plan", "means.csv", "--horizon", 100, "--method", "tree", "-o", "plan.json")
    assert code == 0
    assert "Box 1. Give A 17 times. At most 8 successes: go to box 2." in out
    assert "The means were taken as known exactly" in out
    code, shown, _ = cli("show", "plan.json", "--format", "list")
    assert (code, shown.strip()) == (0, str(load_plan("plan.json")))
    code, out, _ = cli("run", "plan.json", answers="1\n0\n?\nnonsense\n7\nm\nq\n")
    assert code == 0
    assert "So far: 1 success, 1 failure (2 of" in out
    assert "'nonsense' is not an outcome." in out
    assert "reward must be 0 or 1. Got 7.0." in out
    assert "The case is kept in plan.case.json" in out
    code, out, _ = cli("run", "plan.json", answers="1\n" * 98)
    assert code == 0
    assert "Round 4: A" in out
    assert out.strip().endswith("All rounds of this case have been used.")


def test_an_answer_is_taken_back(folder, cli):
    two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"])
    save_plan(
        assemble([Box(0, low=1, high=2, points=(-1, 1), floor=1, ceil=3), Box(1), Box(0)], two, 20), "switch.json"
    )
    _, out, _ = cli("run", "switch.json", "--case", "slip.json", answers="u\n0\nu\n1\nm\nu\nn\n0\nu\nu\nq\n")
    given = re.findall(r"Round (\d: \w)", out)
    assert given == ["1: A", "1: A", "2: B", "1: A", "2: A", "3: A", "2: A", "3: A", "3: A", "2: A", "1: A"]
    assert out.count("The last answer is taken back.") == 4
    assert out.count("No answer of this sitting is left to take back.") == 1
    cli("run", "switch.json", "--case", "slip.json", answers="1\n0\n0\nu\n1\nq\n")
    cli("run", "switch.json", "--case", "sure.json", answers="1\n0\n1\nq\n")
    assert (folder / "slip.json").read_text() == (folder / "sure.json").read_text()


def test_a_case_goes_on_before_its_outcome_is_known(folder, cli):
    two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"])
    switch = [Box(0, low=1, high=2, points=(-1, 1), floor=1, ceil=3), Box(1), Box(0)]
    save_plan(assemble(switch, two, 20), "switch.json")
    save_collection(two, "two.json")
    code, out, _ = cli("run", "switch.json", "--collection", "two.json", answers="n\n0\n1\nq\n")
    assert code == 0
    assert (
        "Round 2: A\n  2 outcomes are still awaited. One more round of A without them loses at most 0.63 successes more"
        in out
    )
    assert "Outcome of round 1" in out
    assert "Round 3: B" in out
    _, out, _ = cli("run", "switch.json", "--collection", "two.json", "--json")
    assert json.loads(out)["going_on"]["loss"] == 0.0


def test_harm_is_answered_with_the_outcome(folder, cli):
    (folder / "harms.csv").write_text("task,A,B\nmild,.9,.2\nsevere,.2,.8\nharm,.01,.02\n")
    words = "arm=drug,harm=side effect"
    code, out, _ = cli(
        "plan", "harms.csv", "--horizon", 40, "--steps", 200, "--not-again", "--words", words, "-o", "p.json"
    )
    assert code == 0
    assert "A side effect under a drug: do not give it again." in out
    assert "a case has 0." in out
    code, out, _ = cli("run", "p.json", answers="1!\nq\n")
    assert "! after an outcome = with a side effect" in out
    assert set(re.findall(r"Round \d: (\w)", out)) == {"A", "B"}
    code, out, _ = cli("certify", "p.json", "harms.csv")
    assert "side effects on average where they are most" in out
    code, _, err = cli("plan", "harms.csv", "--horizon", 40, "--max-harm", "0.1")
    assert code == 2
    assert "come to 0.4 even if it always gets 'A'" in err


def test_harm_is_learned_and_monitored(folder, cli):
    rng = np.random.default_rng(0)
    two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])
    save_collection(with_harm(two, {"A": 0.02, "B": 0.05}), "two.json")
    save_plan(make_plan([Line(Give("B"))], two, 20), "b.json")
    days = [(case, day) for case in range(40) for day in range(20)]
    rows = [f"p{case},mild,B,{rng.integers(2)},{int(rng.random() < 0.4)},{day}" for case, day in days]
    rows += [f"p{case},severe,A,1,0,{day}" for case in range(40, 60) for day in range(20)]
    (folder / "cases.csv").write_text("\n".join(["case,task,arm,reward,nausea,time", *rows]))
    code, out, _ = cli("monitor", "b.json", "two.json", "cases.csv", "--harm", "nausea")
    assert code == 1
    assert "Harm under B is more frequent than promised" in out
    code, _, err = cli("monitor", "b.json", "two.json", "cases.csv", "--harm", "vomiting")
    assert code == 2
    assert "vomiting" in err
    log = ["learn", "cases.csv", "--task", "task", "--harm", "nausea", "--untried", "borrow"]
    code, out, _ = cli(*log, "-o", "learned.json")
    assert code == 0
    assert "Harm in one round: from 0 to 0.389" in out


def test_a_case_stopped_by_end_of_input_is_kept(folder, cli):
    cli("plan", "means.csv", "--horizon", 100, "--method", "tree", "-o", "plan.json")
    code, out, _ = cli("run", "plan.json", "--case", "x.json", answers="1\n")
    assert code == 0
    assert "Stopped. The case is kept in x.json" in out
    code, out, _ = cli("run", "plan.json", "--case", "x.json", "--json")
    standing = json.loads(out)
    assert (standing["box"], standing["pulls"], standing["open_rounds"]) == (1, 1, [2])
    assert standing["possible"] == ["mild", "severe"]


def test_json_output(folder, cli):
    _, out, _ = cli("plan", "means.csv", "--horizon", 100, "--method", "tree", "--json", "-o", "plan.json")
    assert out == (folder / "plan.json").read_text()
    _, out, _ = cli("show", "plan.json", "--json")
    assert out == (folder / "plan.json").read_text()


def test_words_reach_the_plan_and_its_questions(folder, cli):
    words = "arm=treatment, task=group, success=cure"
    code, out, _ = cli("plan", "means.csv", "--horizon", 100, "--method", "tree", "--words", words, "-o", "plan.json")
    assert code == 0
    assert "At most 8 cures" in out
    _, out, _ = cli("run", "plan.json", answers="q\n")
    assert out.startswith("cure = 1, failure = 0")


@pytest.mark.slow
def test_contextual_plans_ask_for_the_context(folder, cli):
    from banditree.files.collections import save_collection
    from banditree.tasks.instances import linear

    save_collection(linear(2, 3, 2, 0.3), "tasks.json")
    cli("plan", "tasks.json", "--horizon", 1000, "-o", "plan.json")
    pulls = load_plan("plan.json").lines[0].counts.numbers.pulls
    code, out, _ = cli("run", "plan.json", answers="0.5\n" * pulls + "old\n1.5\n0.4\nq\n")
    assert code == 0
    assert "x1 must be a finite number. Got 'old'" in out
    assert f"Round {pulls + 1}: arm" in out


@pytest.mark.slow
def test_demo(folder, cli, monkeypatch):
    code, out, _ = cli("demo", "--folder", "my results")
    assert code == 0
    assert "Results are in my results" in out
    assert "\n1. Give " in out
    assert "the tree of the paper loses 143, A for all 500, and mTS" in out
    names = sorted(path.name for path in (folder / "my results").iterdir())
    assert names == ["patient.case.json", "plan.json", "plan.txt", "report.html", "treatments.csv"]
    assert out.rstrip().endswith(str(folder / "my results" / "report.html"))
    plan = load_plan(folder / "my results" / "plan.json")
    monkeypatch.setattr("banditree.cli.demo.demo_plan", lambda clinic: plan)  # it is searched for once
    found = json.loads(cli("demo", "--folder", "d", "--json")[1])
    assert (found["folder"], found["lines"]) == ("d", 5)
    assert found["worst_regret"] < 9.7  # what mTS loses


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "nothing.csv", "--horizon", "100"], "nothing.csv: no such file"),
        (["plan", "means.csv"], "Missing option '--horizon'"),
        (["plan", "means.csv", "--horizon", "many"], "Invalid value for '--horizon'"),
        (["plan", "means.csv", "--horizon", "0"], "--horizon must be at least 1"),
        (["plan", "means.csv", "--horizon", "100", "--separation", "0.9"], "separation must be at most 0.8"),
        (["plan", "means.csv", "--horizon", "100", "--method", "magic"], "'magic'"),
        (["plan", "means.csv", "--horizon", "100", "--words", "arm"], "--words must be pairs"),
        (["plan", "means.csv", "--horizon", "100", "-o", "no/where.json"], "cannot be written"),
        (["plan", "empty.csv", "--horizon", "100", "-o", "plan.json"], "empty.csv is empty"),
        (["show", "means.csv"], "is not JSON"),
        (["report", "means.csv", "nothing.json", "-o", "r.html"], "nothing.json: no such file"),
        (["run", "nothing.json"], "no such file"),
        (["prove"], "No such command 'prove'"),
        (["--fast"], "No such option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2_and_writes_nothing(arguments, message, folder, cli):
    (folder / "empty.csv").write_text("")
    code, out, err = cli(*arguments)
    assert code == 2
    assert message in err
    assert out == ""
    assert err.startswith("banditree: ")
    assert err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["empty.csv", "means.csv"]


@pytest.mark.filterwarnings("default::banditree.errors.PlanWarning")
def test_notes_go_to_the_error_stream(folder, cli):
    code, _, err = cli("plan", "means.csv", "--horizon", 5, "--method", "tree")
    assert code == 0
    assert err.startswith("Note: Testing may take")


@pytest.mark.parametrize("command", ["plan", "show", "run", "report", "demo"])
def test_every_command_has_help_with_an_example(command, cli):
    code, out, _ = cli(command, "--help")
    assert code == 0
    assert f"Example: banditree {command}" in out


def test_without_a_command_the_list_of_commands_is_printed(cli):
    code, out, err = cli()
    assert code == 0
    assert out == cli("--help")[1]
    assert "\n  demo " in out
    assert err == ""


def test_the_installed_command_answers():
    done = subprocess.run([sys.executable, "-m", "banditree", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("banditree ")


def test_a_group_alone_lists_its_commands(cli):
    code, out, _ = cli("lab")
    assert code == 0
    assert "simulate" in out
    assert "reproduce" in out


@pytest.mark.parametrize(
    ("typed", "offered"), [("banditree db ba", "backup"), ("banditree plan --longest", "--longest-path")]
)
def test_the_shell_completes_commands_and_options(typed, offered):
    asked = {"_BANDITREE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    code = "import sys; from banditree.cli import main; sys.argv = ['banditree']; main()"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout.split() == [offered]
