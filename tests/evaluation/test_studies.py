"""Studies of the size that is promised: they show what they should about as often as promised."""

import json

import pytest

from banditree import Collection, build_plan, save_collection, save_plan
from banditree.cli import main
from banditree.errors import InvalidInput
from banditree.evaluation.settings import StudySettings
from banditree.evaluation.studies import design, judged_study, study_of
from banditree.reports.design import design_text, power_scene

TWO = Collection.bernoulli([[0.75, 0.35], [0.35, 0.75]], arms=["A", "B"])


@pytest.fixture(scope="module")
def plan():
    return build_plan(TWO, horizon=8, lines=1, steps=50)


@pytest.fixture(scope="module")
def found(plan):
    return design(plan, TWO, cases_per_month=10, rounds_per_month=4)


@pytest.mark.slow
def test_studies_of_the_promised_size_succeed_about_as_often_as_promised(plan, found):
    """80% promised: fewer than 20 or more than 31 of 32 would be seen once in 200 runs."""
    how = StudySettings()
    gains = [
        judged_study(plan, study_of(TWO, "random", found.plan.cases, 8, 100 + seed), found.single, how).rows[1].gain
        for seed in range(32)
    ]
    assert 20 <= sum(gain.low > 0 for gain in gains) <= 31


@pytest.mark.slow
def test_more_cases_are_needed_for_more_certainty_and_smaller_gains(plan, found):
    assert [n for _, n in found.plan.curve] == sorted(n for _, n in found.plan.curve)
    assert found.plan.months == pytest.approx(found.plan.cases / 10 + 2)
    closer = Collection.bernoulli([[0.65, 0.45], [0.45, 0.65]], arms=["A", "B"])
    assert design(plan, closer).plan.cases > 2 * found.plan.cases
    assert design(plan, TWO, power=0.95).plan.cases > found.plan.cases


def test_a_plan_that_gains_nothing_is_never_shown_to(plan):
    alike = Collection.bernoulli([[0.75, 0.35], [0.7, 0.4]], arms=["A", "B"])
    none = design(plan, alike)
    assert none.plan.cases is None
    assert "No number of cases is enough" in design_text(none)


def test_each_option_has_its_period_in_a_crossover():
    study = study_of(TWO, "crossover", 40, 6, 0)
    periods = study.arm.reshape(40, 2, 3)
    assert (periods == periods[:, :, :1]).all()
    assert (periods[:, 0, 0] != periods[:, 1, 0]).all()
    assert 5 < periods[:, 0, 0].sum() < 35


@pytest.mark.slow
def test_the_command_says_the_same(plan, found, tmp_path, capsys):
    save_plan(plan, tmp_path / "plan.json")
    save_collection(TWO, tmp_path / "tasks.json")
    files = [str(tmp_path / "plan.json"), str(tmp_path / "tasks.json"), "--cases-per-month", "10"]
    with pytest.raises(SystemExit) as ended:
        main(["design", *files, "--rounds-per-month", "4", "--json", "--figure", str(tmp_path / "power.svg")])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["plan_shown"]["cases"] == found.plan.cases
    assert "cases" in power_scene(found).description
    with pytest.raises(InvalidInput, match="give must be"):
        design(plan, TWO, give="whim")
