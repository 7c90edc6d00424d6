"""One kind whose option follows from prices is found, judged, and stands beside what people would use."""

import json
from dataclasses import replace

import numpy as np
import polars
import pytest

from banditree import evaluate, fit, load_plan
from banditree.cases.table import Cases, without_contexts
from banditree.cli import main
from banditree.errors import InvalidInput
from banditree.evaluation.by_context import curve_plan, curves_of, rule_plans, worth_of_options
from banditree.evaluation.kinds_by_context import find_kinds_by_context
from banditree.evaluation.replay import replay
from banditree.evaluation.singles import replay_single
from banditree.plans.words import Vocabulary
from banditree.reports.fit import fit_document, fit_text
from banditree.tasks.contexts import INTERCEPT, Feature
from banditree.tasks.rewards import BERNOULLI

QUICK = {"kinds": (2,), "lines": (1,), "folds": 2}
FEATURES = (Feature(INTERCEPT), Feature("price"), Feature("day", "work", ("free", "work")))


@pytest.fixture(scope="module", autouse=True)
def quick_promises():
    """What is promised is not the matter here, nor how good the last search is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditree.evaluation.promise.DRAWS", 100)
        patch.setattr("banditree.evaluation.promise.LEAST_DRAWS", 20)
        patch.setattr("banditree.evaluation.fit.LAST_STEPS", 200)
        yield


def chance_of(price, work):
    """A where the price is low, B where it is high, and C for nobody: by context alone .65 on average."""
    return np.column_stack([0.7 - 0.4 * (price > 4), 0.2 + 0.4 * (price > 4), 0.3 + 0.0 * work])


def log(n_cases=250, rounds=5, *, full=True, seed=0):
    """Rounds whose best option is decided by the price; every outcome is known, or one drawn at random."""
    rng = np.random.default_rng(seed)
    n = n_cases * rounds
    price, work = rng.integers(1, 9, n).astype(float), rng.integers(0, 2, n)
    outcomes = (rng.random((n, 3)) < chance_of(price, work)).astype(float)
    if not full:
        kept = rng.integers(0, 3, n)
        outcomes[np.arange(3) != kept[:, None]] = np.nan
    contexts = np.column_stack([np.ones(n), price, work])
    cases, first = tuple(f"c{u}" for u in range(n_cases)), np.arange(n_cases + 1) * rounds
    return Cases(cases, ("A", "B", "C"), first, outcomes, contexts=contexts, features=FEATURES)


def as_rows(history):
    """The same as a table of one row per option."""
    row, arm = np.nonzero(history.known)
    return polars.DataFrame(
        {
            "individual": np.array(history.cases)[history.owner[row]],
            "visit": history.place[row],
            "arm": np.array(history.arms)[arm],
            "reward": history.outcomes[row, arm].astype(int),
            "price": history.contexts[row, 1],
            "day": np.where(history.contexts[row, 2] == 1, "work", "free"),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("full", [True, False])
def test_prices_alone_decide(full):
    found = fit(log(200 if full else 700, full=full), 5, **QUICK)
    assert found.chosen.candidate.rows >= 2
    best = max((trial for trial in found.trials if trial.candidate.rows), key=lambda trial: trial.value.value)
    assert found.chosen == best
    plan, single = found.evaluation.rows[:2]
    assert plan.value.value > single.value.value + 0.1
    assert single.gain.low > 0
    text = fit_text(found)
    assert "follow the rule by context." in text.splitlines()[0]
    assert "price at most 4" in text or "price above 4" in text
    for name in ("tree of 4 leaves by context", "logistic regression by context", "LinUCB for each case"):
        assert plan.value.value >= found.evaluation[name].value.value - 0.05
        assert name in text


def test_a_rule_that_gives_everyone_the_same_is_one_option():
    history = log(150)
    same = replace(history, outcomes=history.outcomes[:, [2, 2, 2]] * [1.0, 0.5, 0.5])
    plans = [curve_plan(same, BERNOULLI, 5, Vocabulary()), dict(rule_plans(same, BERNOULLI, 5, Vocabulary()))[2]]
    for plan in plans:
        assert not plan.features
        assert "Give A" in str(plan)


def test_without_context_columns_no_rule_is_tried():
    found = fit(without_contexts(log(100)), 5, **QUICK)
    assert not any(trial.candidate.rows for trial in found.trials)
    assert not found.plan.features
    assert "by context" not in fit_text(found)


def test_worth_without_every_outcome_is_right_on_average():
    """Against the true chances, over 4,000 rounds: within four standard errors of each mean."""
    full, some = log(800, seed=3), log(800, full=False, seed=3)
    curves = curves_of(some, BERNOULLI)
    worth, x = worth_of_options(some, curves, 5)
    assert np.isnan(some.outcomes).any()
    truth = chance_of(x[:, 1], x[:, 2])
    assert (np.abs((worth - truth).mean(axis=0)) < 4 * worth.std(axis=0) / np.sqrt(len(worth))).all()
    assert worth_of_options(full, curves_of(full, BERNOULLI), 3)[0].shape == (800 * 3, 3)


def test_a_rule_grown_leaf_by_leaf_is_no_worse_than_a_shorter_one_and_says_what_it_gives():
    history = log(400, seed=5)
    plans = dict(rule_plans(history, BERNOULLI, 5, Vocabulary(), (2, 4)))
    earned = {size: replay(plan, history, 5).total.sum() for size, plan in plans.items()}
    assert earned[2] <= earned[4]
    promise = plans[2].kind_rules[0].promise
    leaves = plans[2].kind_rules[0].leaves_at(history.contexts)
    given = history.outcomes[np.arange(len(leaves)), plans[2].kind_rules[0].arm[leaves]]
    for leaf in np.unique(leaves):
        assert promise[leaf] == pytest.approx(given[leaves == leaf].mean(), abs=0.0051)


def test_a_table_with_text_and_numbers_from_the_command_to_a_plan_that_can_be_evaluated(tmp_path, capsys):
    as_rows(log(150)).write_csv(tmp_path / "log.csv")
    plan = tmp_path / "plan.json"
    command = ["fit", str(tmp_path / "log.csv"), "--horizon", "5", "--context", "price,day", "--kinds", "2"]
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--lines", "1", "--folds", "2", "-o", str(plan), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert next(trial for trial in told["trials"] if trial["chosen"])["rule_rows"] >= 2
    known = load_plan(plan)
    assert [str(feature) for feature in known.features] == ["(intercept)", "price", "day=work"]
    again = evaluate(known, tmp_path / "log.csv", runs=1)
    assert again.rows[0].value.value > again.rows[1].value.value + 0.1


def test_one_round_per_case_is_no_obstacle_to_a_rule():
    found = fit(log(600, 1), 1, **QUICK)
    assert found.chosen.candidate.rows >= 2
    assert any("one round" in note for note in found.notes)
    assert fit_document(found)["plan_lines"] == 0


def test_a_context_that_is_no_column_is_named():
    with pytest.raises(InvalidInput, match="a column must be one of"):
        fit(as_rows(log(30)), 5, context="prize", **QUICK)


def opposite_kinds(n_cases=120, rounds=12, seed=4):
    """Two kinds with the same rates on average: the one takes A where the price is low, the other where it is high."""
    rng = np.random.default_rng(seed)
    n = n_cases * rounds
    price, kind = rng.integers(1, 9, n).astype(float), np.repeat(np.arange(n_cases) % 2, rounds)
    low = (price < 5) == (kind == 0)
    outcomes = (rng.random((n, 2)) < np.column_stack([np.where(low, 0.9, 0.1), np.where(low, 0.1, 0.9)])).astype(float)
    contexts, first = np.column_stack([np.ones(n), price]), np.arange(n_cases + 1) * rounds
    cases = tuple(f"c{u}" for u in range(n_cases))
    return Cases(cases, ("A", "B"), first, outcomes, contexts=contexts, features=(Feature(INTERCEPT), Feature("price")))


@pytest.mark.slow
def test_kinds_that_differ_in_what_contexts_mean_get_a_plan_that_keeps_a_score_and_looks_at_both():
    """By price alone and by history alone .5 of all outcomes are 1, by both .9 once the kind is known."""
    found = fit(opposite_kinds(), 12, **QUICK)
    assert found.chosen.candidate.by_context
    assert found.plan.n_tests == 1
    assert found.evaluation.rows[0].value.value > 0.7
    assert max(trial.value.value for trial in found.trials if not trial.candidate.by_context) < 0.6
    assert found.evaluation["mIDS"].value.value > 0.7
    assert found.knowing.value > 0.3
    own = np.arange(120) % 2
    agree = (found.kind == own).mean()
    assert max(agree, 1 - agree) > 0.95
    text = fit_text(found)
    assert "Verdict: follow the plan." in text
    assert "for each kind" in text
    assert next(trial for trial in fit_document(found)["trials"] if trial["chosen"])["by_context"]


def test_kinds_by_context_tell_a_case_by_the_likelihood_of_its_outcomes():
    history = opposite_kinds(20, 3)
    kinds = find_kinds_by_context(history, 2, BERNOULLI)
    theta, chances = kinds.collection.theta, kinds.chances(history)
    for case in (0, 7, 19):
        rows = range(history.first[case], history.first[case + 1])
        likelihood = kinds.collection.weights.copy()
        for row in rows:
            for arm in range(2):
                rate = 1 / (1 + np.exp(-theta[:, arm] @ history.contexts[row]))
                likelihood *= rate if history.outcomes[row, arm] else 1 - rate
        assert chances[case] == pytest.approx(likelihood / likelihood.sum(), abs=1e-3)


def test_what_is_best_by_prediction_is_a_plan_of_one_line_and_a_candidate():
    history = log(100, seed=6)
    plan, curves = curve_plan(history, BERNOULLI, 5, Vocabulary()), curves_of(history, BERNOULLI)
    best = curves.at(history.contexts).argmax(axis=1)
    assert replay(plan, history, 5).total == pytest.approx(replay_single(history, best, 5).total)
    assert "Treat as everyone" in str(plan)
    trials = fit(history, 5, **QUICK).trials
    assert [trial.candidate.rows for trial in trials if trial.candidate.kinds == 1] == [0, 2, 4, 8, 0]
