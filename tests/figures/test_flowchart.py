import re

import pytest
from example_plans import binned_plan, score_plan
from figure_plans import MAKERS, made
from hypothesis import given, settings
from random_plans import cases

from banditree.figures.flowchart import flowchart_info
from banditree.figures.sources import dot, mermaid
from banditree.figures.text import flowchart_text
from banditree.plans.plan import NONE, BoxKind
from banditree.plans.wording import vocabulary_from


@pytest.mark.parametrize("name", MAKERS)
def test_every_box_says_what_its_sentence_says(name):
    plan, _ = made(name)
    for box, info in enumerate(flowchart_info(plan).boxes):
        assert info.number == box + 1
        assert info.is_leaf == (plan.kind[box] == BoxKind.EXPLOIT)
        if plan.arm[box] != NONE:
            assert plan.arms[plan.arm[box]] in info.action
        if plan.kind[box] == BoxKind.FIXED:
            assert str(int(plan.pulls[box])) in info.action
            assert info.question.startswith(("At most", "Total"))
            assert [branch.target - 1 for branch in info.branches] == [plan.low[box], plan.high[box]]
        if plan.kind[box] == BoxKind.SCORE:
            assert [branch.target - 1 for branch in info.branches] == [plan.high[box], plan.low[box]]
        if plan.survivors is not None:
            assert list(info.possible) == plan.survivors_at(box).tolist()


@settings(max_examples=80)
@given(cases())
def test_every_test_hangs_exactly_once(case):
    info = flowchart_info(case[0])
    below = [b.target for box in info.boxes for b in box.branches if b.hangs and not info.box(b.target).is_leaf]
    assert sorted(below) == [box.number for box in info.boxes if not box.is_leaf and box.number != 1]
    seen, todo = set(), [1]
    while todo:
        number = todo.pop()
        seen.add(number)
        todo += [b.target for b in info.box(number).branches if b.hangs]
    assert seen == {box.number for box in info.boxes}


def test_scores_are_told_whole():
    info = flowchart_info(score_plan())
    assert info.box(1).action == "Give A. Each success +1, each failure -2"
    assert info.box(1).question == "Score +6 or more before -4 or less?"
    assert [(b.answer, b.target, b.hangs) for b in info.box(3).branches] == [("yes", 6, True), ("no", 1, False)]
    assert "at most -0.5 -2" in flowchart_info(binned_plan()).box(1).action


def test_the_words_of_the_user_are_used():
    words = vocabulary_from({"arm": "drug", "task": "clinic", "give": "Administer", "failure": "relapse"})
    info = flowchart_info(score_plan(vocabulary=words))
    assert info.box(1).action.startswith("Administer A.")
    assert "each relapse -2" in info.box(1).action
    assert info.box(5).state == "Clinic two"
    assert info.legend[0] == ("state", "which clinics are still possible")


def test_many_tasks_are_counted_rather_than_listed():
    plan, _ = made("40 tasks")
    states = [box.state for box in flowchart_info(plan).boxes]
    assert states[0] == "Any of 40 tasks"
    assert max(len(state) for state in states) < 90
    assert re.fullmatch(r"\d+ of 40 tasks: task \d+(, task \d+)*, \.\.\.", states[1])


@pytest.mark.parametrize("name", MAKERS)
def test_the_text_has_every_box_once_and_every_link(name):
    info = flowchart_info(made(name)[0])
    text = flowchart_text(info)
    printed = [int(n) for n in re.findall(r"\[(\d+)\]", text)]
    assert sorted(set(printed)) == [box.number for box in info.boxes]
    links = [str(b.target) for box in info.boxes for b in box.branches if not b.hangs]
    assert sorted(re.findall(r"go on at box (\d+)", text)) == sorted(links)
    assert re.sub(r"\x1b\[[\d;]*m", "", flowchart_text(info, colour=True)) == text


def test_contextual_plans_say_how_the_arm_is_found():
    plan, _ = made("contextual")
    assert "Predictions of the reward" in flowchart_text(flowchart_info(plan))


@pytest.mark.parametrize("name", MAKERS)
def test_sources_have_every_branch(name):
    info = flowchart_info(made(name)[0])
    branches = sum(len(box.branches) for box in info.boxes)
    for source, arrow in ((mermaid(info), r"-- (?:yes|no) -->"), (dot(info), r'\[label="(?:yes|no)"\]')):
        assert len(re.findall(arrow, source)) == branches


def test_names_cannot_break_the_sources():
    info = flowchart_info(score_plan(tasks=("zero", 'say "hi"; }', "back\\slash <b>#1`")))
    assert r"say \\\"hi\\\"; }" in dot(info)
    assert r"back\\\\slash" in dot(info)
    shown = mermaid(info)
    assert "say \\#quot;hi\\#quot;; }" in shown
    assert "back\\\\slash #lt;b#gt;#35;1'" in shown
    assert all(line.count('"') % 2 == 0 for line in shown.splitlines())
