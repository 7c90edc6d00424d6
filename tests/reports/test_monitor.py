"""What monitoring says: sentences that name the option, the line and the size; JSON and Markdown that others read."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from field_worlds import falls, switching_plan, three_kinds

from banditree.cases.table import Cases
from banditree.cases.values import DAY
from banditree.cli.app import main
from banditree.files.collections import save_collection
from banditree.files.plans import save_plan
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.plans.plan import Plan
from banditree.reports.monitor import monitor_document, monitor_markdown, monitor_text


def seen_by(plan: Plan, fall: float = 0.4, n: int = 160) -> Cases:
    return simulate_cases(plan, three_kinds(), n, drift=falls(fall, 100), sites=("north", "south"), seed=1)


def test_an_alarm_names_option_place_month_and_size() -> None:
    plan = switching_plan(20)
    text = monitor_text(plan, monitor(plan, three_kinds(), seen_by(plan), every=30))
    assert "Arm A gives success less often than the plan assumes since " in text
    assert " outcomes, where " in text
    assert "everywhere" in text
    assert "at most 5% of a plan's years" in text


def test_documents_are_plain_json_and_markdown() -> None:
    plan = switching_plan(20)
    found = monitor(plan, three_kinds(), seen_by(plan), by="site", every=60)
    document = json.loads(json.dumps(monitor_document(plan, found), allow_nan=False))
    assert [part["group"] for part in document["parts"]] == [None, "north", "south"]
    assert document["alarms"][0]["arm"] == "A"
    months = document["parts"][0]["months"]
    assert sum(month["rounds"] for month in months) == document["parts"][0]["rounds"] == 3200
    digest = monitor_markdown(plan, found)
    assert digest.startswith("# Weekly digest, 1971-")
    assert "## New this week" in digest
    assert "## Site north" in digest


def write_export(path: Path, plan: Plan, seen: Cases) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case", "round", "arm", "reward", "site", "at"])
        for r, u in enumerate(seen.owner.tolist()):
            at = datetime.fromtimestamp(float(seen.at[r]) * DAY, UTC).isoformat()
            name, site = seen.cases[u], seen.labels["site"][u]
            rows.writerow([name, r - int(seen.first[u]) + 1, plan.arms[seen.arm[r]], seen.reward[r], site, at])


@pytest.mark.parametrize(("fall", "code"), [(0.0, 0), (0.4, 1)])
def test_the_command_says_what_the_library_says(
    fall: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = switching_plan(20)
    seen = seen_by(plan, fall, 120)
    save_plan(plan, tmp_path / "plan.json")
    save_collection(three_kinds(), tmp_path / "tasks.json")
    write_export(tmp_path / "cases.csv", plan, seen)
    files = [str(tmp_path / name) for name in ("plan.json", "tasks.json", "cases.csv")]
    with pytest.raises(SystemExit) as ended:
        main(["monitor", *files, "--every", "60", "--json", "--digest", str(tmp_path / "week.md")])
    assert ended.value.code == code
    told = json.loads(capsys.readouterr().out)
    assert {alarm["arm"] for alarm in told["alarms"]} == ({"A"} if code else set())
    assert told["parts"][0]["rounds"] == 2400
    assert (tmp_path / "week.md").read_text().startswith("# Weekly digest")


def test_nothing_contradicts_is_not_said_above_an_interval_that_excludes_the_promise():
    from types import SimpleNamespace

    from running_service import SHORT_PLAN

    from banditree.monitoring.summary import Between
    from banditree.reports.monitor import verdict

    def found(difference, loss):
        cell = SimpleNamespace(n=9, arm=1, difference=Between(*difference))
        summary = SimpleNamespace(options=(cell,), boxes=(), loss=Between(*loss), promised=1.0, months=())
        return SimpleNamespace(alarms=(), parts=(SimpleNamespace(summary=summary),))

    assert "nothing" in verdict(SHORT_PLAN, found((0.0, -0.1, 0.1), (1.1, 0.9, 1.3)))
    told = verdict(SHORT_PLAN, found((-0.2, -0.3, -0.1), (1.5, 1.2, 1.9)))
    assert "what was seen of Beta and the loss is not what was promised" in told
