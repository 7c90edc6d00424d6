import numpy as np
from example_plans import E, F, binned_plan, make_plan, protocol, score_plan

from banditree.plans.plan import SafetyRule
from banditree.policies.follow import BOX, UNLIMITED, FollowState, follow
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Gaussian


def boxes_after(plan, rewards):
    params = follow.make(plan, plan.horizon, {})
    state, seen = follow.init(params), []
    for reward in rewards:
        follow.update(params, state, np.zeros(0), 0, reward)
        seen.append(int(state.place[BOX]))
    return seen, state


def test_a_reward_on_a_cut_scores_as_at_most_that_cut():
    _, state = boxes_after(binned_plan(), [-0.5])
    assert state.total[0] == -2
    _, state = boxes_after(binned_plan(), [0.25])
    assert state.total[0] == 0
    _, state = boxes_after(binned_plan(), [0.2500001])
    assert state.total[0] == 3


def test_a_total_on_the_threshold_leads_to_the_low_side():
    plan = make_plan(
        [
            {"kind": F, "arm": 0, "low": 1, "high": 2, "pulls": 2, "threshold": 0.3},
            {"kind": E, "arm": 1},
            {"kind": E, "arm": 2},
        ],
        rewards=Gaussian(sigma=1.0),
    )
    assert boxes_after(plan, [0.1, 0.2])[0] == [0, 1]  # 0.1 + 0.2 > 0.3 in floats
    assert boxes_after(plan, [0.1, 0.2001])[0] == [0, 2]


def test_a_score_leaves_at_its_levels_with_a_fresh_tally():
    seen, state = boxes_after(score_plan(), [1, 1, 1, 1, 1])
    assert seen == [0] * 5
    seen, state = boxes_after(score_plan(), [0, 0, 1])
    assert seen == [0, 1, 1]
    assert (state.place[1], state.total[0]) == (1, 1.0)


def test_links_back_return_to_an_earlier_box():
    seen, _ = boxes_after(score_plan(), [0, 0, 0, 0, 0, 0, 0])
    assert seen == [0, 1, 1, 1, 2, 2, 0]


def test_the_first_of_equal_predictions_is_given():
    plan = make_plan(
        [{"kind": E, "task": 0}],
        arms=("A", "B", "C"),
        tasks=("one",),
        theta=np.array([[[0.2], [0.5], [0.5]]]),
        features=(Feature("x"),),
    )
    params = follow.make(plan, 10, {})
    available = np.ones(3, dtype=bool)
    assert follow.choose(params, follow.init(params), np.array([1.0]), available, (0, 0, 1)) == 1


def test_a_watch_line_is_left_below_and_never_above():
    seen, state = boxes_after(protocol(), [0, 0] + [1] * 50)
    assert seen == [0, *[1] * 51]
    assert state.total[0] == 50
    assert boxes_after(protocol(), [0, 0, 1, 0])[0] == [0, 1, 1, 2]


def test_a_cap_forgets_what_lies_above_it():
    path = [0, 0, 0] + [1] * 50 + [0, 0]  # line 3 leaves at -4 or less, with -3 for a failure
    assert boxes_after(protocol(), path)[0][-1] == 2
    assert boxes_after(protocol(cap=2), path)[0][-1] == 0


def test_the_rule_starts_again_and_only_with_a_rule():
    settled = [1] * 8 + [0] * 2 + [0] * 4  # line 1, line 4, line 5, then settle on E
    assert boxes_after(protocol(), settled)[0][-1] == 6
    assert boxes_after(protocol(), [*settled, 0, 0])[0][-2:] == [6, 0]
    assert boxes_after(protocol(rule=None), [*settled, 0, 0])[0][-2:] == [6, 6]
    capped = protocol(rule=SafetyRule((-4, 1), 8, cap=3))
    assert boxes_after(capped, [*settled, *[1] * 40, 0, 0])[0][-1] == 6
    assert boxes_after(capped, [*settled, *[1] * 40, 0, 0, 0])[0][-1] == 0


def test_patience_is_the_earliest_end_at_every_place():
    """Asked after every prefix: so many failures in a row, or successes, and not fewer, can end the box."""
    rng = np.random.default_rng(0)
    for plan in (protocol(), protocol(cap=2), protocol(rule=SafetyRule((-4, 1), 8, cap=3)), score_plan()):
        params = follow.make(plan, 100, {})
        state = follow.init(params)
        for reward in (rng.random(300) < 0.6).astype(float):
            patience = follow.patience(params, state)
            ends = [pulls_until_left(params, state, r, patience) for r in (0.0, 1.0)]
            assert min(ends) == patience or (patience == UNLIMITED and plan.rule is None)
            follow.update(params, state, np.zeros(0), 0, reward)


def pulls_until_left(params, state, reward, most):
    """How many times the same reward in a row ends the box at hand; more than `most` if it takes longer."""
    trial = FollowState(state.place.copy(), state.total.copy())
    for pulls in range(1, min(most, 1000) + 1):
        before = trial.place.copy()
        follow.update(params, trial, np.zeros(0), 0, reward)
        if trial.place[BOX] != before[BOX] or trial.place[1] < before[1]:
            return pulls
    return most + 1
