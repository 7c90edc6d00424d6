"""ECE: what is worked out once or at the end of a test is what a round-by-round version finds."""

import numpy as np
import pytest
from scipy.stats import norm

from banditree.policies.ece import DONE, empty_state, init_ece, keep_likely, lay_out_even, make_ece, tally
from banditree.policies.families import log_likelihood
from banditree.tasks.collection import Collection
from banditree.tasks.instances import hard, rand

NOTHING = np.zeros(0)


@pytest.mark.parametrize("collection", [rand(10, 20, 0.4, seed=3), hard(5, 10, 0.4, epsilon=0.001)])
def test_the_first_test_is_laid_out_as_the_later_ones(collection):
    params = make_ece(collection, 1000, {})
    slow = empty_state(params)
    lay_out_even(params, slow)
    assert slow.weights.tolist() == init_ece(params).weights.tolist()
    assert slow.weights.any()


def families():
    means = rand(6, 4, 0.3, seed=1).means
    noise = 0.3 + 0.5 * np.random.default_rng(0).random(means.shape)
    chances = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], means.shape)
    return [
        Collection.bernoulli(means),
        Collection.gaussian(means, 0.5),
        Collection.gaussian(means, noise),
        Collection.graded(chances, values=[0.0, 0.4, 1.0]),
    ]


@pytest.mark.parametrize("collection", families(), ids=["0/1", "normal", "uneven", "graded"])
def test_counted_rewards_have_the_likelihood_of_every_round(collection):
    params, rng = make_ece(collection, 1000, {}), np.random.default_rng(2)
    state, slow = init_ece(params), np.zeros(collection.n_tasks)
    for _ in range(25):
        support = collection.rewards.support
        reward = float(rng.choice(support)) if support else float(norm.rvs(0.5, 0.5, random_state=rng))
        assert not tally(params, state, NOTHING, 2, reward)
        slow += [log_likelihood(params.model, NOTHING, i, 2, reward) for i in range(len(slow))]
    assert state.place[DONE] == 25
    keep_likely(params, state, 2)
    assert np.allclose(state.fit - state.fit[0], slow - slow[0])
