"""Tests that look at the context: the rules against loops, in depth and inside ECE."""

import numpy as np
import pytest
from small_collections import depth_by_definition

from banditree import Collection, Session
from banditree.errors import InvalidInput
from banditree.policies.ece import arm_of, ece, make_ece
from banditree.policies.random_ece import random_ece
from banditree.simulation.engine import Player, simulate
from banditree.simulation.results import summaries
from banditree.tasks.contexts import sampled_contexts
from banditree.tasks.rewards import Gaussian
from banditree.tasks.separation import Sense, separations
from banditree.theory.context_rules import ContextRules, best_rules, contrast_rules, rules_as_arms
from banditree.theory.separating_tests import rule_distances
from banditree.trees.optimal import optimal_depth

ROWS = np.array([[1.0, -1.0], [1.0, 0.3], [1.0, 1.2], [1.0, -0.4]])


def sampled(seed, n_tasks=3, n_arms=3, sigma=0.5):
    theta = np.random.default_rng(seed).normal(size=(n_tasks, n_arms, 2))
    return Collection.linear(theta, sampled_contexts(ROWS), Gaussian(sigma=sigma))


def arm_by_definition(weights, absolute, x):
    values = [abs(float(x @ row)) if absolute else float(x @ row) for row in weights]
    return values.index(max(values))


@pytest.mark.parametrize("make", [best_rules, contrast_rules])
def test_rules_pull_what_their_definition_says_also_in_the_policy(make):
    collection = sampled(1)
    rules = make(collection)
    params = make_ece(collection, 500, {"rules": rules})
    for number in range(len(rules)):
        for x, arm in zip(ROWS, rules.arms(ROWS)[number], strict=True):
            assert arm == arm_by_definition(rules.weights[number], rules.absolute[number], x)
            assert arm == arm_of(params, collection.n_arms + number, x)


@pytest.mark.parametrize("seed", range(4))
def test_no_rule_tells_a_pair_better_apart_than_its_own(seed):
    """Every rule from the four contexts to the three arms, listed: 81 of them."""
    collection = sampled(seed)
    means = np.einsum("nd,mkd->nmk", ROWS, collection.theta)
    own = rule_distances(collection, contrast_rules(collection))
    for pair, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        each = 1 - np.exp(-((means[:, i] - means[:, j]) ** 2) / (8 * 0.5**2))  # (n, K): D_H^2 at a context
        listed = max(np.mean([each[n, k] for n, k in enumerate(rule)]) for rule in np.ndindex(3, 3, 3, 3))
        assert own[pair, i, j] == pytest.approx(np.sqrt(listed))
        assert own[pair, i, j] >= separations(collection, Sense.HELLINGER)[:, i, j].max() - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_depth_with_rules_equals_definition(seed):
    collection = sampled(seed, n_tasks=4)
    rules = best_rules(collection)
    tests = rules_as_arms(collection, rules)
    for task in range(4):
        for number in range(len(rules)):
            wanted = np.mean(
                [x @ collection.theta[task, k] for x, k in zip(ROWS, rules.arms(ROWS)[number], strict=True)]
            )
            assert tests.means[task, 3 + number] == pytest.approx(wanted)
    alone = optimal_depth(Collection.gaussian(collection.means, 1.0), 0.2)
    found = optimal_depth(tests, 0.2)
    assert found.lower == found.upper == depth_by_definition(tests, 0.2)
    assert found.upper <= alone.upper


@pytest.mark.slow
def test_ece_with_rules_needs_fewer_pulls_and_is_as_often_right():
    """Wrong at most once in 1,000 runs by Theorem 3.1: of 300 runs, more than 6 are with a chance of 10^-7."""
    collection = sampled(1, sigma=1.0)
    plain, with_rules = (make_ece(collection, 1_000, {"rules": rules}) for rules in (None, "pairs"))
    assert with_rules.pulls < plain.pulls
    player = Player("rules", ece, collection, {"rules": "pairs", "failure_probability": 1e-3})
    results = simulate(collection, [player], horizon=3 * with_rules.pulls + 5, runs=100)
    assert summaries(results)[0].task_right >= 1 - 6 / 300


@pytest.mark.parametrize("policy", [ece, random_ece], ids=lambda policy: policy.name)
def test_a_session_follows_one_rule_through_a_test_and_ends_in_the_right_task(policy):
    collection = sampled(2)
    session = Session(policy, collection, horizon=500, options={"rules": "pairs"})
    params = make_ece(collection, 500, {"rules": "pairs"})
    rng, pulled = np.random.default_rng(0), []
    while len(session.explain().possible) > 1:
        x = ROWS[rng.integers(4)]
        pulled.append((x, session.ask(context=x).arm))
        session.tell(float(x @ collection.theta[1, pulled[-1][1]]))
        if len(pulled) == params.pulls:  # one test, or several that cannot be told apart, pulled all these arms
            fitting = [t for t in range(len(params.apart)) if all(arm_of(params, t, x) == arm for x, arm in pulled)]
            assert fitting
        assert len(pulled) <= 2 * params.pulls
    assert session.explain().possible == (1,)
    assert len({arm for _, arm in pulled}) > 1  # a rule, not an arm


def test_other_rules_are_refused():
    collection = sampled(0)
    with pytest.raises(InvalidInput, match="rules must be one of"):
        make_ece(collection, 100, {"rules": "all"})
    with pytest.raises(InvalidInput, match="rules must be ContextRules for 3 arms"):
        make_ece(collection, 100, {"rules": ContextRules(np.zeros((1, 2, 2)), [False])})
    with pytest.raises(InvalidInput, match="need a collection with contexts"):
        make_ece(Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]]), 100, {"rules": "best"})
    with pytest.raises(InvalidInput, match="absolute must be 1 answers"):
        ContextRules(np.zeros((1, 2, 2)), [False, True])
