"""Cases as they are read: boxes as a session goes through them, cases that fit no kind as the alarm finds them."""

import csv
from pathlib import Path

import numpy as np
import pytest
from boxes import Box, arrays_of, assemble
from field_worlds import switching_plan, three_kinds

from banditree.cases.reading import read_cases
from banditree.cases.table import Seen, cases_of, table_of
from banditree.errors import InvalidInput
from banditree.monitoring.following import boxes_of, observe
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.monitoring.summary import summarise, unfit_since
from banditree.plans.gives import HAND_OVER, SEVERAL
from banditree.plans.plan import Fallback
from banditree.policies.alarm import init_evidence, make_evidence, update_evidence
from banditree.policies.rounds import MISSING
from banditree.policies.starting import start_session
from banditree.reports.monitor import monitor_text
from banditree.tasks.changes import with_worth

ARMS = ("A", "B", "C")


def test_boxes_are_those_of_a_session_with_overrides_and_missing_outcomes() -> None:
    plan, rng = switching_plan(), np.random.default_rng(0)
    for case in range(10):
        session, seen, boxes = start_session(plan), [], []
        for number in range(1, 26):
            step = session.ask()
            boxes.append(int(session.state.place[0]))
            overridden = bool(rng.random() < 0.1)
            if overridden:
                step = session.override((step.arm + 1) % 3, step.round)
                boxes[-1] = -1
            missing = bool(rng.random() < 0.1)
            reward = float(rng.random() < 0.5)
            session.tell(MISSING if missing else reward, step.round)
            assert step.arm is not None
            seen.append(Seen(str(case), number, step.arm, np.nan if missing else reward, number, overridden))
        assert observe(plan, table_of(seen, ARMS)).box.tolist() == boxes


def test_only_rounds_before_the_first_override_count_as_planned() -> None:
    seen = [
        Seen("a", 1, 2, 1.0, 1.0),
        Seen("a", 2, 0, 1.0, 2.0, True),
        Seen("a", 3, 2, 1.0, 3.0),
        Seen("b", 1, 2, 1.0, 4.0),
    ]
    assert observe(switching_plan(), table_of(seen, ARMS)).planned.tolist() == [True, False, False, True]


def test_cases_fit_no_kind_from_the_round_in_which_the_alarm_goes_off() -> None:
    plan, known = switching_plan(120), three_kinds(radius=0.02)
    worse = simulate_cases(plan, known, 20, drift=lambda days: np.full((*days.shape, 3), -0.5), seed=4)
    params, slow = make_evidence(known, 0.05), []
    for u in range(worse.n_cases):
        state, day = init_evidence(params), np.inf
        for r in range(worse.first[u], worse.first[u + 1]):
            update_evidence(params, state, np.zeros(0), int(worse.arm[r]), float(worse.reward[r]))
            if state.alarmed[0]:
                day = float(worse.at[r])
                break
        slow.append(day)
    assert np.isfinite(slow).any()
    assert unfit_since(worse, known).tolist() == slow
    alarms = monitor(plan, known, worse, every=60).alarms
    assert any(alarm.test is None for alarm in alarms)


def test_what_is_expected_is_seen_on_average() -> None:
    """Differences over 400 cases are within 4 standard errors, which fails once in 15,000."""
    plan, known = switching_plan(30), three_kinds()
    found = monitor(plan, known, simulate_cases(plan, known, 400, seed=9), every=400).summary
    for cell in found.boxes:
        error = (cell.difference.high - cell.difference.low) / 6
        assert abs(cell.observed - cell.expected) < 4 * error
    assert found.promised == pytest.approx(found.loss.value, abs=4 * (found.loss.high - found.loss.low) / 6)
    assert np.allclose(found.ends, found.ends_expected, atol=0.1)
    assert found.settled == pytest.approx(found.settled_expected, abs=0.1)


def test_an_export_is_read(tmp_path: Path) -> None:
    plan = switching_plan()
    path = tmp_path / "decisions.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["case", "plan", "round", "arm", "reward", "overridden", "at", "ward"])
        rows.writerow(["p-1", "mine", 1, "C", 1.0, False, "2026-05-01T10:00:00.000000Z", "x"])
        rows.writerow(["p-1", "mine", 3, "A", 0.0, True, "2026-05-03T10:00:00.000000Z", "x"])
        rows.writerow(["p-1", "mine", 2, "C", "", False, "2026-05-02T10:00:00.000000Z", "x"])
        rows.writerow(["p-2", "other", 1, "C", 1.0, False, "2026-05-01T10:00:00.000000Z", "y"])
    found = observe(plan, read_cases(path, followed=True, plan="mine", labels=["ward"]))
    assert found.cases == ("p-1",)
    assert found.arm.tolist() == [2, 2, 0]
    assert found.told.tolist() == [True, False, True]
    assert found.overridden.tolist() == [False, False, True]
    assert found.labels == {"ward": ("x",)}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"arm": "Z"}, "'Z', which the plan does not know"),
        ({"reward": "0.5"}, "1 bad row .reward not 0 or 1: 1"),
        ({"reward": "good"}, "1 bad row .reward not a number: 1"),
        ({"at": "yesterday"}, "at must be a time"),
    ],
)
def test_rows_that_cannot_be_are_refused(tmp_path: Path, row: dict[str, str], problem: str) -> None:
    good = {"case": "p", "arm": "C", "reward": "1", "at": "2026-05-01"} | row
    path = tmp_path / "cases.csv"
    path.write_text(",".join(good) + "\n" + ",".join(good.values()) + "\n")
    with pytest.raises(InvalidInput, match=problem):
        observe(switching_plan(), read_cases(path, followed=True))


def test_what_cannot_be_monitored_is_refused() -> None:
    plan, known = switching_plan(), three_kinds()
    seen = simulate_cases(plan, known, 5)
    with pytest.raises(InvalidInput, match="by must be"):
        monitor(plan, known, seen, by="site")
    with pytest.raises(InvalidInput, match="level must be"):
        monitor(plan, known, seen, level=0)
    with pytest.raises(InvalidInput, match="no outcomes yet"):
        monitor(plan, known, observe(plan, table_of([], ARMS)))


def test_what_the_plan_does_not_give_is_off_the_plan() -> None:
    seen = [Seen("a", 1, 2, 0.0, 1.0), Seen("a", 2, 1, 1.0, 2.0), Seen("a", 3, 0, 1.0, 3.0)]
    found = observe(switching_plan(), table_of(seen, ARMS))
    assert found.box.tolist() == [0, -1, 2]  # B where A was due, as a fallback gives it


def test_plans_that_end_between_several_options_or_hand_over_are_monitored() -> None:
    known = three_kinds()
    boxes = [
        Box(arm=2, low=1, high=3, points=(-3, 1), floor=1, ceil=2),
        Box(arm=0, low=2, high=4, points=(-3, 2), floor=3, ceil=12),
        Box(arm=HAND_OVER),
        Box(arm=2),
        Box(arm=SEVERAL, among=(0, 1)),
    ]
    plan = assemble(boxes, known, horizon=30, fallback=Fallback())
    seen = simulate_cases(plan, known, 60, seed=2)
    assert (seen.box == boxes_of(plan, seen)).all()
    assert set(np.unique(seen.box)) == {0, 1, 2, 3, 4}
    found = monitor(plan, known, seen, every=200)
    assert not found.alarms
    assert {cell.box for cell in found.summary.boxes} == set(np.flatnonzero(arrays_of(plan).arm >= 0).tolist())
    assert monitor_text(plan, found)


def test_an_earlier_day_knows_nothing_of_what_came_later() -> None:
    plan, known = switching_plan(20), three_kinds()
    seen = simulate_cases(plan, known, 40, seed=6)
    found = monitor(plan, known, seen, until=100.0, every=50)
    assert found.summary.rounds == int((seen.at <= 100).sum())
    assert found.summary.cases == int((seen.began <= 100).sum())
    with pytest.raises(InvalidInput, match="no outcomes yet"):
        monitor(plan, known, seen, until=-5.0)


def test_a_single_outcome_is_enough_to_be_shown() -> None:
    plan, known = switching_plan(), three_kinds()
    one = observe(plan, table_of([Seen("a", 1, 2, 1.0, 7.0), Seen("a", 2, 2, float("nan"), 7.0)], ARMS))
    found = monitor(plan, known, one)
    assert (found.summary.rounds, found.summary.missing, found.alarms) == (1, 1, ())
    assert "not known yet" in monitor_text(plan, found)


def test_what_cases_lost_is_in_the_unit_of_worth_with_what_changes_cost() -> None:
    """Without noise: an outcome of 1 in every round of B, which is worth 5 less a round than A; changes cost 3."""
    known = with_worth(three_kinds(), price={"A": 0, "B": 5, "C": 5}, value=10, change=3, unit="EUR")
    arms, outcomes = np.array([0, 1, 1, 0]), np.full((4, 3), np.nan)
    outcomes[np.arange(4), arms] = 1.0
    cases = cases_of(["ann"] * 4, known.arms, outcomes, box=np.zeros(4), at=np.arange(4.0))
    plan = switching_plan()
    belief = np.array([[1.0, 0.0, 0.0]])
    found = summarise(plan, known, cases, belief, None)
    assert found.unit == "EUR"
    earned = 10 + 5 + 5 + 10 - 2 * 3
    assert found.loss.value == pytest.approx(4 * known.values[0] - earned)
