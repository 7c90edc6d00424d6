"""More harm than was promised raises an alarm; what was promised does not."""

from dataclasses import replace

import numpy as np
import pytest

from banditree import Collection, InvalidInput
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.reports.monitor import monitor_document, monitor_markdown, monitor_text
from banditree.tasks.harm import with_harm
from banditree.trees.tree import build_tree

TWO = Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"], tasks=["mild", "severe"])
PROMISED = with_harm(TWO, {"A": [0.02, 0.1], "B": 0.05})
PLAN = build_tree(TWO, horizon=20)


def harmed(observed, rates, seed=0):
    """The cases with harm at these rates (K,) of every kind, in place of the outcomes."""
    rng = np.random.default_rng(seed)
    harm = (rng.random(len(observed.arm)) < np.array(rates)[observed.arm]).astype(float)
    outcomes = np.full(observed.outcomes.shape, np.nan)
    outcomes[np.arange(len(harm)), observed.arm] = harm
    return replace(observed, outcomes=outcomes)


def test_more_harm_than_promised_raises_an_alarm():
    observed = simulate_cases(PLAN, TWO, 60, days=200, seed=1)
    found = monitor(PLAN, PROMISED, observed, harmed(observed, [0.05, 0.3]))
    assert [PLAN.arms[alarm.test.arm] for alarm in found.harm] == ["B"]
    assert found.alarms == ()
    assert "Harm under B is more frequent than promised since" in monitor_text(PLAN, found)
    assert monitor_document(PLAN, found)["harm"][0]["arm"] == "B"
    assert "Harm under B" in monitor_markdown(PLAN, found)


def test_what_was_promised_raises_none():
    """Each of 10 plans has a false alarm of harm in a year with a chance of at most 2.5%: two have in 1 of 40 runs."""
    alarms = 0
    for seed in range(10):
        observed = simulate_cases(PLAN, TWO, 25, seed=seed)
        alarms += bool(monitor(PLAN, PROMISED, observed, harmed(observed, [0.02, 0.05], seed)).harm)
    assert alarms <= 1


def test_without_harm_nothing_is_said_of_it():
    observed = simulate_cases(PLAN, TWO, 10)
    found = monitor(PLAN, PROMISED, observed)
    assert found.harm is None
    assert "harm" not in monitor_text(PLAN, found).lower()


def test_harm_that_was_not_promised_is_refused():
    observed = simulate_cases(PLAN, TWO, 10)
    with pytest.raises(InvalidInput, match="no rates of harm, so none was promised"):
        monitor(PLAN, TWO, observed, harmed(observed, [0.1, 0.1]))
