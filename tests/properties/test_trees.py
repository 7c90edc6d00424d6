import numpy as np
import pytest
from boxes import arrays_of, survivors_at
from hypothesis import given
from hypothesis import strategies as st

from banditree.errors import InvalidInput
from banditree.files.plans import PlanFile, plan_document, plan_from_document
from banditree.plans.counts import Counting
from banditree.plans.gives import NONE
from banditree.tasks.collection import Collection
from banditree.tasks.separation import least_separation
from banditree.trees.optimal import build_optimal
from banditree.trees.tree import build_tree, lazy_tree


@st.composite
def collections(draw):
    n_tasks, n_arms, seed = draw(st.integers(2, 9)), draw(st.integers(2, 6)), draw(st.integers(0, 10**6))
    return Collection.bernoulli(np.random.default_rng(seed).random((n_tasks, n_arms)))


@given(collections())
def test_every_path_ends_in_one_task_and_every_task_in_its_own_leaf(collection):
    plan = lazy_tree(collection, 10**9).freeze()
    leaves = arrays_of(plan).kind == Counting.EXPLOIT
    assert np.all(arrays_of(plan).task[leaves] != NONE)
    assert plan.depth <= collection.n_tasks - 1
    assert np.array_equal(arrays_of(plan).arm[leaves], collection.best_arms[arrays_of(plan).task[leaves]])
    for task in range(collection.n_tasks):
        box = 0
        while arrays_of(plan).kind[box] == Counting.FIXED:  # with exact means instead of samples
            low = (
                collection.means[task, arrays_of(plan).arm[box]] * arrays_of(plan).pulls[box]
                <= arrays_of(plan).threshold[box]
            )
            box = arrays_of(plan).low[box] if low else arrays_of(plan).high[box]
        assert arrays_of(plan).task[box] == task


@given(collections(), st.floats(1.0001, 3.0))
def test_a_separation_beyond_the_collection_is_refused_with_its_closest_pair(collection, factor):
    closest = least_separation(collection)
    with pytest.raises(InvalidInput) as problem:
        build_tree(collection, 10**9, closest.value * factor)
    assert all(repr(name) in str(problem.value) for name in closest.tasks)


@given(collections(), st.randoms(use_true_random=False))
def test_relabelling_arms_and_tasks_relabels_the_plan(collection, random):
    arms, tasks = list(range(collection.n_arms)), list(range(collection.n_tasks))
    random.shuffle(arms)
    random.shuffle(tasks)
    shuffled = Collection.bernoulli(
        collection.means[np.ix_(tasks, arms)],
        arms=[collection.arms[k] for k in arms],
        tasks=[collection.tasks[i] for i in tasks],
    )
    one, other = build_tree(collection, 10**9), build_tree(shuffled, 10**9)
    assert str(one) == str(other)


@given(collections())
def test_json_round_trip(collection):
    document = plan_document(build_tree(collection, 10**9))
    again = PlanFile.model_validate_json(document.model_dump_json(by_alias=True))
    assert plan_document(plan_from_document(again, "x")) == document


@given(collections(), st.integers(0, 10**6))
def test_uncertain_means_decide_only_where_all_they_may_be_is_on_one_side(collection, seed):
    radius = np.random.default_rng(seed).uniform(0, 0.02, collection.means.shape)
    estimated = Collection.bernoulli(collection.means, radius=radius)
    for build in (build_tree, build_optimal):
        try:
            plan = build(estimated, 10**9)
        except InvalidInput:
            continue
        for box in np.flatnonzero(arrays_of(plan).kind == Counting.FIXED):
            arm, b = arrays_of(plan).arm[box], arrays_of(plan).threshold[box] / arrays_of(plan).pulls[box]
            margin = plan.origin.separation / 2 - plan.origin.radius - 1.01 / arrays_of(plan).pulls[box]
            members = survivors_at(plan, box)
            mu, rho = collection.means[:, arm], radius[:, arm]
            for child, side in ((arrays_of(plan).low[box], mu - rho - b), (arrays_of(plan).high[box], b - mu - rho)):
                dropped = np.setdiff1d(members, survivors_at(plan, child))
                assert np.all(side[dropped] >= margin)
