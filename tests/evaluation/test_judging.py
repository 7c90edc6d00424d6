"""Judging policies on logs of one outcome per round: each part against a slow and obvious twin, and the whole."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from null_worlds import null_world
from simulated_logs import full_log, partial_log, switching_plan, true_value

from banditree import Give, Line, make_plan
from banditree.cases.design import Design, LogDesign, find_design
from banditree.cases.table import cases_of
from banditree.evaluation.evaluate import evaluate
from banditree.evaluation.judging import Replaying, Weighing, judge_of
from banditree.evaluation.kinds import find_kinds
from banditree.evaluation.propensities import estimated_chances, understood
from banditree.evaluation.queues import NOTHING, _queues, played
from banditree.evaluation.replay import replay
from banditree.evaluation.sensitivity import least_shift
from banditree.evaluation.supply import DRAWS, Supply, contradict, supply_of, thinning
from banditree.policies.following import policy_for
from banditree.policies.starting import start_session
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import BERNOULLI

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
RANDOM = LogDesign(Design.PER_ROUND, "")


def test_queues_answer_as_a_session_that_is_told_the_next_outcome_of_its_option():
    log, plan = partial_log(40, 9, 1), switching_plan(6)
    (one,) = played(plan, policy_for(plan), log, iter([log.told]), np.full(40, 6), 6, 0)
    queue, ends = _queues(log, log.told, np.random.default_rng([0, 6, 0]))
    for u in range(log.n_cases):
        waiting = [queue[a:b].tolist() for a, b in itertools.pairwise(ends[u])]
        session, met = start_session(plan), []
        for _ in range(6):
            step = session.ask()
            if not waiting[step.arm]:
                break
            met.append(waiting[step.arm].pop(0))
            session.tell(log.reward[met[-1]], step.round)
        shown = one.row[u][one.row[u] != NOTHING].tolist()
        assert shown[: len(met)] == met
        assert one.needs[u, max(len(shown) - 1, 0)].sum() <= len(shown) + 1


def test_what_is_given_for_good_is_answered_again_and_again():
    log = cases_of(["ann"] * 5, ["A", "B"], [[1, np.nan], [0, np.nan], *[[np.nan, 0]] * 3])
    plan = make_plan([Line(Give("A"))], TWO, horizon=5)
    (one,) = played(plan, policy_for(plan), log, iter([log.told]), np.array([5]), 5, 0)
    assert sorted(one.row[0].tolist()) in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    assert one.needs[0].tolist() == [[1, 0]] * 5


@pytest.mark.parametrize("need", [(0, 0), (2, 1), (3, 3), (0, 5)])
def test_the_supply_is_the_chance_of_all_logs_that_have_enough(need):
    """Every log of 6 rounds one by one; 4 standard errors of the draws."""
    chain = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    exact = np.zeros(2)
    for log in itertools.product([0, 1], repeat=6):
        enough = log.count(0) >= need[0] and log.count(1) >= need[1]
        exact += enough * np.array(
            [
                np.prod([(0.3, 0.7)[k] for k in log]),
                np.prod([chain[a, b] for a, b in zip((2, *log[:-1]), log, strict=True)]),
            ]
        )
    needs, n = np.array([[need]]), np.array([6])
    by_share = Supply(n, np.array([[0.3, 0.7]]), np.zeros((0, 0))).chance(needs)[0, 0]
    by_chain = Supply(n, np.array([[0.5, 0.5]]), chain).chance(needs)[0, 0]
    error = 4 * np.sqrt(exact * (1 - exact) / DRAWS)
    assert abs(by_share - exact[0]) <= error[0]
    assert abs(by_chain - exact[1]) <= error[1]


def test_rounds_are_thinned_only_where_chances_differ_within_a_case():
    between = null_world("severity by kind, propensities", 0)
    assert np.allclose(thinning(between), 1)
    assert set(np.round(supply_of(between, Design.PER_ROUND).chances, 6).ravel()) == {0.2, 0.8}
    within = null_world("severity by round, propensities", 0)
    assert set(np.round(thinning(within), 6)) == {0.25, 1.0}
    assert not contradict(within)
    assert contradict(cases_of(["a", "a"], ["A", "B"], [[1, np.nan], [np.nan, 1]], chances=[1.0, 1.0]))


def test_each_log_has_its_judge():
    assert isinstance(judge_of(full_log(20, 4, 0), RANDOM, 4, BERNOULLI), Replaying)
    assert isinstance(judge_of(partial_log(20, 4, 0), RANDOM, 4, BERNOULLI), Weighing)


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.5, 0.8])
def test_cases_that_are_too_short_for_the_plan_are_judged_right_on_average(chance):
    """Six rounds of either option, and a plan over six rounds: few cases are shown to the end. 40 logs, 4 errors."""
    truth, plan = true_value(6), switching_plan(6)
    found = []
    for seed in range(40):
        log = partial_log(150, 6, seed, chance)
        judge = judge_of(log, RANDOM, 6, BERNOULLI, kinds=find_kinds(log, 2, BERNOULLI))
        found.append(judge.judge(plan, policy_for(plan)).measured.estimate())
    off = np.array([one.value for one in found]) - truth
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(40)
    assert sum(one.low <= truth <= one.high for one in found) >= 34  # at 95%, fewer with a chance of 0.5%


def test_the_kinds_may_be_wrong_where_the_design_is_right():
    """Expectations from kinds that are the wrong way round: 40 logs, 4 errors."""
    truth, plan = true_value(3), switching_plan(3)
    upside_down = full_log(200, 8, 0)
    wrong = find_kinds(replace(upside_down, outcomes=1 - upside_down.outcomes**2 / 2), 2, BERNOULLI)
    values = []
    for seed in range(40):
        judge = Weighing(partial_log(150, 12, seed), RANDOM, wrong, 3, 0)
        values.append(judge.judge(plan, policy_for(plan)).measured.value)
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(40)


def test_chances_are_estimated_from_what_came_before_and_from_contexts():
    rng = np.random.default_rng(0)
    owner, price = np.repeat(np.arange(300), 12), rng.normal(size=3600)
    chance = 1 / (1 + np.exp(-price))
    arm = (rng.random(3600) < chance).astype(int)
    outcomes = np.where(np.eye(2)[arm] > 0, rng.integers(0, 2, (3600, 1)), np.nan)
    log = cases_of(owner, ["A", "B"], outcomes, contexts=price[:, None])
    assert np.abs(estimated_chances(log, 0)[:, 1] - chance).mean() < 0.03
    sticky = null_world("severity by kind", 0)
    assert find_design(sticky).design is Design.SEEN
    found, made = understood(sticky, None, 0)
    assert made.is_estimated
    assert made.shows_plans
    assert found.chances is not None
    assert "chances are estimated" in str(made)


def test_the_worst_selection_is_as_bad_as_any_that_is_tried():
    rng = np.random.default_rng(0)
    for _ in range(20):
        plan, single, chance = rng.random(6), rng.random(6), rng.uniform(0.2, 0.8, 6)
        reward = rng.integers(0, 2, 6).astype(float)

        def gain(weight, plan=plan, single=single, reward=reward):
            return (weight * plan) @ reward / (weight @ plan) - (weight * single) @ reward / (weight @ single)

        small, large = chance + (1 - chance) / 2, chance + (1 - chance) * 2
        corners = [gain(np.where(side, small, large)) for side in itertools.product([True, False], repeat=6)]
        assert least_shift(plan, single, reward, chance, 2.0) == pytest.approx(
            min(corners) - gain(np.ones(6)), abs=0.02
        )
        assert least_shift(plan, single, reward, chance, 1.0) == pytest.approx(0)


def test_options_that_are_not_on_offer_are_replaced_as_a_person_would():
    """Half of the cases cannot have A, which is best; they get B, and their rounds count."""
    without = np.arange(40) % 2 == 0
    outcomes = np.tile([1.0, 0.5, 0.0], (40 * 4, 1))
    outcomes[np.repeat(without, 4), 0] = np.nan
    log = cases_of(np.repeat(np.arange(40), 4), ["A", "B", "C"], outcomes)
    three = Collection.bernoulli([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1]], arms=["A", "B", "C"])
    found = evaluate(make_plan([Line(Give("A"))], three, horizon=4), log, runs=1)
    assert found.rows[0].value.value == pytest.approx(0.75)
    assert any("80 of 160 rounds did not offer every option" in note for note in found.notes)
    assert replay(make_plan([Line(Give("A"))], three, horizon=4), log, 4).rounds.sum() == 80
