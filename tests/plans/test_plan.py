import pytest
from example_plans import E, F, S, W, binned_plan, make_plan, protocol, score_plan

from banditree.errors import InvalidInput
from banditree.plans.plan import NONE, Form, SafetyRule
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree

LEAF = {"kind": E, "arm": 0}
TEST = {"kind": F, "arm": 0, "low": 1, "high": 2, "pulls": 3, "threshold": 1.0}
WATCH = {"kind": W, "arm": 0, "low": 1, "points": [-1, 1], "cuts": [0.5], "floor": 2}
SCORE = {"kind": S, "arm": 0, "low": 1, "high": 2, "points": [-1, 1], "cuts": [0.5], "floor": 2, "ceil": 2}


def test_sizes_of_a_plan():
    plan = make_plan([TEST | {"high": 3}, TEST | {"low": 2, "high": 3, "pulls": 5}, LEAF, LEAF])
    assert (plan.n_boxes, plan.n_tests, plan.depth, plan.most_pulls) == (4, 2, 2, 8)
    assert not plan.has_links_back
    assert plan.survivors_at(0) is None


def test_a_score_plan_sets_no_limit_on_pulls():
    plan = score_plan()
    assert plan.has_links_back
    assert plan.most_pulls is None
    assert plan.depth == 3
    assert binned_plan().most_pulls is None


def test_survivors_are_kept_per_box():
    collection = rand(10, 20, 0.4)
    plan = build_tree(collection, 1000, 0.4)
    assert plan.survivors_at(0).tolist() == list(range(10))
    for box in range(plan.n_boxes):
        members = set(plan.survivors_at(box))
        for child in plan.children(box):
            assert set(plan.survivors_at(child)) < members
        if plan.kind[box] == E:
            assert members == {plan.task[box]}


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([], "the number of boxes must be at least 1"),
        ([TEST, LEAF, {"kind": 7, "arm": 0}], "Box 3 of the plan is of an unknown kind"),
        ([TEST | {"arm": 9}, LEAF, LEAF], "Box 1 of the plan names an arm that does not exist"),
        ([TEST | {"high": 5}, LEAF, LEAF], "Box 1 of the plan leads to no box"),
        ([TEST, LEAF | {"low": 2}, LEAF], "Box 2 of the plan uses an arm for good and yet leads on"),
        ([TEST, LEAF | {"task": 9}, LEAF], "names an unknown task"),
        ([TEST, LEAF | {"arm": NONE}, LEAF], "says neither an arm nor a task"),
        ([TEST, LEAF | {"arm": NONE, "task": 1}, LEAF], "says neither an arm nor a task"),
        ([TEST | {"pulls": 0}, LEAF, LEAF], "fewer than one pull"),
        ([TEST | {"threshold": float("nan")}, LEAF, LEAF], "no finite threshold"),
        ([TEST | {"threshold": 1.5}, LEAF, LEAF], "compares a count with a fraction"),
        ([SCORE | {"points": [1, 1]}, LEAF, LEAF], "points of one sign only"),
        ([SCORE | {"floor": 0}, LEAF, LEAF], "leaves at once"),
        ([SCORE | {"ceil": 1_000_001}, LEAF, LEAF], "counts further than 1,000,000"),
        ([SCORE | {"points": [-(10**12), 1]}, LEAF, LEAF], "counts further than 1,000,000"),
        ([SCORE | {"points": [-1, 0, 1], "cuts": [0.5, 0.5]}, LEAF, LEAF], "cuts that do not increase"),
        ([TEST | {"high": 1}, LEAF, LEAF], "Box 3 of the plan cannot be reached"),
        ([TEST | {"low": 0, "high": 0}], "never reaches a box that uses an arm for good"),
        ([WATCH | {"ceil": 3}, LEAF], "watches a score and yet leaves above"),
        ([WATCH | {"high": 1}, LEAF], "watches a score and yet leaves above"),
        ([WATCH | {"points": [1, 1]}, LEAF], "points of one sign only"),
        ([WATCH | {"floor": 0}, LEAF], "leaves at once"),
        ([WATCH | {"cap": -2}, LEAF], "caps a score"),
        ([SCORE | {"cap": 2}, LEAF, LEAF], "caps a score"),
        (
            [TEST | {"low": 3}, TEST | {"low": 2, "high": 2}, LEAF, TEST | {"low": 1, "high": 2}],
            "without being a return",
        ),
    ],
)
def test_what_is_no_plan_is_named(boxes, message):
    with pytest.raises(InvalidInput, match=message):
        make_plan(boxes)


def test_a_protocol_has_lines_and_then_its_ends():
    plan = protocol()
    assert plan.kind.tolist() == [S, W, W, W, S, E, E]
    assert (plan.n_tests, plan.depth, plan.most_pulls, plan.has_links_back) == (5, 3, None, True)


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([TEST, LEAF, LEAF | {"arm": 1}], "test of a fixed length"),
        ([SCORE, LEAF, WATCH | {"low": 0}], "an end before the last line"),
        ([SCORE, LEAF, LEAF], "two ends with the same arm"),
    ],
)
def test_what_is_no_protocol_is_named(boxes, message):
    make_plan(boxes)
    with pytest.raises(InvalidInput, match=message):
        make_plan(boxes, form=Form.LINES)


def test_a_watch_line_is_a_rest_and_a_circle_of_scores_is_not():
    make_plan([WATCH, WATCH | {"low": 0}])
    with pytest.raises(InvalidInput, match="nor a watch line"):
        make_plan([SCORE | {"high": 1, "low": 0}, SCORE | {"low": 0, "high": 0}])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"points": (1, 2)}, "both signs"),
        ({"floor": 0}, "floor of the safety rule"),
        ({"cap": -1}, "cap of the safety rule"),
        ({"cuts": (0.1, 0.2)}, "cuts of the safety rule"),
    ],
)
def test_a_safety_rule_is_checked(rule, message):
    with pytest.raises(InvalidInput, match=message):
        SafetyRule(**({"points": (-1, 1), "floor": 3} | rule))
