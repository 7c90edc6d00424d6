"""Plans at whose ends others choose: between several arms, or after a hand-over."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from boxes import Box, arrays_of, assemble
from example_plans import FIVE, expecting, handing_over

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.files.plans import load_plan, plan_json, save_plan
from banditree.plans.gives import HAND_OVER, SEVERAL, HandOver
from banditree.plans.line import Line
from banditree.plans.machine import machine_of
from banditree.plans.plan import Decider, Fallback, Form, right_kinds
from banditree.policies.base import Outcome
from banditree.policies.follow import follow
from banditree.policies.following import policy_for
from banditree.policies.hand_over import follow_thompson
from banditree.policies.starting import resume_session, start_session
from banditree.simulation.compiling import compiled
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.theory.doubt import log_odds_step

OPTION, PERSON = Fallback(Decider.OPTION, "C"), Fallback(Decider.PERSON)


def failing(plan, rounds=5):
    """A case in which everything fails: it is handed over by line 3."""
    case = start_session(plan)
    for _ in range(rounds):
        case.tell(0, case.ask().round)
    return case


def test_thompson_sampling_has_learned_from_the_first_round():
    case = failing(handing_over())
    assert case.explain().details["handed_over"]
    assert case.explain().possible is None or not case.explain().possible
    assert "contradicts every task" in case.describe()
    assert case.state.arms.pulls.sum() == 5
    for _ in range(40):  # of the arms that failed before, none is better than one never tried
        step = case.ask()
        case.tell(float(step.name == "B"), step.round)
    assert case.state.arms.pulls[1] > 25


def test_a_fixed_option_is_given_from_then_on_and_not_scored():
    case = failing(handing_over(OPTION))
    for _ in range(30):
        step = case.ask()
        assert step.name == "C"
        case.tell(0, step.round)
    assert len(case.ask(100)) == 100


def test_a_person_decides_and_the_rounds_are_recorded():
    case = failing(handing_over(PERSON))
    assert case.ask().outcome is Outcome.PERSON_NEEDED
    assert "person" in str(case.ask())
    step = case.override("B")
    case.tell(1, step.round)
    assert case.off_plan_rounds == [6]
    assert case.ask().outcome is Outcome.PERSON_NEEDED


def test_a_case_goes_on_from_its_snapshot():
    case = failing(handing_over(), 4)
    case.ask()
    again = resume_session(handing_over(), case.snapshot())
    for _ in range(20):
        assert case.ask() == again.ask()
        for one in (case, again):
            one.tell(1, one.ask().round)


@pytest.mark.parametrize("to", [Fallback(), OPTION, PERSON], ids=lambda to: str(to.to))
def test_files_keep_it(tmp_path, to):
    plan = handing_over(to)
    save_plan(plan, tmp_path / "plan.json")
    assert plan_json(load_plan(tmp_path / "plan.json")) == plan_json(plan)
    assert str(load_plan(tmp_path / "plan.json")) == str(plan)
    assert '"banditree/plan/4"' in plan_json(plan)


def test_the_plain_policy_refuses_what_it_cannot_follow():
    assert policy_for(handing_over()) is follow_thompson
    with pytest.raises(InvalidInput, match="policy_for"):
        follow.make(handing_over(), 100, {})


@pytest.mark.parametrize("problem", ["no fallback", "arm", "at once"])
def test_a_plan_that_does_not_add_up_is_refused(problem):
    plan = handing_over()
    changes = {
        "no fallback": {"fallback": None},
        "arm": {"fallback": Fallback(Decider.OPTION, "Z")},
        "at once": {"lines": (Line(HandOver()),)},
    }
    with pytest.raises(InvalidInput):
        replace(plan, **changes[problem])


@pytest.mark.slow
@pytest.mark.parametrize("made", [handing_over, expecting])
def test_compiled_and_interpreted_agree(made):
    plan, rng = made(), np.random.default_rng(2)
    params = follow_thompson.make(plan, plan.horizon, {})
    slow, fast = follow_thompson.init(params), follow_thompson.init(params)
    choose, update = compiled(follow_thompson.choose), compiled(follow_thompson.update)
    everything, nothing = np.ones(5, dtype=bool), np.zeros(0)
    for number in range(1, 600):
        key = (0, number % 3, number)
        arm = follow_thompson.choose(params, slow, nothing, everything, key)
        assert choose(params, fast, nothing, everything, key) == arm
        reward = float(rng.random() < 0.3)
        follow_thompson.update(params, slow, nothing, arm, reward)
        update(params, fast, nothing, arm, reward)
        assert np.array_equal(slow.against, fast.against)
        for one, other in zip((*slow.plan, *slow.arms), (*fast.plan, *fast.arms), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("to", [Fallback(), OPTION], ids=["thompson", "option"])
@pytest.mark.slow
def test_the_certificate_knows_how_often_and_when_cases_are_handed_over(to):
    """400 runs: chances within 5 standard errors, rounds within 10%; a false alarm in about 10,000."""
    plan = handing_over(to, horizon=400)
    certificate = certify(plan, FIVE, must_rest=False)
    results = simulate(FIVE, {"plan": plan}, horizon=400, runs=400, rounds=[400])
    if to is OPTION:
        handed = (results.alarmed[0] > 0).mean(axis=1)
        error = np.sqrt(certificate.handed_over * (1 - certificate.handed_over) / 400)
        assert (np.abs(handed - certificate.handed_over) <= 5 * error + 1e-9).all()
        until = np.where(results.alarmed[0] > 0, results.alarmed[0] - 1, 400).mean(axis=1)
        assert np.abs(until / certificate.until_hand_over - 1).max() < 0.1
    lost = results.regret[0, ..., -1]
    slack = 5 * lost.std(axis=1) / 20 + (0 if to is OPTION else 10)  # what Thompson sampling loses is an estimate
    assert (np.abs(lost.mean(axis=1) - certificate.regret) < slack).all()


def log_odds_against(rewards, low, high):
    """The log of the bet after all rewards."""
    return sum(log_odds_step(sum(rewards[:n]), n, x, low, high) for n, x in enumerate(rewards))


@pytest.mark.parametrize("rate", [0.1, 0.35, 0.4])
def test_a_bet_against_a_true_rate_is_worth_at_most_its_stake(rate):
    """Summed over every outcome of up to 60 rewards, for rates within the interval; outside of it the bet pays."""
    for n in (1, 5, 60):
        chances = [math.comb(n, s) * rate**s * (1 - rate) ** (n - s) for s in range(n + 1)]
        worth = [math.exp(log_odds_against([1.0] * s + [0.0] * (n - s), 0.05, 0.4)) for s in range(n + 1)]
        assert np.dot(chances, worth) <= 1 + 1e-9
    assert log_odds_against([1.0] * 20 + [0.0] * 40, 0.8, 0.9) > math.log(100)


def log_odds_table(low, high, most):
    """(n + 1, total): the log of the bet after n outcomes of one arm with a total of successes."""
    table = np.full((most + 1, most + 1), -np.inf)
    table[0, 0] = 0.0
    for n in range(most):
        for total in range(n + 1):
            table[n + 1, total] = table[n, total] + log_odds_step(total, n, 0.0, low, high)
        table[n + 1, n + 1] = table[n, n] + log_odds_step(n, n, 1.0, low, high)
    return table


def most_often_handed_over(truth, tables, adversary, runs=2000, rounds=80):
    """Of `runs` cases, how many the bet ever hands over at 100 to 1, with arms that an adversary chooses."""
    rng, everyone, arms = np.random.default_rng(5), np.arange(runs), np.arange(3)
    given, got, ever = np.zeros((runs, 3), int), np.zeros((runs, 3), int), np.zeros(runs, bool)
    for number in range(rounds):
        against = tables[arms, given, got]
        ever |= against.sum(axis=1) >= math.log(100)
        arm = np.full(runs, number // 10 % 3)
        if adversary == "greedy":
            arm = np.where(rng.random(runs) < 0.1, arm, against.argmax(axis=1))
        got[everyone, arm] += rng.random(runs) < truth[arm]
        given[everyone, arm] += 1
    return int(ever.sum())


@pytest.mark.parametrize("adversary", ["in turns", "greedy"])
def test_no_choice_of_arms_hands_over_a_case_at_the_edge_of_what_is_allowed(adversary):
    """Every corner of rates that may be off by 0.1; arms in turns of 10, or mostly the one that speaks most against the
    task. At most 1% of the cases: fewer than 44 of 2,000, more than 5 standard errors above a chance of 1%."""
    rates = np.array([0.9, 0.5, 0.05])
    tables = np.array([log_odds_table(max(rate - 0.1, 0), min(rate + 0.1, 1), 80) for rate in rates])
    for corner in itertools.product((-0.1, 0.1), repeat=3):
        assert most_often_handed_over(np.clip(rates + corner, 0, 1), tables, adversary) < 44
    assert most_often_handed_over(np.array([0.6, 0.5, 0.05]), tables, adversary) > 200


def test_a_bet_holds_for_rewards_between_0_and_1():
    """Two rewards of three equally likely sizes around their mean, all nine pairs."""
    values = (0.1, 0.3, 0.8)
    worth = [math.exp(log_odds_against([x, y], 0.4, 0.4)) for x in values for y in values]
    assert np.mean(worth) <= 1


def test_the_log_odds_are_those_of_all_outcomes():
    case, rng, lost = start_session(expecting()), np.random.default_rng(3), []
    for _ in range(40):
        step = case.ask()
        lost.append((step.arm, float(rng.random() < 0.5)))
        case.tell(lost[-1][1], step.round)
        if case.explain().details.get("handed_over"):
            break
    for task in range(FIVE.n_tasks):
        expected = 0.0
        for arm in range(5):
            rewards, mean = [reward for given, reward in lost if given == arm], FIVE.means[task, arm]
            expected += log_odds_against(rewards, max(mean - 0.05, 0), min(mean + 0.05, 1))
        assert case.state.against[task] == pytest.approx(expected)


def test_a_case_that_contradicts_every_task_is_handed_over():
    plan = expecting()
    assert "100 to 1 against every task that may lead there, whose rates may be off by 0.05" in str(plan)
    case = failing(plan, 60)
    assert case.explain().details["handed_over"]
    assert not start_session(plan).explain().details


def test_the_most_that_an_arm_may_be_worth_is_given():
    """By the printed rule, from the printed rates, over all rounds since the first."""
    case, plan, counts = start_session(expecting(odds=0)), expecting(odds=0), {k: [0, 0.0] for k in range(5)}
    rng, chosen = np.random.default_rng(0), set()
    for number in range(200):
        step = case.ask()
        if arrays_of(plan).arm[case.explain().box] == SEVERAL:
            upper = {}
            for arm in machine_of(plan).arms_at(case.explain().box):
                n, total = counts[arm]
                times, left = 20 + n, plan.horizon - number
                mean = (20 * arrays_of(plan).rates[case.explain().box, arm] + total) / times
                more = math.log(left / times) * mean * (1 - mean) / (2 * (times + 1)) if times < left else 0.0
                upper[arm] = mean + math.sqrt(more)
            assert step.arm == max(upper, key=upper.get)
            chosen.add(step.arm)
        reward = float(number < 8 or rng.random() < 0.4)
        counts[step.arm][0] += 1
        counts[step.arm][1] += reward
        case.tell(reward, step.round)
    assert len(chosen) > 1


def beta_binomial(worth, rate, rewards):
    """The log of the chance of outcomes in their order, the rate being drawn as if from `worth` rounds at `rate`."""
    a, b, n, total = worth * rate, worth * (1 - rate), len(rewards), sum(rewards)
    before = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.lgamma(a + total) + math.lgamma(b + n - total) - math.lgamma(a + b + n) - before


def played(plan, rates, rounds, seed=0):
    """[(arm, reward)] of one case with the given rates, and its last state."""
    params, rng, seen = follow_thompson.make(plan, plan.horizon, {}), np.random.default_rng(seed), []
    state = follow_thompson.init(params)
    for number in range(1, rounds + 1):
        arm = int(
            follow_thompson.choose(params, state, np.zeros(0), np.ones(len(rates), dtype=bool), (seed, 0, number))
        )
        seen.append((arm, float(rng.random() < rates[arm])))
        follow_thompson.update(params, state, np.zeros(0), *seen[-1])
    return seen, state


def test_how_well_tasks_fit_is_the_chance_of_all_outcomes_with_uncertain_rates():
    seen, state = played(expecting(), FIVE.means[0], 60)
    for task in range(FIVE.n_tasks):
        rewards = [[reward for given, reward in seen if given == arm] for arm in range(5)]
        fit = sum(beta_binomial(20, FIVE.means[task, arm], rewards[arm]) for arm in range(5))
        assert state.fit[task] == pytest.approx(fit)


def test_a_case_at_the_end_of_another_task_finds_its_own_arms():
    """The rates of the arms of the end are within what is allowed of both tasks, so that no bet can tell them apart."""
    two = Collection.bernoulli([[0.8, 0.6, 0.3], [0.7, 0.55, 0.95]])
    lines = [
        Box(0, low=1, high=1, points=(-1, 1), floor=1, ceil=1),
        Box(SEVERAL, among=(0, 1), rates=(0.8, 0.6)),
        Box(HAND_OVER),
    ]
    fallback = Fallback(odds=100, allow=0.1)
    plan = assemble(lines, two, 2000, form=Form.LINES, worth=30, fallback=fallback, kinds=two.means)
    for seed in range(4):
        seen, state = played(plan, [0.75, 0.58, 0.9], 400, seed)
        assert state.plan.place[0] == 1
        assert [arm for arm, _ in seen[-100:]].count(2) > 50


def test_expected_rates_and_odds_are_kept_in_files(tmp_path):
    plan = expecting()
    save_plan(plan, tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json")
    assert plan_json(again) == plan_json(plan)
    assert str(again) == str(plan)
    assert np.array_equal(right_kinds(again), right_kinds(plan))


@pytest.mark.parametrize("changes", [{"means": ()}, {"odds": 0}, {"means": ((0.5,),)}])
def test_odds_come_with_what_they_need(changes):
    plan = expecting()
    with pytest.raises(InvalidInput):
        replace(plan, fallback=replace(plan.fallback, **changes))


@pytest.mark.slow
def test_a_case_of_a_known_task_is_rarely_handed_over_by_the_odds():
    """At most 1% are allowed: fewer than 30 of 1,000 runs, which a rate of 1% exceeds less than once in a million."""
    from banditree.protocols.protocol import build_protocol

    plan = build_protocol(FIVE, 300, unknown=0.05, steps=300)
    results = simulate(FIVE, {"plan": plan}, horizon=300, runs=1000 // FIVE.n_tasks, rounds=[300])
    assert (results.alarmed[0] > 0).sum() < 30
    strange = FIVE.bernoulli(1 - FIVE.means, arms=FIVE.arms)
    assert (simulate(strange, {"plan": plan}, horizon=300, runs=50, rounds=[300]).alarmed[0] > 0).mean() > 0.5
