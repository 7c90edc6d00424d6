"""The parts of the search against slow obvious versions of themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditree.plans.assemble import Box, assemble
from banditree.plans.backup import best_backup
from banditree.plans.draft import Draft, Test, ancestors, path_lengths, tidy
from banditree.plans.exact import regret_bound
from banditree.plans.library import build_library
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand

THREE = rand(3, 3, 0.3)
LIBRARY = build_library(THREE)
HORIZON = 500
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
        tests.append(Test(arm, template, floor, ceil, low, high, LIBRARY.up[row], LIBRARY.cost[row]))
    return tidy(Draft(3, tuple(tests), LEAF))


def as_plan(draft):
    number = {place: index for index, place in enumerate([*range(3, 3 + len(draft.tests)), 0, 1, 2])}
    boxes = [
        Box(
            test.arm,
            number[test.low],
            number[test.high],
            points=tuple(int(point) for point in LIBRARY.points[test.template]),
            floor=test.floor,
            ceil=test.ceil,
        )
        for test in draft.tests
    ]
    return assemble([*boxes, Box(0), Box(1), Box(2)], THREE, HORIZON)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_the_value_of_a_draft_is_the_bound_of_its_plan(seed, links_back):
    draft = random_draft(seed, links_back=links_back)
    if not draft.evaluation.settled:
        return
    np.testing.assert_allclose(draft.evaluation.regret, regret_bound(as_plan(draft), THREE), rtol=1e-6, atol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_regret_is_visits_times_cost(seed):
    """The flow through the boxes and the value of the start are two ways to the same number."""
    draft = random_draft(seed, links_back=False)
    e = draft.evaluation
    spent = sum(e.visits[box] * test.cost for box, test in enumerate(draft.tests))
    for box, test in enumerate(draft.tests):
        for side, place in (("low", test.low), ("high", test.high)):
            if place < 3:
                spent = spent + e.flow(box, side) * LEAF[place]
    np.testing.assert_allclose(spent, e.regret, rtol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_ancestors_and_paths_by_walking_every_path(seed, links_back):
    draft = random_draft(seed, n_tests=5, links_back=links_back)
    onward = {box: [p - 3 for p in (t.low, t.high) if p >= 3] for box, t in enumerate(draft.tests)}

    def reaches(box, target, seen=()):
        return box == target or any(reaches(c, target, (*seen, box)) for c in onward[box] if c not in (*seen, box))

    for target in range(len(draft.tests)):
        expected = [reaches(box, target) for box in range(len(draft.tests))]
        assert ancestors(draft, target).tolist() == expected
    if not links_back:

        def longest(box):
            return 1 + max((longest(child) for child in onward[box]), default=0)

        assert path_lengths(draft)[1].tolist() == [longest(box) for box in range(len(draft.tests))]
        assert path_lengths(draft)[0].max() == longest(draft.root - 3)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_no_test_of_the_library_beats_the_backup(seed):
    rng = np.random.default_rng(seed)
    weights, values = rng.dirichlet(np.ones(3)), np.concatenate([LEAF, rng.uniform(0, 50, (4, 3))])
    backup = best_backup(LIBRARY, weights, np.arange(7), values)
    above = (LIBRARY.up[:, None, :] * values[None]) @ weights
    below = ((1 - LIBRARY.up)[:, None, :] * values[None]) @ weights
    brute = LIBRARY.cost @ weights + above.min(axis=1) + below.min(axis=1)
    assert backup.judged <= brute.min() * (1 + 1e-5)
    test = backup.test
    value = test.cost + test.up * values[test.high] + (1 - test.up) * values[test.low]
    assert backup.judged == pytest.approx(weights @ value, rel=1e-12)


def test_laws_of_the_library_are_those_of_the_walk():
    normal = Collection.gaussian(THREE.means, sigma=0.6)
    for library in (LIBRARY, build_library(normal)):
        for row in np.random.default_rng(0).integers(library.n_tests, size=200):
            up, cost = library.law(*(int(column[row]) for column in library.columns))
            np.testing.assert_allclose(up, library.up[row], rtol=1e-10, atol=1e-300)
            np.testing.assert_allclose(cost, library.cost[row], rtol=1e-10)
