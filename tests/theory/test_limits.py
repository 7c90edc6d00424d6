"""Limits for every algorithm: below the exact Bayes-optimal regret, close to it, and the same every time."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from bayes_optimal import bayes_regret, list_beliefs
from hypothesis import given, settings
from hypothesis import strategies as st

from banditree.errors import InvalidInput
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, rand
from banditree.theory.belief_sweeps import bound_beyond
from banditree.theory.belief_tables import Problem, Table, inside_points, mixture, pack
from banditree.theory.limits import Limit, fitting_scale, limit

TWO = Collection.bernoulli([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]])
IMPOSSIBLE = Collection.bernoulli([[1.0, 0.5, 0.2], [0.5, 1.0, 0.0], [0.0, 0.3, 0.6]])
RATES = [0.0, 0.05, 0.3, 0.5, 0.77, 0.98, 1.0]
GRADED = Collection.graded([[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [[0.1, 0.1, 0.8], [0.6, 0.4, 0.0]]], [0, 1, 3])


def at_its_prior(collection: Collection, found: Limit) -> float:
    """The exact Bayes-optimal regret at the prior that the limit names."""
    prior = np.zeros(collection.n_tasks)
    prior[list(found.tasks)] = found.prior
    return list_beliefs(collection, found.horizon, prior)


@pytest.mark.parametrize("collection", [TWO, IMPOSSIBLE, GRADED, rand(3, 3, 0.3, seed=3)])
@pytest.mark.parametrize("horizon", [1, 2, 4])
def test_never_above_the_exact_regret_and_close_below(collection, horizon):
    found = limit(collection, horizon, effort=20_000_000)
    exact = at_its_prior(collection, found)
    assert 0.99 * exact <= found.value <= exact
    assert found.depth <= horizon


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(RATES)] * 2), min_size=2, max_size=4), st.integers(1, 5))
def test_never_above_the_exact_regret_of_any_small_collection(means, horizon):
    collection = Collection.bernoulli(means)
    found = limit(collection, horizon, effort=300_000)
    assert found.value <= at_its_prior(collection, found)


def test_two_tasks_meet_the_dynamic_programme_on_a_grid():
    found = limit(TWO, 10_000, effort=20_000_000)
    between = bayes_regret(TWO, 2_000, found.prior, grid=1_001)
    assert 0.99 * between.lower <= found.value <= between.upper
    assert found.depth <= 10_000


def test_a_horizon_where_tables_are_cut_short_still_bounds():
    """A short horizon goes round by round; a longer one nests tables, whose rounds must not add up to more."""
    short, long = (limit(rand(3, 3, 0.3, seed=3), horizon, effort=30_000_000) for horizon in (400, 401))
    assert long.depth <= 401
    assert long.value <= limit(rand(3, 3, 0.3, seed=3), 4_000, effort=30_000_000).value * 1.01
    assert short.value == pytest.approx(long.value, rel=0.03)


def test_more_tasks_are_at_least_as_hard_and_few_of_many_are_chosen():
    ten = rand(10, 8, 0.4, seed=0)
    found = limit(ten, 10_000, effort=60_000_000)
    pairs = [limit(_some(ten, pair), 10_000, effort=1_000_000).value for pair in combinations(range(10), 2)]
    assert found.value >= 0.95 * max(pairs)
    more = limit(ten, 10_000, effort=200_000_000)
    assert len(more.tasks) > 2
    assert more.value > 1.1 * max(pairs)
    assert limit(_some(ten, found.tasks), 10_000, effort=60_000_000).value >= 0.9 * found.value


def _some(collection: Collection, tasks: tuple[int, ...]) -> Collection:
    return Collection.bernoulli(collection.means[list(tasks)])


def test_tasks_with_one_best_arm_cost_nothing():
    assert limit(Collection.bernoulli([[0.7, 0.2], [0.9, 0.6]]), 1_000, effort=100_000).value == 0.0


def test_a_table_stays_below_the_exact_regret_at_every_point():
    """Not only at the best prior: every lattice point within reach and on the rim, for three tasks."""
    three = rand(3, 3, 0.3, seed=3)
    problem = Problem(three.gaps, three.rewards.outcome_chances(three.parameters))
    tables: dict[tuple[int, ...], Table] = {}
    for members in [(0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        tables[members] = Table(problem, members, 0.7, 3)
        faces = pack(members, 0.7, tables)
        tables[members].start(faces, 2 if len(members) == 3 else 0)
        tables[members].play(2, faces)
        tables[members].refresh(faces)
    table = tables[0, 1, 2]
    assert table.depth == 4
    rim = table.shape.rim
    points = [(a, b) for a in range(-rim, rim + 1) for b in range(max(a, 0) - rim, min(a, 0) + rim + 1)]
    assert len(points) == len(table.values) == inside_points(3, rim)
    for place, (a, b) in enumerate(points):
        weights = np.exp(0.7 * np.array([a, b, 0]))
        assert table.values[place] <= list_beliefs(three, 4, weights / weights.sum()) * weights.sum() + 1e-12


def test_beyond_the_reach_only_what_is_worked_out_is_read():
    """What is stored on the rim may be old, and beyond it there is nothing: both are made unusable here."""
    three, reach, step = rand(3, 3, 0.3, seed=3), 3, 0.7
    problem = Problem(three.gaps, three.rewards.outcome_chances(three.parameters))
    tables: dict[tuple[int, ...], Table] = {}
    for members in [(0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        table = tables[members] = Table(problem, members, step, reach)
        rim, last = table.shape.rim, range(-table.shape.rim, table.shape.rim + 1)
        points = [(a,) for a in last] if len(members) == 2 else [(a, b) for a in last for b in last]
        points = [point for point in points if max(*point, 0) - min(*point, 0) <= rim]
        assert len(points) == len(table.values)
        table.values[:] = [1.0 if max(*point, 0) - min(*point, 0) <= reach else np.nan for point in points]
    faces, table = pack((0, 1, 2), step, tables), tables[0, 1, 2]
    for z in product(range(-5 * reach, 1), repeat=3):
        if max(z) == 0:
            found = bound_beyond(table.values, table.shape, faces, np.array(z), np.zeros(3, np.int64), step)
            assert 0 <= found < np.inf


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.3, 0.5, 1.0]), min_size=2, max_size=6), st.floats(0.05, 2.0))
def test_a_mixture_is_at_most_the_chance_and_nearly_all_of_it(chances, step):
    chance = np.array(chances)
    parts = mixture(chance, step)
    total = sum((weight * np.exp(step * np.array(offset)) for offset, weight in parts.items()), np.zeros(len(chance)))
    assert (total <= chance + 1e-200).all()
    assert np.allclose(total, chance, rtol=1e-9, atol=1e-200)
    assert all(weight > 0 for weight in parts.values())


def test_steps_fit_a_collection_of_equal_gaps():
    def scale(collection: Collection) -> float:
        return fitting_scale(collection.rewards.outcome_chances(collection.parameters))

    assert scale(rand(5, 10, 0.4)) == 1.0
    assert scale(hard(4, 8, 0.4, 1e-4)) == pytest.approx(math.log(7 / 3), rel=0.01)


def two_rounds_by_definition(collection: Collection, prior: FloatArray) -> float:
    """The Bayes-optimal regret of two rounds of normal rewards: the best first arm, and the best one after it."""
    rewards = np.linspace(-12, 13, 20_001)
    options = []
    for arm in range(collection.n_arms):
        parameters = np.broadcast_to(
            collection.parameters[:, arm], (len(rewards), *collection.parameters[:, arm].shape)
        )
        weights = prior * np.exp(collection.rewards.log_density(rewards[:, None], parameters))
        later = (weights @ collection.gaps).min(axis=1)
        options.append(prior @ collection.gaps[:, arm] + np.trapezoid(later, rewards))
    return min(options)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1.0, 0.4, [[1.0, 2.0], [0.5, 1.0], [1.5, 0.7]]])
def test_normal_rewards_are_never_above_the_exact_regret_and_close_below(sigma):
    collection = Collection.gaussian([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], sigma)
    found = limit(collection, 2, effort=150_000_000)
    prior = np.zeros(3)
    prior[list(found.tasks)] = found.prior
    exact = two_rounds_by_definition(collection, prior)
    assert 0.97 * exact <= found.value <= exact * (1 + 1e-9)
    seen = collection.rewards.outcomes_from_below(collection.parameters).sum(axis=0)
    assert (seen < 1).all()
    assert (seen > 0.999).all()


def test_normal_rewards_over_many_rounds_are_below_what_is_attained():
    """mIDS loses 5.3 +- 0.3 in 500 runs; the limit is a bound on the average of any algorithm, proven."""
    two = Collection.gaussian([[0.7, 0.6, 0.2], [0.6, 0.7, 0.5]], 0.5)
    assert 4.5 < limit(two, 1_000, effort=50_000_000).value < 5.0


def test_progress_and_stopping():
    seen = []
    stopped = limit(rand(5, 5, 0.4), 10_000, on_progress=lambda progress: bool(seen.append(progress.done)))
    assert len(seen) == 1
    assert stopped.value >= 0
    assert limit(TWO, 1_000, effort=200_000) == limit(TWO, 1_000, effort=200_000)


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="horizon must be at least 1"):
        limit(TWO, 0)
    with pytest.raises(InvalidInput, match="effort must be at least 1"):
        limit(TWO, 10, effort=0)
    with pytest.raises(InvalidInput, match="0/1, graded and normal rewards"):
        limit(Collection.bounded([[0.7, 0.2], [0.3, 0.6]]), 10)
