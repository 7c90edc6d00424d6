"""What is lost at most within the margins of estimated chances: no truth inside them loses more."""

import numpy as np
import pytest
from state_plans import hand_made

from banditree import Collection, certify
from banditree.certificates.state_margins import highest, most_missed
from banditree.tasks.optimal_states import missed, optimal

RNG = np.random.default_rng(5)


def estimated(known, by):
    moves = np.full(known.moves.shape, by / 2)
    names = {"tasks": known.tasks, "states": known.states, "arms": known.arms, "start": known.start}
    return Collection.states(
        known.rates, known.moves, **names, rate_margin=np.full(known.rates.shape, by), move_margin=moves
    )


def inside(known, by, rng, corner):
    """A collection within the margins, mostly at their corners."""
    off = rng.choice([-by, by], known.rates.shape) if corner else rng.uniform(-by, by, known.rates.shape)
    rates = np.clip(known.rates + off, 0, 1)
    moves = known.moves.copy()
    for row in moves.reshape(-1, known.n_states):
        a, b = rng.permutation(known.n_states)[:2]
        step = min(by / 2, row[a], 1 - row[b]) * (1 if corner else rng.random())
        row[a], row[b] = row[a] - step, row[b] + step
    names = {"tasks": known.tasks, "states": known.states, "arms": known.arms, "start": known.start}
    return Collection.states(rates, moves, **names)


def test_without_margins_the_bound_is_what_is_lost():
    known, plan = hand_made(40, n_states=3)
    sharp = estimated(known, 0.0)
    found = certify(plan, sharp, 40)
    assert found.within_margins == pytest.approx(certify(plan, known, 40).regret, abs=1e-9)


@pytest.mark.parametrize("by", [0.01, 0.05, 0.2])
def test_no_truth_within_the_margins_loses_more(by):
    """40 truths, half of them at the corners, and the worst of 60 changes of one chance after another."""
    known, plan = hand_made(30, seed=3)
    guess = estimated(known, by)
    bound = certify(plan, guess, 30).within_margins
    best = optimal(guess, 30)
    costs = np.array([most_missed(guess, best, i, 30) for i in range(3)])
    assert (bound >= certify(plan, known, 30).regret - 1e-9).all()
    most = np.zeros(3)
    for n in range(40):
        truth = inside(known, by, np.random.default_rng(n), n % 2)
        most = np.maximum(most, certify(plan, truth, 30).regret)
        at_truth = missed(truth, optimal(truth, 30), 30).transpose(1, 0, 2, 3)
        assert (at_truth <= costs + 1e-9).all()
    assert (most <= bound + 1e-9).all()
    rates, step = known.rates.copy(), RNG.integers(0, known.rates.size, 60)
    for entry in step:  # the one task that is worst is driven further, one rate at a time
        for by_now in (-by, by):
            other = rates.copy()
            other.flat[entry] = np.clip(known.rates.flat[entry] + by_now, 0, 1)
            truth = Collection.states(other, known.moves, tasks=known.tasks, states=known.states, arms=known.arms)
            lost = certify(plan, truth, 30).regret
            if lost.sum() > most.sum():
                most, rates = lost, other
    assert (most <= bound + 1e-9).all()


def test_the_highest_mean_is_that_of_all_corners():
    low, high, value = np.array([0.1, 0.0, 0.3]), np.array([0.5, 0.4, 0.6]), np.array([1.0, 3.0, 2.0])
    grid = np.linspace(0, 1, 101)
    found = max(
        a * value[0] + b * value[1] + (1 - a - b) * value[2]
        for a in grid[10:51]
        for b in grid[:41]
        if 0.3 - 1e-9 <= 1 - a - b <= 0.6 + 1e-9
    )
    assert highest(low[None], high[None], value)[0] == pytest.approx(found)


def test_certificates_say_so_and_wider_margins_allow_more():
    known, plan = hand_made(40)
    bounds = [certify(plan, estimated(known, by), 40).within_margins for by in (0.0, 0.01, 0.03)]
    assert (np.diff(bounds, axis=0) >= -1e-9).all()
    assert "within the margins at most" in certify(plan, estimated(known, 0.01), 40).remarks[-1]
