"""The compiled twin of every reward family draws and weighs as the class answers; a family without one is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from banditree.errors import InvalidInput
from banditree.policies.families import draw_reward, likelihood_table, log_likelihood, weigh_tasks
from banditree.policies.follow import follow
from banditree.policies.model import model_of
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import FAMILIES, Bounded, Family, Gaussian
from banditree.tasks.rewards.compiled import COMPILED_FAMILIES
from banditree.trees.tree import build_tree

MEANS = [[0.3, 0.8], [0.6, 0.4]]
CHANCES = [[[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], [[0.2, 0.2, 0.6], [0.3, 0.5, 0.2]]]
COLLECTIONS = {
    Family.BERNOULLI: Collection.bernoulli(MEANS),
    Family.GAUSSIAN: Collection.gaussian(MEANS, [[0.5, 0.7], [0.9, 0.2]]),
    Family.BOUNDED: Collection.bounded(MEANS, -1.0, 3.0),
    Family.GRADED: Collection.graded(CHANCES, (1.0, 2.0, 5.0)),
}
LIKELY = [family for family in Family if FAMILIES[family].has_likelihood]
NO_CONTEXT = np.zeros(0)
MANY = 4_000


class Counted(Gaussian):
    """A dry run: a family that its author forgot in the compiled twin."""

    family = "counted"


def rewards_drawn(collection, task, arm, rng):
    model = model_of(collection)
    return np.array([draw_reward(model, NO_CONTEXT, task, arm, *rng.random(2)) for _ in range(MANY)])


@pytest.mark.parametrize("family", Family)
def test_the_twin_draws_what_the_class_draws(family):
    collection = COLLECTIONS[family]
    for task in range(2):
        for arm in range(2):
            mine = rewards_drawn(collection, task, arm, np.random.default_rng(1))
            cell = np.repeat(collection.parameters[task, arm][None], MANY, axis=0)
            theirs = collection.rewards.sample(cell, np.random.default_rng(2))
            # False-alarm rate of the four: 4e-6, and less where values repeat.
            assert stats.ks_2samp(mine, theirs, method="asymp").pvalue > 1e-6


@pytest.mark.parametrize("family", LIKELY)
def test_the_twin_weighs_as_the_density_of_the_class(family):
    collection = COLLECTIONS[family]
    model, table = model_of(collection), likelihood_table(collection)
    for reward in rewards_drawn(collection, 0, 0, np.random.default_rng(3))[:20]:
        for arm in range(2):
            expected = [
                float(collection.rewards.log_density(reward, collection.parameters[task, arm])) for task in range(2)
            ]
            found = [log_likelihood(model, NO_CONTEXT, task, arm, reward) for task in range(2)]
            assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], abs=1e-9)
            weights = np.ones(2)
            weigh_tasks(model, table, weights, NO_CONTEXT, arm, reward)
            assert np.log(weights[0] / weights[1]) == pytest.approx(expected[0] - expected[1], abs=1e-9)


def test_every_family_has_a_number_of_the_twin():
    assert set(COMPILED_FAMILIES) == set(Family) == set(COLLECTIONS)


def test_a_family_without_lines_in_the_twin_is_refused_by_all_that_would_draw_or_weigh_with_it():
    counted = replace(COLLECTIONS[Family.BERNOULLI], rewards=Counted(sigma=0.5))
    tree = build_tree(counted, 100)  # what the class answers is enough for a tree
    for use in (
        lambda: simulate(counted, ["ucb1"], horizon=10, runs=1),
        lambda: simulate(counted, ["mts"], horizon=10, runs=1),
        lambda: follow.make(tree, 10, {}),
    ):
        with pytest.raises(
            InvalidInput, match=r"counted rewards can be neither simulated nor followed: .*families\.md"
        ):
            use()


def test_a_class_that_inherits_from_another_does_not_inherit_its_lines():
    class Rated(Bounded):
        family = "rated"

    with pytest.raises(InvalidInput, match="rated rewards"):
        model_of(replace(COLLECTIONS[Family.BOUNDED], rewards=Rated(low=0.0, high=1.0)))
