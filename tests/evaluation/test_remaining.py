"""Cases that a replay loses on the way: their chances, and what ignoring them would promise."""

import numpy as np
import pytest

from banditree import ByOutcome, Give, Line, Score, make_plan
from banditree.cases.design import Design
from banditree.cases.table import cases_of
from banditree.evaluation.evaluate import evaluate
from banditree.evaluation.remaining import remaining, transitions
from banditree.reports.held_out import held_out
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])


def leaves_b():
    """Give B; after a net failure A for good."""
    count = Score(ByOutcome((-1, 1)), floor=1, ceil=3)
    return make_plan([Line(Give("B"), count, below=Line(Give("A")), above=Line(Give("B")))], TWO, horizon=8)


def log(seed, *, n=400, rounds=20, full=False, share=0.5, sticks=None):
    """Cases that differ in how much they give; B is better by 0.1 for all."""
    rng = np.random.default_rng([seed, 5])
    level = rng.uniform(-0.35, 0.35, n)
    outcomes = (rng.random((n, rounds, 2)) < np.stack([0.45 + level, 0.55 + level], 1)[:, None]).astype(float)
    arm = (rng.random((n, rounds)) >= share).astype(np.int64)
    if sticks is not None:
        arm = (arm[:, :1] + np.cumsum(rng.random((n, rounds)) < sticks, axis=1)) % 2
    known = outcomes if full else np.where(np.eye(2)[arm] > 0, outcomes, np.nan)
    return cases_of(np.repeat(np.arange(n), rounds), ["A", "B"], known.reshape(-1, 2))


def test_chances_are_those_of_a_simulation():
    """40,000 logs: within 4 standard errors, which fails once in 4,000 runs."""
    rng, path, n = np.random.default_rng(0), [0, 0, 1, 1], 6
    chain = np.array([[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    reached, arm, place = np.zeros(4), rng.integers(0, 2, 40_000), np.zeros(40_000, np.int64)
    for _ in range(n):
        asked = np.array([*path, -1])[place]
        place += asked == arm
        arm = (rng.random(len(arm)) >= chain[arm, 0]).astype(np.int64)
    reached = (place[:, None] > np.arange(4)).mean(axis=0)
    assert np.allclose(remaining(np.array([path]), np.array([n]), chain)[0], reached, atol=4 * 0.5 / 200)


def test_transitions_are_counted():
    chain = transitions(log(0, n=2000, sticks=0.1), Design.STICKY)
    assert np.allclose(chain[:2, :2], [[0.9, 0.1], [0.1, 0.9]], atol=0.01)
    assert np.allclose(transitions(log(0, n=2000, share=0.2), Design.PER_ROUND), [[0.2, 0.8, 0]] * 4, atol=0.01)


@pytest.mark.parametrize("how", [{"sticks": 0.05}, {"share": 0.2}], ids=["sticky", "one option is rare"])
def test_plans_are_not_overrated_by_the_cases_that_stay(how):
    """The truth is in at least 8 of 10 intervals of 95%; fewer would be seen once in 90 runs."""
    truth = evaluate(leaves_b(), log(99, n=4000, full=True), runs=1, single="B").rows[1].gain.value
    gains = [evaluate(leaves_b(), log(seed, **how), runs=1, single="B").rows[1].gain for seed in range(10)]
    assert sum(gain.low <= truth <= gain.high for gain in gains) >= 8
    assert all(gain.high < 0.02 for gain in gains)


def test_what_a_log_cannot_show_is_said_first_in_reports_and_the_studio_too():
    kept = log(0, sticks=0.0)
    found = evaluate(leaves_b(), kept, runs=1)
    assert "once per case" in found.refusal
    assert held_out(leaves_b(), None, found)["sentence"].startswith("The log cannot show what a plan gives")
