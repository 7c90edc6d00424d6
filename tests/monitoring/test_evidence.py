"""The e-processes: exactly valid, by adding up every history that is possible, and strong where something changed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from field_worlds import falls, switching_plan, three_kinds

from banditree.monitoring.evidence import Evidence, Null, Question, fit_null
from banditree.monitoring.likelihood import Rounds, counted_rounds
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.tasks.collection import Collection

TWO = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
ARMS = (0, 0, 1)  # what every case is given in its three rounds
HISTORIES = list(product((0.0, 1.0), repeat=3))


def rounds_of(histories: list[tuple[float, ...]]) -> Rounds:
    """Cases in parallel, one round each per day."""
    case = np.tile(np.arange(len(histories)), 3)
    arm = np.repeat(ARMS, len(histories))
    reward = np.array(histories).T.ravel()
    day = np.repeat([1.0, 40.0, 80.0], len(histories))
    return Rounds(case, arm.copy(), arm, reward, day, np.zeros(case.size), np.zeros(case.size))


def chance(history: tuple[float, ...], kind: int) -> float:
    rates = [TWO.means[kind, k] for k in ARMS]
    return float(np.prod([p if x else 1 - p for p, x in zip(rates, history, strict=True)]))


def greatest_evidence(histories: list[tuple[float, ...]], tests: tuple[Question, ...], block: int) -> np.ndarray:
    """What each e-process is after the last of three looks."""
    watched = Evidence(TWO, tests, len(histories), np.array([0.0, 30.0, 60.0]), block)
    told = rounds_of(histories)
    for day in (1.0, 40.0, 80.0):
        now = watched.add(told.only(np.flatnonzero(told.at == day)))
    return np.exp(now)


TESTS = (Question(0, (0,), -1), Question(0, (0,), 1), Question(1, (1,), -1))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_expectation_is_at_most_one_for_every_mixture(share: float) -> None:
    total = np.zeros(len(TESTS))
    for histories in product(HISTORIES, repeat=2):
        likely = np.prod([share * chance(h, 0) + (1 - share) * chance(h, 1) for h in histories])
        total += likely * greatest_evidence(list(histories), TESTS, block=100)
    assert (total <= 1 + 1e-9).all()
    assert (total > 0.05).all()


@pytest.mark.parametrize("kinds", [(0, 1), (1, 1)])
def test_with_blocks_of_one_case_it_is_so_for_every_order_of_kinds(kinds: tuple[int, int]) -> None:
    total = np.zeros(len(TESTS))
    for histories in product(HISTORIES, repeat=2):
        likely = np.prod([chance(h, kind) for h, kind in zip(histories, kinds, strict=True)])
        total += likely * greatest_evidence(list(histories), TESTS, block=1)
    assert (total <= 1 + 1e-9).all()


def test_the_null_is_at_least_the_greatest_likelihood_and_hardly_more() -> None:
    rng = np.random.default_rng(0)
    table = np.log(rng.uniform(0.05, 0.95, (60, 1, 2, 1)))
    found = fit_null(table, np.zeros(60, np.int64), Null(np.array([[0.5, 0.5]]), np.zeros((2, 1), np.int64), 0.0))
    share = np.linspace(0, 1, 10_001)[:, None]
    own = np.exp(table[:, 0, :, 0])
    slow = np.log(share * own[:, 0] + (1 - share) * own[:, 1]).sum(axis=1).max()
    assert slow - 1e-6 <= found.log_likelihood <= slow + 0.11


def test_a_null_that_em_has_not_reached_is_not_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banditree.monitoring.evidence.STEPS", 1)
    test_null = Null(np.array([[0.99, 0.01]]), np.zeros((2, 1), np.int64), 0.0)
    table = np.log(np.random.default_rng(1).uniform(0.05, 0.95, (60, 1, 2, 1)))
    own, share = np.exp(table[:, 0, :, 0]), np.linspace(0, 1, 1001)[:, None]
    slow = np.log(share * own[:, 0] + (1 - share) * own[:, 1]).sum(axis=1).max()
    assert fit_null(table, np.zeros(60, np.int64), test_null).log_likelihood >= slow - 1e-6


@pytest.mark.slow
def test_rates_within_their_margins_are_part_of_the_null() -> None:
    plan, exact = switching_plan(20), three_kinds()
    off = Collection.bernoulli(exact.means - 0.1, arms=exact.arms, tasks=exact.tasks)
    seen = simulate_cases(plan, off, 150, seed=3)
    assert not monitor(plan, three_kinds(radius=0.11), seen, every=60).alarms
    assert monitor(plan, exact, seen, every=60).alarms


def test_a_fall_is_noticed_and_named() -> None:
    plan, known = switching_plan(), three_kinds()
    seen = simulate_cases(plan, known, 200, drift=falls(0.3, 120), seed=1)
    first = min(monitor(plan, known, seen).alarms, key=lambda alarm: alarm.noticed)
    assert first.test is not None
    assert (plan.arms[first.test.arm], first.test.direction) == ("A", -1)
    assert 120 < first.noticed < 200
    assert abs(first.since - 120) <= 31
    assert first.expected - first.observed == pytest.approx(0.3, abs=0.12)


@pytest.mark.slow
def test_a_fall_at_one_site_is_noticed_there() -> None:
    plan, known = switching_plan(), three_kinds()
    good = simulate_cases(plan, known, 100, seed=1)
    bad = simulate_cases(plan, known, 100, drift=falls(0.35, 60), seed=2)
    from banditree.cases.table import Seen, table_of
    from banditree.monitoring.following import observe

    rounds, site = [], {}
    for name, one in (("north", good), ("south", bad)):
        for r, u in enumerate(one.owner.tolist()):
            case = f"{name} {u}"
            site[case] = name
            rounds.append(Seen(case, r + 1, int(one.arm[r]), float(one.reward[r]), float(one.at[r])))
    found = monitor(plan, known, observe(plan, table_of(rounds, plan.arms, labels={"site": site})), by="site", every=30)
    assert {alarm.group for alarm in found.alarms} - {None} == {"south"}


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_false_alarms_are_rare(margin: float) -> None:
    """At most 5% of the years may have one; more than 8 of 30 would be seen with a chance below 1e-4 then."""
    plan, known, alarms = switching_plan(20), three_kinds(radius=margin), 0
    for world in range(30):
        rng = np.random.default_rng([world, 7])
        means = known.means + margin * rng.uniform(-1, 1, known.means.shape)
        truth = Collection.bernoulli(means, arms=known.arms, tasks=known.tasks, shares=rng.dirichlet(np.ones(3)))
        seen = simulate_cases(plan, truth, 60, rounds=20, seed=world)
        alarms += bool(monitor(plan, known, seen, every=15).alarms)
    assert alarms <= 8


@pytest.mark.slow
def test_rewards_of_every_family_are_monitored() -> None:
    from banditree.trees.tree import build_tree

    means = [[0.8, 0.2], [0.2, 0.7]]
    stars = [[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]]
    for known in (
        Collection.gaussian(means, 0.3),
        Collection.gaussian(means, 0.3, spread=np.full((2, 2), 0.1)),
        Collection.bounded(means),
        Collection.bernoulli(means, spread=np.full((2, 2), 0.1)),
        Collection.graded(stars, [0, 1, 2]),
    ):
        plan = build_tree(Collection.bernoulli(means) if known.varies else known, horizon=40)
        if known.varies and not known.rewards.counts:
            plan = build_tree(Collection.gaussian(means, 0.3), horizon=40)
        size = 0.5 * (2 if known.chances is not None else 1)
        fine = simulate_cases(plan, known, 80, rounds=20, seed=5)
        worse = simulate_cases(plan, known, 80, rounds=20, drift=falls(size, 100, n_arms=2), seed=5)
        assert not monitor(plan, known, fine, every=60).alarms, known
        assert any(a.test and a.test.arm == 0 for a in monitor(plan, known, worse, every=60).alarms), known


def test_a_reward_known_by_its_mean_counts_as_a_coin_with_that_mean() -> None:
    from banditree.trees.tree import build_tree

    known = Collection.bounded([[0.8, 0.2], [0.2, 0.7]], 0, 10 / 10)
    seen = simulate_cases(build_tree(known, horizon=40), known, 200, rounds=20)
    half = replace(seen, outcomes=np.where(seen.known, 0.3, np.nan))
    rounds, likely = counted_rounds(half, known)
    assert set(np.unique(rounds.reward)) == {0.0, 1.0}
    assert rounds.reward.mean() == pytest.approx(0.3, abs=0.03)
    assert likely.rewards.counts
