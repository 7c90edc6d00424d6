"""Options that give less as the calendar goes on."""

import numpy as np
import polars
from null_worlds import null_world

from banditree.cases.calendar import calendar_notes
from banditree.cases.table import cases_of
from banditree.evaluation.order import order_notes
from banditree.reports.learning import learn_document, learn_text
from banditree.training.learning import learn


def log(seed, *, falls, n=120, rounds=8):
    """Cases that begin one after the other, a day each; rates fall by this much from the first to the last."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n), rounds)
    arm, level = rng.integers(0, 2, n * rounds), rng.uniform(-0.2, 0.2, n)[owner]
    rate = 0.6 + level - falls * owner / n - 0.1 * arm
    outcomes = np.where(np.eye(2)[arm] > 0, rng.random((n * rounds, 1)) < rate[:, None], np.nan)
    return cases_of(owner, ["A", "B"], outcomes, at=20_000.0 + owner + np.tile(np.arange(rounds), n) / rounds)


def test_outcomes_that_fall_over_the_calendar_are_noted():
    found = calendar_notes(log(0, falls=0.5))
    assert [note.split(":")[1].split(" gives")[0].strip() for note in found] == ["'A'", "'B'"]
    assert found == order_notes(log(0, falls=0.5))[-2:]


def test_steady_logs_are_noted_as_rarely_as_said():
    """1% of 200 logs: more than 8 would be seen once in 4,000 runs. Logs without days are never noted."""
    assert sum(bool(calendar_notes(log(seed, falls=0.0))) for seed in range(200)) <= 8
    assert calendar_notes(null_world("drift", 0)) == ()


def test_learn_says_how_the_log_was_made_and_that_it_drifts():
    cases = log(1, falls=0.4, n=200)
    days = polars.Series("time", cases.at * 86_400_000).cast(polars.Int64).cast(polars.Datetime("ms"))
    table = polars.DataFrame(
        {"individual": cases.owner, "arm": np.array(["A", "B"])[cases.arm], "reward": cases.reward, "time": days}
    )
    found = learn(table, individual="individual", kinds=2)
    assert "The log: options were given at random in every round" in learn_text(found)
    assert any("Drift over the calendar" in note for note in learn_document(found)["notes"])
    assert learn_document(found)["design"] == "per-round"
    stated = learn_text(learn(table, individual="individual", kinds=2, design="seen")).splitlines()
    assert stated[1].startswith("The log: options were chosen by what was seen of the case (as stated;")
    assert any(line.startswith("Note: Rates may be due to who was given an option") for line in stated)
