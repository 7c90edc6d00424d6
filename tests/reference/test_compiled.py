"""Compiled and interpreted runs of the same source agree bit for bit."""

import numpy as np
import pytest
from example_plans import binned_plan, binned_protocol, protocol, score_plan
from numba import typeof

from banditree.certificates.to_the_horizon import points_of
from banditree.plans.machine import machine_of
from banditree.policies import random
from banditree.policies.follow import follow
from banditree.simulation.compiling import compiled
from banditree.tasks.instances import linear, rand
from banditree.tasks.rewards import Family
from banditree.trees.tree import build_tree

PLANS = {
    "tree": lambda: build_tree(rand(10, 20, 0.4), 2000, 0.4),
    "linear": lambda: build_tree(linear(5, 6, 3, 0.2), 2000, 0.2),
    "score": score_plan,
    "binned": binned_plan,
    "protocol": protocol,
    "capped protocol": lambda: protocol(cap=2),
    "binned protocol": binned_protocol,
}


def test_random_numbers_are_the_same_bits():
    rng = np.random.default_rng(0)
    for words in rng.integers(0, 2**32, (500, 4)).tolist():
        assert compiled(random.pcg4d)(*words) == random.pcg4d(*words)
        first, second = random.reward_uniforms(*words, 40, words[0] % 1000)
        assert compiled(random.reward_uniforms)(*words, 40, words[0] % 1000) == (first, second)
        assert compiled(random.normal)(first, second) == random.normal(first, second)
        assert compiled(random.uniform)(tuple(words[:3]), words[3]) == random.uniform(tuple(words[:3]), words[3])


def test_what_is_compiled_for_one_plan_serves_all():
    """A loop takes seconds to compile, and anew for arrays of another kind."""
    plans = [make() for make in PLANS.values()]
    assert len({typeof(follow.make(plan, plan.horizon, {})) for plan in plans}) == 1
    assert len({typeof(points_of(machine_of(plan))) for plan in plans}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_following_a_plan(name):
    plan = PLANS[name]()
    params = follow.make(plan, plan.horizon, {})
    slow, fast = follow.init(params), follow.init(params)
    choose, update, patience = compiled(follow.choose), compiled(follow.update), compiled(follow.patience)
    commitment = compiled(follow.commitment)
    rng = np.random.default_rng(1)
    available = np.ones(len(plan.arms), dtype=bool)
    for number in range(1, 1500):
        context, key = rng.normal(size=len(plan.features)), (0, 0, number)
        arm = follow.choose(params, slow, context, available, key)
        assert choose(params, fast, context, available, key) == arm
        assert patience(params, fast) == follow.patience(params, slow)
        assert commitment(params, fast) == follow.commitment(params, slow)
        binary = plan.rewards.family is Family.BERNOULLI
        reward = float(rng.random() < 0.5) if binary else float(rng.normal())
        follow.update(params, slow, context, arm, reward)
        update(params, fast, context, arm, reward)
        assert all(np.array_equal(a, b) for a, b in zip(slow, fast, strict=True))
