"""What relearning shows: rates before and after, and both plans side by side."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from boxes import Box, assemble
from reports.test_monitor import write_export

from banditree.certificates.certify import certify
from banditree.cli.app import main
from banditree.files.collections import load_collection, save_collection
from banditree.files.plans import load_plan, save_plan
from banditree.monitoring.simulated import simulate_cases
from banditree.reports.relearn import Succession, is_better, loss_lines
from banditree.tasks.changes import trust_estimates
from banditree.tasks.collection import Collection
from banditree.trees.tree import build_tree


@pytest.mark.slow
def test_the_command_writes_collection_and_plan_and_says_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exact = Collection.bernoulli([[0.95, 0.1], [0.1, 0.9]], arms=["A", "B"])
    plan, known = build_tree(exact, horizon=60), Collection.bernoulli(exact.means, arms=exact.arms, radius=0.04)
    truth = Collection.bernoulli(exact.means - 0.03, arms=exact.arms, shares=[0.6, 0.4])
    save_plan(plan, tmp_path / "plan.json")
    save_collection(known, tmp_path / "tasks.json")
    write_export(tmp_path / "cases.csv", plan, simulate_cases(plan, truth, 200, sites=("x",), seed=2))
    given = ["relearn", str(tmp_path / "tasks.json"), str(tmp_path / "cases.csv"), "-o", str(tmp_path / "new.json")]
    plans = ["--plan", str(tmp_path / "plan.json"), "--new-plan", str(tmp_path / "plan-2.json")]
    for more in ([], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            main([*given, *plans, *more])
        assert ended.value.code == 0
        out = capsys.readouterr().out
        if not more:
            assert "Rates that changed, with their margins:" in out
            assert "At the rates as estimated now, the new plan loses" in out
            assert "With every rate as bad as its margin allows, the new plan loses at most" in out
    document = json.loads(out)
    new = load_collection(tmp_path / "new.json")
    assert np.abs(new.means - truth.means).max() < np.abs(known.means - truth.means).max()
    assert new.weights[0] == pytest.approx(0.6, abs=0.1)
    for word in ("old", "new"):
        assert document["plans"][word]["mean_loss"] < document["plans"][word]["mean_loss_at_worst"]
    assert document["verdict"].startswith("So the new plan is")
    assert load_plan(tmp_path / "plan-2.json").origin.method == "tree"
    with pytest.raises(SystemExit):
        main([*given, *plans[:2]])


def test_the_verdict_weighs_the_estimates_and_the_worst_rates() -> None:
    """B's rate is 0.5, known within 0.3, and A's 0.6, known exactly: B may be better and may be far worse."""
    two = Collection.bernoulli([[0.6, 0.5], [0.6, 0.5]], arms=["A", "B"], radius=[[0.0, 0.3], [0.0, 0.3]])
    always = [assemble([Box(arm)], two, horizon=10) for arm in (0, 1)]
    exact, worst = ([certify(plan, one, must_rest=False) for plan in always] for one in (trust_estimates(two), two))

    def verdict(old: int, new: int, bad: tuple[int, int] | None) -> str:
        at_worst = None if bad is None else (worst[bad[0]], worst[bad[1]])
        found = Succession(always[old], always[new], exact[old], exact[new], at_worst)
        assert is_better(found) is not ("no better" in loss_lines(found)[-1])
        assert len(loss_lines(found)) == (2 if bad is None else 3)
        return loss_lines(found)[-1]

    assert "is better either way" in verdict(1, 0, (1, 0))
    assert "is no better" in verdict(0, 1, (0, 1))
    assert "is the safer one" in verdict(0, 1, (1, 0))
    assert "better if the estimates are right" in verdict(1, 0, (0, 1))
    assert verdict(1, 0, None) == "So the new plan is better."


def test_little_gained_or_as_much_lost_elsewhere_is_no_better() -> None:
    two = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"])
    plan = assemble([Box(0)], two, horizon=10)
    known = certify(plan, two, must_rest=False)

    def is_better_with(*regret: float) -> bool:
        old, new = (replace(known, regret=np.array(lost)) for lost in ((1.0, 7.0), regret))
        return is_better(Succession(plan, plan, old, new, None))

    assert is_better_with(1.0, 6.5)
    assert is_better_with(0.5, 7.0)
    assert not is_better_with(1.0, 7.0)
    assert not is_better_with(1.0, 6.95)  # by less than 1%
    assert not is_better_with(0.3, 7.5)  # 0.1 less on average, 0.5 more in the worst task


def test_the_command_relearns_grades(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = Collection.graded(
        [[[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], [[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]],
        [0, 0.5, 1],
        arms=["A", "B"],
        radius=0.2,
    )
    truth = Collection.graded(
        [[[0.1, 0.4, 0.5], [0.5, 0.4, 0.1]], [[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]], [0, 0.5, 1], arms=["A", "B"]
    )
    line = Box(0, low=1, high=2, points=(-1, 0, 1), cuts=(0.25, 0.75), floor=2, ceil=3)
    plan = assemble([line, Box(1), Box(0)], known, horizon=10)
    save_collection(known, tmp_path / "tasks.json")
    write_export(tmp_path / "cases.csv", plan, simulate_cases(plan, truth, 300, sites=("x",), seed=2))
    with pytest.raises(SystemExit) as ended:
        main(["relearn", str(tmp_path / "tasks.json"), str(tmp_path / "cases.csv"), "-o", str(tmp_path / "new.json")])
    assert ended.value.code == 0
    new = load_collection(tmp_path / "new.json")
    assert new.chances is not None
    assert np.abs(new.chances[0, 0] - [0.1, 0.4, 0.5]).max() < 0.06
    assert "Rates that changed, with their margins:" in capsys.readouterr().out
