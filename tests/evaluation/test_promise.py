import itertools

import numpy as np
import pytest
from boxes import Box, plan_of_boxes

from banditree.cases.table import cases_of, only_cases
from banditree.evaluation.kinds import find_kinds
from banditree.evaluation.promise import ALIKE, _likenesses, cases_like, promise_of
from banditree.tasks.rewards import BERNOULLI, Gaussian, Graded

ARMS = ("A", "B", "C")
LENGTHS = (2, 12)
LEADS = np.array([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]])


def plan(rewards=BERNOULLI):
    boxes = [Box(arm=0, low=1, high=2, points=(-1, 1), floor=1, ceil=2, cuts=(0.5,)), Box(arm=2), Box(arm=0)]
    return plan_of_boxes(boxes, arms=ARMS, tasks=("one", "other"), rewards=rewards, horizon=12, method="by hand")


def drawn(rng, n_cases, how):
    """Cases that vary, of two kinds; those that come often are mostly of the first kind, the others of the second."""
    length = rng.choice(LENGTHS, n_cases)
    kind = (rng.random(n_cases) < np.where(length > 2, 0.2, 0.8)).astype(int)
    own = rng.dirichlet([1, 1, 1], n_cases) * 0.3 + LEADS[kind] * 0.7
    owner = np.repeat(np.arange(n_cases), length)
    if how == "choice":
        outcomes = np.eye(3)[(rng.random(len(owner))[:, None] > own.cumsum(axis=1)[owner]).sum(axis=1).clip(0, 2)]
    elif how == "0/1":
        outcomes = (rng.random((len(owner), 3)) < own[owner]).astype(float)
    else:
        outcomes = rng.normal(own[owner], 0.3)
    return cases_of(owner.tolist(), ARMS, outcomes)


def test_cases_that_come_often_are_drawn_like_known_ones_that_come_often():
    known = drawn(np.random.default_rng(0), 400, "choice")
    kinds = find_kinds(known, 2, BERNOULLI)
    like = cases_like(kinds, known, np.repeat(LENGTHS, 50), 40, np.random.default_rng(1), 12)
    long = np.repeat(like.n_rounds, like.n_rounds) > 2
    assert like.n_cases == 4000
    known_long = np.repeat(known.n_rounds, known.n_rounds) > 2
    for here, there in ((long, known_long), (~long, ~known_long)):
        assert np.abs(like.outcomes[here].mean(axis=0) - known.outcomes[there].mean(axis=0)).max() < 0.06


def test_a_new_case_begins_with_the_rounds_of_a_known_case_of_about_its_length():
    rng = np.random.default_rng(3)
    length = np.arange(1, 161) // 2 + 1
    owner = np.repeat(np.arange(160), length)
    known = cases_of(owner.tolist(), ARMS, np.eye(3)[rng.integers(3, size=len(owner))])
    wanted = np.array([1, 20, 79, 90])
    like = _likenesses(known.n_rounds, wanted, 500, rng).reshape(500, 4)
    for length_wanted, found in zip(wanted, like.T, strict=True):
        nearest = np.sort(np.abs(length - length_wanted))[ALIKE - 1]
        assert set(found) == set(np.flatnonzero(np.abs(length - length_wanted) <= nearest))
    drawn = cases_like(find_kinds(known, 2, BERNOULLI), known, wanted, 20, np.random.default_rng(5), 60)
    own = _likenesses(known.n_rounds, wanted, 20, np.random.default_rng(5))
    for case, (begin, end) in enumerate(itertools.pairwise(drawn.first)):
        rounds = known.outcomes[known.first[own[case]] : known.first[own[case] + 1]][: end - begin]
        assert (drawn.outcomes[begin : begin + len(rounds)] == rounds).all()
    assert (drawn.outcomes.sum(axis=1) == 1).all()


def test_a_promise_is_as_wide_as_the_luck_of_new_and_of_known_cases():
    """New cases vary as the known ones do, and what these showed is uncertain too: n s^2 (1 + n / known)."""
    rng = np.random.default_rng(0)
    rate = np.repeat(rng.beta(0.5, 0.5, 300), 6)  # cases differ by more than two kinds can say
    known = cases_of(np.repeat(np.arange(300), 6).tolist(), ARMS[:2], (rng.random((1800, 2)) < rate[:, None]) * 1.0)
    total = known.outcomes[:, 0].reshape(300, 6).sum(axis=1)
    drawn = cases_like(find_kinds(known, 2, BERNOULLI), known, np.full(150, 6), 1000, rng, 6)
    promised = drawn.outcomes[:, 0].reshape(1000, -1).sum(axis=1)
    assert promised.var() == pytest.approx(150 * total.var() * 1.5, rel=0.2)  # 4 standard errors
    assert promised.mean() == pytest.approx(total.mean() * 150, abs=3)


@pytest.mark.slow
def test_promises_are_kept_in_simulated_worlds(monkeypatch):
    """16 worlds: at 95% fewer than 12 are kept with a chance of 0.09% only."""
    monkeypatch.setattr("banditree.evaluation.promise.DRAWS", 60)
    monkeypatch.setattr("banditree.evaluation.promise.LEAST_DRAWS", 20)
    assert kept_worlds("choice", 16) >= 12


@pytest.mark.soak
@pytest.mark.parametrize("how", ["choice", "0/1", "Gaussian"])
def test_promises_are_kept_in_many_simulated_worlds(how):
    """100 worlds: at 95% fewer than 87 are kept with a chance of 0.05% only."""
    assert kept_worlds(how, 100) >= 87


def kept_worlds(how, n_worlds):
    rewards = Gaussian(0.3) if how == "Gaussian" else BERNOULLI
    kept = 0
    for seed in range(n_worlds):
        every = drawn(np.random.default_rng([seed, 9]), 180, how)
        known, new = only_cases(every, np.arange(120)), only_cases(every, np.arange(120, 180))
        promise = promise_of(plan(rewards), find_kinds(known, 2, rewards), known, new, 12, seed)
        assert 0 < promise.high - promise.low < 0.35
        kept += promise.is_kept
    return kept


def test_no_promise_where_outcomes_are_missing_or_graded():
    known = drawn(np.random.default_rng(0), 60, "0/1")
    missing = known.outcomes.copy()
    missing[::3, 1] = np.nan
    holes = cases_of([known.cases[u] for u in known.owner], ARMS, missing)
    kinds = find_kinds(known, 2, BERNOULLI)
    assert promise_of(plan(), kinds, known, holes, 12) is None
    graded = find_kinds(known, 2, Graded())
    assert promise_of(plan(), graded, known, known, 12) is None
