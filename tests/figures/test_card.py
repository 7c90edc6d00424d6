"""The card: the plan as it is printed, its words, its promise and a worksheet, on paper of two sizes."""

import re
from dataclasses import replace

import pytest
from example_plans import binned_protocol, protocol
from figure_plans import box_of_text, made
from hypothesis import given, settings
from random_plans import protocols

from banditree.figures.card import LEAST_ROWS, card_html, card_info, card_pages
from banditree.figures.drawing import A4, LETTER
from banditree.figures.scene import Line, Text
from banditree.languages.catalogue import codes
from banditree.plans import line as plans
from banditree.plans.explaining import reading_notes
from banditree.plans.gives import Give
from banditree.plans.plan import Page
from banditree.plans.wording import foot_sentences, numbered_lines, rule_sentence
from banditree.plans.words import Vocabulary, in_language

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
    assert dict(info.meanings)["+1/-3"] == "The points of recovery and of relapse."
    assert info.worksheet.startswith("A new row for each line you come to, and for a treatment you stay with")
    assert "never count above +20" in dict(info.meanings)
    assert info.columns == ("line", "treatment", "recovery", "relapse", "score", "next")
    page = card_html(info, "letter")
    assert "It loses 6 recoveries." in page
    assert page.count("<tr>") == LEAST_ROWS + 1
    assert "size: letter" in page


def test_only_words_of_the_plan_are_explained():
    explained = dict(card_info(protocol(rule=None)).meanings)
    assert "never count above +20" not in explained
    assert not any("times" in phrase for phrase in explained)
    tree = card_info(made("3 boxes")[0])
    assert dict(tree.meanings) == {"113 times": "Give an arm that often, whatever happens, then compare."}
    assert tree.worksheet == "A new row for each box you come to. Make a tally mark for each outcome."


@settings(max_examples=50, deadline=None)
@given(plan=protocols())
def test_what_is_explained_is_on_the_card(plan):
    """Every number in the meanings and in the notes below the picture is one of this plan."""
    ruled = [] if plan.rule is None else [rule_sentence(plan)]
    text = " ".join(numbered_lines(plan) + ruled + foot_sentences(plan))
    quotes = [quote for note in reading_notes(plan) for quote in re.findall(r'"(.+?)"', note)]
    phrases = [part for phrase, _ in card_info(plan).meanings for part in phrase.split(", ")]
    for phrase in [*quotes, *phrases]:
        assert phrase.lower() in text.lower() or phrase in ("the score", "stay with", "settle on")


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


def test_every_page_of_a_plan_has_its_card():
    plan = protocol()
    info = card_info(replace(plan, pages=(Page((plan.arms[-1],), (plans.Line(Give(plan.arms[0])),)),)))
    assert f"A case that must not get {plan.arms[-1]}: page 2." in info.rule
    html = card_html(info)
    assert html.count('class="card-page"') == 2
    assert f"Page 2, for a case that must not get {plan.arms[-1]}." in html
    alone = len(card_pages(replace(info, more=())))
    assert len(card_pages(info)) > alone


@pytest.mark.parametrize("code", codes())
def test_no_word_of_the_printed_card_is_cut_off_in_any_language(code):
    said = [text.text for text in texts_of(card_pages(card_info(in_language(protocol(cap=20), code))))]
    assert len(said) > 30
    assert [text for text in said if text.endswith("...")] == []
