"""Rewards of which only the means are known, as coins: what is certified of the coins holds for the rewards."""

import numpy as np
import pytest

from banditree import Collection, build_plan, certify, start_session
from banditree.errors import InvalidInput
from banditree.tasks.changes import by_coin, tossed
from banditree.tasks.contexts import INTERCEPT, gaussian_contexts
from banditree.tasks.rewards import Bounded, Gaussian

SCORES = Collection.bounded([[8.0, 3.0], [4.0, 6.0]], low=0, high=10)


@pytest.mark.parametrize("draw", ["uniform", "ends", "fixed"])
def test_a_plan_by_coins_loses_what_is_certified_whatever_the_rewards_are(draw):
    """400 cases of each kind, four standard errors: one false alarm in 16,000 each."""
    coins, rng = by_coin(SCORES), np.random.default_rng(5)
    plan = build_plan(coins, 60, steps=50)
    certificate = certify(plan, coins)
    for task in range(2):
        lost = np.zeros(400)
        for case in range(len(lost)):
            session = start_session(plan)
            for _ in range(60):
                step = session.ask()
                mean = SCORES.means[task, step.arm]
                near = min(mean, 10 - mean)
                reward = {
                    "uniform": rng.uniform(mean - near, mean + near),
                    "ends": 10.0 * (rng.random() < mean / 10),
                    "fixed": mean,
                }[draw]
                session.tell(tossed(SCORES.rewards, reward, rng.random()), step.round)
                lost[case] += SCORES.gaps[task, step.arm]
        error = 4 * lost.std() / np.sqrt(len(lost))
        assert abs(lost.mean() - SCORES.rewards.width * certificate.regret[task]) <= error + 1e-9


def test_margins_are_in_shares_of_the_range():
    within = Collection.bounded([[2.0, 8.0], [5.0, 4.0]], low=-10, high=10, radius=1.0)
    assert by_coin(within).radius.max() == pytest.approx(0.05)
    assert by_coin(within).gaps * 20 == pytest.approx(within.gaps)


def test_other_rewards_are_refused():
    with pytest.raises(InvalidInput, match="in a range"):
        by_coin(Collection.gaussian([[0.0, 1.0], [1.0, 0.0]], 1.0))
    contexts = gaussian_contexts([1, 0], [[0, 0], [0, 1]], [INTERCEPT, "x"])
    with pytest.raises(InvalidInput, match="without contexts"):
        by_coin(Collection.linear([[[0.1, 0.2]] * 2, [[0.2, 0.1]] * 2], contexts, Bounded()))
    with pytest.raises(InvalidInput, match="reward must be"):
        tossed(Bounded(low=0, high=1), 1.5, 0.5)
    assert Gaussian(sigma=1.0).has_range is False
