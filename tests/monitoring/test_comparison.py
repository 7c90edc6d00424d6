"""New cases split between two plans: the same split for the same seed, and an interval that covers."""

import numpy as np
import pytest
from field_worlds import switching_plan, three_kinds

from banditree.certificates.certify import certify
from banditree.errors import InvalidInput
from banditree.monitoring.comparison import compare_plans, goes_to_new
from banditree.monitoring.simulated import simulate_cases
from banditree.plans.assemble import Box, assemble


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
    with pytest.raises(InvalidInput, match="Fewer than 2 cases"):
        compare_plans(*seen, 21)
