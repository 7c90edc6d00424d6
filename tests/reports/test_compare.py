"""Two plans on cases that a seed split between them: what the command says."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from boxes import Box, assemble
from field_worlds import switching_plan, three_kinds

from banditree.cases.values import DAY
from banditree.cli.app import main
from banditree.files.plans import fingerprint, save_plan
from banditree.monitoring.comparison import goes_to_new
from banditree.monitoring.simulated import simulate_cases


@pytest.mark.slow
def test_the_command_compares_what_the_seed_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = three_kinds()
    plans = assemble([Box(arm=1)], truth, horizon=20), switching_plan(20)
    path = tmp_path / "decisions.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case", "plan", "round", "arm", "reward", "at"])
        for side, plan in enumerate(plans):
            seen = simulate_cases(plan, truth, 200, seed=1)
            for r, u in enumerate(seen.owner.tolist()):
                follows = goes_to_new(seen.cases[u], 5) is bool(side) or seen.cases[u] == "case 1"
                at = datetime.fromtimestamp(float(seen.at[r]) * DAY, UTC).isoformat()
                name = f"{seen.cases[u]}" if follows else ""
                if follows:
                    rows.writerow([name, fingerprint(plan), r % 20 + 1, plan.arms[seen.arm[r]], seen.reward[r], at])
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for plan, place in zip(plans, files, strict=True):
        save_plan(plan, place)
    given = ["compare", *map(str, files), str(path), "--seed", "5"]
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "The new plan gives more than the old one" in text
    assert "Not counted: 1 case " in text
    with pytest.raises(SystemExit):
        main([*given, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["left_out"] == 1
    assert told["difference"]["low"] > 0
    assert told["old_cases"] + told["new_cases"] == 200
    with path.open(newline="") as file:
        kept = [row for row in csv.reader(file) if row[0] != "case 1"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([row[:1] + row[2:] for row in kept])
    with pytest.raises(SystemExit):
        main(given)
    unnamed = capsys.readouterr().out
    assert "The new plan gives more than the old one" in unnamed
    assert "Not counted" not in unnamed
    assert "The table has no column plan" in unnamed
