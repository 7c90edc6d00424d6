import json

import numpy as np
import polars as pl
import pytest
from logs_to_read import ROLES, visits

from banditree.errors import InvalidInput
from banditree.reports.learning import learn_document, learn_text
from banditree.reports.separation_table import choices
from banditree.tasks.instances import rand
from banditree.tasks.rewards import Family
from banditree.training.collection import Untried
from banditree.training.learning import learn


def coins(n=6000, seed=0):
    """(a log of rand-4-5 with individuals and tasks, the collection)."""
    collection, rng = rand(4, 5, 0.4, seed=1), np.random.default_rng(seed)
    who, arm = rng.integers(0, 80, n), rng.integers(0, 5, n)
    reward = (rng.random(n) < collection.means[who % 4, arm]).astype(int)
    return pl.DataFrame({"task": [f"t{w % 4}" for w in who], "user_id": who, "arm": arm, "reward": reward}), collection


@pytest.mark.slow
def test_a_log_becomes_a_collection_and_the_report_says_how():
    log, truth = coins()
    report = learn(log)
    assert (np.abs(report.collection.means - truth.means) <= report.collection.radius).all()
    table = choices(report.collection, 2000)
    text = learn_text(report, table, 2000)
    assert "Read 6,000 rows of frame: task is 'task', arm is 'arm', reward is 'reward'." in text
    assert "With 95% confidence, every mean is within its margin" in text
    assert "Choosing the separation, for 2,000 rounds" in text
    document = json.loads(json.dumps(learn_document(report, table)))
    assert document["rows"] == 6000
    assert document["choices"][0]["n_tasks"] == 4


def test_classes_are_found_and_shown():
    log, _ = coins(12_000)
    report = learn(log.drop("task"))
    assert report.classes.n_classes == 4
    assert "Found 4 kinds among 80 individuals" in learn_text(report)
    assert "individuals" in report.collection.provenance
    assert learn_document(report)["classes"]["trials"][0]["n_classes"] == 1
    assert report.statistics.tasks == ("kind 1", "kind 2", "kind 3", "kind 4")  # nobody's name is kept


def test_rates_of_kinds_with_contexts_are_averages_over_these():
    rng, U, T = np.random.default_rng(0), 40, 20
    kind, price, arm = np.repeat(np.arange(U) % 2, T), rng.uniform(0, 1, U * T), rng.integers(0, 2, U * T)
    chance = np.where(kind == arm, 0.9 - 0.2 * price, 0.1 + 0.2 * price)
    log = {"individual": np.repeat(np.arange(U), T), "arm": np.array(["A", "B"])[arm], "price": price}
    report = learn(pl.DataFrame(log | {"reward": (rng.random(U * T) < chance) * 1}), context="price", kinds=2)
    text = learn_text(report)
    assert "(averages over contexts)" in text
    assert all(f"{report.collection.means[i, k]:.3g} ±" in text for i in (0, 1) for k in (0, 1))


def test_dropped_borrowed_and_merged_things_are_named():
    log, _ = coins()
    log = log.filter((pl.col("task") != "t0") | (pl.col("arm") != 3))
    with pytest.raises(InvalidInput, match="'3' for task 't0': never tried"):
        learn(log)
    assert "Dropped: '3'" in learn_text(learn(log, untried=Untried.DROP_ARM))
    assert "Dropped: 't0'" in learn_text(learn(log, untried=Untried.DROP_TASK))
    borrowed = learn(log, untried=Untried.BORROW)
    assert "Borrowed from all tasks" in learn_text(borrowed)
    assert borrowed.collection.radius[0, 3] > 0.4
    rare = log.with_columns(reward=pl.when(pl.col("arm") == 3).then(1).otherwise(pl.col("reward")))
    guessed = learn_text(learn(rare, untried=Untried.BORROW))
    assert "the best arm is a borrowed one, never seen to work for its task: '3' for 't0'" in guessed
    apart = learn(log, untried=Untried.DROP_ARM, merge=0.2)
    assert "Merged nothing" in learn_text(apart)
    doubled = pl.concat([log, log.with_columns(task=pl.col("task") + " again")]).filter(pl.col("arm") != 3)
    merged = learn(doubled, merge=0.2)
    assert merged.collection.n_tasks == 4
    assert "Merged at 0.2 into 4 tasks: 't0 + t0 again'" in learn_text(merged)
    bad = log.with_columns(reward=pl.when(pl.int_range(log.height) == 3).then(None).otherwise(pl.col("reward")))
    dropped = learn(bad, untried=Untried.BORROW, drop_bad_rows=True)
    assert "Dropped 1 bad row (reward missing: 1). First at row 4." in learn_text(dropped)


def test_rows_of_today_are_added_to_those_of_yesterday():
    log = visits()
    options = {"context": ["near"], **ROLES}
    settings = dict(rewards=Family.GAUSSIAN)
    yesterday = learn(log[:2000], **settings, **options)
    both = learn(log[2000:], **settings, add_to=yesterday.statistics, **options)
    whole = learn(log, **settings, **options)
    np.testing.assert_allclose(both.collection.means, whole.collection.means, rtol=1e-9)
    np.testing.assert_allclose(both.collection.radius, whole.collection.radius, rtol=1e-6)
    assert "Added to the statistics of 2,000 earlier rows." in learn_text(both)
    with pytest.raises(InvalidInput, match="keep_sample must be 0 when rows are added"):
        learn(log, rewards=Family.GAUSSIAN, keep_sample=10, add_to=yesterday.statistics, **options)
    with pytest.raises(InvalidInput, match="add_to must be omitted with individuals"):
        learn(coins()[0], add_to=yesterday.statistics, individual="user_id")
