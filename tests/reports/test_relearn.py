"""What relearning shows: rates before and after, and both plans side by side."""

import json
from pathlib import Path

import numpy as np
import pytest
from reports.test_monitor import write_export

from banditree.cli.app import main
from banditree.files.collections import load_collection, save_collection
from banditree.files.plans import load_plan, save_plan
from banditree.monitoring.simulated import simulate_cases
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
            assert "The new plan loses" in out
    document = json.loads(out)
    new = load_collection(tmp_path / "new.json")
    assert np.abs(new.means - truth.means).max() < np.abs(known.means - truth.means).max()
    assert new.weights[0] == pytest.approx(0.6, abs=0.1)
    assert document["plans"]["new"]["mean_loss"] == pytest.approx(document["plans"]["new"]["mean_loss"])
    assert load_plan(tmp_path / "plan-2.json").method == "tree"
    with pytest.raises(SystemExit):
        main([*given, *plans[:2]])
