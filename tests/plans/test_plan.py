import pytest
from boxes import arrays_of, survivors_at
from example_plans import E, F, S, W, binned_plan, make_plan, protocol, score_plan

from banditree.errors import InvalidInput
from banditree.plans.counts import Rounds, Watch
from banditree.plans.gives import NONE, BestOf, Give, HandOver
from banditree.plans.line import Line
from banditree.plans.plan import Form, Plan, SafetyRule
from banditree.plans.points import ByOutcome
from banditree.tasks.instances import rand
from banditree.tasks.rewards import BERNOULLI
from banditree.trees.tree import build_tree

EVEN = ByOutcome((-1, 1))
LEAF = {"kind": E, "arm": 0}
TEST = {"kind": F, "arm": 0, "low": 1, "high": 2, "pulls": 3, "threshold": 1.0}
WATCH = {"kind": W, "arm": 0, "low": 1, "points": [-1, 1], "cuts": [0.5], "floor": 2}
SCORE = {"kind": S, "arm": 0, "low": 1, "high": 2, "points": [-1, 1], "cuts": [0.5], "floor": 2, "ceil": 2}


def test_sizes_of_a_plan():
    plan = make_plan([TEST | {"high": 3}, TEST | {"low": 2, "high": 3, "pulls": 5}, LEAF, LEAF])
    assert (plan.n_boxes, plan.n_tests, plan.depth, plan.most_pulls) == (4, 2, 2, 8)
    assert not plan.has_links_back
    assert survivors_at(plan, 0) is None


def test_a_score_plan_sets_no_limit_on_pulls():
    plan = score_plan()
    assert plan.has_links_back
    assert plan.most_pulls is None
    assert plan.depth == 3
    assert binned_plan().most_pulls is None


def test_survivors_are_kept_per_box():
    collection = rand(10, 20, 0.4)
    plan = build_tree(collection, 1000, 0.4)
    assert survivors_at(plan, 0).tolist() == list(range(10))
    for box in range(plan.n_boxes):
        members = set(survivors_at(plan, box))
        for child in plan.links[box]:
            assert set(survivors_at(plan, child)) < members
        if arrays_of(plan).kind[box] == E:
            assert members == {arrays_of(plan).task[box]}


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([], "the number of lines must be at least 1"),
        ([TEST | {"high": 5}, LEAF, LEAF], "Box 1 of the plan leads to 6, which does not exist"),
        ([TEST, LEAF | {"arm": NONE, "task": 1}, LEAF], "treats as a task, and the plan has no predictions"),
        ([TEST | {"threshold": float("nan")}, LEAF, LEAF], "the threshold of a line must be finite"),
        ([TEST | {"threshold": 1.5}, LEAF, LEAF], "compares a count with a fraction"),
        ([SCORE | {"points": [1, 1]}, LEAF, LEAF], "points must be of both signs"),
        ([SCORE | {"floor": 0}, LEAF, LEAF], "leaves at once"),
        ([SCORE | {"ceil": 1_000_001}, LEAF, LEAF], "at most 1,000,000"),
        ([SCORE | {"points": [-(10**12), 1]}, LEAF, LEAF], "at most 1,000,000"),
        ([SCORE | {"points": [-1, 0, 1], "cuts": [0.5, 0.5]}, LEAF, LEAF], "cuts must be 2 increasing numbers"),
        ([TEST | {"high": 1}, LEAF, LEAF], "Box 3 of the plan cannot be reached"),
        ([TEST | {"low": 0, "high": 0}], "never reaches an end that uses an arm for good"),
        ([WATCH | {"points": [1, 1]}, LEAF], "points must be of both signs"),
        ([WATCH | {"floor": 0}, LEAF], "leaves at once"),
        ([WATCH | {"cap": -2}, LEAF], "the cap of a score"),
        (
            [TEST | {"low": 3}, TEST | {"low": 2, "high": 2}, LEAF, TEST | {"low": 1, "high": 2}],
            "without being a return",
        ),
        ([WATCH, WATCH | {"low": 0, "points": [-1, 0, 1], "cuts": [0.2, 0.7]}], "as many on every line"),
    ],
)
def test_what_is_no_plan_is_named(boxes, message):
    with pytest.raises(InvalidInput, match=message):
        make_plan(boxes)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Rounds(0, 1.0), "the rounds of a line must be from 1"),
        (lambda: Line(Give("A"), Rounds(3, 1.0), below=1), "where a line leads above must be given"),
        (lambda: Line(Give("A"), Watch(EVEN, 2), below=1, above=1), "where a line leads above must be omitted"),
        (lambda: Line(Give("A"), below=1), "where a line leads below must be omitted"),
        (
            lambda: Line(Give("A"), Watch(EVEN, 2), below=Line(Give("B"), Watch(EVEN, 2), below=1)),
            "an end inside a line",
        ),
        (lambda: BestOf(("A", "A")), "at least two different ones"),
        (lambda: BestOf(("A", "B"), (0.5,), 3), "one number per arm"),
        (lambda: BestOf(("A", "B"), (0.5, 0.6)), "worth must be at least 1"),
    ],
)
def test_what_is_no_line_is_named(made, message):
    with pytest.raises(InvalidInput, match=message):
        made()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (Line(Give("Z")), "names the arm 'Z', which the plan does not have"),
        (Line(Give("A"), task="nine"), "names the task 'nine', which the plan does not have"),
        (Line(Give("A"), possible=("nine",)), "names the task 'nine', which the plan does not have"),
        (Line(BestOf(("A", "Z"))), "names the arm 'Z', which the plan does not have"),
        (Line(HandOver()), "hands over, and the plan does not say to whom"),
        (Line(BestOf(("A", "B")), Watch(EVEN, 2), below=1), "keeps a score of what it does not choose"),
    ],
)
def test_a_line_that_does_not_fit_the_plan_is_named(line, message):
    for lines in ((line,), (Line(Give("A"), Watch(EVEN, 2), below=line if not line.counts.exits else 2), line)):
        with pytest.raises(InvalidInput, match=message):
            Plan(lines, ("A", "B"), ("one", "two"), BERNOULLI, 100)


def test_a_protocol_has_lines_and_then_its_ends():
    plan = protocol()
    assert arrays_of(plan).kind.tolist() == [S, W, W, W, S, E, E]
    assert (plan.n_tests, plan.depth, plan.most_pulls, plan.has_links_back) == (5, 3, None, True)


def test_the_form_is_that_of_its_ends():
    """Ends with numbers of their own make boxes, ends inside the lines a protocol; so does one line for good."""
    assert make_plan([SCORE, LEAF, LEAF | {"arm": 1}]).form is Form.BOXES
    assert make_plan([SCORE, LEAF, LEAF | {"arm": 1}], form=Form.LINES).form is Form.LINES
    assert make_plan([LEAF]).form is Form.LINES
    assert str(make_plan([LEAF])).endswith("1. Give A from now on.")


def test_a_watch_line_is_a_rest_and_a_circle_of_scores_is_not():
    make_plan([WATCH, WATCH | {"low": 0}])
    with pytest.raises(InvalidInput, match="nor a watch line"):
        make_plan([SCORE | {"high": 1, "low": 0}, SCORE | {"low": 0, "high": 0}])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"points": (1, 2)}, "both signs"),
        ({"floor": 0}, "leaves at once"),
        ({"cap": -1}, "the cap of a score"),
        ({"cuts": (0.1, 0.2)}, "cuts must be 1 increasing"),
    ],
)
def test_a_safety_rule_is_checked(rule, message):
    with pytest.raises(InvalidInput, match=message):
        SafetyRule(**({"points": (-1, 1), "floor": 3} | rule))
