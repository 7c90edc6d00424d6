import numpy as np
from example_plans import E, F, binned_plan, make_plan, score_plan

from banditree.policies.follow import BOX, follow
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Family, Rewards


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
        rewards=Rewards(Family.GAUSSIAN, sigma=1.0),
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
