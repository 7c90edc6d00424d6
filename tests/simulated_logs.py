"""Logs of simulated cases whose truth is known, and a plan to evaluate on them."""

import numpy as np
from boxes import Box, assemble

from banditree.cases.table import cases_of
from banditree.certificates.certify import certify
from banditree.tasks.collection import Collection

TRUTH = Collection.bernoulli([[0.8, 0.4], [0.2, 0.6]], arms=["A", "B"])


def switching_plan(horizon):
    """Give A; after a net failure B for good, after two net successes A for good."""
    return assemble(
        [Box(arm=0, low=1, high=2, points=(-1, 1), floor=1, ceil=2), Box(arm=1), Box(arm=0)], TRUTH, horizon
    )


def full_log(n_cases, n_rounds, seed):
    """Every outcome of every round; half of the cases are of each kind."""
    rng = np.random.default_rng([seed, 7])
    kind = np.repeat(rng.integers(0, 2, n_cases), n_rounds)
    outcomes = (rng.random((len(kind), 2)) < TRUTH.means[kind]).astype(float)
    return cases_of(np.repeat(np.arange(n_cases), n_rounds).tolist(), TRUTH.arms, outcomes)


def partial_log(n_cases, n_rounds, seed, chance_of_a=0.5):
    """The same with one outcome per round, that of A with a known chance."""
    full = full_log(n_cases, n_rounds, seed)
    is_a = np.random.default_rng([seed, 8]).random(len(full.outcomes)) < chance_of_a
    outcomes = np.where(np.column_stack([is_a, ~is_a]), full.outcomes, np.nan)
    chances = np.where(is_a, chance_of_a, 1 - chance_of_a)
    return cases_of([full.cases[u] for u in full.owner], TRUTH.arms, outcomes, chances=chances)


def true_value(horizon):
    """Reward per round of the switching plan, exactly."""
    certificate = certify(switching_plan(horizon), TRUTH, horizon)
    return float((TRUTH.values - certificate.regret / horizon).mean())
