import json

import pytest

from banditree.cli import main


@pytest.fixture
def means(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text("task,A,B\nmild,0.9,0.1\nsevere,0.1,0.8\nodd,0.5,0.4\n")
    return str(path)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


def test_analyze_prints_text_for_people(means, capsys):
    code, out, err = run(capsys, "analyze", means, "--separation", 0.3)
    assert code == 0
    assert "3 tasks, 2 arms, 10,000 rounds." in out
    assert "Optimal depth                      2, proven" in out
    assert "Hardest tasks to tell apart: mild, " in out
    assert "Working out the expected depth" in err


def test_analyze_prints_flat_json_for_programs(means, capsys):
    code, out, err = run(capsys, "analyze", means, "--json", "--horizon", 500)
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert (facts["n_tasks"], facts["horizon"], facts["optimal_depth"]) == (3, 500, 2)
    assert all(not isinstance(value, dict) for value in facts.values())


def test_an_impossible_separation_is_one_line(means, capsys):
    code, out, err = run(capsys, "analyze", means, "--separation", 0.9)
    assert (code, out) == (2, "")
    assert err.startswith("banditree: --separation must be at most 0.4")


def test_the_optimal_plan_can_be_asked_for(means, capsys):
    code, out, _ = run(capsys, "plan", means, "--horizon", 2000, "--method", "optimal")
    assert code == 0
    assert "method optimal" in out
