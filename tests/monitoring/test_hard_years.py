"""Years that are quiet and do not look so: outcomes that are told late or never, overrides, cases that vary."""

from dataclasses import replace

import numpy as np
import pytest
from field_worlds import switching_plan, three_kinds

from banditree.cases.table import Cases, Seen, table_of
from banditree.monitoring.following import boxes_of, observe
from banditree.monitoring.likelihood import in_order
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.monitoring.summary import unfit_since
from banditree.plans.plan import Plan
from banditree.policies.alarm import FALSE_ALARM_RATE, allowance
from banditree.tasks.cases import draw_cases, reach_of_cases
from banditree.tasks.collection import Collection


def test_an_outcome_counts_when_those_of_all_earlier_rounds_were_told() -> None:
    plan = switching_plan()
    rounds = [
        Seen("a", 1, 2, 1.0, 9.0),
        Seen("a", 2, 2, 1.0, 3.0),
        Seen("a", 3, 2, 1.0, 12.0),
        Seen("b", 1, 2, 1.0, 4.0),
    ]
    rounds += [Seen("b", 2, 2, np.nan, np.nan), Seen("b", 3, 2, 1.0, 6.0)]
    seen = observe(plan, table_of(rounds, plan.arms))
    assert in_order(seen).tolist() == [9.0, 9.0, 12.0, 4.0, np.inf, np.inf]


def told_late(seen: Cases, rng: np.random.Generator, plan: Plan) -> Cases:
    """Failures are told 30 days later than successes."""
    return replace(seen, at=seen.at + 30.0 * (seen.reward == 0))


def with_gaps(seen: Cases, rng: np.random.Generator, plan: Plan) -> Cases:
    """Three in ten outcomes will never be known, and one round in twenty is overridden."""
    unknown, overridden = rng.random(len(seen.reward)) < 0.3, rng.random(len(seen.reward)) < 0.05
    some = replace(seen, outcomes=np.where(unknown[:, None], np.nan, seen.outcomes), overridden=overridden)
    return replace(some, box=boxes_of(plan, some))


@pytest.mark.slow
@pytest.mark.parametrize("change", [told_late, with_gaps])
def test_years_that_only_look_bad_are_quiet(change) -> None:
    """6 years: with 5% false alarms 4 or more have a chance below 1e-4, and seeded.

    If outcomes counted as soon as they are told, every one of the years with late failures would have an alarm.
    """
    plan, known, alarms = switching_plan(15), three_kinds(), 0
    for year in range(6):
        seen = simulate_cases(plan, known, 80, seed=100 + year, days=340)
        alarms += bool(monitor(plan, known, change(seen, np.random.default_rng(year), plan)).alarms)
    assert alarms <= 3


def test_cases_that_vary_as_they_should_fit_their_kinds() -> None:
    """At most 5% of them may be said to fit none; without the allowance for their spread a fifth would be."""
    varied = three_kinds(spread=np.full((3, 3), 0.15))
    seen = simulate_cases(switching_plan(100), varied, 200, seed=1)
    assert np.isfinite(unfit_since(seen, varied)).mean() <= 0.05


def test_the_allowance_is_the_radius_unless_cases_vary() -> None:
    known = three_kinds(radius=0.02)
    assert np.array_equal(allowance(known, FALSE_ALARM_RATE)[0], known.radius)
    varied = three_kinds(radius=0.02, spread=np.full((3, 3), 0.1))
    wide, rate = allowance(varied, FALSE_ALARM_RATE)
    assert np.allclose(wide, 0.02 + reach_of_cases(varied, 0.01 / 3))
    assert rate == pytest.approx(0.04)


def test_few_cases_of_rare_successes_are_farther_than_what_is_allowed() -> None:
    """Rates near 0 have a long way up: with as many standard deviations as a normal distribution needs, 16% were."""
    rare = Collection.bernoulli(np.array([[0.1] * 10, [0.4] + [0.1] * 9]), spread=np.full((2, 10), 0.15))
    cases, allowed = draw_cases(rare, 5000), allowance(rare, FALSE_ALARM_RATE)[0]
    assert (np.abs(cases.means - rare.means[cases.task]) > allowed[cases.task]).any(axis=1).mean() <= 0.02
