"""What no algorithm can avoid where contexts decide: below the exact least loss of tiny problems, and close to it."""

from functools import cache

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.plans.words import Vocabulary
from banditree.protocols.build import build_plan
from banditree.reports.limits import limit_sentence
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import INTERCEPT, Feature, sampled_contexts
from banditree.tasks.instances import linear
from banditree.tasks.rewards import BERNOULLI
from banditree.theory.limits import limit

ROWS = [[1.0, 0.0], [1.0, 1.0]]


def tiny(seed, n_tasks=2):
    """0/1 rewards of two arms at two contexts."""
    rates = np.random.default_rng(seed).uniform(0.05, 0.95, (n_tasks, 2, 2))
    theta = np.stack([rates[..., 0], rates[..., 1] - rates[..., 0]], axis=-1)
    contexts = sampled_contexts(ROWS, [Feature(INTERCEPT), Feature("x")])
    return Collection.linear(theta, contexts, BERNOULLI)


def least_loss(collection, horizon):
    """The worst prior's loss of the best algorithm, by trying every arm at every context after every history."""
    theta = collection.theta
    rates = np.einsum("mkd,nd->nkm", theta, np.array(ROWS))  # (n, K, M)
    gaps = rates.max(axis=1, keepdims=True) - rates

    @cache
    def lost(weights, left):
        if left == 0:
            return 0.0
        w, total = np.array(weights), 0.0
        for x in range(2):
            total += min(
                w @ gaps[x, k] + lost(tuple(w * rates[x, k]), left - 1) + lost(tuple(w * (1 - rates[x, k])), left - 1)
                for k in range(2)
            )
        return total / 2

    return max(lost((p, 1 - p), horizon) for p in np.linspace(0, 1, 41))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_it_is_below_the_exact_least_loss_and_close_to_it(seed):
    collection = tiny(seed)
    found, exact = limit(collection, 5).value, least_loss(collection, 5)
    assert found <= exact * 1.003  # the reference looks at 41 priors only
    assert found >= 0.97 * exact


def test_it_grows_with_the_horizon_and_is_below_what_plans_lose():
    drawn = linear(3, 3, 3, 0.2, seed=3)
    collection = Collection.linear(drawn.theta, drawn.contexts, BERNOULLI)
    found = [limit(collection, horizon, effort=10**8) for horizon in (5, 50, 500)]
    assert found[0].value < found[1].value <= found[2].value
    plan = build_plan(collection, 500, steps=100)
    assert 0 < found[2].value < certify(plan, collection).worst_regret
    assert found[2].contexts == 1_000
    said = limit_sentence(found[2], collection, Vocabulary())
    assert said.endswith("in its worst task, averaged over 1,000 contexts.")


def test_features_of_a_case_are_refused():
    rows = np.column_stack([np.ones(20), np.linspace(0, 1, 20)])
    contexts = sampled_contexts(rows, [Feature(INTERCEPT), Feature("age", per_case=True)])
    two = Collection.linear([[[0.2, 0.5], [0.5, 0.0]], [[0.6, 0.0], [0.4, 0.3]]], contexts, BERNOULLI)
    with pytest.raises(InvalidInput, match="stay the same for a whole case"):
        limit(two, 100)
