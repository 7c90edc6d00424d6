"""Plans that look at a context on logs that have it: what they earn is what their certificate says."""

import numpy as np
import polars
import pytest
from boxes import Box, assemble

from banditree import certify, evaluate
from banditree.errors import InvalidInput
from banditree.evaluation.evaluate import PLAN
from banditree.plans.gives import NONE
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, Feature, sampled_contexts
from banditree.tasks.rewards import BERNOULLI

H = 6
PRICES = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
CONTEXTS = sampled_contexts(
    np.column_stack([np.ones(6), PRICES, [0, 0, 0, 1, 1, 1]]),
    [Feature(INTERCEPT), Feature("price"), Feature("sex", "m", ("f", "m"))],
)
THETA = np.array([[[1.1, -0.3, 0.1], [0.1, 0.2, 0.0]], [[0.2, 0.0, -0.1], [0.8, -0.1, 0.1]]])
SHOP = Collection.linear(THETA, CONTEXTS, BERNOULLI, tasks=["early", "late"], arms=["A", "B"], shares=[0.5, 0.5])


def plan():
    """Treat as early until it fails too often, then as late."""
    boxes = [Box(NONE, low=1, points=(-2, 1), floor=3, task=0), Box(NONE, task=1)]
    return assemble(boxes, SHOP, H, theta=SHOP.theta, features=SHOP.features)


def visits(n_cases, *, full, seed=0):
    """A log of cases of both kinds: every option of every round, or one drawn at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for case in range(n_cases):
        for visit in range(H):
            x = CONTEXTS.rows[rng.integers(6)]
            rates = np.clip(THETA[case % 2] @ x, 0, 1)
            shown = (0, 1) if full else (int(rng.integers(2)),)
            common = {"individual": case, "visit": visit, "price": x[1], "sex": "m" if x[2] else "f"}
            rows += [common | {"arm": "AB"[k], "reward": int(rng.random() < rates[k])} for k in shown]
    return polars.DataFrame(rows)


def expected():
    return float((SHOP.values - certify(plan(), SHOP, must_rest=False).regret / H).mean())


def test_a_replay_earns_what_the_certificate_says():
    """Five standard errors by case: a false alarm in a million."""
    found = evaluate(plan(), visits(600, full=True), collection=SHOP, runs=1)
    value = found[PLAN].value
    assert found.is_full
    assert abs(value.value - expected()) <= 5 * (value.high - value.low) / (2 * 1.96)
    assert found["mTS"].value.value > found["B for all"].value.value  # it looks at prices, too


@pytest.mark.slow
def test_a_log_of_one_outcome_per_round_is_weighed():
    found = evaluate(plan(), visits(1500, full=False), runs=1)
    assert found.weighed >= 3
    for row in found.weighings[1:]:
        short = float(
            (SHOP.values - certify(plan(), SHOP, found.weighed, must_rest=False).regret / found.weighed).mean()
        )
        assert abs(row.value.value - short) <= 5 * (row.value.high - row.value.low) / (2 * 1.96), row.name


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda log: log.drop("price"), "a column must be one of individual, visit, sex, arm, reward. Got 'price'"),
        (lambda log: log.with_columns(sex=polars.lit("x")), "Column 'sex' must be one of f, m"),
        (lambda log: log.with_columns(price=polars.int_range(len(log))), "'price' must be the same in all rows of one"),
        (lambda log: log.with_columns(price=polars.col("price").replace(3.0, None)), "price missing"),
    ],
    ids=["no column", "unknown level", "differs", "missing"],
)
def test_contexts_that_are_missing_or_impossible_are_refused(change, match):
    with pytest.raises(InvalidInput, match=match):
        evaluate(plan(), change(visits(20, full=True)), runs=1)


def test_a_collection_over_other_features_is_refused():
    plain = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"])
    with pytest.raises(InvalidInput, match="over the same context features as the plan"):
        evaluate(plan(), visits(20, full=True), collection=plain)
