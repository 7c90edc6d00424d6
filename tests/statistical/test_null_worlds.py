"""Where one option is best for everyone, `fit` says "follow the plan" in at most 5% of the logs, however they are made.

40 logs each in the soak: more than 6 would be seen with a chance of 0.003 at 5%; fewer than 26 of 40 with a chance of
0.008 at the 80% with which a plan that gains must be found. A few logs in make test.
"""

import pytest
from null_worlds import null_world

from banditree.evaluation.fit import fit
from banditree.reports.fit import verdict

FOLLOW = "follow the plan."
NULL = [
    "random",
    "sticky 1",
    "sticky 2",
    "sticky 5",
    "sticky 20",
    "parallel",
    "few",
    "severity by round",
    "severity by round, propensities",
    "severity by kind",
    "severity by kind, propensities",
    "drift",
]


def headline(world, seed, **more):
    log = null_world(world, seed, **more)
    try:
        return verdict(fit(log, 10, kinds=(2, 3), lines=(1, 2, 3), seed=seed))[0]
    except ValueError as problem:  # nobody tried both options: refused
        return str(problem)


@pytest.mark.slow
@pytest.mark.parametrize("world", NULL)
def test_no_plan_is_promised_where_one_option_is_best(world):
    assert FOLLOW not in headline(world, 0)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["parallel", "few"])
def test_what_the_log_cannot_show_is_in_the_headline(world):
    found = headline(world, 1)
    assert "cannot show" in found or "nobody" in found.lower()


@pytest.mark.slow
def test_what_was_chosen_by_what_was_seen_is_judged_by_estimated_chances():
    """Severity is not in the log, but shows in what a case was given before; B is better by 0.1 for all."""
    found = fit(null_world("severity by kind", 1), 10, kinds=(2,), lines=(1,))
    assert found.evaluation.design.is_estimated
    assert found.single == "B"


@pytest.mark.slow
def test_the_single_option_is_chosen_by_weights():
    """B is better by 0.1 at every severity, and A was given to those who are well."""
    log = null_world("severity by kind, propensities", 2)
    assert fit(log, 10, kinds=(2,), lines=(1,)).single == "B"


@pytest.mark.slow
@pytest.mark.parametrize("world", ["random", "severity by kind, propensities"])
def test_plans_that_gain_are_found(world):
    assert FOLLOW in headline(world, 0, kinds=True)


@pytest.mark.soak
@pytest.mark.parametrize("world", NULL)
def test_few_false_promises_in_40_logs(world):
    assert sum(FOLLOW in headline(world, seed) for seed in range(40)) <= 6


@pytest.mark.soak
@pytest.mark.parametrize("world", ["random", "severity by kind, propensities"])
def test_most_plans_that_gain_are_found_in_40_logs(world):
    assert sum(FOLLOW in headline(world, seed, kinds=True) for seed in range(40)) >= 26
