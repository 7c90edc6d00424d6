"""The walk of a score against closed forms and against a linear system in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditree.certificates.walks import leave, leave_all


def leave_one(points, chance, floor, ceil):
    """`leave` under a single task."""
    return tuple(float(array[0]) for array in leave(np.array(points), np.array(chance)[:, None], floor, ceil))


def solve_fractions(points, chance, floor, ceil):
    """Gauss-Jordan on the equations of the walk, in fractions: no rounding at all."""
    scores = list(range(-floor + 1, ceil))
    place = {score: index for index, score in enumerate(scores)}
    n = len(scores)
    rows = []
    for score in scores:
        row = [Fraction(0)] * n + [Fraction(0), Fraction(1)]  # unknowns, then "leaves above" and "pulls"
        row[place[score]] += 1
        for step, p in zip(points, chance, strict=True):
            if score + step >= ceil:
                row[n] += p
            elif score + step > -floor:
                row[place[score + step]] -= p
        rows.append(row)
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for r in range(n):
            if r != column and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    start = rows[place[0]]
    return start[n], start[n + 1]


@given(
    st.lists(st.integers(-4, 4), min_size=2, max_size=4).filter(lambda x: min(x) < 0 < max(x)),
    st.data(),
    st.integers(1, 7),
    st.integers(1, 7),
)
def test_agrees_with_exact_fractions(points, data, floor, ceil):
    weights = data.draw(st.lists(st.integers(1, 20), min_size=len(points), max_size=len(points)))
    chance = [Fraction(w, sum(weights)) for w in weights]
    up, pulls = solve_fractions(points, chance, floor, ceil)
    got = leave_one(points, [float(p) for p in chance], floor, ceil)
    assert got == pytest.approx((float(1 - up), float(up), float(pulls)), rel=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.3, 0.01, 1e-4])
def test_tiny_chances_have_all_their_digits(p):
    """Gambler's ruin: (1 - (q/p)^b) / (1 - (q/p)^(a + b)), here down to about 1e-237."""
    floor, ceil = 7, 60
    _down, up, _pulls = leave_one([-1, 1], [1 - p, p], floor, ceil)
    odds = Fraction(1 - Fraction(p), 1) / Fraction(p)
    exact = Fraction(floor, floor + ceil) if odds == 1 else (1 - odds**floor) / (1 - odds ** (floor + ceil))
    assert up == pytest.approx(float(exact), rel=1e-12, abs=0.0)


def test_an_arm_that_always_succeeds_goes_straight_up():
    assert leave_one([-2, 1], [0.0, 1.0], 5, 6) == (0.0, 1.0, 6.0)


def test_a_score_that_never_moves_takes_for_ever():
    assert leave_one([0, -1, 1], [1.0, 0.0, 0.0], 2, 2)[2] == np.inf


def test_all_boxes_at_once_are_the_boxes_one_by_one():
    points, floor, ceil = np.array([[-1, 1], [-3, 2]]), np.array([3, 5]), np.array([4, 2])
    chance = np.random.default_rng(0).dirichlet([1, 1], size=(2, 3)).transpose(0, 2, 1).copy()
    together = leave_all(points, floor, ceil, chance)
    for box in range(2):
        for task in range(3):
            alone = leave_one(points[box], chance[box, :, task], floor[box], ceil[box])
            assert tuple(array[box, task] for array in together) == pytest.approx(alone, rel=1e-14)
