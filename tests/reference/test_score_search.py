"""The parts of the search against slow obvious versions of themselves."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditree.certificates.certify import regret_bound
from banditree.errors import InvalidInput
from banditree.plans.assemble import Box, assemble
from banditree.scores.backup import at_belief, best_backup
from banditree.scores.draft import HIGH, LOW, Test, ancestors, drafted, path_lengths
from banditree.scores.library import build_library
from banditree.scores.objectives import Limits
from banditree.scores.scenarios import worst_parameters
from banditree.scores.search import Search
from banditree.tasks.collection import Collection, with_parameters
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree

THREE = rand(3, 3, 0.3)
HORIZON = 500
LIBRARY = build_library(THREE, HORIZON)
LEAF = HORIZON * THREE.gaps.T


def random_draft(seed, n_tests=7, links_back=True):
    rng = np.random.default_rng(seed)
    tests = []
    for box in range(n_tests):
        row = int(rng.integers(LIBRARY.n_tests))
        arm, template, floor, ceil = (int(column[row]) for column in LIBRARY.columns)
        onward = [*range(3), *range(3 + box + 1, 3 + n_tests)]
        low = int(rng.choice(onward))
        high = int(rng.integers(3 + n_tests)) if links_back else int(rng.choice(onward))
        tests.append(Test(arm, template, floor, ceil, (low, high), LIBRARY.up[row], LIBRARY.cost[row]))
    return drafted(3, tests, LEAF)


def as_plan(draft):
    number = {place: index for index, place in enumerate([*range(3, 3 + draft.n_tests), 0, 1, 2])}
    boxes = [
        Box(
            test.arm,
            *(number[place] for place in test.links),
            points=tuple(int(point) for point in LIBRARY.points[test.template]),
            floor=test.floor,
            ceil=test.ceil,
        )
        for test in map(draft.test, range(draft.n_tests))
    ]
    return assemble([*boxes, Box(0), Box(1), Box(2)], THREE, HORIZON)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_the_value_of_a_draft_is_the_bound_of_its_plan(seed, links_back):
    draft = random_draft(seed, links_back=links_back)
    if not draft.ends:
        return
    np.testing.assert_allclose(draft.regret, regret_bound(as_plan(draft), THREE), atol=1e-5 * draft.regret.max())


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_regret_is_visits_times_cost(seed):
    """The flow through the boxes and the value of the start are two ways to the same number."""
    draft = random_draft(seed, links_back=False)
    spent = (draft.visits * draft.cost).sum(axis=0)
    for box in range(draft.n_tests):
        for side in (LOW, HIGH):
            if draft.target(box, side) < 3:
                spent = spent + draft.flow(box, side) * LEAF[draft.target(box, side)]
    np.testing.assert_allclose(spent, draft.regret, rtol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_ancestors_and_paths_by_walking_every_path(seed, links_back):
    draft = random_draft(seed, n_tests=5, links_back=links_back)
    onward = {box: [place - 3 for place in links if place >= 3] for box, links in enumerate(draft.links.tolist())}

    def reaches(box, target, seen=()):
        return box == target or any(reaches(c, target, (*seen, box)) for c in onward[box] if c not in (*seen, box))

    for target in range(draft.n_tests):
        expected = [reaches(box, target) for box in range(draft.n_tests)]
        assert ancestors(draft, target).tolist() == expected
    if not links_back:

        def longest(box):
            return 1 + max((longest(child) for child in onward[box]), default=0)

        assert path_lengths(draft)[1].tolist() == [longest(box) for box in range(draft.n_tests)]
        assert path_lengths(draft)[0].max() == longest(draft.root - 3)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_no_test_of_the_library_beats_the_backup(seed):
    rng = np.random.default_rng(seed)
    weights, values = rng.dirichlet(np.ones(3)), np.concatenate([LEAF, rng.uniform(0, 50, (4, 3))])
    backup = best_backup(LIBRARY, weights, np.arange(7), values, at_belief(weights))
    above = (LIBRARY.up[:, None, :] * values[None]) @ weights
    below = ((1 - LIBRARY.up)[:, None, :] * values[None]) @ weights
    brute = LIBRARY.cost @ weights + above.min(axis=1) + below.min(axis=1)
    assert backup.judged <= brute.min() * (1 + 1e-5)
    test = backup.test
    low, high = test.links
    value = test.cost + test.up * values[high] + (1 - test.up) * values[low]
    assert backup.judged == pytest.approx(weights @ value, rel=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_no_box_is_cheaper_to_remove_than_the_one_that_is(seed):
    """Of all removals that leave fewer boxes, with links led where that looks cheapest, shrinking takes the best."""
    draft = random_draft(seed, links_back=False)
    search = Search(LIBRARY, LEAF, Limits(3, links_back=False), power=8.0, seed=0, steps=1)
    if draft.n_boxes < 5:
        return
    changed = [changed for _predicted, changed in search.removals(draft) if changed.n_boxes < draft.n_boxes]
    without = [search.objective(one) for one in changed]
    if not without:
        return
    shrunk = search.shrink(draft, draft.n_boxes - 1)
    assert shrunk.n_boxes < draft.n_boxes
    assert search.objective(shrunk) <= 1.0001 * min(without)


def test_any_box_of_a_plan_that_ends_can_be_removed():
    """Where the cheapest way to lead its links would go round for ever, another is taken."""
    search = Search(LIBRARY, LEAF, Limits(3), power=8.0, seed=0, steps=1)
    for draft in map(random_draft, range(200)):
        if draft.ends and np.isfinite(draft.regret).all():
            assert all(search.objective(changed) < np.inf for _predicted, changed in search.removals(draft))


@pytest.mark.parametrize("seed", [851, 4171, 6925, 8524])
def test_a_circle_that_hardly_anybody_enters_counts_as_well(seed):
    """Their circles are entered with a chance below 1e-8 and left with one below 1e-15."""
    draft = random_draft(seed)
    assert np.isfinite(draft.regret).all()
    assert not draft.ends
    with pytest.raises(InvalidInput, match="may never end"):
        regret_bound(as_plan(draft), THREE)


def test_a_link_back_that_never_ends_costs_without_end():
    test = random_draft(0).test(0)
    for links in ((3, 3), (3, 0)):
        draft = drafted(3, [replace(test, links=links, up=np.zeros(3), cost=np.zeros(3))], LEAF)
        assert not draft.ends


def test_the_worst_means_are_the_worst_of_all_corners():
    estimated = Collection.bernoulli([[0.7, 0.2], [0.5, 0.6], [0.2, 0.4]], radius=0.05)
    plan = build_tree(estimated, 1000)
    corners = [
        regret_bound(plan, with_parameters(estimated, estimated.means + 0.05 * np.array(signs)))
        for signs in product((-1, 0, 1), repeat=2)
    ]
    found = regret_bound(plan, with_parameters(estimated, worst_parameters(plan, estimated)))
    np.testing.assert_allclose(found, np.max(corners, axis=0), rtol=1e-12)


def test_laws_of_the_library_are_those_of_the_walk():
    normal = Collection.gaussian(THREE.means, sigma=0.6)
    for library in (LIBRARY, build_library(normal, HORIZON)):
        for row in np.random.default_rng(0).integers(library.n_tests, size=200):
            up, cost = library.law(*(int(column[row]) for column in library.columns))
            np.testing.assert_allclose(up, library.up[row], rtol=1e-10, atol=1e-300)
            np.testing.assert_allclose(cost, library.cost[row], rtol=1e-10)
