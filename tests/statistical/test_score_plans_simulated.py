"""A searched plan, played by the simulator: its certificate is what comes out."""

import numpy as np
import pytest

from banditree.certificates.certify import certify
from banditree.scores.score_plan import build_score_plan
from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand


@pytest.mark.slow
def test_simulated_regret_is_the_certified_one():
    """Four tasks, 4,000 runs each, within 4.5 standard errors (false alarms: about 1 in 37,000)."""
    collection = rand(4, 6, 0.3)
    plan = build_score_plan(collection, 500, steps=500)
    regret = simulate(collection, {"score": plan}, horizon=500, runs=4000, rounds=[500]).regret[0][..., -1]
    error = regret.std(axis=1) / np.sqrt(regret.shape[1])
    assert (np.abs(regret.mean(axis=1) - certify(plan, collection).regret) < 4.5 * error + 1e-9).all()
