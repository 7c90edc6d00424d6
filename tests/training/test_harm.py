"""Harm learned from a second column of a log."""

import numpy as np
import polars
import pytest

from banditree import InvalidInput, learn

RATES = np.array([[0.02, 0.3], [0.1, 0.0]])


def log(rows=4000, seed=0, **more):
    rng = np.random.default_rng(seed)
    task, arm = rng.integers(2, size=(2, rows))
    reward = rng.random(rows) < np.array([[0.8, 0.3], [0.2, 0.7]])[task, arm]
    harm = rng.random(rows) < RATES[task, arm]
    columns = {"task": np.array(["mild", "severe"])[task], "arm": np.array(["A", "B"])[arm]}
    return polars.DataFrame(columns | {"reward": reward.astype(int), "side_effect": harm.astype(int)} | more)


def test_harm_is_learned_beside_the_rewards():
    plain, found = learn(log()).collection, learn(log(), harm="side_effect").collection
    np.testing.assert_array_equal(found.means, plain.means)
    assert plain.harm is None
    assert (abs(found.harm.rates - RATES) <= found.harm.within).all()
    assert found.harm.within.max() < 0.1


def test_harm_of_individuals_counts_them_together():
    who = [f"p{number % 400}" for number in range(4000)]
    one, many = log(individual=who), log()
    kinds = (
        polars.DataFrame({"individual": who, "task": log()["task"]})
        .group_by("individual")
        .agg(polars.col("task").first())
    )
    one = one.drop("task").join(kinds, on="individual")
    found = learn(one, task="task", individual="individual", harm="side_effect").collection
    assert found.harm.within.min() > 0
    assert found.harm.rates.shape == learn(many, harm="side_effect").collection.harm.rates.shape


def test_a_wrong_column_of_harm_is_refused():
    with pytest.raises(InvalidInput, match="a column must be one of"):
        learn(log(), harm="nausea")
    bad = log().with_columns(side_effect=polars.lit(2))
    with pytest.raises(InvalidInput, match="bad rows"):
        learn(bad, harm="side_effect")


def test_kinds_that_are_found_have_harm_too():
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(200), 40)
    kind, arm = who % 2, rng.integers(2, size=8000)
    reward = rng.random(8000) < np.array([[0.9, 0.1], [0.1, 0.9]])[kind, arm]
    harm = rng.random(8000) < RATES[kind, arm]
    columns = {"individual": who.astype(str), "arm": np.array(["A", "B"])[arm]}
    table = polars.DataFrame(columns | {"reward": reward.astype(int), "side_effect": harm.astype(int)})
    found = learn(table, individual="individual", kinds=2, harm="side_effect").collection
    order = [0, 1] if found.means[0, 0] > 0.5 else [1, 0]
    np.testing.assert_allclose(found.harm.rates[order], RATES, atol=0.05)
