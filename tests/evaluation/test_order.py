import numpy as np
import pytest

from banditree.cases.table import cases_of, shuffled
from banditree.evaluation.order import drift_notes, is_sorted, order_notes


def choices(seed, n_cases=40, n_rounds=10, drift=0.0):
    """Cases that choose one of three options in every round; the first ever more often if there is a drift."""
    rng = np.random.default_rng(seed)
    taste = rng.dirichlet([2.0, 2.0, 2.0], n_cases)
    label = []
    for case in range(n_cases):
        for t in range(n_rounds):
            p = taste[case] * (1 - drift * t / n_rounds)
            p[0] += 1 - p.sum()
            label.append(rng.choice(3, p=p))
    outcomes = np.eye(3)[label]
    return cases_of(np.repeat(np.arange(n_cases), n_rounds).tolist(), ["a", "b", "c"], outcomes)


def sorted_by_choice(history):
    order = np.lexsort((history.outcomes.argmax(axis=1), history.owner))
    return cases_of([history.cases[u] for u in history.owner], history.arms, history.outcomes[order])


def test_a_sorted_log_is_noticed_and_a_shuffled_one_is_not():
    history = choices(0)
    assert is_sorted(sorted_by_choice(history))
    assert "sorted" in order_notes(sorted_by_choice(history))[0]
    assert not is_sorted(history)
    assert not is_sorted(shuffled(sorted_by_choice(history), 1))


def test_habit_is_not_taken_for_sorting():
    """Cases that stay with an option for a while, and come back to it."""
    label = [0, 0, 0, 1, 1, 0, 0, 2, 2, 1]
    history = cases_of(np.repeat(np.arange(30), 10).tolist(), ["a", "b", "c"], np.eye(3)[label * 30])
    assert not is_sorted(history)


def test_a_drift_is_noticed():
    notes = drift_notes(choices(0, n_cases=100, drift=0.8))
    assert any(note.startswith("Drift: 'a'") for note in notes)


@pytest.mark.slow
def test_without_a_drift_one_log_in_a_hundred_is_accused():
    """400 logs; at a rate of 1% more than 13 alarms happen with a chance of 0.0001."""
    alarms = sum(bool(drift_notes(choices([5, seed], n_cases=20, n_rounds=8))) for seed in range(400))
    assert alarms <= 13
