"""The greedy search against trying every arm and every threshold."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from banditree.tasks.separation import tolerance
from banditree.trees.greedy import greedy_split


def brute_force_score(means, members, separation):
    """The best score over every arm and every threshold that could matter: just around each edge of each mean."""
    slack = tolerance(separation)
    best = 0
    for mu in means[:, members]:
        edges = np.concatenate([mu - separation / 2, mu + separation / 2, (mu[:, None] + mu[None, :]).ravel() / 2])
        for b in np.concatenate([edges, edges - slack / 4, edges + slack / 4]):
            low = (mu <= b - separation / 2 + slack / 2).sum()
            high = (mu >= b + separation / 2 - slack / 2).sum()
            best = max(best, min(low, high))
    return best


@st.composite
def tables(draw):
    n_tasks, n_arms = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    # Half of the tables are on a grid, where ties and gaps of exactly the separation abound.
    values = st.integers(0, 10).map(lambda n: n / 10) if draw(st.booleans()) else st.floats(0, 1)
    cells = draw(st.lists(values, min_size=n_tasks * n_arms, max_size=n_tasks * n_arms))
    return np.array(cells).reshape(n_arms, n_tasks), draw(st.sampled_from([0.1, 0.3, 0.4, 0.55]))


@given(tables())
def test_score_equals_brute_force(table):
    means, separation = table
    members = np.arange(means.shape[1])
    assert greedy_split(means, members, separation).score == brute_force_score(means, members, separation)


@given(tables())
def test_both_sides_are_smaller_and_nobody_is_lost(table):
    means, separation = table
    members = np.arange(means.shape[1])
    split = greedy_split(means, members, separation)
    if split.score == 0:
        return
    assert 0 < len(split.low) < len(members)
    assert 0 < len(split.high) < len(members)
    assert set(split.low) | set(split.high) == set(members)
    decided = len(members) - len(set(split.low) & set(split.high))
    assert decided >= 2 * split.score


@given(tables())
def test_a_task_is_dropped_only_if_it_is_half_a_separation_away(table):
    means, separation = table
    members = np.arange(means.shape[1])
    split = greedy_split(means, members, separation)
    if split.score == 0:
        return
    mu, slack = means[split.arm], tolerance(separation)
    assert np.all(mu[np.setdiff1d(members, split.low)] >= split.threshold + separation / 2 - slack)
    assert np.all(mu[np.setdiff1d(members, split.high)] <= split.threshold - separation / 2 + slack)


def test_compiled_search_is_the_interpreted_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        means = np.round(rng.random((12, 30)), 2)
        members = np.sort(rng.choice(30, 17, replace=False))
        slow, fast = (greedy_split(means, members, 0.3, compiled=compiled) for compiled in (False, True))
        assert slow.arm == fast.arm
        assert slow.threshold == fast.threshold
        assert np.array_equal(slow.low, fast.low)
        assert np.array_equal(slow.high, fast.high)


def brute_force_interval_score(means, radius, separation):
    """As above for means known to within a radius: a task is on a side only with its whole interval."""
    slack = tolerance(separation)
    best = 0
    for lower, upper in zip(means - radius, means + radius, strict=True):
        for b in (upper[:, None] + lower[None, :]).ravel() / 2:
            low = (upper <= b - separation / 2 + slack / 2).sum()
            high = (lower >= b + separation / 2 - slack / 2).sum()
            best = max(best, min(low, high))
    return best


@given(tables(), st.integers(0, 1000))
def test_score_with_radii_equals_brute_force(table, seed):
    means, separation = table
    rng = np.random.default_rng(seed)
    radius = np.where(rng.random(means.shape) < 0.1, np.inf, rng.choice([0.0, 0.05, 0.1], means.shape))
    members = np.arange(means.shape[1])
    finite = np.where(np.isinf(radius), 1e6, radius)
    split = greedy_split(means, members, separation, radius=radius)
    assert split.score == brute_force_interval_score(means, finite, separation)
    if split.score:
        assert 0 < len(split.low) < len(members)
        assert 0 < len(split.high) < len(members)
        unknown = members[np.isinf(radius[split.arm])]
        assert set(unknown) <= set(split.low) & set(split.high)


@given(tables())
def test_a_radius_of_zero_changes_nothing(table):
    means, separation = table
    members = np.arange(means.shape[1])
    known = greedy_split(means, members, separation)
    same = greedy_split(means, members, separation, radius=np.zeros(means.shape))
    assert (known.arm, known.threshold, known.score) == (same.arm, same.threshold, same.score)
    assert known.low.tolist() == same.low.tolist()
    assert known.high.tolist() == same.high.tolist()
