"""The ladder as data, as text and as source: it says what the plan's own sentences say."""

import re
from dataclasses import replace

import numpy as np
import pytest
from boxes import arrays_of, renamed
from example_plans import binned_plan, protocol, score_plan
from figure_plans import MAKERS, made

from banditree.figures.ladder import Leads, ladder_info
from banditree.figures.reach import ReachInfo
from banditree.figures.sources import dot, mermaid
from banditree.figures.text import ladder_text
from banditree.plans.counts import Counting
from banditree.plans.wording import numbered_lines
from banditree.plans.words import Vocabulary, vocabulary_from


@pytest.mark.parametrize("name", MAKERS)
def test_every_test_is_a_row_and_every_link_a_way(name):
    plan, _ = made(name)
    info = ladder_info(plan)
    assert [row.number for row in info.rows] == (np.flatnonzero(arrays_of(plan).kind != Counting.EXPLOIT) + 1).tolist()
    for row in info.rows:
        assert sorted(way.box - 1 for way in row.ways) == sorted(plan.links[row.number - 1])
        for way in row.ways:
            assert (way.leads is Leads.END) == (arrays_of(plan).kind[way.box - 1] == Counting.EXPLOIT)


def test_ends_are_inside_the_rows_and_jumps_are_told_apart():
    info = ladder_info(protocol())
    leads = [[(way.when, way.then, way.leads) for way in row.ways] for row in info.rows]
    assert leads == [
        [("At +8", "line 4", Leads.SKIP), ("At -2", "next line", Leads.NEXT)],
        [("Then", "next line", Leads.NEXT)],
        [("Then", "start again at line 1", Leads.BACK)],
        [("Then", "next line", Leads.NEXT)],
        [("At +60", "stay with B", Leads.END), ("At -11", "settle on E", Leads.END)],
    ]
    assert info.rule.startswith("Whenever you stay with or settle on an arm, score it from 0: +1/-4. At -8")


def test_the_text_of_a_protocol_is_its_printed_form():
    text = ladder_text(ladder_info(protocol(cap=20)))
    assert "\n".join(numbered_lines(protocol(cap=20))) in text
    assert re.sub(r"\x1b\[[\d;]*m", "", ladder_text(ladder_info(protocol(cap=20)), colour=True)) == text


def test_one_option_for_all_is_a_ladder_of_one_row():
    plan = replace_with_end(protocol(rule=None))
    (row,) = ladder_info(plan).rows
    assert (row.action, row.ways) == ("Give B from now on", ())
    assert str(plan).endswith("\n\n1. Give B from now on.")


def replace_with_end(plan):
    from boxes import Box, assemble
    from example_plans import FIVE

    from banditree.plans.plan import Form

    return assemble([Box(1)], FIVE, plan.horizon, form=Form.LINES)


def test_the_kinds_at_a_row_come_from_the_plan_or_from_the_chances():
    plan, _ = made("15 boxes")
    assert ladder_info(plan).rows[0].possible == "Any of 7 patient groups"
    lines = protocol()
    assert {row.possible for row in ladder_info(lines).rows} == {""}
    chance = np.zeros((5, lines.n_boxes))
    chance[:, 0] = 1
    chance[1, 1], chance[2, 1], chance[3, 1] = 0.6, 0.2, 0.02
    reach = ReachInfo(lines.tasks, chance, chance, chance, ((1,),) * 5, "")
    rows = ladder_info(lines, reach).rows
    assert rows[0].possible == "Any of 5 tasks"
    assert rows[1].possible == "task 2 73%, task 3 24%"


def test_the_words_of_the_user_are_used():
    words = vocabulary_from({"arm": "drug", "task": "clinic", "give": "Administer", "failure": "relapse"})
    info = ladder_info(score_plan(vocabulary=words))
    assert info.rows[0].action == "Administer A; success +1, relapse -2"
    assert "Clinic two: administer B from now on" in [way.then for row in info.rows for way in row.ways]
    assert "+3 for a reward above 0.25, 0 above -0.5, -2 otherwise" in ladder_info(binned_plan()).rows[0].action


def test_many_tasks_are_counted_rather_than_listed():
    states = [row.possible for row in ladder_info(made("40 tasks")[0]).rows]
    assert states[0] == "Any of 40 tasks"
    assert max(len(state) for state in states) < 90
    assert re.fullmatch(r"\d+ of 40 tasks: task \d+(, task \d+)*, \.\.\.", states[1])


def test_contextual_plans_say_how_the_arm_is_found():
    assert "Predictions of the reward" in ladder_text(ladder_info(made("contextual")[0]))


@pytest.mark.parametrize("name", MAKERS)
def test_sources_have_every_way(name):
    info = ladder_info(made(name)[0])
    ways = sum(len(row.ways) for row in info.rows)
    for source, arrow in ((mermaid(info), "-->"), (dot(info), " -> ")):
        assert source.count(arrow) == ways
        assert all(way.when in source for row in info.rows for way in row.ways)


def test_names_cannot_break_the_sources():
    info = ladder_info(score_plan(tasks=("zero", 'say "hi"; }', "back\\slash <b>#1`")))
    assert r"say \\\"hi\\\"; }" in dot(info)
    assert r"back\\\\slash" in dot(info)
    shown = mermaid(info)
    assert "say \\#quot;hi\\#quot;; }" in shown
    assert "back\\\\slash #lt;b#gt;#35;1'" in shown
    assert all(line.count('"') % 2 == 0 for line in shown.splitlines())


def test_quotation_marks_keep_names_apart_from_words():
    plan = renamed(replace(protocol(), vocabulary=Vocabulary()), ("next line", "line 4", "C", "D", "stay with B"))
    thens = [way.then for row in ladder_info(plan).rows for way in row.ways]
    assert 'stay with "line 4"' in thens
    assert 'settle on "stay with B"' in thens
