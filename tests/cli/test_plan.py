"""`banditree plan` with its methods."""

import json
import re

import pytest

from banditree.cli import main
from banditree.files.collections import save_collection
from banditree.files.plans import load_plan
from banditree.tasks.collection import Collection


@pytest.fixture
def means(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text("task,A,B,C\nmild,0.7,0.2,0.5\nsevere,0.3,0.6,0.5\nrare,0.1,0.3,0.8\n")
    return str(path)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return end.value.code, *capsys.readouterr()


def test_protocols_are_the_default_for_zero_one_rewards(capsys, means, tmp_path):
    output = tmp_path / "plan.json"
    code, out, _err = run(
        capsys, "plan", means, "--horizon", "1000", "--steps", "200", "--lines", "3", "-o", str(output)
    )
    assert code == 0
    assert "method protocol" in out
    for variant in ("this plan", "one line less", "up to two lines more"):
        assert variant in out
    assert "in the worst (exact)" in out
    assert " successes in the worst task.\n\n1. Give" in out  # the heading states the loss
    plan = load_plan(output)
    assert plan.origin.method == "protocol"
    assert plan.n_tests <= 3


def test_options_of_the_tree_choose_the_tree(capsys, means):
    code, out, _err = run(capsys, "plan", means, "--horizon", "1000", "--stop-early")
    assert code == 0
    assert "method tree" in out


def test_front(capsys, means, tmp_path):
    output = tmp_path / "plan.json"
    code, out, _err = run(
        capsys, "plan", means, "--horizon", "1000", "--steps", "100", "--pareto", "--json", "-o", str(output)
    )
    assert code == 0
    rows = json.loads(out)
    assert {"lines", "longest_path", "reading_load", "worst_regret", "mean_regret", "wrong_arm"} <= set(rows[0])
    for place, row in enumerate(rows, start=1):
        assert max(load_plan(tmp_path / f"plan-{place}.json").n_tests, 1) == row["lines"]


def test_limits_reach_the_search(capsys, means):
    code, out, _err = run(
        capsys, "plan", means, "--horizon", "1000", "--steps", "200", "--forward-only", "--longest-path", "2", "--json"
    )
    assert code == 0
    lines = json.loads(out)["lines"]
    exits = [(number, line.get(side)) for number, line in enumerate(lines, 1) for side in ("below", "above")]
    assert all(target > number for number, target in exits if isinstance(target, int))


@pytest.mark.slow
def test_numbers_over_cases_that_vary_say_so(tmp_path, capsys):
    varying = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], spread=[[0.1, 0.1], [0.1, 0.1]])
    save_collection(varying, tmp_path / "varying.json")
    given = ("plan", str(tmp_path / "varying.json"), "--horizon", "30", "--steps", "60")
    _code, text, _err = run(capsys, *given)
    found = re.search(r"It loses about ([\d.]+) successes in the worst task, over cases that vary", text)
    assert found
    assert re.search(r"this plan +\d+ +[\d.]+ +" + found[1], text)
    assert "loses in the worst task over cases that vary" in text
    assert "lost on average by a case at the rates of its task" in text
    rows = json.loads(run(capsys, *given, "--pareto", "--json")[1])
    assert f"{rows[-1]['over_cases']['worst_regret']:.3g}" == found[1]
    assert rows[-1]["worst_regret"] != rows[-1]["over_cases"]["worst_regret"]
    assert "averages over cases that vary" in run(capsys, *given, "--pareto")[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "tree", "--lines", "5"], "--lines must be omitted with --method tree."),
        (["--method", "tree", "--objective", "mean"], "It is an option of --method protocol."),
        (["--method", "tree", "--seed", "1"], "--seed must be omitted with --method tree."),
        (["--method", "protocol", "--separation", "0.2"], "It is an option of --method tree or --method optimal."),
        (["--stop-early", "--links-back"], "No method uses all of these options: stop_early is"),
        (["--method", "tree", "--pareto"], "--pareto must be omitted with --method tree"),
        (["--method", "guess"], "Invalid value for '--method': 'guess' is not one of"),
        (["--max-wrong-arm", "2"], "--max-wrong-arm must be between 0 and 1. Got 2"),
    ],
)
def test_options_of_another_method_are_refused_and_not_ignored(capsys, means, options, message):
    code, out, err = run(capsys, "plan", means, "--horizon", "1000", *options)
    assert (code, out) == (2, "")
    assert message in err


def test_the_help_names_the_steps_that_a_search_takes(capsys):
    from banditree.protocols.defaults import MOST_STEPS, STEPS_PER_TASK

    _code, out, _err = run(capsys, "plan", "--help")
    shown = " ".join(out.replace("│", " ").split())
    assert f"{STEPS_PER_TASK:,} per task, at most {MOST_STEPS:,}" in shown
