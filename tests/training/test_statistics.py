import numpy as np
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.contexts import Feature
from banditree.training.statistics import Statistics, collect, group_tasks, merge_statistics


def rows(n=200, seed=0, centre=0.0):
    rng = np.random.default_rng(seed)
    return rng.choice(["a", "b"], n), rng.choice(["x", "y"], n), rng.normal(size=n), rng.normal(centre, 1, (n, 2))


def same(first, second):
    assert (first.tasks, first.arms, first.features) == (second.tasks, second.arms, second.features)
    for name in ("task", "arm", "count"):
        assert (getattr(first, name) == getattr(second, name)).all()
    for name in ("sums", "products", "shift"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-9, atol=1e-9)


def test_sums_are_the_obvious_ones():
    tasks, arms, rewards, contexts = rows()
    found = collect(tasks, arms, rewards, contexts)
    for cell in range(len(found.count)):
        own = (tasks == found.tasks[found.task[cell]]) & (arms == found.arms[found.arm[cell]])
        y = np.column_stack([contexts, rewards])[own]
        assert found.count[cell] == own.sum()
        np.testing.assert_allclose(found.sums[cell], y.sum(axis=0))
        np.testing.assert_allclose(found.products[cell], y.T @ y)


def test_two_parts_add_up_to_the_whole_whatever_their_shifts():
    tasks, arms, rewards, contexts = rows(centre=50.0)
    whole = collect(tasks, arms, rewards, contexts, shift=[50, 49, 0])
    first = collect(tasks[:80], arms[:80], rewards[:80], contexts[:80], shift=[50, 49, 0])
    second = collect(tasks[80:], arms[80:], rewards[80:], contexts[80:], shift=[51, 48, -1])
    same(merge_statistics(first, second), whole)


def test_new_tasks_arms_and_levels_are_added():
    def day(task, arm, level):
        features = [Feature("sex", level), Feature("age")]
        return collect([task], [arm], [1.0], [[1.0, 40.0]], features)

    both = merge_statistics(day("a", "x", "m"), day("b", "y", "f"))
    assert both.tasks == ("a", "b")
    assert both.arms == ("x", "y")
    assert [str(feature) for feature in both.features] == ["sex=f", "sex=m", "age"]
    assert both.sums.tolist() == [[0, 1, 40, 1], [1, 0, 40, 1]]


def test_weighted_sums_move_with_the_shift():
    def weighted(shift):
        w, r = np.array([2.0, 4.0]), np.array([1.0, 0.0]) - shift
        sums = [[w.sum(), (w**2).sum(), (w * r).sum(), (w**2 * r).sum(), (w**2 * r**2).sum()]]
        part = collect(["a", "a"], ["x", "x"], [1.0, 0.0], shift=[shift])
        return Statistics(
            part.tasks, part.arms, (), part.task, part.arm, part.count, part.sums, part.products, part.shift, sums
        )

    np.testing.assert_allclose(merge_statistics(weighted(0.0), weighted(0.5)).weighted, 2 * weighted(0.0).weighted)
    with pytest.raises(InvalidInput, match="with and without propensities"):
        merge_statistics(weighted(0.0), collect(["a"], ["x"], [1.0]))


def test_what_does_not_fit_is_refused():
    number = collect(["a"], ["x"], [1.0], [[1.0]], ["sex"])
    with pytest.raises(InvalidInput, match="a number in both logs or a category in both"):
        merge_statistics(number, collect(["a"], ["x"], [1.0], [[1.0]], [Feature("sex", "f")]))
    with pytest.raises(InvalidInput, match="the context columns must be sex in both logs"):
        merge_statistics(number, collect(["a"], ["x"], [1.0], [[1.0]], ["age"]))
    with pytest.raises(InvalidInput, match="of shape"):
        Statistics(("a",), ("x",), (), [0], [0], [1], [[1.0, 2.0]], [[[1.0]]], [0.0])
    with pytest.raises(InvalidInput, match="numbers below 1"):
        Statistics(("a",), ("x",), (), [1], [0], [1], [[1.0]], [[[1.0]]], [0.0])
    with pytest.raises(InvalidInput, match="at least 1 in every cell"):
        Statistics(("a",), ("x",), (), [0], [0], [0], [[1.0]], [[[1.0]]], [0.0])


def test_groups_of_tasks_are_the_rows_of_all_their_tasks():
    tasks, arms, rewards, contexts = rows()
    grouped = group_tasks(collect(tasks, arms, rewards, contexts), np.array([0, 0]), ["all"])
    same(grouped, collect(["all"] * len(tasks), arms, rewards, contexts))
