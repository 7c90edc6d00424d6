import numpy as np
import pytest
from simulated_logs import partial_log, switching_plan

from banditree.evaluation.intervals import per_round
from banditree.evaluation.replay import replay
from banditree.evaluation.weighting import doubly_robust, inverse_propensity, self_normalised, weighted
from banditree.policies.starting import start_session

HORIZON = 3


@pytest.fixture(scope="module", params=[0.5, 0.8])
def log(request):
    return partial_log(60, 4, 0, request.param)


@pytest.fixture(scope="module")
def w(log):
    return weighted(log, replay(switching_plan(HORIZON), log, HORIZON, waits=False), HORIZON)


def agreeing(log, case):
    """[(weight so far, arm logged, arm of the plan, reward)] of one case until the log differs, slowly."""
    session, weight, found = start_session(switching_plan(HORIZON)), 1.0, []
    for r in range(log.first[case], min(log.first[case + 1], log.first[case] + HORIZON)):
        step, arm = session.ask(), int(log.arm[r])
        reward = log.outcomes[r, arm]
        weight = weight / log.chances[r] if step.arm == arm else 0.0
        found.append((weight, arm, step.arm, reward, log.chances[r]))
        if step.arm != arm:
            break
        session.tell(reward, step.round)
    return found


def test_inverse_propensities_are_the_sum_over_rounds(log, w):
    total = sum(weight * reward for case in range(log.n_cases) for weight, _, _, reward, _ in agreeing(log, case))
    assert inverse_propensity(w).value == pytest.approx(total / (HORIZON * log.n_cases))


def test_self_normalised_weights_add_up_to_one_in_every_round(log, w):
    paths = [agreeing(log, case) for case in range(log.n_cases)]
    means = []
    for t in range(HORIZON):
        here = [path[t] for path in paths if len(path) > t]
        means.append(sum(p[0] * p[3] for p in here) / sum(p[0] for p in here))
    assert self_normalised(w).value == pytest.approx(np.mean(means))


def test_doubly_robust_is_its_recursion(log, w):
    first = [range(log.first[u], min(log.first[u + 1], log.first[u] + HORIZON)) for u in range(log.n_cases)]
    total = 0.0
    for case in range(log.n_cases):
        others = [r for u, rows in enumerate(first) if u != case for r in rows]
        predicted = [np.mean([log.outcomes[r, k] for r in others if log.arm[r] == k]) for k in (0, 1)]
        best, value = max(predicted), 0.0
        path = agreeing(log, case)
        for t in range(len(path) - 1, -1, -1):
            _, arm, chosen, reward, chance = path[t]
            later = best * (HORIZON - 1 - t)
            step = (arm == chosen) / chance
            value = predicted[chosen] + later + step * (reward + value - predicted[arm] - later)
        total += value
    assert doubly_robust(w, 2).value == pytest.approx(total / (HORIZON * log.n_cases))


@pytest.mark.parametrize("estimator", [inverse_propensity, self_normalised, lambda w: doubly_robust(w, 2)])
def test_errors_are_those_of_the_jackknife(w, estimator):
    """Linearised errors against leaving out one case at a time."""
    keep = ~np.eye(len(w.here), dtype=bool)
    parts = [getattr(w, name) for name in ("weight", "reward", "arm", "chosen", "here", "chance")]
    left = np.array([estimator(type(w)(*(part[rows] for part in parts))).value for rows in keep])
    jackknife = np.sqrt((len(left) - 1) / len(left) * np.sum((left - left.mean()) ** 2))
    assert estimator(w).estimate().error == pytest.approx(jackknife, rel=0.1)


def test_effective_cases_are_those_that_agree_when_weights_are_equal():
    log = partial_log(80, 4, 1)
    w = weighted(log, replay(switching_plan(HORIZON), log, HORIZON, waits=False), HORIZON)
    agree = [
        sum(len(p) > t and p[t][0] > 0 for p in map(lambda c: agreeing(log, c), range(80))) for t in range(HORIZON)
    ]
    assert w.effective.tolist() == pytest.approx(agree)


def test_rewards_per_round_are_ratios_and_means_of_rounds():
    total, rounds = np.array([3.0, 1.0, 0.0]), np.array([4.0, 2.0, 2.0])
    assert per_round(total, rounds).value == 0.5
    assert per_round(total, rounds).influence.sum() == pytest.approx(0)
    assert per_round(total, rounds).above(per_round(total, rounds)).error == 0
