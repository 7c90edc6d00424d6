"""What moved from month to month, also where shares absorb a change."""

from dataclasses import replace

import numpy as np
import pytest
from field_worlds import switching_plan, three_kinds

from banditree import Collection, build_plan
from banditree.cases.table import Cases
from banditree.monitoring.monitor import monitor
from banditree.monitoring.simulated import simulate_cases
from banditree.reports.monitor import monitor_document, monitor_text, verdict


@pytest.mark.slow
def test_a_steady_plan_is_said_to_move_as_rarely_as_promised():
    """5% of 40 plans over a year: more than 7 would be seen once in 1,000 runs."""
    plan, truth, said = switching_plan(), three_kinds(), 0
    for seed in range(40):
        seen = simulate_cases(plan, truth, 240, days=360.0, rounds=12, seed=seed)
        said += any(month.moved for month in monitor(plan, truth, seen, every=400.0).summary.months)
    assert said <= 7


def test_rewards_that_fall_are_told_though_the_shares_of_the_kinds_absorb_it():
    """Ever more cases of the kind that gives little: every rate is as it was."""
    two = Collection.bernoulli([[0.8, 0.4], [0.3, 0.45]], arms=["A", "B"], tasks=["well", "ill"])
    plan = build_plan(two, horizon=12, lines=1, steps=50)
    worlds = [replace(two, shares=np.array(shares)) for shares in ([0.9, 0.1], [0.2, 0.8])]
    early, late = (simulate_cases(plan, world, 150) for world in worlds)
    seen = Cases(
        tuple(map(str, range(300))),
        early.arms,
        np.concatenate([early.first, early.first[-1] + late.first[1:]]),
        np.concatenate([early.outcomes, late.outcomes]),
        arm=np.concatenate([early.arm, late.arm]),
        at=np.concatenate([early.at * 0.5, 190 + late.at * 0.5]),
        box=np.concatenate([early.box, late.box]),
        began=np.concatenate([early.began * 0.5, 190 + late.began * 0.5]),
    )
    found = monitor(plan, two, seen, every=1000.0)
    moved = [move for month in found.summary.months for move in month.moved]
    assert {"reward", "share"} <= {move.what for move in moved}
    assert all(move.now < move.before for move in moved if move.what == "reward")
    assert "nothing that was seen contradicts" not in verdict(plan, found)
    assert "fell from" in monitor_text(plan, found)
    months = monitor_document(plan, found)["parts"][0]["months"]
    assert any(one["what"] == "share" for month in months for one in month["moved"])
