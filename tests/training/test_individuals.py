"""Intervals by individual, against the plainest possible computation."""

import numpy as np
import polars as pl
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.rewards import Family
from banditree.training.estimates import estimate
from banditree.training.individuals import Individuals, by_individual, effects, individuals_of
from banditree.training.learning import learn
from banditree.training.logs import read_log
from banditree.training.statistics import collect, group_tasks


def panel(seed=0, n_people=40, family="bernoulli"):
    """A log of people of two kinds who vary within their kind, with 2 to 12 rows each."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n_people):
        kind, own = person % 2, rng.normal(0, 0.15, 2)
        for _ in range(rng.integers(2, 13)):
            arm, age = int(rng.integers(2)), rng.normal(50, 10)
            mean = np.clip(0.3 + 0.4 * (arm == kind) + own[arm] + 0.005 * (age - 50), 0, 1)
            reward = float(rng.random() < mean) if family == "bernoulli" else rng.normal(mean, 0.3)
            rows.append((f"k{kind}", f"p{person}", f"a{arm}", reward, age))
    return pl.DataFrame(rows, schema=["task", "user_id", "arm", "reward", "age"], orient="row")


def leave_one_out(frame, value):
    """The jackknife over individuals of a number computed from a frame: its variance, written out."""
    people = frame["user_id"].unique().sort().to_list()
    values = np.array([value(frame.filter(pl.col("user_id") != person)) for person in people])
    return (len(people) - 1) / len(people) * ((values - values.mean(axis=0)) ** 2).sum(axis=0)


def test_the_variance_of_a_mean_is_about_that_of_leaving_individuals_out():
    frame = panel(n_people=200)
    reading = read_log(frame, task="task", individual="user_id")
    people = individuals_of(reading)
    means = estimate(people.by_kind()).means
    found = np.zeros(means.shape)
    np.add.at(found, (people.kind, people.statistics.arm), effects(means, people) ** 2)
    for i, task in enumerate(people.kinds):
        for k, arm in enumerate(people.statistics.arms):
            cell = frame.filter((pl.col("task") == task) & (pl.col("arm") == arm))
            assert found[i, k] == pytest.approx(leave_one_out(cell, lambda part: part["reward"].mean()), rel=0.05)


@pytest.mark.slow
def test_with_contexts_too():
    frame = panel(n_people=120, family="gaussian")
    options = {"task": "task", "context": ["age"], "rewards": Family.GAUSSIAN}
    reading = read_log(frame, individual="user_id", **options)
    people = individuals_of(reading)

    def mean(part):
        return estimate(read_log(part, **options).statistics, Family.GAUSSIAN).means.ravel()

    expected = np.sqrt(leave_one_out(frame, mean)).reshape(2, 2)
    found = by_individual(estimate(people.by_kind(), Family.GAUSSIAN), people)
    from scipy.stats import t

    quantile = t.ppf(1 - 0.05 / 8, found.individuals - 1)
    np.testing.assert_allclose(found.radius / quantile, expected, rtol=0.1)
    without = by_individual(estimate(people.by_kind(), Family.GAUSSIAN, intercept=False), people)
    assert np.isfinite(without.radius).all()


def test_rows_of_their_own_are_counted_as_ever():
    """With one row per individual the error is that of independent rows."""
    rng = np.random.default_rng(1)
    rewards = rng.random(400) < 0.3
    one_each = collect([str(n) for n in range(400)], ["x", "y"] * 200, rewards.astype(float))
    people = Individuals(one_each, np.arange(400) // 200, ("a", "b"))
    by_rows = estimate(group_tasks(one_each, people.labels, ["a", "b"]))
    assert (np.abs(by_individual(by_rows, people).radius / by_rows.radius - 1) < 0.15).all()


def test_task_and_individual_together_are_learned_by_individual():
    frame = panel(n_people=60)
    both, rows = learn(frame, task="task", individual="user_id"), learn(frame, task="task")
    np.testing.assert_allclose(both.collection.means, rows.collection.means)
    assert both.collection.tasks == ("k0", "k1")
    assert both.collection.shares.tolist() == [0.5, 0.5]
    assert both.estimates.individuals.sum() > 0
    assert "p1" not in str(both.statistics.tasks)
    twice = pl.concat([frame, frame.with_columns(task=pl.lit("k9"))])
    assert learn(twice, task="task", individual="user_id").collection.shares.tolist() == [0.25, 0.25, 0.5]


def test_one_individual_tells_nothing_of_others():
    frame = panel(n_people=2)
    with pytest.raises(InvalidInput, match="rows of two individuals"):
        learn(frame, task="task", individual="user_id")
    lonely = pl.concat([panel(n_people=40), panel(n_people=2).with_columns(task=pl.lit("k9"), user_id=pl.lit("x"))])
    found = learn(lonely, task="task", individual="user_id").collection
    assert (found.means[2] - found.radius[2] <= 1e-9).any()
    assert (found.radius[2] == np.maximum(found.means[2], 1 - found.means[2])).all()
