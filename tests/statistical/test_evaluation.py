"""Estimators on simulated logs whose truth is known exactly. Seeded; false-alarm rates are stated."""

import numpy as np
import pytest
from simulated_logs import full_log, partial_log, switching_plan, true_value

from banditree.evaluation.evaluate import evaluate

HORIZON = 3


def test_replay_of_known_outcomes_covers_the_truth():
    """95% intervals cover the exact value in at least 90% of 300 logs; at 95% that fails with a chance of 0.0002."""
    truth, plan = true_value(HORIZON), switching_plan(HORIZON)
    covered = 0
    for seed in range(300):
        value = evaluate(plan, full_log(80, HORIZON, seed), runs=1).rows[0].value
        covered += value.low <= truth <= value.high
    assert covered >= 270


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.5, 0.7])
@pytest.mark.parametrize(("n", "least"), [(50, 40), pytest.param(150, 131, marks=pytest.mark.soak)])
def test_estimators_are_right_on_average_and_their_intervals_cover(chance, n, least):
    """Means of n logs within 4 standard errors of the truth (0.0003 for four estimators); covered by at least `least`
    of the 95% intervals (0.0003 at most for four as well)."""
    truth, plan = true_value(HORIZON), switching_plan(HORIZON)
    values: dict[str, list[float]] = {}
    covered: dict[str, int] = {}
    for seed in range(n):
        # Cases long enough for the replay to come to the last round nearly always.
        found = evaluate(plan, partial_log(200, 24, seed, chance), runs=1)
        assert found.weighed == found.shown == HORIZON
        for row in found.weighings:
            values.setdefault(row.name, []).append(row.value.value)
            covered[row.name] = covered.get(row.name, 0) + (row.value.low <= truth <= row.value.high)
    for name, found in values.items():
        # Self-normalising has a bias of the order of 1/n, far below these errors.
        assert abs(np.mean(found) - truth) < 4 * np.std(found) / np.sqrt(n), name
        assert covered[name] >= least, name
