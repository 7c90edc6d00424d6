"""The card: the plan as it is printed, its words, its promise and a worksheet, on paper of two sizes."""

from dataclasses import replace

import pytest
from example_plans import binned_protocol, protocol
from figure_plans import box_of_text, made
from hypothesis import given, settings
from random_plans import protocols

from banditree.figures.card import LEAST_ROWS, card_html, card_info, card_pages
from banditree.figures.drawing import A4, LETTER
from banditree.figures.scene import Line, Text
from banditree.plans.plan import Vocabulary
from banditree.plans.wording import numbered_lines, rule_sentence

PAPER = pytest.mark.parametrize("size", [A4, LETTER], ids=["A4", "letter"])
WORDS = Vocabulary(arm="treatment", task="patient group", success="recovery", failure="relapse")


def texts_of(pages):
    return [shape for page in pages for shape in page.shapes if isinstance(shape, Text)]


def test_the_card_has_the_plan_its_words_its_promise_and_a_worksheet():
    plan = replace(protocol(cap=20), vocabulary=WORDS)
    info = card_info(plan, ("It loses 6 recoveries.", "It rarely errs."))
    assert info.title == "Protocol for 5 patient groups and 5 treatments"
    assert list(info.lines) == numbered_lines(plan)
    assert info.rule == rule_sentence(plan)
    assert dict(info.meanings)["+2/-3"] == "The points of recovery and of relapse."
    assert "never count above +20" in dict(info.meanings)
    assert info.columns == ("line", "treatment", "recovery", "relapse", "score", "next")
    page = card_html(info, "letter")
    assert "It loses 6 recoveries." in page
    assert page.count("<tr>") == LEAST_ROWS + 1
    assert "size: letter" in page


def test_only_words_of_the_plan_are_explained():
    explained = dict(card_info(protocol(rule=None)).meanings)
    assert "never count above +20" not in explained
    assert "113 times" not in explained
    assert "113 times" in dict(card_info(made("3 boxes")[0]).meanings)


@PAPER
@settings(max_examples=30, deadline=None)
@given(plan=protocols())
def test_everything_stays_on_the_paper(plan, size):
    pages = card_pages(card_info(plan), size)
    for text in texts_of(pages):
        left, top, right, bottom = box_of_text(text)
        assert left >= 0
        assert top >= 0
        assert right <= size[0]
        assert bottom <= size[1]


@PAPER
def test_five_lines_fit_one_sheet_with_room_for_tallies(size):
    (page,) = card_pages(card_info(protocol(cap=20), ("a" * 90, "b" * 90)), size)
    across = [shape for shape in page.shapes if isinstance(shape, Line) and shape.points[0][1] == shape.points[1][1]]
    assert len(across) >= LEAST_ROWS - 1


@pytest.mark.parametrize("plan", [protocol(cap=2), binned_protocol()], ids=["0/1", "numbers"])
def test_the_sheet_holds_every_word_of_the_plan(plan):
    shown = " ".join(text.text for text in texts_of(card_pages(card_info(plan))))
    for line in [*numbered_lines(plan), rule_sentence(plan)]:
        assert " ".join(line.split()) in " ".join(shown.split())
