"""New cases split between two plans: the same split for the same seed, and an interval that covers at every look."""

import numpy as np
import pytest
from boxes import Box, assemble
from field_worlds import switching_plan, three_kinds

from banditree.cases.table import until_day
from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.monitoring.comparison import Followed, compare_cases, compare_plans, compare_totals, goes_to_new
from banditree.monitoring.simulated import simulate_cases
from banditree.tasks.rewards import Bounded, Gaussian


def test_the_split_is_by_chance_and_recorded() -> None:
    cases = [f"case {number}" for number in range(2000)]
    new = np.array([goes_to_new(case, 3, 0.25) for case in cases])
    assert new.mean() == pytest.approx(0.25, abs=0.04)
    assert new.tolist() == [goes_to_new(case, 3, 0.25) for case in cases]
    assert new.tolist() != [goes_to_new(case, 4, 0.25) for case in cases]


def test_the_difference_is_what_certificates_say() -> None:
    truth, rounds = three_kinds(), 20
    sooner = [Box(arm=0, low=1, high=2, points=(-1, 1), floor=1, ceil=2), Box(arm=1), Box(arm=0)]
    old, new = switching_plan(rounds), assemble(sooner, truth, horizon=rounds)
    seen = [simulate_cases(plan, truth, 300, seed=seed) for seed, plan in enumerate((old, new))]
    found = compare_plans(*seen, rounds)
    exact = certify(old, truth).mean_regret - certify(new, truth).mean_regret
    assert found.difference.low <= exact <= found.difference.high
    assert found.new - found.old == pytest.approx(found.difference.value)
    assert (found.old_cases, found.new_cases, found.ended_early, found.behind) == (300, 300, 0, 0)
    with pytest.raises(InvalidInput, match="needs 1 or more cases of each plan with 21 outcomes. Got 0 of the old"):
        compare_plans(*seen, 21)
    half_way = compare_plans(*(until_day(one, 200) for one in seen), rounds)
    assert half_way.behind == 0  # all take as long
    assert half_way.old_cases + half_way.new_cases < 600


def test_cases_are_counted_in_the_order_in_which_they_began() -> None:
    done = [Followed(number, bool(number % 2), float(number % 3), over=False) for number in range(60)]
    assert compare_cases(done, 5).old_cases == 30
    done[50] = Followed(50, False, None, over=False)  # still running
    found = compare_cases(done[::-1], 5)
    assert (found.old_cases, found.new_cases, found.ended_early, found.behind) == (25, 25, 0, 9)
    done[50] = Followed(50, False, None, over=True)  # closed
    found = compare_cases(done, 5)
    assert (found.old_cases, found.new_cases, found.ended_early, found.behind) == (29, 30, 1, 0)


def test_a_plan_without_successes_may_still_be_as_good() -> None:
    """At 10%, none of 20 has a chance of 12%."""
    for share in (0.1, 0.5):
        found = compare_totals(np.repeat([1.0, 0.0], [18, 162]), np.zeros(20), 1, share=share).difference
        assert found.low < -0.1 < 0 < found.high


def test_the_range_of_the_rewards_counts() -> None:
    totals = np.tile([0.0, 1.0, 2.0], 20), np.tile([1.0, 2.0, 3.0], 20)
    narrow, wide = (compare_totals(*totals, 3, rewards=Bounded(0.0, high)).difference for high in (1.0, 5.0))
    assert (narrow.value, wide.value) == (1.0, 1.0)
    assert wide.low < 0 < narrow.low
    with pytest.raises(InvalidInput, match="total of a case must be from 0 to 2 after 2 rounds. Got 3.0"):
        compare_totals(*totals, 2)
    with pytest.raises(InvalidInput, match="share must be above 0 and below 1. Got 1.0"):
        compare_totals(*totals, 3, share=1.0)
    few = [one[:19] for one in totals]
    assert compare_totals(*few, 3).old_cases == 19
    with pytest.raises(InvalidInput, match="needs 20 or more cases"):
        compare_totals(*few, 3, rewards=Gaussian(1.0))


def wrongly_differs(rng: np.random.Generator, rounds: int, rate: float) -> bool:
    """A year of 200 cases and a look every month at two plans that give the same on average.

    The old one's good cases take three months longer, and the new one's bad cases.
    """
    began, is_new = np.sort(rng.random(200) * 365), rng.random(200) < 0.5
    totals = rng.binomial(rounds, rate, 200).astype(float)
    slow = np.where(is_new, totals <= rounds * rate, totals > rounds * rate)
    done = began + rounds + 90 * slow
    for day in range(60, 420, 30):
        cases = [
            Followed(began[u], bool(is_new[u]), totals[u] if done[u] <= day else None, over=False)
            for u in np.flatnonzero(began <= day).tolist()
        ]
        try:
            difference = compare_cases(cases, rounds).difference
        except InvalidInput:
            continue
        if difference.low > 0 or difference.high < 0:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "rate"), [(1, 0.5), (20, 0.3)])
def test_two_plans_that_give_the_same_are_rarely_said_to_differ_in_a_year_of_looks(rounds: int, rate: float) -> None:
    """25 years. At most 5% are allowed: 7 or more of them with a chance of 2e-4, and seeded. Counted as soon as they
    are done, cases of one round make all of these years wrong."""
    rng = np.random.default_rng(5)
    assert sum(wrongly_differs(rng, rounds, rate) for _ in range(25)) <= 6
