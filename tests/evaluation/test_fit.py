import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from simulated_logs import full_log

from banditree import fit, load_collection, load_plan
from banditree.cases.table import cases_of, only_cases
from banditree.cli import main
from banditree.errors import InvalidInput
from banditree.evaluation.choice import Candidate, leads_by_luck, trials_of
from banditree.evaluation.fit import _generosity_notes, _knowing, _typical_rounds
from banditree.evaluation.intervals import per_round
from banditree.evaluation.kinds import centred, find_kinds, statistics_of
from banditree.evaluation.splits import fold_numbers, hold_out
from banditree.figures.choice import choice_info, choice_scene
from banditree.reports.fit import fit_document, fit_text
from banditree.tasks.rewards import BERNOULLI, Bounded, Gaussian, Graded

TWO = {"kinds": (2,), "lines": (1, 2), "folds": 3}
QUICK = {"kinds": (2,), "lines": (1,), "folds": 2}


@pytest.fixture(autouse=True, scope="module")
def short_searches():
    """The searches and promises are judged elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditree.evaluation.promise.DRAWS", 100)
        patch.setattr("banditree.evaluation.promise.LEAST_DRAWS", 20)
        patch.setattr("banditree.evaluation.fit.LAST_STEPS", 200)
        yield


@pytest.fixture(scope="module")
def two_kinds():
    return fit(full_log(300, 12, 0), 12, **TWO)


def alike(n_cases, seed, best=0.7):
    """Cases that all have the same rates: nothing to be found out."""
    outcomes = np.random.default_rng(seed).random((n_cases * 10, 2)) < [best, 0.4]
    return cases_of(np.repeat(np.arange(n_cases), 10).tolist(), ["A", "B"], outcomes.astype(float))


def test_a_plan_that_helps_is_found_and_judged_on_cases_held_out(two_kinds):
    assert two_kinds.is_held_out.sum() == two_kinds.evaluation.n_cases == 100
    assert two_kinds.chosen.candidate.kinds == 2
    assert two_kinds.plan.n_tests <= 2
    assert two_kinds.evaluation.rows[1].gain.low > 0
    assert two_kinds.knowing.value > two_kinds.evaluation.rows[1].gain.value
    assert fit_text(two_kinds).startswith("Verdict: follow the plan.")


def test_a_plan_that_earns_less_on_cases_held_out_is_not_said_to_help(two_kinds):
    plan, single, *others = two_kinds.evaluation.rows
    gain = single.gain
    worse = replace(gain, value=-gain.value, low=-gain.high, high=-gain.low)
    judged = replace(two_kinds.evaluation, rows=(plan, replace(single, gain=worse), *others))
    text = fit_text(replace(two_kinds, evaluation=judged))
    assert text.startswith(f"Verdict: give {two_kinds.single} to everyone. The plan that was found earns less")


def test_the_promise_for_cases_held_out_is_told_with_what_came(two_kinds):
    promise = two_kinds.promise
    assert promise.low < promise.came < promise.high < promise.low + 0.2
    assert promise.came == pytest.approx(two_kinds.evaluation.rows[0].value.value)
    assert f"promised {promise.low:.3f} to {promise.high:.3f} per round" in fit_text(two_kinds)
    assert fit_document(two_kinds)["promise"]["kept"] is True
    broken = replace(two_kinds, promise=replace(promise, came=0.0))
    assert "It gave 0.000, not as promised" in fit_text(broken)


def test_what_is_made_from_fitted_rates_says_so(two_kinds):
    assert "Made from estimates taken at their word." in str(two_kinds.plan)
    assert two_kinds.collection.provenance.endswith("estimates taken at their word")


def test_kinds_have_the_rates_and_shares_of_the_truth(two_kinds):
    rates = two_kinds.collection.means[np.argsort(-two_kinds.collection.means[:, 0])]
    assert np.abs(rates - [[0.8, 0.4], [0.2, 0.6]]).max() < 0.08
    assert two_kinds.collection.shares.sum() == pytest.approx(1)


def test_where_nothing_is_to_be_gained_one_option_is_the_plan():
    found = fit(alike(60, 0), 10, **QUICK)
    assert found.plan.n_tests == 0
    assert fit_text(found).startswith("Verdict: give A to everyone.")
    assert "Give A from now on." in fit_text(found)


@pytest.mark.slow
def test_noise_ends_in_a_plan_no_more_often_than_by_luck():
    """No option is better than another: 20 logs, a plan in 5% of them; more than 4 with a chance of 0.3%."""
    found = [fit(alike(60, seed, best=0.4), 10, kinds=(2,), lines=(1, 2), folds=2) for seed in range(20)]
    assert sum(one.plan.n_tests > 0 for one in found) <= 4


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit_and_another_another_split():
    first, again = (fit_document(fit(full_log(60, 8, 0), 8, **QUICK)) for _ in range(2))
    assert first == again
    assert (hold_out(150, 1 / 3, 1)[1] != hold_out(150, 1 / 3, 0)[1]).any()


def test_kinds_that_differ_in_generosity_only_are_seen_as_such():
    rng = np.random.default_rng(0)
    rates = np.array([[0.9, 0.7], [0.3, 0.1]])[np.repeat(np.arange(120) % 2, 12)]
    outcomes = (rng.random(rates.shape) < rates).astype(float)
    found = fit(cases_of(np.repeat(np.arange(120), 12).tolist(), ["A", "B"], outcomes), 12, **QUICK)
    assert found.plan.n_tests == 0
    assert any("differ in how much they give" in note for note in found.notes)


def test_kinds_of_those_who_take_one_option_each_time_differ_in_how_often_they_take_it():
    rng = np.random.default_rng(0)
    takes_a = rng.random(1200) < np.repeat(np.array([0.95, 0.6])[np.arange(100) % 2], 12)
    history = cases_of(np.repeat(np.arange(100), 12).tolist(), ["A", "B"], np.column_stack([takes_a, ~takes_a]))
    (note,) = _generosity_notes(find_kinds(history, 2, BERNOULLI))
    assert note.startswith("The kinds differ in how often they take 'A'")


def test_centring_takes_generosity_out():
    """Four kinds: generous or not, A or B best; of two kinds, centred ones differ in their best option."""
    rng = np.random.default_rng(1)
    kind = np.repeat(np.arange(200) % 4, 15)
    rates = np.array([[0.95, 0.75], [0.75, 0.95], [0.25, 0.05], [0.05, 0.25]])[kind]
    history = cases_of(
        np.repeat(np.arange(200), 15).tolist(), ["A", "B"], (rng.random(rates.shape) < rates).astype(float)
    )
    plain = find_kinds(history, 2, BERNOULLI).collection
    other = find_kinds(history, 2, BERNOULLI, centre=True).collection
    assert abs(np.diff(plain.means[:, 0] - plain.means[:, 1])[0]) < 0.1
    assert len(set(other.best_arms.tolist())) == 2
    per_case = np.zeros(200)
    statistics = centred(statistics_of(history))
    np.add.at(per_case, statistics.task, statistics.sums[:, 0])
    mean = statistics_of(history).sums.sum() / 2
    assert np.allclose(per_case, per_case[0])
    assert abs(per_case.sum() - 2 * mean) < 1e-6


def test_statistics_of_a_history_are_sums_over_its_rounds():
    history = full_log(10, 5, 0)
    statistics = statistics_of(replace(history, outcomes=np.where(history.outcomes == 0, np.nan, 1.0)))
    for case, arm, count in zip(statistics.task, statistics.arm, statistics.count, strict=True):
        assert count == history.outcomes[history.first[case] : history.first[case + 1], arm].sum()


def test_the_rule_of_one_standard_error_prefers_the_smaller_plan():
    base, unsteady = np.random.default_rng(0).random((50, 4)), 0.5 * (-1.0) ** np.arange(50)[:, None]
    rewards = {
        Candidate(1, 1): base - 0.5,
        Candidate(3, 2): base - 0.01 + unsteady,
        Candidate(8, 2): base,
        Candidate(8, 3): base - 1e-9,
    }
    earned = {one: np.stack([table.sum(axis=1), np.full(50, 4.0)]) for one, table in rewards.items()}
    trials = trials_of(earned)
    assert [trial.candidate for trial in trials if trial.is_chosen] == [Candidate(3, 2)]
    assert [trial.candidate for trial in trials if trial.is_best] == [Candidate(8, 2)]
    earned.pop(Candidate(3, 2))
    assert [trial.candidate for trial in trials_of(earned) if trial.is_chosen] == [Candidate(8, 2)]


def test_the_lead_of_the_best_of_many_may_be_luck():
    """30 plans that are no better than another: the best seems to lead in most logs, and may be luck in nearly all."""
    rng, by_luck, seeming = np.random.default_rng(0), 0, 0
    for _ in range(100):
        noise = [per_round(rng.normal(size=80), np.full(80, 5.0)) for _ in range(31)]
        by_luck += leads_by_luck(*noise[1:], than=noise[0])
        seeming += max(one.above(noise[0]).value / one.above(noise[0]).error for one in noise[1:]) > 1
    assert by_luck >= 89  # 95 expected, fewer than 89 with a chance of 0.5%
    assert seeming >= 70
    better = per_round(rng.normal(2.0, size=80), np.full(80, 5.0))
    assert not leads_by_luck(better, than=noise[0])


def test_how_long_cases_go_on_is_part_of_the_search():
    log = full_log(60, 8, 0)
    cut = only_cases(log, np.arange(60))
    assert _typical_rounds(cut, 20, None) == 8
    assert _typical_rounds(cut, 5, None) == 5
    assert _typical_rounds(cut, 20, 3.4) == 3
    with pytest.raises(InvalidInput, match="typical_rounds must be from 1 to the horizon, 20"):
        fit(log, 20, typical_rounds=21)
    assert fit(log, 20, **QUICK).plan.horizon == 20


def test_graded_rewards_can_be_fitted_and_bounded_ones_are_refused():
    rng = np.random.default_rng(3)
    kind = np.repeat(np.arange(90) % 2, 10)
    chances = np.array([[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]])[kind]
    outcomes = 0.5 * (rng.random((900, 2, 1)) > chances.cumsum(axis=2)).sum(axis=2)
    log = cases_of(np.repeat(np.arange(90), 10).tolist(), ["A", "B"], outcomes)
    found = fit(log, 10, rewards=Graded(), **QUICK)
    assert found.collection.rewards.support == (0.0, 0.5, 1.0)
    assert np.abs(found.collection.chances.sum(axis=2) - 1).max() < 1e-9
    assert found.evaluation.rows[1].gain.low > 0
    same = fit(replace(log, outcomes=outcomes[:, [0, 0]]), 10, rewards=Graded(), **QUICK)
    assert same.plan.n_tests == 0
    assert same.plan.rewards.support == (0.0, 0.5, 1.0)
    by_name = fit(replace(log, outcomes=outcomes[:, [0, 0]]), 10, rewards="graded", **QUICK)
    assert by_name.plan.rewards == same.plan.rewards
    with pytest.raises(InvalidInput, match="of bounded rewards only the mean is known"):
        fit(log, 10, rewards=Bounded(0.0, 1.0))
    with pytest.raises(InvalidInput, match="rewards must be one of bernoulli, gaussian, graded. Got 'bounded'"):
        fit(log, 10, rewards="bounded")


def test_the_command_offers_only_rewards_that_fit_takes(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fit", "visits.csv", "--horizon", "8", "--rewards", "bounded"])
    assert ended.value.code == 2
    assert "'bounded' is not one of 'bernoulli', 'gaussian', 'graded'" in " ".join(capsys.readouterr().err.split())


def test_splits_are_whole_cases_and_folds_are_even():
    assert np.bincount(fold_numbers(23, 5, 0)).tolist() == [5, 5, 5, 4, 4]
    with pytest.raises(InvalidInput, match="too few to hold 33% of them out"):
        hold_out(9, 1 / 3, 0)


@pytest.mark.slow
def test_stopping_chooses_from_what_is_done():
    calls = []
    found = fit(full_log(60, 8, 0), 8, **QUICK, on_progress=lambda progress: calls.append(progress) or len(calls) < 3)
    assert len(calls) == 3
    assert calls[0].total == 4
    assert found.plan.n_tests >= 0


def test_one_row_per_case_is_named_as_the_reason():
    with pytest.raises(InvalidInput, match="every individual has one row"):
        fit(cases_of([str(n) for n in range(40)], ["A", "B"], [[1, np.nan], [np.nan, 0]] * 20), 5)


def test_a_trial_in_which_nobody_had_both_options_is_refused():
    log = full_log(60, 6, 0)
    had = np.where(log.owner % 2, 1, 0)[:, None] == [0, 1]
    with pytest.raises(InvalidInput, match="nobody tried both 'A' and 'B'"):
        fit(replace(log, outcomes=np.where(had, log.outcomes, np.nan)), 6)


@pytest.mark.slow
def test_an_option_that_hardly_anyone_tried_is_left_out():
    log = full_log(60, 6, 0)
    rare = np.where(np.arange(len(log.outcomes)) == 3, 1.0, np.nan)
    more = replace(log, arms=("A", "B", "C"), outcomes=np.column_stack([log.outcomes, rare]))
    found = fit(more, 6, kinds=(2,), lines=(1,), folds=2)
    assert found.plan.arms == ("A", "B")
    assert any("Omitted, since hardly any case tried them: 'C'" in note for note in found.notes)


def test_cases_that_always_give_the_same_need_no_plan():
    found = fit(replace(full_log(30, 4, 0), outcomes=np.ones((120, 2))), 4, kinds=(2,), lines=(1,), folds=2)
    assert found.plan.n_tests == 0


@pytest.mark.slow
def test_a_log_of_one_outcome_per_round_can_be_fitted():
    from simulated_logs import partial_log

    found = fit(partial_log(150, 30, 0), 8, **QUICK)
    assert not found.evaluation.is_full
    assert found.chosen.candidate.kinds == 2
    assert found.evaluation.rows[1].gain.value > 0


def test_the_figure_shows_the_choice(two_kinds):
    info = choice_info(two_kinds.trials)
    assert [n for n, _ in info.lines] == [1, 2]
    assert sum(point.is_chosen for _, line in info.lines for point in line) == 1
    assert "Chosen: " in choice_scene(info).description


@pytest.mark.slow
def test_the_command_writes_all_it_promises(tmp_path, monkeypatch, capsys):
    import pandas

    monkeypatch.chdir(tmp_path)
    log = full_log(60, 8, 0)
    rows = [
        (log.cases[u], n, arm, int(log.outcomes[n, k]))
        for n, u in enumerate(log.owner)
        for k, arm in enumerate(log.arms)
    ]
    pandas.DataFrame(rows, columns=["household", "visit", "brand", "bought"]).to_csv("visits.csv", index=False)
    command = ["fit", "visits.csv", "--individual", "household", "--arm", "brand", "--reward", "bought"]
    command += ["--horizon", "8", "--kinds", "2", "--lines", "1", "--folds", "2"]
    files = ["-o", "plan.json", "--collection", "kinds.json", "--members", "members.csv", "--figure", "choice.svg"]
    with pytest.raises(SystemExit) as ended:
        main([*command, *files])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("Verdict: ")
    assert load_plan("plan.json").horizon == 8
    assert load_collection("kinds.json").arms == ("A", "B")
    with open("members.csv") as file:
        members = list(csv.DictReader(file))
    assert len(members) == 60
    assert sum(int(row["held_out"]) for row in members) == 20
    with pytest.raises(SystemExit):
        main([*command, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["seed"] == 0
    assert document["individuals"] == [
        {**row, "certainty": float(row["certainty"]), "held_out": int(row["held_out"])} for row in members
    ]
    with pytest.raises(SystemExit) as ended:
        main([*command, "-o", "nowhere/plan.json"])
    assert ended.value.code == 2


def test_a_case_that_is_decided_for_once_is_told_and_no_kind_by_hindsight():
    taken = np.random.default_rng(0).choice(3, 60, p=[0.5, 0.3, 0.2])
    found = fit(cases_of(list(map(str, range(60))), ["A", "B", "C"], np.eye(3)[taken]), 5)
    assert found.single == "A"
    assert found.knowing.value == 0
    assert len(found.trials) == 1
    assert any(note.startswith("Every case has one round") for note in found.notes)


def test_knowing_the_kind_is_told_from_other_rounds():
    """Two purchases drawn by chance: told from the purchase itself, a kind would be worth a lot."""
    taken = np.random.default_rng(1).choice(3, 120, p=[0.4, 0.3, 0.3])
    history = cases_of(np.repeat(np.arange(60), 2).tolist(), ["A", "B", "C"], np.eye(3)[taken])
    assert abs(_knowing(history, find_kinds(history, 3, BERNOULLI), 0, 2).value) < 0.15


def test_one_option_for_numbers_of_any_size_knows_how_much_they_vary():
    outcomes = np.random.default_rng(2).normal([300.0, 250.0], 40.0, (400, 2))
    found = fit(
        cases_of(np.repeat(np.arange(40), 10).tolist(), ["A", "B"], outcomes), 10, rewards=Gaussian(1.0), **QUICK
    )
    assert found.plan.n_tests == 0
    assert found.plan.rewards.sigma == pytest.approx(40, rel=0.1)
    assert found.promise.low < found.promise.came < found.promise.high
