"""Means that are known differently well: who may decide, and what is said when that is not enough."""

import math

import numpy as np
import pytest
from boxes import arrays_of, survivors_at
from hypothesis import given
from hypothesis import strategies as st

from banditree.errors import InvalidInput
from banditree.plans.counts import Counting
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree
from banditree.trees.working_separation import find_band

FOUR = [[0.9, 0.1, 0.9, 0.5], [0.8, 0.9, 0.1, 0.5], [0.2, 0.2, 0.2, 0.5], [0.1, 0.8, 0.8, 0.5]]


def test_one_mean_that_is_hardly_known_does_not_ruin_the_plan():
    radius = np.full((4, 4), 0.01)
    known = build_tree(Collection.bernoulli(FOUR, radius=radius), 1000)
    radius[:, 3] = 0.5  # an arm that tells nothing anyway
    assert (
        arrays_of(build_tree(Collection.bernoulli(FOUR, radius=radius), 1000)).pulls == arrays_of(known).pulls
    ).all()
    radius[3, 0] = 0.9  # the first arm no longer tells the fourth task from anyone
    plan = build_tree(Collection.bernoulli(FOUR, radius=radius), 1000)
    both = [
        set(survivors_at(plan, int(arrays_of(plan).low[box]))) & set(survivors_at(plan, int(arrays_of(plan).high[box])))
        for box in np.flatnonzero((arrays_of(plan).kind == Counting.FIXED) & (arrays_of(plan).arm == 0))
        if 3 in survivors_at(plan, box)
    ]
    assert all(3 in kept for kept in both)
    assert arrays_of(plan).pulls.max() == arrays_of(known).pulls.max() or plan.depth > known.depth


def test_means_known_worse_than_an_eighth_take_no_part_when_the_separation_is_given():
    radius = np.full((4, 4), 0.02)
    radius[0, 0] = 0.3
    band = find_band(Collection.bernoulli(FOUR, radius=radius), 0.4)
    assert band == (0.4 - 2 * 0.02, 0.02, 0.05)
    plan = build_tree(Collection.bernoulli(FOUR, radius=radius), 1000, 0.4)
    assert arrays_of(plan).pulls.max() == math.ceil(2 * 0.25 * math.log(2 * 1000 * plan.depth) / (0.2 - 2 * 0.02) ** 2)


def test_rho_is_no_larger_than_telling_the_tasks_apart_takes():
    radius = np.full((4, 4), 0.001)
    radius[2, 3] = 0.049  # usable at 0.4, and needed by nobody
    assert find_band(Collection.bernoulli(FOUR, radius=radius), 0.4).radius == 0.001


def test_too_little_is_known_is_said_with_rows_of_tasks_and_arms():
    means, counts = [[0.7, 0.5], [0.3, 0.5]], [[100, 900], [400, 900]]
    collection = Collection(
        np.array(means), ("mild", "severe"), ("A", "B"), radius=[[0.1, 0.05], [0.05, 0.05]], counts=counts
    )
    with pytest.raises(InvalidInput, match=r"About 300 more rows of task 'mild' with 'A' would be enough; or merge"):
        build_tree(collection, 1000, 0.4)
    far = Collection(np.array(means), ("mild", "severe"), ("A", "B"), radius=0.25, counts=counts)
    with pytest.raises(
        InvalidInput,
        match=r"within 0.25 and must be within 0.05, an eighth of that. About 2,400 more rows of task 'mild' and",
    ):
        build_tree(far, 1000)
    with pytest.raises(InvalidInput, match="separation must be at most 0.55 for these estimates. Got 0.9"):
        build_tree(collection, 1000, 0.9)
    never = Collection(
        np.array(means),
        ("mild", "severe"),
        ("A", "B"),
        radius=[[0.7, 0.05], [0.05, 0.05]],
        counts=[[0, 900], [900] * 2],
    )
    with pytest.raises(InvalidInput, match=r"About 900 more rows of task 'mild' with 'A'"):
        build_tree(never, 1000, 0.4)
    twins = Collection.bernoulli([[0.5, 0.5], [0.5, 0.5]], radius=0.1)
    with pytest.raises(InvalidInput, match="the same mean for every arm"):
        build_tree(twins, 1000)


def test_as_many_rows_as_the_error_asks_for_are_enough():
    rng = np.random.default_rng(0)
    means = rand(4, 5, 0.4).means
    counts = rng.integers(50, 400, means.shape)
    for _ in range(40):
        radius = 0.9 / np.sqrt(counts)
        try:
            build_tree(Collection(means, tuple("abcd"), tuple("vwxyz"), radius=radius, counts=counts), 10**5, 0.4)
            break
        except InvalidInput as problem:
            words = str(problem)
            arm = "vwxyz".index(words.split(" with ")[1][1])
            for part in words.split("About ")[1].split(" with ")[0].split(" and "):
                counts["abcd".index(part[-2]), arm] += int(part.split()[0].replace(",", "")) + 1
    else:
        pytest.fail("following the advice does not lead to a plan")


@given(st.integers(0, 10_000), st.floats(0.0, 0.2))
def test_every_test_leaves_the_promised_margin_to_whoever_it_decides(seed, scale):
    """NOTES 4: whoever a test excludes from a side has all of mean +- radius w/2 - rho beyond the threshold."""
    rng = np.random.default_rng(seed)
    means, radius = rng.random((5, 6)), scale * rng.random((5, 6)) ** 3
    collection = Collection.bernoulli(means, radius=radius)
    try:
        plan = build_tree(collection, 10**7)
    except InvalidInput:
        return
    margin = plan.origin.separation / 2 - plan.origin.radius
    assert arrays_of(plan).pulls.max() == math.ceil(2 * 0.25 * math.log(2e7 * plan.depth) / margin**2)
    for box in np.flatnonzero(arrays_of(plan).kind == Counting.FIXED):
        arm, n = arrays_of(plan).arm[box], arrays_of(plan).pulls[box]
        members = set(survivors_at(plan, int(box)))
        for side, sign in ((arrays_of(plan).low[box], 1), (arrays_of(plan).high[box], -1)):
            for task in members - set(survivors_at(plan, int(side))):
                worst = means[task, arm] - sign * radius[task, arm]
                beyond = sign * (n * worst - arrays_of(plan).threshold[box])
                assert beyond >= n * margin * (1 - 1e-6) - 1  # a count of successes is rounded down by less than 1
