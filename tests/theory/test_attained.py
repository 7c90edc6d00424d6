"""What is attained is never below the limit, close to it, and what the machine does lose."""

import numpy as np
import pytest
from bayes_optimal import bayes_regret

from banditree.errors import InvalidInput
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.theory.attained import _moves, attained
from banditree.theory.belief_sweeps import play_backwards
from banditree.theory.limits import limit

TWO = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])


def test_limit_and_attained_enclose_the_best_of_two_tasks():
    above, below = attained(TWO, 500, step=1 / 16), limit(TWO, 500, effort=20_000_000)
    between = bayes_regret(TWO, 500, below.prior, grid=501)
    assert below.value <= between.upper
    assert between.lower <= above.worst <= 1.05 * below.value
    assert above.regret[0] == pytest.approx(above.regret[1])


def test_limit_and_attained_enclose_the_best_of_three_tasks():
    three = rand(3, 3, 0.4, seed=3)
    above, below = attained(three, 60, step=1 / 2), limit(three, 60, effort=30_000_000)
    assert below.value <= above.worst <= 1.25 * below.value
    assert above.worst == max(above.regret)


def test_a_short_game_by_hand():
    """Two rounds: the regret of the first arm of each state, and what the second round loses after each outcome."""
    chances = np.array([[[0.7, 0.2], [0.3, 0.6]], [[0.3, 0.8], [0.7, 0.4]]])
    points, parts, after = _moves(chances, 1.0)
    assert np.allclose(parts.sum(axis=0), 1.0)
    gaps = np.array([[0.0, 0.5], [0.3, 0.0]])
    weights = np.exp(points - points.max(axis=1, keepdims=True)).astype(float)
    one = play_backwards(gaps, parts, weights, after, 1, 0.0)
    two = play_backwards(gaps, parts, weights, after, 2, 0.0)
    for state in (0, len(points) // 2, len(points) - 1):
        options = [
            [gaps[i, k] + sum(parts[r, i, k] * one[after[state, k, r], i] for r in range(len(parts))) for i in (0, 1)]
            for k in (0, 1)
        ]
        assert np.allclose(two[state], min(options, key=lambda option: float(weights[state] @ option)))


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="2 to 4 tasks"):
        attained(rand(5, 4, 0.3), 10)
    with pytest.raises(InvalidInput, match="horizon must be at least 1"):
        attained(TWO, 0)
