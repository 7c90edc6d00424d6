"""The default plan and what is shown beside it agree: no shorter one loses less."""

from dataclasses import replace

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.scores.front import pareto_front
from banditree.scores.protocol import build_protocol
from banditree.scores.variants import lost, settled, variants
from banditree.tasks.collection import Collection

STEPS = 300
RATES = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4))
CHANCES = np.random.default_rng(1).dirichlet(np.ones(4), (3, 4))


def estimated(collection, radius):
    return replace(collection, radius=np.array(radius))


COLLECTIONS = {
    "0/1": (Collection.bernoulli(RATES), 200),
    "0/1, estimated": (estimated(Collection.bernoulli(RATES), 0.06), 100),
    "graded, estimated": (estimated(Collection.graded(CHANCES, [0, 1, 2, 3]), 0.2), 40),
    "graded, hardly known": (estimated(Collection.graded(CHANCES, [0, 1, 2, 3]), 1.0), 10),
    "Gaussian": (Collection.gaussian(2 * RATES, 1.0), 150),
    "Gaussian, estimated": (estimated(Collection.gaussian(2 * RATES, 1.0), 0.1), 60),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "objective"), [*((name, "worst") for name in COLLECTIONS), ("0/1", "mean")])
def test_no_shorter_plan_that_is_shown_loses_less(name, objective):
    collection, horizon = COLLECTIONS[name]
    plan = build_protocol(collection, horizon, steps=STEPS, objective=objective)
    loses = lost(certify(plan, collection), objective)
    for _variant, other, certificate in variants(plan, collection, steps=STEPS, objective=objective):
        assert other.n_tests > plan.n_tests or lost(certificate, objective) >= loses
    front = pareto_front(collection, horizon, steps=STEPS, objective=objective)
    losses = [lost(certify(one, collection), objective) for one in front]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(loses)
    assert front[-1].n_tests == plan.n_tests


def test_a_line_that_only_costs_is_dropped():
    """A plan from a search that was cut short, with a line that tries an arm which is never good."""
    collection = Collection.bernoulli([[0.8, 0.3, 0.1], [0.2, 0.7, 0.1]])
    poor = build_protocol(collection, 100, lines=4, steps=1, rule=False)
    better = settled(poor, collection, thorough=True, steps=STEPS)
    assert certify(better, collection).worst_regret <= certify(poor, collection).worst_regret
    assert better.n_tests <= poor.n_tests
