"""Rounds that are passed over, cases that are lost on the way, and what ignoring them would promise."""

import numpy as np
import pytest

from banditree import ByOutcome, Give, Line, Score, make_plan
from banditree.cases.design import Design, LogDesign
from banditree.cases.table import cases_of
from banditree.evaluation.by_context import rule_plans
from banditree.evaluation.evaluate import evaluate
from banditree.evaluation.expected import expecting
from banditree.evaluation.judging import judge_of
from banditree.evaluation.passing import passed, taking
from banditree.evaluation.queues import NOTHING
from banditree.plans.words import Vocabulary
from banditree.policies.following import policy_for
from banditree.reports.held_out import held_out
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.tasks.rewards import BERNOULLI

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


SEEN = (Feature(INTERCEPT), Feature("severe"))


def severity_log(seed, n=150, rounds=12, full=False):
    """Severity changes from round to round, decides what is given (A with .8 or .3), and what is best."""
    rng = np.random.default_rng([seed, 6])
    severe = rng.integers(0, 2, n * rounds)
    outcomes = (rng.random((n * rounds, 2)) < np.where(severe[:, None] > 0, (0.3, 0.6), (0.7, 0.5))).astype(float)
    chance = np.where(severe > 0, 0.3, 0.8)
    arm = (rng.random(n * rounds) >= chance).astype(np.int64)
    told = {"contexts": np.column_stack([np.ones(n * rounds), severe]), "features": SEEN}
    if not full:
        outcomes = np.where(np.eye(2)[arm] > 0, outcomes, np.nan)
        told["chances"] = np.where(arm == 0, chance, 1 - chance)
    return cases_of(np.repeat(np.arange(n), rounds), ["A", "B"], outcomes, **told)


def by_severity(horizon):
    """The rule that gives everyone A where it is not severe, and B where it is."""
    (_, plan), *_ = rule_plans(severity_log(99, full=True), BERNOULLI, horizon, Vocabulary(), (2,))
    return plan


def test_every_round_is_as_likely_to_be_taken_whatever_its_context_and_option():
    """And a case comes to its round t as often as the binomial chance says: 4 standard errors of 2,000 cases."""
    log, plan = severity_log(0, n=2_000), by_severity(6)
    least, kept = taking(log, Design.PER_ROUND, np.array([0, 1]))
    assert np.allclose(least, 0.2)
    assert np.allclose(kept * log.chances, 0.2)
    ((one, chance),) = passed(plan, policy_for(plan), log, Design.PER_ROUND, 6, 1, 0)
    came = one.row != NOTHING
    assert np.allclose(came.mean(axis=0), chance.mean(axis=0), atol=4 * 0.5 / np.sqrt(2_000))
    severe = log.contexts[one.row[came], 1]
    assert (log.arm[one.row[came]] == severe).all()
    assert abs(severe.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(severe))


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [3, 8])
def test_rules_by_context_are_judged_right_over_all_rounds(horizon):
    """Of 12 rounds 2 or so are taken. 30 logs, 4 errors; fewer than 25 of 95% intervals hold it once in 300."""
    plan = by_severity(horizon)
    found = []
    for seed in range(30):
        log = severity_log(seed)
        kinds = expecting(severity_log(seed + 1_000), BERNOULLI, 0)
        judge = judge_of(log, LogDesign(Design.PER_ROUND, ""), horizon, BERNOULLI, kinds=kinds, seed=seed)
        found.append(judge.judge(plan, policy_for(plan)).measured.estimate())
    off = np.array([one.value for one in found]) - 0.65
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(30)
    assert sum(one.low <= 0.65 <= one.high for one in found) >= 25


@pytest.mark.slow
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
